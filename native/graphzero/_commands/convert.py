"""`graphzero convert`: compiles edge lists and columns into a dataset."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from graphzero._commands._arguments import count, size
from graphzero._convert import ConversionReport, ShowProgress, convert, no_progress
from graphzero._errors import InputError
from graphzero._inputs.names import EdgeNames
from graphzero._matrix_types import FLOAT_DTYPES, MATRIX_DTYPES
from graphzero._plan import ColumnOptions, ColumnSource, Plan, Work
from graphzero._progress import JobProgress
from graphzero._text import count_text, counted_text, rate_text, size_text

EPILOG = """\
examples:
  graphzero convert --edges edges.csv.gz --column x=feats.npy --column y=labels.csv:int64 --out DIR
  graphzero convert --edges edges.parquet --column x=nodes.parquet --split train=train.csv --out DIR
  graphzero convert --edges calls.parquet --source caller --target callee --relabel --out DIR
  graphzero convert FOLDER --out DIR    (an export, an OGB dataset, or a folder of .npy files)
  graphzero convert old.gl features.gd --out DIR      (files of GraphZero 0.2)

Edges are lines "source,target" or "source,target,weight", separated by commas, tabs, semicolons or
blanks, a table (Parquet, Arrow, Feather, or a folder of such files), or an array of shape (2, E) or
(E, 2) (.npy, or ARCHIVE.npz#NAME). Columns are lines "node,value,value,...", a table with a column
"id" or one row for each node in order (TABLE#NAME is one of its columns), or an array with a row
for each node. Text may be compressed with gzip or Zstandard; lines that begin with # or % are
comments, and a first line whose first field is not a number is a header. Text goes by the position
of its columns, unless --source, --target or --weight name them.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    _add_sources(parser)
    parser.add_argument("--out", required=True, metavar="DIR", help="the dataset to create")
    parser.add_argument("--overwrite", action="store_true", help="replace DIR if it is a dataset")
    _add_graph_options(parser.add_argument_group("graph"))
    _add_column_options(parser.add_argument_group("columns"))
    _add_work_options(parser.add_argument_group("work"))


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a folder in a known layout, or a .gl file and .gd files to rewrite as a dataset",
    )
    parser.add_argument(
        "--edges", action="append", default=[], metavar="FILE", help="text, table, array or .gl"
    )
    columns = {
        "--column": "values for each node (text is float32 unless DTYPE says otherwise)",
        "--edge-column": "values for each edge, in the order of the edges; implies --edge-ids",
    }
    for option, what in columns.items():
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="NAME=FILE[:DTYPE]",
            help=f"{what}; may be repeated",
        )
    parser.add_argument(
        "--split",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a list of node ids, such as train, or a bool mask; may be repeated",
    )


def _add_graph_options(graph: argparse._ArgumentGroup) -> None:
    graph.add_argument("--undirected", action="store_true", help="store every edge both ways")
    graph.add_argument(
        "--direction",
        choices=["in", "out", "both"],
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
    named = "of a table, or as the first line of text names it"
    graph.add_argument("--source", metavar="COLUMN", help=named)
    graph.add_argument("--target", metavar="COLUMN", help=named)
    graph.add_argument(
        "--weight", metavar="COLUMN", help=f"{named} (default weight, if there is one)"
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


def _add_column_options(columns: argparse._ArgumentGroup) -> None:
    columns.add_argument(
        "--dtype",
        choices=FLOAT_DTYPES,
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


def _add_work_options(work: argparse._ArgumentGroup) -> None:
    work.add_argument(
        "--on-error",
        choices=["stop", "skip"],
        default="stop",
        help="what to do about a bad line of text (default stop)",
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
        plan,
        args.out,
        graph_options=plan.graph_options(
            undirected=args.undirected,
            direction=args.direction,
            num_nodes=args.num_nodes,
            dedup=args.dedup,
            edge_ids=args.edge_ids,
        ),
        column_options=ColumnOptions(args.row_align, args.nan, args.fill, args.dtype),
        work=Work(args.memory, args.threads, args.on_error, args.overwrite),
        edge_names=EdgeNames(args.source, args.target, args.weight),
        show_progress=show_progress,
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
        for option in ("relabel", "source", "target", "weight"):
            if getattr(args, option) is not None:
                raise InputError(
                    f"{folders[0]}: found --{option}, which is for files that --edges names: a "
                    "folder in a known layout says itself what its edges are"
                )
        return plan._replace(columns=[*plan.columns, *_columns(args)])
    edges = list(args.edges)
    columns = _columns(args)
    for file in args.files:
        if Path(file).suffix == ".gl":
            edges.append(file)
        elif Path(file).suffix == ".gd":
            columns.append(ColumnSource(Path(file).stem, file))
        else:
            raise InputError(
                f"{file}: expected a folder, .gl or .gd; text, tables and arrays go to --edges and "
                "--column"
            )
    if len(edges) != 1:
        raise InputError(f"found {len(edges)} sources of edges, expected one: --edges FILE")
    return Plan(edges[0], columns, relabel=args.relabel)


def _columns(args: argparse.Namespace) -> list[ColumnSource]:
    in_order = args.rows_in_order
    of_nodes = [parse_column(t)._replace(text_has_ids=not in_order) for t in args.column]
    of_edges = [parse_column(t, "--edge-column")._replace(role="edge") for t in args.edge_column]
    splits = [parse_split(text) for text in args.split]
    return [*of_nodes, *of_edges, *splits]


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


def parse_split(text: str) -> ColumnSource:
    """ "train=train.csv"; ids have no type to choose."""
    split = parse_column(text, "--split")
    if split.dtype is not None:
        raise InputError(f"--split {text!r}: found type {split.dtype}, expected NAME=FILE")
    return split._replace(role="ids")


def _print_report(out: str, report: ConversionReport) -> None:
    graph = report.graph
    edges = counted_text(graph.num_edges, "edge")
    print(f"{out}: {counted_text(graph.num_nodes, 'node')}, {edges}")
    if graph.dropped:
        print(f"  dropped {count_text(graph.dropped)} repeated edges")
    for name, column in report.columns.items():
        shape = f"{count_text(column.rows)} x {column.cols}"
        filled = f", {count_text(column.filled)} rows filled" if column.filled else ""
        nans = f", {count_text(column.nans)} NaN replaced" if column.nans else ""
        print(f"  {name}: {shape} {column.dtype}{filled}{nans}")
    for note in report.notes:
        print(f"  note: {note}")
    print(
        f"  read {size_text(report.input_bytes)}, wrote {size_text(report.output_bytes)} in "
        f"{report.seconds:.1f} s{rate_text(report.input_bytes, report.seconds)}"
    )
    _print_skipped(graph.skipped, graph.messages)
    for column in report.columns.values():
        _print_skipped(column.skipped, column.messages)


def _print_skipped(skipped: int, messages: tuple[str, ...]) -> None:
    if skipped:
        print(f"skipped {count_text(skipped)} bad lines, the first:", file=sys.stderr)
    for message in messages:
        print(f"  {message}", file=sys.stderr)
