"""`graphzero reorder DATASET --out DIR`: puts the nodes of a dataset into another order."""

from __future__ import annotations

import argparse

from graphzero.base.text import counted_text, size_text
from graphzero.commands.arguments import add_work_options
from graphzero.commands.convert_report import print_order


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "community: nodes that have many edges among them lie together, the hottest of them\n"
        "first; the order is kept if batches would not read less. degree: the most frequent\n"
        "neighbours come first. The previous ids are kept as original ids. Edges keep\n"
        "their ids and splits their order. It takes 16 bytes of working memory for each node."
    )
    parser.add_argument("dataset", metavar="DATASET", help="the directory of a dataset")
    parser.add_argument("--out", required=True, metavar="DIR", help="the dataset to create")
    parser.add_argument(
        "--order",
        choices=["degree", "community"],
        default="community",
        help="default community",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace DIR, which may be DATASET itself"
    )
    add_work_options(parser)


def run(args: argparse.Namespace) -> int:
    from graphzero.conversion.reorder import reorder

    report = reorder(
        args.dataset,
        args.out,
        order=args.order,
        overwrite=args.overwrite,
        memory=args.memory,
        threads=args.threads,
        progress=not args.quiet,
    )
    if args.quiet:
        return 0
    nodes, edges = counted_text(report.num_nodes, "node"), counted_text(report.num_edges, "edge")
    print(f"{args.out}: {nodes}, {edges}")
    print_order(report)
    for note in report.notes:
        print(f"  note: {note}")
    print(f"  wrote {size_text(report.output_bytes)} in {report.seconds:.1f} s")
    return 0
