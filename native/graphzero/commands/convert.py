"""`graphzero convert`: compiles edge lists and columns into a dataset."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from graphzero.base.progress import JobProgress, ShowProgress, no_progress
from graphzero.commands.arguments import add_work_options, count, size
from graphzero.commands.convert_report import print_report
from graphzero.commands.convert_sources import parse_fill, parse_ranges, plan_of, typed_source
from graphzero.conversion.convert import convert
from graphzero.conversion.inputs.names import EdgeNames
from graphzero.conversion.plan import ColumnOptions, WorkOptions, with_fill
from graphzero.files.column_types import FLOAT_TYPES, TIME_UNITS, general_float_type

if TYPE_CHECKING:
    from graphzero.conversion.typed_plan import TypedSource

EPILOG = """\
examples:
  graphzero convert --edges edges.csv.gz --column x=feats.npy --column y=labels.csv:int64 --out DIR
  graphzero convert --edges edges.parquet --column x=nodes.parquet --split train=train.csv --out DIR
  graphzero convert --edges calls.parquet --source caller --target callee --relabel --out DIR
  graphzero convert --edges follows.csv --source who --target whom --relabel --nodes people.csv \\
      --id-column person_id --columns x=age,income,height --columns y=label \\
      --columns "joined=joined_at:date[s]" --columns city=city --fill x=mean --out DIR
  graphzero convert --edges calls.csv --source caller --target callee --time when --out DIR
  graphzero convert flights.toml --out DIR     (tables that refer to each other)
  graphzero convert FOLDER --out DIR    (an export, an OGB or RelBench dataset, .npy files)
  graphzero convert old.gl features.gd --out DIR      (files of GraphZero 0.2)

Edges are lines "source,target" or "source,target,weight", separated by commas, tabs, semicolons or
blanks, a table (Parquet, Arrow, Feather, or a folder of such files), or an array of shape (2, E) or
(E, 2) (.npy, or ARCHIVE.npz#NAME). Columns are lines "node,value,value,...", a table with a column
"id" or one row for each node in order (TABLE#NAME is one of its columns), or an array with a row
for each node. Text may be compressed with gzip or Zstandard; lines that begin with # or % are
comments, and a first line whose first field is not a number is a header (below it, a line of a
table that begins with # or % and has all fields is a row). Text goes by the position of its
columns, unless they are named: by --source, --target, --weight and --time, by --columns for
--nodes, by --edge-columns for --edges, or as FILE#COLUMN,COLUMN.

A TYPE is a type of numbers (float32, int64, bool, ...), q8 for floating values that are stored in
one byte each and read as float32 (q8[float16]: as float16), date[s] for dates and times as whole
seconds since 1970 (or D, ms, us, ns), or category for texts or integers as codes 0, 1, 2, ...
Without one, several columns are float32, one of integers int64, one of texts a category, and dates
of Parquet keep their unit. A missing value becomes NaN, or -1 in a category; elsewhere it is an
error unless --fill gives a value.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    _add_sources(parser)
    parser.add_argument("--out", required=True, metavar="DIR", help="the dataset to create")
    parser.add_argument("--overwrite", action="store_true", help="replace DIR if it is a dataset")
    _add_graph_options(parser.add_argument_group("graph"))
    _add_column_options(parser.add_argument_group("columns"))
    _add_type_options(parser.add_argument_group("folders of datasets with types"))
    _add_work_options(parser.add_argument_group("work"))


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a description of tables (.toml), a folder in a known layout, or a .gl file and .gd "
        "files to rewrite as a dataset",
    )
    parser.add_argument(
        "--edges",
        action="append",
        default=[],
        metavar="FILE",
        help="text, table, a folder of these, array or .gl",
    )
    parser.add_argument(
        "--nodes", metavar="FILE", help="a table of nodes, text or Parquet, for --columns"
    )
    options = {
        "--column": ("FILE[:TYPE]", "values for each node"),
        "--edge-column": (
            "FILE[:TYPE]",
            "values for each edge, in the order of the edges; implies --edge-ids",
        ),
        "--columns": ("COLUMN,COLUMN...[:TYPE]", "columns of --nodes as one matrix"),
        "--edge-columns": ("COLUMN,COLUMN...[:TYPE]", "the same, of the table of edges"),
    }
    for option, (source, what) in options.items():
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar=f"NAME={source}",
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
        "--dedup",
        action="store_true",
        help="keep the first of the edges between two nodes (with --time, of those at a time)",
    )
    graph.add_argument(
        "--edge-ids", action="store_true", help="store the input row number of each edge"
    )
    graph.add_argument(
        "--order",
        choices=["degree", "community", "none"],
        default="none",
        help="community: place nodes that batches read together next to each other; degree: place "
        "the most frequent neighbours first; previous ids are kept as original ids (default none)",
    )
    named = "a column of the table, or a name in the first line of the text"
    graph.add_argument("--source", metavar="COLUMN", help=f"ids of sources: {named}")
    graph.add_argument("--target", metavar="COLUMN", help=f"ids of targets: {named}")
    graph.add_argument(
        "--weight",
        metavar="COLUMN",
        help=f"weights of edges: {named} (default weight, if there is one)",
    )
    graph.add_argument(
        "--time",
        metavar="COLUMN",
        help=f"times of edges, integers or dates, for samples by time: {named}; implies "
        "--edge-ids. Of a folder in OGB's layout with types: the times of nodes, such as node_year",
    )
    graph.add_argument(
        "--time-unit",
        choices=TIME_UNITS,
        help="what the integers of --time count since 1970, and what dates are rounded down to "
        "(default: the unit of the dates; of text, seconds)",
    )
    graph.add_argument(
        "--relabel",
        nargs="?",
        choices=["auto", "integer", "text"],
        const="auto",
        metavar="KIND",
        help="ids are any integers or texts: number the nodes 0 to N - 1 in the order of their ids "
        "and store the original ids (KIND auto, integer or text)",
    )
    graph.add_argument(
        "--separate-ids",
        action="store_true",
        help="sources and targets are different things, such as users and items, also where their "
        "ids are equal: original ids become user:7 and item:7, and in other tables the name of the "
        "id column says which side is meant; implies --relabel",
    )


def _add_type_options(types: argparse._ArgumentGroup) -> None:
    types.add_argument(
        "--no-reverse",
        action="store_true",
        help="add no reverse relations, and leave relations within one type directed",
    )


def _add_column_options(columns: argparse._ArgumentGroup) -> None:
    columns.add_argument(
        "--dtype",
        choices=(*FLOAT_TYPES, "int8"),
        metavar="TYPE",
        help="type of floating columns without a TYPE of their own: "
        f"{', '.join(FLOAT_TYPES)}. q8 (or int8) stores features in one byte each, which are "
        "float32 when they are read (float16 with q8[float16])",
    )
    columns.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="of a column of type q8: its lowest and highest value, instead of those that are "
        "found; values outside become the nearest of the two; may be repeated",
    )
    columns.add_argument(
        "--rows-in-order",
        action="store_true",
        help="lines of text columns have no node id: line i is of node i",
    )
    columns.add_argument(
        "--row-align", type=size, metavar="BYTES", help="pad rows to a multiple of this"
    )
    columns.add_argument(
        "--id-column",
        metavar="COLUMN",
        help="the column with node ids in tables (default id, node_id, ...; in text the first)",
    )
    columns.add_argument("--nan", metavar="VALUE", help="what NaN becomes in an integer column")
    columns.add_argument(
        "--fill",
        action="append",
        default=[],
        metavar="[NAME=]VALUE",
        help="value for nodes without a row; with NAME, value for everything that is missing in "
        "that column: a number, date or category, or mean; may be repeated",
    )
    columns.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that counts as a missing value in text files and in texts of tables, as an "
        "empty field does (and NA, NaN, NULL among numbers and dates of text); may be repeated",
    )


