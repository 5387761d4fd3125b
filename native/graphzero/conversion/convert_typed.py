"""A dataset with types from tables, folders and objects, step by step."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from graphzero.base.errors import InputError
from graphzero.base.progress import ShowProgress, no_progress
from graphzero.base.resources import make_resources
from graphzero.conversion.column_step import ColumnStep, index_original_ids
from graphzero.conversion.compile_typed import (
    NodeType,
    RelationCounts,
    RelationEdges,
    compile_typed_graph,
)
from graphzero.conversion.edges_left import EdgesLeft
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.streams import RowStream
from graphzero.conversion.ordering import ConvertOrder, in_order
from graphzero.conversion.plan import ColumnOptions, ColumnSource, WorkOptions
from graphzero.conversion.times_file import TimesFile, times_of
from graphzero.conversion.typed_plan import (
    RelationName,
    RelationPlan,
    RelationReport,
    TypedConversionReport,
    TypedPlan,
    TypedSource,
    TypePlan,
    TypeReport,
    Workshop,
)
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import (
    check_directory,
    check_schema_name,
    relation_directory,
    type_directory,
)
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE, ORIGINAL_IDS
from graphzero.files.publish import StrPath, new_dataset

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from graphzero.conversion.compile_column import ColumnReport


def convert_typed(
    source: TypedSource,
    out: StrPath,
    *,
    column_options: ColumnOptions,
    work: WorkOptions,
    order: ConvertOrder = "none",
    show_progress: ShowProgress = no_progress,
) -> TypedConversionReport:
    """Compiles everything into a new directory, which becomes `out` when all of it is complete."""
    started = time.monotonic()
    if work.on_error != "stop":
        raise InputError(
            f"{source.name}: found --on-error {work.on_error}, which is for datasets of one type; "
            'missing = "drop" leaves out rows of tables that lack something'
        )
    sizes = source.sizes()
    with (
        new_dataset(out, overwrite=work.overwrite) as final,
        in_order(final, order, work, show_progress) as ordering,
    ):
        directory = ordering.directory
        resources = make_resources(work.memory, work.threads, final.parent)
        reading = ReadOptions(work.missing, threads=resources.threads)
        workshop = Workshop(directory, resources, reading, column_options.dtype, show_progress)
        plan = source.plan(workshop)
        _check_names(source.name, plan)
        columns = [column for each in plan.types for column in each.columns]
        columns += [column for each in plan.relations for column in each.columns]
        column_options.check_ranges(column.name for column in columns)
        making = _Making(plan, workshop, work, column_options)
        types = {each.name: making.make_type(each) for each in plan.types}
        relations = making.make_relations()
        _check_sizes(source, sizes)
        _remove_empty(directory)
        ordered = ordering.run()
        files = [file for file in final.rglob("*") if file.is_file()]
        output_bytes = sum(file.stat().st_size for file in files)
    return TypedConversionReport(
        types,
        relations,
        plan.time_unit,
        sum(sizes.values()),
        output_bytes,
        time.monotonic() - started,
        plan.notes,
        ordered,
        plan.cautions,
    )


class _Making:
    """Makes the files of one dataset."""

    def __init__(
        self,
        plan: TypedPlan,
        workshop: Workshop,
        work: WorkOptions,
        column_options: ColumnOptions,
    ) -> None:
        self._plan = plan
        self._workshop = workshop
        self._work = work
        self._column_options = column_options
        self._own_times: dict[str, TimesFile] = {}  # of types whose times are no column

    def _step(self, directory: str) -> ColumnStep:
        path = self._workshop.directory / directory
        path.mkdir(exist_ok=True)
        return ColumnStep(
            path,
            self._work,
            self._workshop.resources,
            self._column_options,
            self._workshop.show_progress,
        )

    def make_type(self, plan: TypePlan) -> TypeReport:
        step = self._step(type_directory(plan.name))
        if plan.original_ids is not None:
            about = plan.original_ids_description
            ids = ColumnSource(ORIGINAL_IDS, plan.original_ids, description=about)
            step.compile(ids, rows=plan.count, ids_below=plan.count)
            directory = self._workshop.directory / type_directory(plan.name)
            index_original_ids(directory, self._workshop.resources)
        columns = {
            column.name: step.compile(
                column,
                rows=plan.count if column.role == "node" else None,
                ids_below=plan.count,
                name_node=plan.name_node,
            )
            for column in plan.columns
        }
        return TypeReport(
            plan.count,
            columns,
            self._range_of_times(plan),
            plan.tally.dropped,
            plan.tally.unlabelled,
            plan.tally.rounded_times,
        )

    def _times(self, plan: TypePlan) -> npt.NDArray[np.int64] | None:
        """The times of a type's nodes; mapped if their column is of type int64."""
        if plan.times is not None:
            if plan.name not in self._own_times:
                workshop = self._workshop
                self._own_times[plan.name] = TimesFile(
                    plan.times, plan.count, workshop.resources, workshop.show_progress
                )
            return self._own_times[plan.name].times
        if plan.time is None:
            return None
        directory = self._workshop.directory / type_directory(plan.name)
        return times_of(ColumnFile(directory / f"{plan.time}{COLUMN_SUFFIX}"))

    def _range_of_times(self, plan: TypePlan) -> tuple[int, int] | None:
        times = self._times(plan)
        if times is None or not len(times):
            return None
        return int(times.min()), int(times.max())

    def make_relations(self) -> dict[RelationName, RelationReport]:
        plan, workshop = self._plan, self._workshop
        types = [NodeType(each.name, each.count, self._times(each)) for each in plan.types]
        relations = [
            RelationEdges(
                *each.triple,
                edges=each.edges,
                undirected=each.symmetric,
                direction=each.direction,
                dedup=each.dedup,
                edge_ids=each.edge_ids or any(column.role == "edge" for column in each.columns),
                weight_name=each.weight_name,
            )
            for each in plan.relations
        ]
        with workshop.show_progress("edges") as report:
            found = compile_typed_graph(
                workshop.directory / GRAPH_FILE,
                types,
                relations,
                workshop.resources,
                views={each.triple: each.view for each in plan.relations if each.view is not None},
                inverses=plan.inverses,
                time_unit=plan.time_unit,
                report=report,
            )
        return {
            each.triple: self._make_columns(each, number, own)
            for number, (each, own) in enumerate(zip(plan.relations, found, strict=True))
        }

    def _make_columns(
        self, plan: RelationPlan, number: int, graph: RelationCounts
    ) -> RelationReport:
        columns: dict[str, ColumnReport] = {}
        if plan.columns:
            sources = self._columns_of_edges_left(plan, number, graph)
            step = self._step(relation_directory(*plan.triple))
            columns = {
                column.name: step.compile(
                    column,
                    rows=graph.input_rows if column.role == "edge" else None,
                    ids_below=graph.input_rows,
                )
                for column in sources
            }
        source, _, target = plan.triple
        tally = plan.tally
        times = None
        if graph.first_time is not None and graph.last_time is not None:
            times = (graph.first_time, graph.last_time)
        return RelationReport(
            graph.num_edges,
            columns,
            None if plan.view is None else (target, plan.view, source),
            plan.symmetric,
            times,
            graph.dropped,
            tally.empty,
            tally.dangling,
            tally.untimed,
            tally.unlabelled,
            tally.first_dangling,
            tally.rounded_times,
            self._inverse(plan.triple),
        )

    def _columns_of_edges_left(
        self, plan: RelationPlan, number: int, graph: RelationCounts
    ) -> list[ColumnSource]:
        """The columns to compile; splits without edges that dedup has left out."""
        splits = [column for column in plan.columns if column.role == "ids"]
        if not graph.dropped or not splits:
            return plan.columns
        workshop = self._workshop
        file, rows = workshop.directory / GRAPH_FILE, graph.input_rows
        left = EdgesLeft(file, number, rows, workshop.resources.temp_dir)
        return [
            column._replace(source=left.filter(column.source))
            if column.role == "ids" and isinstance(column.source, RowStream)
            else column
            for column in plan.columns
        ]

    def _inverse(self, triple: RelationName) -> RelationName | None:
        for pair in self._plan.inverses:
            if triple in pair:
                return pair[1] if triple == pair[0] else pair[0]
        return None


