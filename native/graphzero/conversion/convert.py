"""A dataset from files, folders and objects: what `graphzero convert` does, step by step."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphzero.base.errors import InputError
from graphzero.base.progress import ShowProgress, no_progress
from graphzero.base.resources import make_resources
from graphzero.conversion.column_step import ColumnStep, index_original_ids, source_label
from graphzero.conversion.compile_graph import GraphOptions, GraphReport, compile_edges
from graphzero.conversion.inputs.locations import Location, stored_bytes
from graphzero.conversion.ordering import ConvertOrder, OrderReport, in_order
from graphzero.conversion.plan import ColumnOptions, ColumnSource, Plan, WorkOptions
from graphzero.files.column_names import check_column_name
from graphzero.files.paths import CATEGORIES_SUFFIX, COLUMN_SUFFIX, GRAPH_FILE, ORIGINAL_IDS
from graphzero.files.publish import StrPath, new_dataset

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero.conversion.compile_column import ColumnReport
    from graphzero.conversion.inputs.names import EdgeNames
    from graphzero.conversion.inputs.streams import EdgeStream, RowStream
    from graphzero.conversion.inputs.tables import Wanted
    from graphzero.conversion.times_file import TimesFile


class ConversionReport(NamedTuple):
    """What became of each source."""

    graph: GraphReport
    columns: dict[str, ColumnReport]
    input_bytes: int
    output_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()  # what was left out, and why
    order: OrderReport | None = None  # if an order of the nodes was asked for


def convert(
    plan: Plan,
    out: StrPath,
    *,
    graph_options: GraphOptions,
    column_options: ColumnOptions,
    work: WorkOptions,
    edge_names: EdgeNames | None = None,
    order: ConvertOrder = "none",
    show_progress: ShowProgress = no_progress,
) -> ConversionReport:
    """Compiles everything into a new directory, which becomes `out` when all of it is complete.

    `graph_options` say how the graph is stored. Plan.graph_options() makes them from the plan and
    the user's options; of the plan's own fields about storage, only time_unit is read again.
    """
    started = time.monotonic()
    edges: StrPath | EdgeStream = plan.edges
    columns, notes = plan.columns, plan.notes
    _check_columns(columns)
    column_options.check_ranges(column.name for column in columns)
    _check_skipping(plan, work)
    _check_nodes(plan)
    graph_options = _with_edge_ids(graph_options, columns, edge_names)
    if plan.time_unit:
        graph_options = graph_options._replace(time_unit=plan.time_unit)
    sizes = _sizes_of_files(plan)
    with (
        new_dataset(out, overwrite=work.overwrite) as final,
        in_order(final, order, work, show_progress) as ordering,
    ):
        directory = ordering.directory
        resources = make_resources(work.memory, work.threads, final.parent)
        step = _Step(directory, work, resources, column_options, graph_options, show_progress)
        step.check_names(columns)
        checked = step.read_with_edges(plan)
        node_times = plan.node_times
        if plan.relabel is not None:
            from graphzero.conversion.convert_relabelled import with_new_ids

            with show_progress(source_label(edges)) as report:
                relabelled = with_new_ids(
                    plan,
                    graph_options,
                    column_options,
                    directory,
                    resources,
                    edge_names,
                    step.reading,
                    checked,
                    report,
                )
            edges, columns = relabelled.edges, relabelled.columns
            notes += relabelled.notes
            step.name_node = relabelled.name_node
            node_times = relabelled.node_times
            graph_options = graph_options._replace(num_nodes=relabelled.num_nodes)
        times = _times_file(node_times, graph_options, resources, show_progress)
        if times is not None:
            graph_options = graph_options._replace(node_times=times.times)
        with show_progress(source_label(edges)) as report:
            graph = compile_edges(
                edges,
                directory / GRAPH_FILE,
                graph_options,
                resources,
                names=edge_names,
                skip_errors=work.on_error == "skip",
                missing=work.missing,
                checked=checked,
                report=report,
            )
        if plan.original_ids is not None:
            about = plan.original_ids_description
            ids = ColumnSource(ORIGINAL_IDS, plan.original_ids, description=about)
            step.compile(ids, graph)
            index_original_ids(directory, resources)
        reports = {column.name: step.compile(column, graph) for column in columns}
        notes += _note_on_gaps(plan, graph_options, directory / GRAPH_FILE)
        _check_sizes(plan, sizes)
        ordered = ordering.run()
        output_bytes = sum(file.stat().st_size for file in final.iterdir())
    seconds = time.monotonic() - started
    notes += _notes_on_guesses(edges, graph)
    input_bytes = sum(sizes.values()) + _size_of_streams(plan)
    return ConversionReport(graph, reports, input_bytes, output_bytes, seconds, notes, ordered)


def _times_file(
    times: RowStream | None,
    options: GraphOptions,
    resources: _engine.Resources,
    show_progress: ShowProgress,
) -> TimesFile | None:
    if times is None:
        return None
    from graphzero.conversion.times_file import TimesFile

    assert options.num_nodes is not None
    return TimesFile(times, options.num_nodes, resources, show_progress)


class _Step:
    """Compiles the columns of a conversion, and knows which were already read with the edges."""

    def __init__(
        self,
        directory: Path,
        work: WorkOptions,
        resources: _engine.Resources,
        options: ColumnOptions,
        graph_options: GraphOptions,
        show_progress: ShowProgress,
    ) -> None:
        from graphzero.conversion.inputs.options import ReadOptions

        self._columns = ColumnStep(directory, work, resources, options, show_progress)
        self._work = work
        self._options = options
        self.reading = ReadOptions(
            work.missing,
            work.on_error == "skip",
            resources.threads,
            time_unit=graph_options.stated_unit,
        )
        self.name_node: Callable[[int], str] | None = None
        self._with_edges: set[str] = set()  # columns whose bad lines are no edges either

    def check_names(self, columns: Sequence[ColumnSource]) -> None:
        """Raises InputError for names that tables do not have. Called before the long work
        begins."""
        for column in columns:
            if isinstance(column.source, str):
                member = Location.parse(column.source).member
                if column.columns or column.id_column or member is not None:
                    from graphzero.conversion.inputs.rows import check_names

                    check_names(column, self.reading)

    def read_with_edges(self, plan: Plan) -> list[Wanted]:
        """Columns from the table of edges itself: a line with a bad value there is no edge
        either."""
        if self._work.on_error != "skip" or not _is_text(plan.edges):
            return []
        from graphzero.conversion.inputs.rows import open_rows
        from graphzero.conversion.inputs.streams import RowStream

        wanted = []
        for column in plan.columns:
            if column.role != "edge" or not isinstance(column.source, str):
                continue
            if Location.parse(column.source).path == str(plan.edges):
                rows = open_rows(column.with_general(self._options), self.reading).rows
                if isinstance(rows, RowStream) and rows.matrix is not None:
                    wanted.append(rows.matrix.wanted)
                    self._with_edges.add(column.name)
        return wanted

    def compile(self, column: ColumnSource, graph: GraphReport) -> ColumnReport:
        result = self._columns.compile(
            column,
            rows=_rows_of(column, graph),
            ids_below=graph.num_nodes,
            name_node=self.name_node,
        )
        if column.name in self._with_edges:
            from dataclasses import replace

            result = replace(result, skipped=0, messages=())  # the graph's report counts them
        return result


def _rows_of(column: ColumnSource, graph: GraphReport) -> int | None:
    """How many rows the column's file must have; None: as many as there are."""
    if column.role == "node":
        return graph.num_nodes
    return graph.input_rows if column.role == "edge" else None