def _add_work_options(work: argparse._ArgumentGroup) -> None:
    work.add_argument(
        "--on-error",
        choices=["stop", "skip"],
        default="stop",
        help="what to do about a bad line of text (default stop)",
    )
    add_work_options(work)


def run(args: argparse.Namespace) -> int:
    show_progress: ShowProgress = no_progress if args.quiet else JobProgress
    if (typed := typed_source(args)) is not None:
        return _run_typed(args, typed, show_progress)
    fill, fill_of = parse_fill(args.fill)
    plan = plan_of(args)
    plan = plan._replace(columns=with_fill(plan.columns, fill_of))
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
        column_options=_column_options(args)._replace(nan=args.nan, fill=fill),
        work=WorkOptions(
            args.memory, args.threads, args.on_error, args.overwrite, missing=tuple(args.missing)
        ),
        edge_names=EdgeNames(args.source, args.target, args.weight, args.time),
        order=args.order,
        show_progress=show_progress,
    )
    if not args.quiet:
        print_report(args.out, report)
    return 0


def _column_options(args: argparse.Namespace) -> ColumnOptions:
    dtype = None if args.dtype is None else general_float_type(args.dtype)
    return ColumnOptions(args.row_align, dtype=dtype, ranges=parse_ranges(args.range))


def _run_typed(args: argparse.Namespace, source: TypedSource, show_progress: ShowProgress) -> int:
    from graphzero.commands.convert_typed_report import print_typed_report
    from graphzero.conversion.convert_typed import convert_typed

    report = convert_typed(
        source,
        args.out,
        column_options=_column_options(args),
        work=WorkOptions(
            args.memory, args.threads, args.on_error, args.overwrite, missing=tuple(args.missing)
        ),
        order=args.order,
        show_progress=show_progress,
    )
    if not args.quiet:
        print_typed_report(args.out, report)
    return 0
