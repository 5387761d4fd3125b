"""Makes the plan of a dataset from described tables: opens them, numbers rows, plans columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.locations import Location, require_no_member, stored_bytes
from graphzero.conversion.inputs.matrix_columns import MatrixColumn, matrix_rows
from graphzero.conversion.inputs.opening import open_table
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.streams import select_ids
from graphzero.conversion.inputs.table_views import SurveyedTable, row_numbers
from graphzero.conversion.inputs.tables import Table
from graphzero.conversion.inverses import Pairing, pair_inverses
from graphzero.conversion.plan import ColumnSource
from graphzero.conversion.tables.description import (
    TIME,
    EdgeEnds,
    MatrixDescription,
    Reference,
    RelationDescription,
    TableDescription,
    TablesDescription,
    needed_columns,
)
from graphzero.conversion.tables.keys import (
    IdWriter,
    KeyIndexes,
    Keys,
    check_id_kind,
    id_wanted,
    ids_of,
    missing_of,
    places_of,
    read_as_texts,
)
from graphzero.conversion.tables.nodes import (
    NumberedRows,
    matrix_of,
    node_rows,
    number_rows,
    numeric_columns,
    time_description,
    time_rows,
)
from graphzero.conversion.tables.relations import TableEdges, reference_edges
from graphzero.conversion.tables.splits import (
    Cuts,
    column_splits,
    node_time_splits,
    row_time_splits,
)
from graphzero.conversion.tables.times import FoundTimes, TimeColumn, time_points
from graphzero.conversion.typed_plan import (
    RelationPlan,
    RelationTally,
    TypedPlan,
    TypedSource,
    TypePlan,
    Workshop,
)
from graphzero.files.column_keys import type_directory
from graphzero.files.column_types import TimeUnit
from graphzero.files.paths import COLUMN_SUFFIX, ORIGINAL_IDS


@dataclass(frozen=True)
class TablesSource(TypedSource):
    """Tables that a user described."""

    description: TablesDescription
    notes: tuple[str, ...] = ()  # beside those about the tables
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.description.name)

    def sizes(self) -> dict[str, int]:
        return {
            path: stored_bytes(path)
            for table in (*self.description.nodes, *self.description.edges)
            if isinstance(path := table.source, str)
        }

    def plan(self, workshop: Workshop) -> TypedPlan:
        plan = _Planning(self.description, workshop).plan()
        return replace(plan, notes=(*plan.notes, *self.notes))


@dataclass(frozen=True)
class _Opened:
    """A table of the description, with all its columns known."""

    description: TableDescription
    table: Table
    matrices: tuple[MatrixDescription, ...]
    not_taken: tuple[str, ...]


class _Planning:
    def __init__(self, description: TablesDescription, workshop: Workshop) -> None:
        self._description = description
        self._workshop = workshop
        self._indexes = KeyIndexes(workshop.resources)
        self._opened: dict[str, _Opened] = {}
        self._rows: dict[str, NumberedRows] = {}
        self._keys: dict[str, Keys] = {}
        self._unit: TimeUnit | None = None

    def plan(self) -> TypedPlan:
        tables = (*self._description.nodes, *self._description.edges)
        for table in tables:
            if table.source is not None:
                self._opened[table.name] = self._open(table)
        self._unit = self._time_unit()
        for table in self._description.nodes:
            if table.source is not None:
                self._number(table)
        for table in self._description.nodes:
            if table.source is None:
                self._keys[table.name] = self._number_by_references(table)
        types = [self._type(table) for table in self._description.nodes]
        relations = [self._relation(relation) for relation in self._description.relations]
        pairing = pair_inverses(
            relations, self._description.inverses, place=f"{self._description.name}: inverses"
        )
        return TypedPlan(
            types,
            relations,
            pairing.inverses,
            time_unit=self._unit or "",
            notes=tuple(self._notes()),
            cautions=(*pairing.cautions, *_untimed_inverses(pairing)),
        )

    # --- Tables ---

    def _open(self, table: TableDescription) -> _Opened:
        options = self._workshop.reading
        missing = (*options.missing, *table.missing_texts)
        reading = ReadOptions(missing, threads=options.threads)
        opened = _open_source(table.name, table.source, reading)
        used = needed_columns(table)
        opened.require(used)
        all_numeric = any(not matrix.columns for matrix in table.matrices)
        surveyed = SurveyedTable(opened, opened.columns if all_numeric else used)
        matrices = tuple(_with_columns(matrix, surveyed, set(used)) for matrix in table.matrices)
        taken = {*used, *(column for matrix in matrices for column in matrix.columns)}
        return _Opened(
            table,
            surveyed,
            tuple(matrix for matrix in matrices if matrix.columns),
            tuple(column for column in opened.columns if column not in taken),
        )

    def _time_unit(self) -> TimeUnit | None:
        found = FoundTimes(self._description.time_unit)
        for opened in self._opened.values():
            if opened.description.time is not None:
                found.look_at(opened.table, opened.description.time)
        return found.unit()

    def _time(self, opened: _Opened) -> TimeColumn | None:
        time = opened.description.time
        if time is None:
            return None
        may_round = self._description.time_unit is not None
        return TimeColumn(opened.table, time.column, self._unit, time.unit, may_round)

    def _notes(self) -> Iterator[str]:
        for opened in self._opened.values():
            if opened.not_taken:
                names = ", ".join(map(repr, opened.not_taken))
                yield f"{_label(opened.table.name)}: not taken: {names}"

    # --- Types ---

    def _directory(self, name: str) -> Path:
        directory = self._workshop.directory / type_directory(name)
        directory.mkdir(exist_ok=True)
        return directory

    def _ids_file(self, name: str) -> Path:
        return self._directory(name) / f"{ORIGINAL_IDS}{COLUMN_SUFFIX}"

    def _number(self, table: TableDescription) -> None:
        opened = self._opened[table.name]
        with self._workshop.show_progress(_label(opened.table.name)) as report:
            rows = number_rows(
                table,
                opened.table,
                self._time(opened),
                self._ids_file(table.name),
                self._indexes,
                self._workshop.resources,
                report,
            )
        self._rows[table.name] = rows
        self._keys[table.name] = rows.keys

    def _number_by_references(self, table: TableDescription) -> Keys:
        """Numbers the rows of a table without a file: one for each key that references name."""
        ends = list(self._ends_at(table.name))
        kinds = []
        for end in ends:
            kind = end.table.kinds_of([end.column])[0]
            check_id_kind(end.table, end.column, kind)
            kinds.append(kind)
        texts = any(read_as_texts(kind) for kind in kinds)
        for end, kind in zip(ends, kinds, strict=True):
            is_other = kind.what != "text" and not kind.is_empty
            if texts and end.table.says_kinds and is_other:
                other = next(e for e, k in zip(ends, kinds, strict=True) if read_as_texts(k))
                raise InputError(
                    f"{end.table.name} column {end.column!r}: found {kind.name}, expected texts as "
                    f"in {other.table.name} column {other.column!r}: both name rows of "
                    f"{table.name!r}"
                )
        ids = IdWriter(texts, self._workshop.resources)
        hint = '; missing = "drop" leaves out such edges and counts them'
        with self._workshop.show_progress(table.name) as report:
            for end in ends:
                wanted = id_wanted(end.column, texts, may_be_missing=end.drop, hint=hint)
                for chunk in end.table.read([wanted]):
                    found, missing = ids_of(chunk.groups[0]), missing_of(chunk.groups[0])
                    numbers = row_numbers(chunk)
                    if missing is not None and missing.any():
                        found, numbers = select_ids(found, ~missing), numbers[~missing]
                    ids.add(found, places_of(end.table, numbers), 0)
                    if report is not None:
                        report("collecting ids", chunk.end_row, end.table.num_rows or 0)
            file = self._ids_file(table.name)
            count = ids.write(file, report)
        return Keys(table.name, f"table {table.name!r}", count, texts, file, self._indexes)

    def _ends_at(self, name: str) -> Iterator[_NamingColumn]:
        """Columns that name rows of a type."""
        for relation in self._description.relations:
            if isinstance(relation, Reference):
                if relation.target == name:
                    rows = self._rows[relation.source]
                    yield _NamingColumn(rows.table, relation.column, relation.drop_missing)
                continue
            assert isinstance(relation, EdgeEnds)
            table = self._edge_table(relation).table
            ends = (
                (relation.source, relation.source_column),
                (relation.target, relation.target_column),
            )
            for type_name, column in ends:
                if type_name == name:
                    yield _NamingColumn(table, column, relation.drop_missing)

    def _type(self, table: TableDescription) -> TypePlan:
        keys = self._keys[table.name]
        if table.source is None:
            return TypePlan(table.name, keys.count, name_node=keys.name_of)
        opened, rows = self._opened[table.name], self._rows[table.name]
        columns, time = [], self._time(opened)
        if time is not None:
            stream = time_rows(time, rows)
            columns.append(ColumnSource(TIME, stream, "int64", description=time_description(time)))
        made = {
            matrix.name: matrix_of(rows.table, matrix, self._workshop.float_dtype)
            for matrix in opened.matrices
        }
        columns += [ColumnSource(name, node_rows(column, rows)) for name, column in made.items()]
        columns += self._node_splits(opened, rows, made)
        return TypePlan(
            table.name,
            keys.count,
            columns,
            TIME if time is not None else None,
            tally=rows.tally,
            name_node=keys.name_of if keys.file is not None else None,
        )

    def _node_splits(
        self, opened: _Opened, rows: NumberedRows, made: dict[str, MatrixColumn]
    ) -> list[ColumnSource]:
        table = opened.description
        split, label = table.split, table.label
        if split is None:
            return []
        wanted = None if label is None else made[label.name].wanted
        if split.column is None:
            cuts = self._cuts(table)
            if label is not None and label.fill is not None:
                time = self._time(opened)
                assert time is not None
                return row_time_splits(lambda: rows.table, time, rows.own, wanted, cuts, rows.tally)
            directory = self._directory(table.name)
            own = None if label is None else label.name
            return node_time_splits(directory, TIME, own, cuts, rows.tally)
        taken = {matrix.name for matrix in opened.matrices} | {TIME}
        return column_splits(
            rows.table,
            split.column,
            rows.own,
            wanted,
            taken,
            rows.tally,
            lambda: rows.table,
            self._workshop.resources,
        )

    def _cuts(self, table: TableDescription) -> Cuts:
        assert table.split is not None
        place = f"{self._description.name}: tables.{table.name}.split"
        assert table.time is not None
        kind = self._opened[table.name].table.kinds_of([table.time.column])[0]
        of_dates = kind.what in ("time", "text") and not kind.is_empty
        points = time_points(
            place, table.split.at, self._unit, own_unit=table.time.unit, of_dates=of_dates
        )
        return Cuts(points, table.split.names)

    # --- Relations ---

    def _relation(self, relation: RelationDescription) -> RelationPlan:
        tally = RelationTally()
        if isinstance(relation, Reference):
            rows = self._rows[relation.source]
            target = self._keys[relation.target]
            return RelationPlan(
                relation.triple,
                reference_edges(rows.table, relation, rows.own, target, tally),
                view=relation.reverse,
                symmetric=relation.undirected,
                direction=relation.direction,
                tally=tally,
            )
        assert isinstance(relation, EdgeEnds)
        opened = self._edge_table(relation)
        edges = TableEdges(
            opened.table,
            relation,
            self._keys[relation.source],
            self._keys[relation.target],
            self._time(opened),
            tally,
            self._workshop.resources.temp_dir,
        )
        columns = self._edge_columns(opened, edges, tally)
        timed = opened.description.time is not None or (
            self._is_timed(relation.source) and self._is_timed(relation.target)
        )
        return RelationPlan(
            relation.triple,
            edges.stream(),
            columns,
            view=relation.reverse,
            symmetric=relation.undirected,
            dedup=relation.dedup,
            # Edge ids tell edges of the same time apart.
            edge_ids=bool(columns) or timed if relation.edge_ids is None else relation.edge_ids,
            direction=relation.direction,
            tally=tally,
        )

    def _is_timed(self, type_name: str) -> bool:
        return self._description.table(type_name).time is not None

    def _edge_table(self, relation: EdgeEnds) -> _Opened:
        own = next(table for table in self._description.edges if table.edges is relation)
        return self._opened[own.name]

    def _edge_columns(
        self, opened: _Opened, edges: TableEdges, tally: RelationTally
    ) -> list[ColumnSource]:
        table = opened.description
        made = {
            matrix.name: matrix_of(edges.kept(), matrix, self._workshop.float_dtype)
            for matrix in opened.matrices
        }
        columns = [
            ColumnSource(name, matrix_rows(column, None, role="edge"), role="edge")
            for name, column in made.items()
        ]
        split, label = table.split, table.label
        if split is None:
            return columns
        wanted = None if label is None else made[label.name].wanted
        if split.column is None:
            time = self._time(opened)
            assert time is not None
            cuts = self._cuts(table)
            return columns + row_time_splits(edges.kept, time, None, wanted, cuts, tally)
        return columns + column_splits(
            opened.table,
            split.column,
            None,
            wanted,
            set(made),
            tally,
            edges.kept,
            self._workshop.resources,
        )


def _untimed_inverses(pairing: Pairing) -> Iterator[str]:
    for timed, untimed in pairing.half_timed:
        yield (
            f"({', '.join(untimed)}) has the edges of ({', '.join(timed)}) in reverse, but no "
            "times: samples by time get edges of the future through it; state the time of its "
            "table, or leave the table out, because every relation has a reverse without it"
        )


@dataclass(frozen=True)
class _NamingColumn:
    """A column whose values name rows of a type."""

    table: Table
    column: str
    drop: bool


def _with_columns(matrix: MatrixDescription, table: Table, used: set[str]) -> MatrixDescription:
    if matrix.columns:
        return matrix
    return replace(matrix, columns=numeric_columns(table, used))


def _open_source(name: str, source: Any, reading: ReadOptions) -> Table:
    if not isinstance(source, str):
        from graphzero.conversion.inputs.memory_table import memory_table

        return memory_table(name, source, reading.missing)
    location = Location.parse(source)
    path = Path(require_no_member(location))
    if path.suffix in (".npy", ".npz", COLUMN_SUFFIX, ".gl"):
        raise InputError(
            f"{source}: found an array or a file of a dataset, expected a table: text, Parquet, "
            "Arrow, or a folder of such files"
        )
    return open_table(source, reading)


def _label(name: str) -> str:
    return Path(name).name