def _check_skipping(plan: Plan, work: WorkOptions) -> None:
    """Only lines of text can be skipped."""
    if work.on_error != "skip":
        return
    sources = [plan.edges, *(column.source for column in plan.columns)]
    if not any(_is_text(source) for source in sources):
        raise InputError(
            f"{source_label(plan.edges)}: found --on-error skip without any text, expected lines "
            "that can be skipped; rows of tables and arrays cannot"
        )


def _check_nodes(plan: Plan) -> None:
    taken = any(column.source == plan.nodes for column in plan.columns)
    if plan.nodes is not None and plan.relabel is None and not taken:
        raise InputError(
            f"{source_label(plan.nodes)}: found a table of nodes and nothing to take from it, "
            "expected columns of it (--columns), or ids (--relabel)"
        )


def _is_text(source: StrPath | EdgeStream | RowStream) -> bool:
    from graphzero.conversion.inputs.locations import has_stream

    if not isinstance(source, str | os.PathLike):
        return False
    name = os.fspath(source)
    return not has_stream(name) and Path(name).suffix not in (".gl", COLUMN_SUFFIX)


def _notes_on_guesses(edges: StrPath | EdgeStream, graph: GraphReport) -> tuple[str, ...]:
    """Notes on columns whose meaning was guessed."""
    notes: tuple[str, ...] = ()
    if graph.weight_name is not None:
        notes += (
            f"{source_label(edges)}: its third column, {graph.weight_name!r}, is the weight of "
            "edges",
        )
    if graph.guessed_ends is not None:
        source, target = graph.guessed_ends
        notes += (
            f"{source_label(edges)}: its first columns, {source!r} and {target!r}, are taken as "
            "source and target; --source and --target choose others",
        )
    return notes


