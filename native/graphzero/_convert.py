"""A dataset from files, folders and objects: what `graphzero convert` does, step by step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from graphzero._columns import check_column_name
from graphzero._compile_graph import GraphOptions, GraphReport, Report, compile_edges
from graphzero._errors import InputError
from graphzero._files import COLUMN_SUFFIX, GRAPH_FILE, ORIGINAL_IDS
from graphzero._inputs.locations import Location, stored_bytes
from graphzero._publish import StrPath, new_dataset
from graphzero._resources import make_resources

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero._compile_column import ColumnReport, Number
    from graphzero._inputs.edges import EdgeNames
    from graphzero._inputs.relabel import Relabelling
    from graphzero._inputs.streams import EdgeStream, RowStream

# Shows the progress of one file: called with what it is, gives a context whose value takes reports.
ShowProgress = Callable[[str], AbstractContextManager[Report | None]]
Role = Literal["node", "edge", "ids"]
# "auto": texts if the edges have texts where their ids are, else integers.
Relabel = Literal["auto", "integer", "text"]


class ColumnSource(NamedTuple):
    """A column to compile: its name, where its values are, and how to store them."""

    name: str
    source: str | RowStream  # a file, or rows
    dtype: str | None = None
    role: Role = "node"
    nan: Number | None = None  # instead of that of all columns
    text_has_ids: bool = True  # of text: lines begin with an id; else line i is row i


class ColumnOptions(NamedTuple):
    """What holds for every column. Field for field the options of `graphzero convert`."""

    row_align: int | None = None
    nan: Number | None = None
    fill: Number | None = None
    dtype: str | None = None  # of floating columns that do not say themselves


class Work(NamedTuple):
    """How to go about it. Does not change the result, except for on_error."""

    memory: int | None = None
    threads: int | None = None
    on_error: str = "stop"
    overwrite: bool = False


class ConversionReport(NamedTuple):
    """What became of each source."""

    graph: GraphReport
    columns: dict[str, ColumnReport]
    input_bytes: int
    output_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()  # what was left out, and why


class Plan(NamedTuple):
    """What a folder or an object has to convert."""

    edges: StrPath | EdgeStream
    columns: list[ColumnSource]
    num_nodes: int | None = None  # if it says so itself
    original_ids: RowStream | None = None
    notes: tuple[str, ...] = ()  # what is left out, and why


def no_progress(label: str) -> nullcontext[None]:
    return nullcontext()


def convert(
    edges: StrPath | EdgeStream,
    columns: Sequence[ColumnSource],
    out: StrPath,
    *,
    graph_options: GraphOptions,
    column_options: ColumnOptions,
    work: Work,
    edge_names: EdgeNames | None = None,
    relabel: Relabel | None = None,
    original_ids: RowStream | None = None,
    show_progress: ShowProgress = no_progress,
    input_bytes: int | None = None,
    notes: Sequence[str] = (),
) -> ConversionReport:
    """Compiles everything into a new directory, which becomes `out` when all of it is complete.

    `original_ids` are stored as they are; they ascend. `input_bytes` is for sources that are no
    files of their own; `notes` go into the report.
    """
    started = time.monotonic()
    _check_columns(columns)
    graph_options = _with_edge_ids(graph_options, columns)
    if input_bytes is None:
        input_bytes = _size_of_sources(edges, columns)  # also: they all exist
    with new_dataset(out, overwrite=work.overwrite) as directory:
        resources = make_resources(work.memory, work.threads, directory.parent)
        if relabel is not None:
            edges, columns, graph_options = _relabelled(
                edges, columns, graph_options, directory, resources, edge_names, relabel,
                show_progress,
            )  # fmt: skip
        with show_progress(_label(edges)) as report:
            graph = compile_edges(
                edges,
                directory / GRAPH_FILE,
                graph_options,
                resources,
                names=edge_names,
                skip_errors=work.on_error == "skip",
                report=report,
            )
        if original_ids is not None:
            ids = ColumnSource(ORIGINAL_IDS, original_ids)
            _compile(ids, directory, graph, ColumnOptions(), work, resources, show_progress)
        reports = {
            column.name: _compile(
                column, directory, graph, column_options, work, resources, show_progress
            )
            for column in columns
        }
        output_bytes = sum(file.stat().st_size for file in directory.iterdir())
    seconds = time.monotonic() - started
    return ConversionReport(graph, reports, input_bytes, output_bytes, seconds, tuple(notes))


def _compile(
    column: ColumnSource,
    directory: Path,
    graph: GraphReport,
    options: ColumnOptions,
    work: Work,
    resources: _engine.Resources,
    show_progress: ShowProgress,
) -> ColumnReport:
    from graphzero._compile_column import compile_column

    out_file = str(directory / f"{column.name}{COLUMN_SUFFIX}")
    is_split = column.role == "ids"
    with show_progress(_label(column.source)) as report:
        result = compile_column(
            column.source,
            out_file,
            num_nodes=_rows_of(column, graph),
            dtype="int64" if is_split else column.dtype,
            float_dtype=options.dtype,
            role=column.role,
            row_align=options.row_align,
            nan=options.nan if column.nan is None else column.nan,
            fill=None if is_split else options.fill,
            on_error=work.on_error,
            text_has_ids=column.text_has_ids and column.role == "node",
            memory=resources.memory,
            threads=resources.threads,
            temp_dir=resources.temp_dir,
            report=report,
        )
    if is_split:
        _check_split(column, out_file, graph.num_nodes)
    return result


def _rows_of(column: ColumnSource, graph: GraphReport) -> int | None:
    """How many rows the column's file must have; None: as many as there are."""
    if column.role == "node":
        return graph.num_nodes
    return graph.input_rows if column.role == "edge" else None


