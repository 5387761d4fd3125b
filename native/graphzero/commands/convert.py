"""`graphzero convert`: compiles edge lists and columns into a dataset."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero.base.errors import InputError
from graphzero.base.progress import JobProgress, ShowProgress, no_progress
from graphzero.base.text import count_text, counted_text, rate_text, size_text
from graphzero.commands.arguments import count, size
from graphzero.conversion.convert import ConversionReport, convert
from graphzero.conversion.inputs.locations import Location
from graphzero.conversion.inputs.names import EdgeNames
from graphzero.conversion.plan import ColumnOptions, ColumnSource, Plan, Relabel, Work, with_fill
from graphzero.files.column_types import COLUMN_TYPES, split_type
from graphzero.files.matrix_types import FLOAT_DTYPES
from graphzero.files.paths import CATEGORIES_SUFFIX, COLUMN_SUFFIX

if TYPE_CHECKING:
    from graphzero.conversion.compile_column import ColumnReport

EPILOG = """\
examples:
  graphzero convert --edges edges.csv.gz --column x=feats.npy --column y=labels.csv:int64 --out DIR
  graphzero convert --edges edges.parquet --column x=nodes.parquet --split train=train.csv --out DIR
  graphzero convert --edges calls.parquet --source caller --target callee --relabel --out DIR
  graphzero convert --edges follows.csv --source who --target whom --relabel --nodes people.csv \\
      --id-column person_id --columns x=age,income,height --columns y=label \\
      --columns "joined=joined_at:date[s]" --columns city=city --fill x=mean --out DIR
  graphzero convert FOLDER --out DIR    (an export, an OGB dataset, or a folder of .npy files)
  graphzero convert old.gl features.gd --out DIR      (files of GraphZero 0.2)

