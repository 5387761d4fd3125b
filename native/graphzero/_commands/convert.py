"""`graphzero convert`: compiles edge lists and columns into a dataset."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from graphzero._commands._arguments import count, size
from graphzero._compile_graph import GraphOptions
from graphzero._convert import (
    ColumnOptions,
    ColumnSource,
    ConversionReport,
    ShowProgress,
    Work,
    convert,
)
from graphzero._errors import InputError
from graphzero._matrix_types import MATRIX_DTYPES
from graphzero._progress import JobProgress
from graphzero._text import count_text, size_text

EPILOG = """\
examples:
  graphzero convert --edges edges.csv --column x=features.csv --column y=labels.csv:int64 --out DIR
  graphzero convert --edges edges.npy --undirected --column x=features.npy --out DIR
  graphzero convert old.gl features.gd --out DIR      (files of GraphZero 0.2)

Edges are lines "source,target" or "source,target,weight", separated by commas, tabs, semicolons or
blanks, or a .npy array of shape (2, E) or (E, 2). Columns are lines "node,value,value,...", or a
.npy array with a row for each node. Lines that begin with # or % are comments; a first line whose
first field is not a number is a header.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="a .gl file and .gd files to rewrite as a dataset"
    )
    parser.add_argument("--edges", metavar="FILE", help="text, .npy or .gl")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=FILE[:DTYPE]",
        help="values for each node; may be repeated (text is float32 unless DTYPE says otherwise)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the dataset to create")
    parser.add_argument("--overwrite", action="store_true", help="replace DIR if it is a dataset")
    graph = parser.add_argument_group("graph")
    graph.add_argument("--undirected", action="store_true", help="store every edge both ways")
    graph.add_argument(
        "--direction",
        choices=["in", "out", "both"],
        default="both",
        help="which edges of a directed graph to store: in for neighbour sampling, out for walks "
        "(default both)",
    )
    graph.add_argument(
        "--num-nodes", type=count, metavar="N", help="default: the largest id plus one"
    )
    graph.add_argument(
        "--dedup", action="store_true", help="keep the first of the edges between two nodes"
    )
    graph.add_argument(
        "--edge-ids", action="store_true", help="store the input row number of each edge"
    )
    columns = parser.add_argument_group("columns")
    columns.add_argument(
        "--row-align", type=size, metavar="BYTES", help="pad rows to a multiple of this"
    )
    columns.add_argument("--nan", metavar="VALUE", help="what NaN becomes in an integer column")
    columns.add_argument("--fill", metavar="VALUE", help="what nodes without a line get")
    work = parser.add_argument_group("work")
    work.add_argument(
        "--on-error",
        choices=["stop", "skip"],
        default="stop",
        help="what to do about a bad line (default stop)",
    )
    work.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="working memory, such as 512M (default a quarter of what is available); the result "
        "does not depend on it",
    )
    work.add_argument("--threads", type=int, metavar="N", help="default one per processor")
    work.add_argument("--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> int:
    edges, columns = _sources(args)
    show_progress: ShowProgress = JobProgress
    if args.quiet:
        show_progress = _no_progress
    report = convert(
        edges,
        columns,
        args.out,
        graph_options=GraphOptions(
            args.undirected, args.direction, args.num_nodes, args.dedup, args.edge_ids
        ),
        column_options=ColumnOptions(args.row_align, args.nan, args.fill),
        work=Work(args.memory, args.threads, args.on_error, args.overwrite),
        show_progress=show_progress,
    )
    if not args.quiet:
        _print_report(args.out, report)
    return 0


def _no_progress(label: str) -> nullcontext[None]:
    return nullcontext()


def _sources(args: argparse.Namespace) -> tuple[str, list[ColumnSource]]:
    edges = [args.edges] if args.edges else []
    columns = [parse_column(text) for text in args.column]
    for file in args.files:
        if Path(file).suffix == ".gl":
            edges.append(file)
        elif Path(file).suffix == ".gd":
            columns.append(ColumnSource(Path(file).stem, file))
        else:
            raise InputError(f"{file}: expected .gl or .gd; text goes to --edges and --column")
    if len(edges) != 1:
        raise InputError(f"found {len(edges)} sources of edges, expected one: --edges FILE")
    return edges[0], columns


def parse_column(text: str) -> ColumnSource:
    """ "y=labels.csv:int64"; a colon that no type follows is part of the file's name."""
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise InputError(f"--column {text!r}: expected NAME=FILE or NAME=FILE:DTYPE")
    stem, colon, dtype = path.rpartition(":")
    if colon and dtype in MATRIX_DTYPES:
        return ColumnSource(name, stem, dtype)
    if colon and dtype.isidentifier() and not Path(path).exists():
        raise InputError(
            f"--column {text!r}: unknown type {dtype!r}, expected one of {', '.join(MATRIX_DTYPES)}"
        )
    return ColumnSource(name, path)


def _print_report(out: str, report: ConversionReport) -> None:
    graph = report.graph
    print(f"{out}: {count_text(graph.num_nodes)} nodes, {count_text(graph.num_edges)} edges")
    if graph.dropped:
        print(f"  dropped {count_text(graph.dropped)} repeated edges")
    for name, column in report.columns.items():
        shape = f"{count_text(column.rows)} x {column.cols}"
        filled = f", {count_text(column.filled)} rows filled" if column.filled else ""
        print(f"  {name}: {shape} {column.dtype}{filled}")
    rate = report.input_bytes / max(report.seconds, 1e-9)
    print(
        f"  read {size_text(report.input_bytes)}, wrote {size_text(report.output_bytes)} in "
        f"{report.seconds:.1f} s ({size_text(rate)}/s)"
    )
    _print_skipped(graph.skipped, graph.messages)
    for column in report.columns.values():
        _print_skipped(column.skipped, column.messages)


def _print_skipped(skipped: int, messages: tuple[str, ...]) -> None:
    if skipped:
        print(f"skipped {count_text(skipped)} bad lines, the first:", file=sys.stderr)
    for message in messages:
        print(f"  {message}", file=sys.stderr)