def _check_split(column: ColumnSource, file: str, num_nodes: int) -> None:
    """The list is short beside the graph, so it is looked at once more instead of on the way."""
    from graphzero._features import FeatureStore
    from graphzero._matrix_arrays import pieces_of

    row = 0
    for ids in pieces_of(FeatureStore(file).get_tensor()):
        if ids.size and int(ids.max()) >= num_nodes:
            bad = int((ids >= num_nodes).argmax())
            raise InputError(
                f"{_label(column.source)} row {row + bad}: found node id {ids[bad]}, expected 0 to "
                f"{num_nodes - 1}"
            )
        row += len(ids)


def _relabelled(
    edges: StrPath | EdgeStream,
    columns: Sequence[ColumnSource],
    graph_options: GraphOptions,
    directory: Path,
    resources: _engine.Resources,
    names: EdgeNames | None,
    relabel: Relabel,
    show_progress: ShowProgress,
) -> tuple[EdgeStream, list[ColumnSource], GraphOptions]:
    """Everything with new ids, and the file of the original ones."""
    from graphzero._inputs.edges import EdgeNames, stream_edges
    from graphzero._inputs.relabel import write_original_ids

    if graph_options.num_nodes is not None:
        raise InputError("--num-nodes and --relabel exclude each other: the ids tell the number")
    if isinstance(edges, str | os.PathLike):
        if Path(edges).suffix == ".gl":
            raise InputError(f"{edges}: its ids are 0 to N - 1 already; leave --relabel out")
        edges = stream_edges(os.fspath(edges), names or EdgeNames(), texts=relabel == "text")
    if relabel == "integer" and edges.texts:
        raise InputError(f"{edges.name}: found texts as ids, expected integers (--relabel integer)")
    streams = {
        column.name: _stream_with_ids(column, edges.texts)
        for column in columns
        if column.role != "edge"
    }
    of_nodes = [streams[column.name] for column in columns if column.role == "node"]
    with show_progress(edges.name) as report:
        ids_file = directory / f"{ORIGINAL_IDS}{COLUMN_SUFFIX}"
        mapping = write_original_ids(ids_file, edges, of_nodes, resources, report)
    mapped = [_with_new_ids(column, streams, mapping) for column in columns]
    return mapping.edges(edges), mapped, graph_options._replace(num_nodes=mapping.num_nodes)


def _with_new_ids(
    column: ColumnSource, streams: dict[str, RowStream], mapping: Relabelling
) -> ColumnSource:
    if column.role == "edge":
        return column
    return column._replace(source=mapping.rows(streams[column.name]))


def _stream_with_ids(column: ColumnSource, texts: bool) -> RowStream:
    from graphzero._inputs.locations import has_stream
    from graphzero._inputs.rows import split_with_ids, stream_rows, text_rows

    stream = column.source
    if isinstance(stream, str):
        if has_stream(stream):
            stream = stream_rows(stream, role=column.role, nan=column.nan)
        else:
            stream = text_rows(stream, role=column.role, texts=texts, nan=column.nan)
    return split_with_ids(stream) if column.role == "ids" else stream


def _with_edge_ids(options: GraphOptions, columns: Sequence[ColumnSource]) -> GraphOptions:
    """Columns per edge are found by edge ids, so these must be there."""
    if any(column.role == "edge" for column in columns):
        return options._replace(edge_ids=True)
    return options


def _size_of_sources(edges: StrPath | EdgeStream, columns: Sequence[ColumnSource]) -> int:
    sources = [edges, *(column.source for column in columns)]
    paths = {
        Location.parse(os.fspath(source)).path
        for source in sources
        if isinstance(source, str | os.PathLike)
    }
    return sum(stored_bytes(path) for path in paths)


def _label(source: StrPath | EdgeStream | RowStream) -> str:
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else source.name
    return Path(name).name


def _check_columns(columns: Sequence[ColumnSource]) -> None:
    seen = set()
    for column in columns:
        check_column_name(column.name, column.role)
        if column.name in seen:
            raise InputError(f"column {column.name!r}: given twice")
        seen.add(column.name)
