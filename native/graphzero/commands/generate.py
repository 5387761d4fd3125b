"""`graphzero generate`: writes a synthetic dataset."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero.base.text import count_text, counted_text
from graphzero.commands.arguments import count, size
from graphzero.commands.parser import UsageError

if TYPE_CHECKING:
    from graphzero.conversion.generate import GenerationReport


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a synthetic dataset: a power-law graph with planted classes, features and\n"
        "labels for training a GNN, and train/valid/test splits. With --schema it has\n"
        "several types of nodes, relations between them, and times. The same options give\n"
        "the same bytes."
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--out", type=Path, metavar="DIR", help="the dataset to create")
    place.add_argument("directory", nargs="?", type=Path, metavar="DIR", help="the same as --out")
    parser.add_argument(
        "--schema",
        metavar="SCHEMA",
        help="make a dataset with types, relations and times: shop, or a TOML file that says which",
    )
    parser.add_argument(
        "--scale",
        type=float,
        metavar="FACTOR",
        help="multiply the numbers of nodes and edges of a schema",
    )
    parser.add_argument("--nodes", type=count, metavar="N", help="default 1M")
    parser.add_argument(
        "--edges",
        type=count,
        metavar="N",
        help="undirected edges; both directions are stored (default 20M)",
    )
    parser.add_argument("--dim", type=count, metavar="N", help="features per node (default 128)")
    parser.add_argument("--classes", type=count, metavar="N", help="default 16")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument(
        "--dtype",
        choices=["float32", "float16", "bfloat16", "q8", "q8[float16]", "int8"],
        default="float32",
        help="type of features (default float32); q8 (or int8): one byte a value, read as float32",
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
    from graphzero.conversion.generate import generate

    directory = args.out or args.directory
    if directory is None:
        raise UsageError("give the dataset to create: graphzero generate DIR")
    report = generate(
        directory,
        nodes=args.nodes,
        edges=args.edges,
        dim=args.dim,
        classes=args.classes,
        schema=args.schema,
        scale=args.scale,
        seed=args.seed,
        dtype=args.dtype,
        overwrite=args.overwrite,
        memory=args.memory,
        threads=args.threads,
        progress=True,
    )
    print(f"{report.path}: {_text(report)}")
    return 0


def _text(report: GenerationReport) -> str:
    nodes, edges = counted_text(report.num_nodes, "node"), counted_text(report.num_edges, "edge")
    if report.dim is None or report.classes is None:  # it has a schema
        types = counted_text(report.num_types, "type")
        return f"{nodes} of {types}, {edges} of {counted_text(report.num_relations, 'relation')}"
    undirected = counted_text(report.num_edges // 2, "undirected edge")
    classes = f"{count_text(report.classes)} class{'es' * (report.classes != 1)}"
    return (
        f"{nodes}, {undirected} ({count_text(report.num_edges)} stored), "
        f"{counted_text(report.dim, 'feature')}, {classes}"
    )