def _check_names(name: str, plan: TypedPlan) -> None:
    """Raises InputError for names that clash, or that no type or relation can have."""
    if not plan.relations:
        raise InputError(f"{name}: found no relation, expected one at least")
    names = [each.name for each in plan.types]
    _refuse_repeated(names, "type")
    for name in names:
        check_schema_name(name, f"type {name!r}")
        check_directory(type_directory(name), (name,))
    triples = [each.triple for each in plan.relations]
    triples += [
        (each.triple[2], each.view, each.triple[0])
        for each in plan.relations
        if each.view is not None
    ]
    _refuse_repeated([" ".join(triple) for triple in triples], "relation")
    for triple in triples:
        check_schema_name(triple[1], f"relation {' '.join(triple)!r}")
        check_directory(relation_directory(*triple), triple)


def _refuse_repeated(names: list[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{what} {name!r}: found twice, expected different names")
        seen.add(name)


def _check_sizes(source: TypedSource, before: dict[str, int]) -> None:
    """Keys are collected before values are read: the parts of a dataset would not match if a file
    changed in between."""
    after = source.sizes()
    # Files that are new were not read: the dataset itself may be written into the folder.
    for path, expected in before.items():
        found = after.get(path)
        if found != expected:
            size = "no file" if found is None else f"{found} bytes"
            raise InputError(
                f"{path}: found {size}, expected {expected} as before: it changed while it was "
                "read; convert it again"
            )


def _remove_empty(directory: Path) -> None:
    """Types and relations without columns have no directory."""
    for path in directory.iterdir():
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
