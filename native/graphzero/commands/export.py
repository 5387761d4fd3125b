"""`graphzero export DATASET --out DIR`: writes a dataset as files that other programs read."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from graphzero.base.progress import JobProgress
from graphzero.base.text import counted_text, rate_text, size_text


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "parquet: edges.parquet, nodes.parquet and a file for each split, with the original ids\n"
        "of a relabelled dataset. npy: edge_index.npy and a file for each column and split. An\n"
        "undirected edge comes once. `graphzero convert DIR` makes the dataset again."
    )
    parser.add_argument("dataset", metavar="DATASET", help="the directory of a dataset")
    parser.add_argument("--out", required=True, metavar="DIR", help="the directory to create")
    parser.add_argument("--format", choices=["parquet", "npy"], default="parquet")
    parser.add_argument(
        "--node-ids",
        action="store_true",
        help="write node ids 0 to N - 1 also where the dataset has original ids",
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> int:
    from graphzero.exporting.export import export_dataset

    with nullcontext() if args.quiet else JobProgress(args.dataset) as progress:
        report = export_dataset(
            args.dataset,
            args.out,
            format=args.format,
            original_ids=not args.node_ids,
            report=progress,
        )
    if args.quiet:
        return 0
    edges = counted_text(report.num_edges, "undirected edge" if report.undirected else "edge")
    print(f"{args.out}: {counted_text(report.num_nodes, 'node')}, {edges}")
    for name, size in report.files.items():
        print(f"  {name}: {size_text(size)}")
    for note in report.notes:
        print(f"  note: {note}")
    total = sum(report.files.values())
    rate = rate_text(total, report.seconds)
    print(f"  wrote {size_text(total)} in {report.seconds:.1f} s{rate}")
    return 0
