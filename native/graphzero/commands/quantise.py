"""`graphzero quantise`: writes a dataset again with a byte for each floating value."""

import argparse

from graphzero.base.text import size_text
from graphzero.commands.arguments import add_work_options
from graphzero.files.column_types import QUANTISED


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a dataset again with its floating columns stored as one byte a value, by a\n"
        "scale and an offset for each feature. Reading makes float32 or float16 of them.\n"
        "Four times as many rows fit into the same memory, and info says what was lost.\n"
        "Everything else is copied."
    )
    parser.add_argument("dataset", metavar="DIR", help="the dataset to read")
    parser.add_argument("--out", required=True, metavar="DIR", help="the dataset to create")
    parser.add_argument("--overwrite", action="store_true", help="replace it if it is a dataset")
    parser.add_argument(
        "--column",
        action="append",
        metavar="NAME",
        help="a column to quantise (TYPE/NAME in a dataset with types); may be repeated "
        "(default: all floating columns with several values a row)",
    )
    parser.add_argument(
        "--dtype",
        choices=list(QUANTISED),
        default="q8",
        help="q8 is read as float32 (default), q8[float16] as float16",
    )
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="the lowest and highest value of a column, instead of those that are found; values "
        "outside become the nearest of the two; may be repeated",
    )
    add_work_options(parser)


def run(args: argparse.Namespace) -> int:
    from graphzero.commands.convert_report import quantised_text
    from graphzero.commands.convert_sources import parse_ranges
    from graphzero.conversion.quantise import quantise

    report = quantise(
        args.dataset,
        args.out,
        columns=args.column,
        dtype=args.dtype,
        ranges=parse_ranges(args.range),
        overwrite=args.overwrite,
        memory=args.memory,
        threads=args.threads,
        progress=not args.quiet,
    )
    if not args.quiet:
        print(
            f"{report.path}: {size_text(report.input_bytes)} became "
            f"{size_text(report.output_bytes)} in {report.seconds:.1f} s"
        )
        for name, found in report.columns.items():
            print(f"  {name}: {found.dtype}, {quantised_text(vars(found))}")
    return 0
