"""`graphzero generate`: writes a synthetic dataset."""

import argparse
from pathlib import Path

from graphzero.base.progress import JobProgress
from graphzero.base.text import counted_text
from graphzero.commands.arguments import count, size


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a synthetic dataset: a power-law graph with planted classes, features and labels "
        "for training a GNN, and train/valid/test splits. The same options give the same bytes."
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="the dataset to create")
    parser.add_argument("--nodes", type=count, default="1M", metavar="N", help="default 1M")
    parser.add_argument(
        "--edges",
        type=count,
        default="20M",
        metavar="N",
        help="undirected edges; both directions are stored (default 20M)",
    )
    parser.add_argument(
        "--dim", type=count, default="128", metavar="N", help="features per node (default 128)"
    )
    parser.add_argument("--classes", type=count, default="16", metavar="N", help="default 16")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument(
        "--dtype",
        choices=["float32", "float16", "bfloat16"],
        default="float32",
        help="of the features (default float32)",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="working memory, such as 512M (default a quarter of what is available)",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="default one per processor")
    parser.add_argument("--overwrite", action="store_true", help="replace DIR if it exists")


def run(args: argparse.Namespace) -> int:
    from graphzero.conversion.generate import SyntheticDataset, generate_dataset

    dataset = SyntheticDataset(
        nodes=args.nodes,
        edges=args.edges,
        dim=args.dim,
        classes=args.classes,
        seed=args.seed,
        dtype=args.dtype,
    )
    with JobProgress(f"of {args.directory.name}") as progress:
        generate_dataset(
            args.directory,
            dataset,
            overwrite=args.overwrite,
            memory=args.memory,
            threads=args.threads,
            report=progress,
        )
    edges = counted_text(2 * dataset.edges, "edge")
    print(f"{args.directory}: {counted_text(dataset.nodes, 'node')}, {edges}")
    return 0
