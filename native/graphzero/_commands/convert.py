"""`graphzero convert`: compiles edge lists and columns into a dataset."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero._commands._arguments import count, size
from graphzero._compile_graph import GraphOptions
from graphzero._convert import (
    ColumnOptions,
    ColumnSource,
    ConversionReport,
    Plan,
    ShowProgress,
    Work,
    convert,
    no_progress,
)
from graphzero._errors import InputError
from graphzero._matrix_types import MATRIX_DTYPES
from graphzero._progress import JobProgress
from graphzero._text import count_text, size_text

if TYPE_CHECKING:
    from graphzero._inputs.edges import EdgeNames

EPILOG = """\
examples:
  graphzero convert --edges edges.csv.gz --column x=feats.npy --column y=labels.csv:int64 --out DIR
  graphzero convert --edges edges.parquet --column x=nodes.parquet --split train=train.csv --out DIR
  graphzero convert --edges calls.parquet --source caller --target callee --relabel --out DIR
  graphzero convert FOLDER --out DIR           (an OGB dataset, or a folder of .npy files)
  graphzero convert old.gl features.gd --out DIR      (files of GraphZero 0.2)

Edges are lines "source,target" or "source,target,weight", separated by commas, tabs, semicolons or
blanks, a table (Parquet, Arrow, Feather, or a folder of such files), or an array of shape (2, E) or
(E, 2) (.npy, or ARCHIVE.npz#NAME). Columns are lines "node,value,value,...", a table with a column
"id" or one row for each node in order (TABLE#NAME is one of its columns), or an array with a row
for each node. Text may be compressed with gzip or Zstandard; lines that begin with # or % are
comments, and a first line whose first field is not a number is a header.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a folder in a known layout, or a .gl file and .gd files to rewrite as a dataset",
    )
    parser.add_argument("--edges", metavar="FILE", help="text, table, array or .gl")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=FILE[:DTYPE]",
        help="values for each node; may be repeated (text is float32 unless DTYPE says otherwise)",
    )
    parser.add_argument(
        "--edge-column",
        action="append",
        default=[],
        metavar="NAME=FILE[:DTYPE]",
        help="values for each edge, in the order of the edges; may be repeated; implies --edge-ids",
    )
    parser.add_argument(
        "--split",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a list of node ids, such as train, or a bool mask; may be repeated",
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
    graph.add_argument("--source", metavar="COLUMN", help="of a table of edges")
    graph.add_argument("--target", metavar="COLUMN", help="of a table of edges")
    graph.add_argument(
        "--weight", metavar="COLUMN", help="of a table of edges (default weight, if there is one)"
    )
    graph.add_argument(
        "--relabel",
        nargs="?",
        choices=["auto", "integer", "text"],
        const="auto",
        metavar="KIND",
        help="ids are any integers or texts: number the nodes 0 to N - 1 in the order of their ids "
        "and store these (KIND auto, integer or text)",
    )
    columns = parser.add_argument_group("columns")
    columns.add_argument(
        "--dtype",
        choices=["float32", "float64", "float16", "bfloat16"],
        help="of columns of floating values that have no DTYPE of their own",
    )
    columns.add_argument(
        "--rows-in-order",
        action="store_true",
        help="lines of text columns have no node id: line i is of node i",
    )
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
    show_progress: ShowProgress = no_progress if args.quiet else JobProgress
    plan = _plan(args)
    report = convert(
        plan.edges,
        plan.columns,
        args.out,
        graph_options=_graph_options(args, plan),
        column_options=ColumnOptions(args.row_align, args.nan, args.fill, args.dtype),
        work=Work(args.memory, args.threads, args.on_error, args.overwrite),
        edge_names=_edge_names(args),
        relabel=args.relabel,
        original_ids=plan.original_ids,
        show_progress=show_progress,
        notes=plan.notes,
    )
    if not args.quiet:
        _print_report(args.out, report)
    return 0


def _plan(args: argparse.Namespace) -> Plan:
    """Where edges and columns come from: a folder, or what the options name."""
    folders = [file for file in args.files if Path(file).is_dir()]
    if folders:
        if len(args.files) > 1 or args.edges:
            raise InputError(f"{folders[0]}: a folder comes alone: it has the edges and columns")
        from graphzero._inputs.layouts import plan_folder

        plan = plan_folder(folders[0])
        return plan._replace(columns=[*plan.columns, *_columns(args)])
    edges = [args.edges] if args.edges else []
    columns = _columns(args)
    for file in args.files:
        if Path(file).suffix == ".gl":
            edges.append(file)
        elif Path(file).suffix == ".gd":
            columns.append(ColumnSource(Path(file).stem, file))
        else:
            raise InputError(f"{file}: expected .gl or .gd; text goes to --edges and --column")
    if len(edges) != 1:
        raise InputError(f"found {len(edges)} sources of edges, expected one: --edges FILE")
    return Plan(edges[0], columns)


def _columns(args: argparse.Namespace) -> list[ColumnSource]:
    in_order = args.rows_in_order
    of_nodes = [parse_column(t)._replace(text_has_ids=not in_order) for t in args.column]
    of_edges = [parse_column(t, "--edge-column")._replace(role="edge") for t in args.edge_column]
    splits = [parse_column(t, "--split")._replace(role="ids") for t in args.split]
    return [*of_nodes, *of_edges, *splits]


def _graph_options(args: argparse.Namespace, plan: Plan) -> GraphOptions:
    nodes = plan.num_nodes if args.num_nodes is None else args.num_nodes
    return GraphOptions(args.undirected, args.direction, nodes, args.dedup, args.edge_ids)


def _edge_names(args: argparse.Namespace) -> EdgeNames | None:
    if args.source is None and args.target is None and args.weight is None:
        return None
    from graphzero._inputs.edges import EdgeNames

    return EdgeNames(args.source, args.target, args.weight)


def parse_column(text: str, option: str = "--column") -> ColumnSource:
    """ "y=labels.csv:int64"; a colon that no type follows is part of the file's name."""
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise InputError(f"{option} {text!r}: expected NAME=FILE or NAME=FILE:DTYPE")
    stem, colon, dtype = path.rpartition(":")
    if colon and dtype in MATRIX_DTYPES:
        return ColumnSource(name, stem, dtype)
    if colon and dtype.isidentifier() and not Path(path).exists():
        raise InputError(
            f"{option} {text!r}: unknown type {dtype!r}, expected one of {', '.join(MATRIX_DTYPES)}"
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
        nans = f", {count_text(column.nans)} NaN replaced" if column.nans else ""
        print(f"  {name}: {shape} {column.dtype}{filled}{nans}")
    for note in report.notes:
        print(f"  note: {note}")
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
