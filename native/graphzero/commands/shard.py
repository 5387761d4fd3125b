"""`graphzero shard DIR --parts N --out DIR2`: deals a dataset's large columns to several parts."""

from __future__ import annotations

import argparse

from graphzero.base.text import counted_text, names_text, size_text
from graphzero.commands.arguments import count, size


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Each part, DIR2/part-0 and so on, has the whole graph and small columns, and every N-th\n"
        "block of rows of the large ones. A daemon for each part, each on a machine:\n\n"
        "  graphzero-server --data DIR2/part-0 --listen HOST:PORT --peers HOST:PORT,HOST:PORT,...\n"
        "\nColumns of 64M and more are dealt, so every int64 column from 8.4 million rows on. One\n"
        'that is dealt cannot be the times of seeds (time="COLUMN") nor the candidates of\n'
        'negatives (Negatives(candidates="COLUMN")): leave such columns whole with --keep.'
    )
    parser.add_argument("path", metavar="DIR", help="the directory of a dataset")
    parser.add_argument("--parts", type=count, required=True, metavar="N", help="number of parts")
    parser.add_argument("--out", required=True, metavar="DIR2", help="directory for the parts")
    parser.add_argument("--part", type=int, metavar="K", help="write only this one (default: all)")
    parser.add_argument(
        "--threshold",
        type=size,
        metavar="SIZE",
        help="copy smaller columns to every part (default 64M)",
    )
    parser.add_argument(
        "--block-rows",
        type=count,
        metavar="N",
        help="consecutive rows that stay together (default: 128 KiB of them)",
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="copy this column to every part, however large; may be repeated",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace parts that are there; without --part, also remove those of an older deal "
        "that had more parts",
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> int:
    from graphzero.transfer.shard import DEFAULT_THRESHOLD, shard_dataset

    report = shard_dataset(
        args.path,
        args.out,
        args.parts,
        part=args.part,
        threshold=DEFAULT_THRESHOLD if args.threshold is None else args.threshold,
        block_rows=args.block_rows,
        keep=args.keep,
        overwrite=args.overwrite,
        progress=not args.quiet,
    )
    if args.quiet:
        return 0
    for path in report.parts:
        print(path)
    if report.removed:
        print(f"  removed parts of an older deal: {names_text(p.name for p in report.removed)}")
    for key, rows in report.dealt.items():
        print(f"  {key}: dealt to {args.parts} parts in blocks of {counted_text(rows, 'row')}")
    print(f"  whole in each: {', '.join(report.copied)}")
    print(f"  wrote {size_text(report.byte_size)}")
    return 0
