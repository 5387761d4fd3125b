"""A dataset from files, folders and objects: what `graphzero convert` does, step by step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphzero._columns import check_column_name
from graphzero._compile_graph import GraphOptions, GraphReport, Report, compile_edges
from graphzero._errors import InputError
from graphzero._files import COLUMN_SUFFIX, GRAPH_FILE, ORIGINAL_IDS
from graphzero._inputs.locations import Location, stored_bytes
from graphzero._matrix_types import FLOAT_DTYPES
from graphzero._plan import ColumnOptions, ColumnSource, Plan, Work
from graphzero._publish import StrPath, new_dataset
from graphzero._resources import make_resources

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero._compile_column import ColumnReport
    from graphzero._inputs.names import EdgeNames
    from graphzero._inputs.streams import EdgeStream, RowStream
    from graphzero._inputs.texts import TextInput

# Shows the progress of one file: called with what it is, gives a context whose value takes reports.
ShowProgress = Callable[[str], AbstractContextManager[Report | None]]


class ConversionReport(NamedTuple):
    """What became of each source."""

    graph: GraphReport
    columns: dict[str, ColumnReport]
    input_bytes: int
    output_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()  # what was left out, and why


def no_progress(label: str) -> nullcontext[None]:
    return nullcontext()


def convert(
    plan: Plan,
    out: StrPath,
    *,
    graph_options: GraphOptions,
    column_options: ColumnOptions,
    work: Work,
    edge_names: EdgeNames | None = None,
    show_progress: ShowProgress = no_progress,
) -> ConversionReport:
    """Compiles everything into a new directory, which becomes `out` when all of it is complete.

    Of the plan, `graph_options` are what counts for the graph.
    """
    started = time.monotonic()
    edges: StrPath | TextInput | EdgeStream = plan.edges
    columns, notes = plan.columns, plan.notes
    _check_columns(columns)
    _check_dtype(column_options.dtype)
    _check_skipping(plan, work, edge_names)
    graph_options = _with_edge_ids(graph_options, columns)
    input_bytes = _size_of_sources(plan)
    with new_dataset(out, overwrite=work.overwrite) as directory:
        resources = make_resources(work.memory, work.threads, directory.parent)
        if plan.relabel is not None:
            from graphzero._convert_relabelled import with_new_ids

            with show_progress(_label(edges)) as report:
                relabelled = with_new_ids(
                    plan, graph_options, column_options, directory, resources, edge_names, report
                )
            edges, columns = relabelled.edges, relabelled.columns
            notes += relabelled.notes
            graph_options = graph_options._replace(num_nodes=relabelled.num_nodes)
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
        if plan.original_ids is not None:
            ids = ColumnSource(ORIGINAL_IDS, plan.original_ids)
            _compile(ids, directory, graph, ColumnOptions(), work, resources, show_progress)
        reports = {
            column.name: _compile(
                column, directory, graph, column_options, work, resources, show_progress
            )
            for column in columns
        }
        output_bytes = sum(file.stat().st_size for file in directory.iterdir())
    seconds = time.monotonic() - started
    notes += _note_on_weights(edges, graph)
    return ConversionReport(graph, reports, input_bytes, output_bytes, seconds, notes)


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

    column = column.with_general(options)
    out_file = str(directory / f"{column.name}{COLUMN_SUFFIX}")
    is_split = column.role == "ids"
    with show_progress(_label(column.source)) as report:
        result = compile_column(
            column.source,
            out_file,
            num_nodes=_rows_of(column, graph),
            split_nodes=graph.num_nodes,
            dtype="int64" if is_split else column.dtype,
            float_dtype=options.dtype,
            role=column.role,
            row_align=column.row_align,
            nan=column.nan,
            fill=None if is_split else column.fill,
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
    from graphzero._features import FeatureStore, rows_in_order

    row = 0
    split = FeatureStore(file)
    largest = max((int(ids.max()) for ids in rows_in_order(split)), default=0)
    if split.num_nodes == num_nodes > 2 and largest <= 1:
        raise InputError(
            f"{_label(column.source)}: found only 0 and 1 in {num_nodes} rows, as many as there "
            "are nodes, expected node ids; a mask has bool values (in .npy, .npz or Parquet)"
        )
    if largest < num_nodes:
        return
    for ids in rows_in_order(split):
        if int(ids.max()) >= num_nodes:
            bad = int((ids >= num_nodes).argmax())
            raise InputError(
                f"{_label(column.source)} row {row + bad}: found node id {ids[bad]}, expected 0 to "
                f"{num_nodes - 1}"
            )
        row += len(ids)


def _check_skipping(plan: Plan, work: Work, names: EdgeNames | None) -> None:
    """Lines of text can be skipped, if nothing else was done with them before."""
    if work.on_error != "skip":
        return
    if plan.relabel is not None or (names is not None and names.given):
        raise InputError(
            "--on-error skip does not go with --relabel, --source, --target or --weight: a line "
            "that is skipped would leave its ids behind"
        )
    sources = [plan.edges, *(column.source for column in plan.columns)]
    if not any(_is_text(source) for source in sources):
        raise InputError(
            f"{_label(plan.edges)}: found --on-error skip without any text, expected lines that "
            "can be skipped; rows of tables and arrays cannot"
        )


def _is_text(source: StrPath | TextInput | EdgeStream | RowStream) -> bool:
    from graphzero._inputs.locations import has_stream

    if not isinstance(source, str | os.PathLike):
        return False
    name = os.fspath(source)
    return not has_stream(name) and Path(name).suffix not in (".gl", COLUMN_SUFFIX)


def _note_on_weights(
    edges: StrPath | TextInput | EdgeStream, graph: GraphReport
) -> tuple[str, ...]:
    if graph.weight_name is None:
        return ()
    return (f"{_label(edges)}: its third column, {graph.weight_name!r}, is the weight of edges",)


def _with_edge_ids(options: GraphOptions, columns: Sequence[ColumnSource]) -> GraphOptions:
    """Columns per edge are found by edge ids, so these must be there."""
    if any(column.role == "edge" for column in columns):
        return options._replace(edge_ids=True)
    return options


def _size_of_sources(plan: Plan) -> int:
    """Raises OSError for a file that is not there."""
    sources = [plan.edges, *(column.source for column in plan.columns)]
    paths = {
        Location.parse(os.fspath(source)).path
        for source in sources
        if isinstance(source, str | os.PathLike)
    }
    streams = [source for source in sources if not isinstance(source, str | os.PathLike)]
    return sum(map(stored_bytes, paths)) + sum(stream.stored_bytes for stream in streams)


def _label(source: StrPath | TextInput | EdgeStream | RowStream) -> str:
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else source.name
    return Path(name).name


def _check_dtype(dtype: str | None) -> None:
    if dtype is not None and dtype not in FLOAT_DTYPES:
        raise ValueError(
            f"dtype: found {dtype!r}, expected one of {', '.join(FLOAT_DTYPES)}: it is for columns "
            "of floating values"
        )


def _check_columns(columns: Sequence[ColumnSource]) -> None:
    seen = set()
    for column in columns:
        check_column_name(column.name, column.role)
        if column.name in seen:
            raise InputError(f"column {column.name!r}: given twice")
        seen.add(column.name)