def _note_on_gaps(plan: Plan, options: GraphOptions, graph_file: Path) -> tuple[str, ...]:
    """A note if most nodes are only there because a larger id is: they have no edge, and nothing
    else of the input names them."""
    named = options.num_nodes is not None or any(column.role == "node" for column in plan.columns)
    stores_all = options.undirected or options.direction == "both"
    of_graph = isinstance(plan.edges, str | os.PathLike) and Path(plan.edges).suffix == ".gl"
    if named or of_graph or not stores_all:
        return ()
    from graphzero import _engine

    graph = _engine.Topology.open(os.fspath(graph_file))
    isolated = _engine.count_isolated(graph)
    if 2 * isolated <= graph.num_nodes:
        return ()
    return (
        f"{source_label(plan.edges)}: {isolated:,} of {graph.num_nodes:,} node ids occur in no "
        "edge; --relabel numbers only those that occur",
    )


def _with_edge_ids(
    options: GraphOptions, columns: Sequence[ColumnSource], names: EdgeNames | None
) -> GraphOptions:
    """Stores edge ids where they are needed: to find the rows of edge columns, and to tell apart
    edges between the same nodes at the same time."""
    timed = names is not None and names.time is not None
    if timed or any(column.role == "edge" for column in columns):
        return options._replace(edge_ids=True)
    return options


def _sources(plan: Plan) -> list[StrPath | EdgeStream | RowStream]:
    nodes = [] if plan.nodes is None else [plan.nodes]
    return [plan.edges, *(column.source for column in plan.columns), *nodes]


def _sizes_of_files(plan: Plan) -> dict[str, int]:
    """Bytes of each input file, by path. Raises OSError for a file that is not there."""
    paths = {
        Location.parse(os.fspath(source)).path
        for source in _sources(plan)
        if isinstance(source, str | os.PathLike)
    }
    return {path: stored_bytes(path) for path in paths}


def _size_of_streams(plan: Plan) -> int:
    streams = (source for source in _sources(plan) if not isinstance(source, str | os.PathLike))
    return sum(stream.stored_bytes for stream in streams)


def _check_sizes(plan: Plan, before: dict[str, int]) -> None:
    """Ids and categories are collected before values are read: the parts of a dataset would not
    match if a file changed in between."""
    for path, size in _sizes_of_files(plan).items():
        if size != before[path]:
            raise InputError(
                f"{path}: found {size} bytes, expected {before[path]} as before: it changed while "
                "it was read; convert it again"
            )


def _check_columns(columns: Sequence[ColumnSource]) -> None:
    seen = set()
    for column in columns:
        own = column.name
        if column.role == "categories":
            own = own.removesuffix(CATEGORIES_SUFFIX)
        check_column_name(own, column.role)
        if column.name in seen:
            raise InputError(f"column {column.name!r}: given twice")
        seen.add(column.name)
