"""The sources of edges and columns that the arguments of `graphzero convert` name."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero.base.errors import InputError
from graphzero.base.object_store import is_uri
from graphzero.conversion.inputs.locations import Location
from graphzero.conversion.plan import ColumnSource, Plan, Relabel
from graphzero.files.column_types import COLUMN_TYPES, split_type
from graphzero.files.paths import CATEGORIES_SUFFIX, COLUMN_SUFFIX

if TYPE_CHECKING:
    from graphzero.conversion.typed_plan import TypedSource


# Options that are only for datasets without types.
_FLAT_OPTIONS = (
    "edges", "nodes", "column", "edge_column", "columns", "edge_columns", "split", "undirected",
    "direction", "num_nodes", "dedup", "edge_ids", "source", "target", "weight", "relabel",
    "separate_ids", "rows_in_order", "id_column", "nan", "fill", "time_unit",
)  # fmt: skip


def typed_source(args: argparse.Namespace) -> TypedSource | None:
    """The description of tables, or the folder of a dataset with types, that the arguments name;
    None if they name neither."""
    source: TypedSource | None = None
    descriptions = [file for file in args.files if Path(file).suffix == ".toml"]
    folders = [file for file in args.files if Path(file).is_dir()]
    if descriptions:
        from graphzero.conversion.tables.describe import read_description
        from graphzero.conversion.tables.source import TablesSource

        source = TablesSource(read_description(descriptions[0]))
    elif folders:
        from graphzero.conversion.inputs.layouts import typed_folder

        source = typed_folder(folders[0], reverse=not args.no_reverse, time=args.time)
    if args.no_reverse and (source is None or descriptions):
        raise InputError(
            "found --no-reverse, which is for folders of datasets with types; a description of "
            "tables says it itself"
        )
    if args.time and descriptions:
        raise InputError(
            f"{descriptions[0]}: found --time, which a description of tables says itself: "
            f'time = "{args.time}"'
        )
    if source is None:
        return None
    if len(args.files) > 1:
        raise InputError(f"{source.name}: found {args.files[1]} beside it, expected it alone")
    for option in _FLAT_OPTIONS:
        if getattr(args, option):
            raise InputError(
                f"{source.name}: found --{option.replace('_', '-')}, which is for datasets of one "
                "type: this one says itself what it is made of"
            )
    return source


def plan_of(args: argparse.Namespace) -> Plan:
    """Where edges and columns come from: a folder, or the files that the options name."""
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
            "time",
            "time_unit",
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
            continue  # it is read together with its column
        elif Path(file).suffix == ".gd":
            columns.append(ColumnSource(Path(file).stem, file))
        elif not is_uri(file) and not Path(Location.parse(file).path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
        else:
            raise InputError(
                f"{file}: expected a folder, .gl or .gd; text, tables and arrays go to --edges and "
                f"--column; try: graphzero convert --edges {file} --out DIR"
            )
    if len(edges) != 1:
        raise InputError(f"found {len(edges)} sources of edges, expected one: --edges FILE")
    if args.time_unit and not args.time:
        raise InputError("found --time-unit, expected --time COLUMN with it")
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
        time_unit=args.time_unit or "",
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
    """Parses "y=labels.csv:int64". A colon without a type after it is part of the file's name."""
    name, equals, path = text.partition("=")
    if not equals or not path:
        raise InputError(f"{option} {text!r}: expected NAME=FILE or NAME=FILE:TYPE")
    source, asked = split_type(path)
    _, colon, unknown = path.rpartition(":")
    of_uri = is_uri(path) and unknown.startswith("//")
    if asked is None and colon and not of_uri and not Path(Location.parse(path).path).exists():
        raise InputError(
            f"{option} {text!r}: unknown type {unknown!r}, expected one of "
            f"{', '.join(COLUMN_TYPES)}"
        )
    return ColumnSource(name, source, asked)


def parse_columns(text: str, option: str, table: str | None) -> ColumnSource:
    """Parses "x=age,income:float32": columns of a table as one matrix."""
    name, equals, names = text.partition("=")
    if not equals or not names:
        raise InputError(f"{option} {text!r}: expected NAME=COLUMN,COLUMN,... and maybe :TYPE")
    if table is None:
        where = "--nodes FILE" if option == "--columns" else "--edges FILE"
        raise InputError(f"{option} {text!r}: found no table, expected one: {where}")
    columns, asked = split_type(names)
    return ColumnSource(name, table, asked, columns=tuple(columns.split(",")))


def parse_fill(texts: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """Parses ["0", "x=mean"]: the value for all columns, and values of single columns by name."""
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


def parse_ranges(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Parses ["x=-1:1"]: the lowest and the highest value of columns, by name."""
    ranges = {}
    for text in texts:
        name, _, ends = text.partition("=")
        low, _, high = ends.partition(":")
        try:
            ranges[name] = (float(low), float(high))
        except ValueError:
            raise InputError(f"--range {text!r}: expected NAME=LOW:HIGH with two numbers") from None
    return ranges


def parse_split(text: str) -> ColumnSource:
    """Parses "train=train.csv"; a type is an error, because the type of ids cannot be chosen."""
    split = parse_column(text, "--split")
    if split.dtype is not None:
        raise InputError(f"--split {text!r}: found type {split.dtype}, expected NAME=FILE")
    return split._replace(role="ids")