Edges are lines "source,target" or "source,target,weight", separated by commas, tabs, semicolons or
blanks, a table (Parquet, Arrow, Feather, or a folder of such files), or an array of shape (2, E) or
(E, 2) (.npy, or ARCHIVE.npz#NAME). Columns are lines "node,value,value,...", a table with a column
"id" or one row for each node in order (TABLE#NAME is one of its columns), or an array with a row
for each node. Text may be compressed with gzip or Zstandard; lines that begin with # or % are
comments, and a first line whose first field is not a number is a header. Text goes by the position
of its columns, unless they are named: by --source, --target and --weight, by --columns of --nodes,
by --edge-columns of --edges, or as FILE#COLUMN,COLUMN.

A TYPE is a type of numbers (float32, int64, bool, ...), date[s] for dates and times as whole
seconds since 1970 (or D, ms, us, ns), or category for texts or integers as codes 0, 1, 2, ...
Without one, several columns are float32, one of integers int64, one of texts a category, and dates
of Parquet keep their unit. What is missing is NaN, -1 in a category, and else an error unless
--fill says what to put there.
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
    graph.add_argument(
        "--separate-ids",
        action="store_true",
        help="sources and targets are different things, such as users and items, also where their "
        "ids are equal: original ids become user:7 and item:7, and other tables tell the side by "
        "the name of their ids; implies --relabel",
    )


def _add_column_options(columns: argparse._ArgumentGroup) -> None:
    columns.add_argument(
        "--dtype",
        choices=FLOAT_DTYPES,
        help="of columns of floating values that have no TYPE of their own",
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
        help="of tables of columns: the ids of nodes (default id, node_id, ...; of text the first)",
    )
    columns.add_argument("--nan", metavar="VALUE", help="what NaN becomes in an integer column")
    columns.add_argument(
        "--fill",
        action="append",
        default=[],
        metavar="[NAME=]VALUE",
        help="what nodes without a row get; with NAME, what takes the place of everything that is "
        "missing in that column: a number, date or category, or mean; may be repeated",
    )
    columns.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="TEXT",
        help="stands for a missing value in every column of text, as an empty field does (and NA, "
        "NaN, NULL among numbers and dates); may be repeated",
    )


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
    fill, fill_of = parse_fill(args.fill)
    plan = _plan(args)
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
        column_options=ColumnOptions(args.row_align, args.nan, fill, args.dtype),
        work=Work(
            args.memory, args.threads, args.on_error, args.overwrite, missing=tuple(args.missing)
        ),
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
        from graphzero.conversion.inputs.layouts import plan_folder

        plan = plan_folder(folders[0])
        for option in (
            "relabel",
            "source",
            "target",
            "weight",
            "nodes",
            "edge_columns",
            "separate_ids",
        ):
            if getattr(args, option):
                raise InputError(
                    f"{folders[0]}: found --{option.replace('_', '-')}, which is for files that "
                    "--edges names: a folder in a known layout says itself what its edges are"
                )
        return plan._replace(columns=[*plan.columns, *_columns(args, [])])
    edges = list(args.edges)
    columns = _columns(args, edges)
    for file in args.files:
        if Path(file).suffix == ".gl":
            edges.append(file)
        elif _is_dictionary(file, args.files):
            continue  # comes along with its column
        elif Path(file).suffix == ".gd":
            columns.append(ColumnSource(Path(file).stem, file))
        else:
            raise InputError(
                f"{file}: expected a folder, .gl or .gd; text, tables and arrays go to --edges and "
                "--column"
            )
    if len(edges) != 1:
        raise InputError(f"found {len(edges)} sources of edges, expected one: --edges FILE")
    relabel: Relabel | None = args.relabel
    if args.separate_ids and relabel is None:
        relabel = "auto"
    return Plan(
        edges[0],
        columns,
        relabel=relabel,
        nodes=args.nodes,
        id_column=args.id_column,
        separate_ids=args.separate_ids,
    )


def _is_dictionary(file: str, files: Sequence[str]) -> bool:
    """Whether a file has the categories of another one."""
    end = f"{CATEGORIES_SUFFIX}{COLUMN_SUFFIX}"
    return file.endswith(end) and f"{file.removesuffix(end)}{COLUMN_SUFFIX}" in files


def _columns(args: argparse.Namespace, edges: list[str]) -> list[ColumnSource]:
    of_files = [parse_column(text) for text in args.column]
    of_nodes = [parse_columns(text, "--columns", args.nodes) for text in args.columns]
    nodes = [
        column._replace(text_has_ids=not args.rows_in_order, id_column=args.id_column)
        for column in (*of_files, *of_nodes)
    ]
    table = edges[0] if edges else None
    of_edges = [parse_column(text, "--edge-column") for text in args.edge_column]
    of_edges += [parse_columns(text, "--edge-columns", table) for text in args.edge_columns]
    splits = [parse_split(text)._replace(id_column=args.id_column) for text in args.split]
    return [*nodes, *(column._replace(role="edge") for column in of_edges), *splits]


def parse_column(text: str, option: str = "--column") -> ColumnSource:
    """ "y=labels.csv:int64"; a colon that no type follows is part of the file's name."""
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise InputError(f"{option} {text!r}: expected NAME=FILE or NAME=FILE:TYPE")
    source, asked = split_type(path)
    _, colon, unknown = path.rpartition(":")
    if asked is None and colon and not Path(Location.parse(path).path).exists():
        raise InputError(
            f"{option} {text!r}: unknown type {unknown!r}, expected one of "
            f"{', '.join(COLUMN_TYPES)}"
        )
    return ColumnSource(name, source, asked)


def parse_columns(text: str, option: str, table: str | None) -> ColumnSource:
    """ "x=age,income:float32": columns of a table as one matrix."""
    name, equals, names = text.partition("=")
    if not equals or not names:
        raise InputError(f"{option} {text!r}: expected NAME=COLUMN,COLUMN,... and maybe :TYPE")
    if table is None:
        where = "--nodes FILE" if option == "--columns" else "--edges FILE"
        raise InputError(f"{option} {text!r}: found no table, expected one: {where}")
    columns, asked = split_type(names)
    return ColumnSource(name, table, asked, columns=tuple(columns.split(",")))


def parse_fill(texts: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The value for all columns, and those of single ones: ["0", "x=mean"]."""
    general: str | None = None
    own = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            general = text
        elif value:
            own[name] = value
        else:
            raise InputError(f"--fill {text!r}: expected VALUE or NAME=VALUE")
    return general, own


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
        print(f"  {name}: {_column_text(column)}")
    for note in report.notes:
        print(f"  note: {note}")
    print(
        f"  read {size_text(report.input_bytes)}, wrote {size_text(report.output_bytes)} in "
        f"{report.seconds:.1f} s{rate_text(report.input_bytes, report.seconds)}"
    )
    _print_skipped(graph.skipped, graph.messages)
    for column in report.columns.values():
        _print_skipped(column.skipped, column.messages)


def _column_text(column: ColumnReport) -> str:
    """One line about a column."""
    parts = [f"{count_text(column.rows)} x {column.cols} {column.dtype}"]
    if column.categories is not None:
        parts.append(f"{count_text(column.categories)} categories")
    for word in column.words_for_nothing:
        parts.append(f"{word!r} among them (--missing {word} takes it for none)")
    if column.unit is not None:
        parts.append(f"dates in {column.unit}")
    if column.unit is not None and column.times is not None:
        first, last = (_time_text(time, column.unit) for time in column.times)
        parts[-1] += f" from {first} to {last}"
    if column.rounded_times:
        parts.append(f"{count_text(column.rounded_times)} of them rounded down to that")
    if column.filled:
        parts.append(f"{count_text(column.filled)} rows filled")
    if column.missing:
        parts.append(_missing_text(column))
    if column.rounded_integers:
        parts.append(
            f"{count_text(column.rounded_integers)} integers rounded (type float64 holds them up "
            "to 2^53)"
        )
    return ", ".join(parts)


def _missing_text(column: ColumnReport) -> str:
    became = "-1" if column.categories is not None else "NaN"
    named = [f"{count_text(n)} in {name!r}" for name, n in column.missing.items() if name]
    total = count_text(sum(column.missing.values()))
    return f"missing {', '.join(named) or total} ({'replaced' if column.nans else became})"


def _time_text(time: int, unit: str) -> str:
    import numpy as np

    return str(np.array(time, f"datetime64[{unit}]"))


def _print_skipped(skipped: int, messages: tuple[str, ...]) -> None:
    if skipped:
        print(f"skipped {count_text(skipped)} bad lines, the first:", file=sys.stderr)
    for message in messages:
        print(f"  {message}", file=sys.stderr)
