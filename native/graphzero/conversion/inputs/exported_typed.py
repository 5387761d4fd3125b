"""Folders that `graphzero export` wrote of a dataset with types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.arrow_table import ArrowTable, open_arrow_table
from graphzero.conversion.inputs.exported import existing_file, shaped_rows
from graphzero.conversion.inputs.file_array import FileArray, open_npy
from graphzero.conversion.inputs.matrix_columns import Filling, MatrixColumn
from graphzero.conversion.inputs.matrix_type import matrix_type
from graphzero.conversion.inputs.streams import (
    Array,
    EdgeChunk,
    EdgeStream,
    RowChunk,
    RowStream,
    array_rows,
    rows_per_chunk,
)
from graphzero.conversion.inputs.table_views import row_numbers
from graphzero.conversion.inputs.tables import Table, Wanted
from graphzero.conversion.plan import ColumnSource, Role
from graphzero.conversion.tables.keys import (
    KeyIndexes,
    Keys,
    collect_keys,
    own_nodes,
    refuse_repeated,
)
from graphzero.conversion.tables.nodes import NumberedRows, node_rows, time_rows
from graphzero.conversion.tables.relations import End
from graphzero.conversion.tables.times import TimeColumn
from graphzero.conversion.typed_plan import (
    RelationPlan,
    RelationTally,
    TypedPlan,
    TypedSource,
    TypePlan,
    TypeTally,
    Workshop,
)
from graphzero.exporting.manifest import MANIFEST, ExportedColumn, version_of
from graphzero.exporting.typed_manifest import (
    TYPED_VERSION,
    ExportedRelation,
    ExportedType,
    TypedManifest,
    read_typed_manifest,
)
from graphzero.files.column_keys import relation_directory, type_directory
from graphzero.files.column_types import TimeUnit
from graphzero.files.description import parse_description
from graphzero.files.paths import CATEGORIES_SUFFIX, COLUMN_SUFFIX, ORIGINAL_IDS


def is_typed_export(folder: Path) -> bool:
    return bool(version_of(folder) == TYPED_VERSION)


@dataclass(frozen=True)
class ExportedSource(TypedSource):
    """The dataset that was exported."""

    folder: Path

    @property
    def name(self) -> str:  # type: ignore[override]
        return str(self.folder)

    def sizes(self) -> dict[str, int]:
        files = (file for file in self.folder.rglob("*") if file.is_file())
        return {str(file): file.stat().st_size for file in files}

    def plan(self, workshop: Workshop) -> TypedPlan:
        manifest = read_typed_manifest(self.folder)
        planning = _NpyPlanning if manifest.format == "npy" else _ParquetPlanning
        return planning(self.folder, manifest, workshop).plan()


class _Planning:
    """What both formats have in common."""

    def __init__(self, folder: Path, manifest: TypedManifest, workshop: Workshop) -> None:
        self._folder = folder
        self._manifest = manifest
        self._workshop = workshop
        self._unit = cast("TimeUnit | None", manifest.time_unit)

    def plan(self) -> TypedPlan:
        relations = self._manifest.relations
        types = [self._type(own) for own in self._manifest.types]
        return TypedPlan(
            types,
            [self._relation(own) for own in relations],
            [
                (own.triple, relations[own.inverse].triple)
                for number, own in enumerate(relations)
                if own.inverse is not None and number < own.inverse
            ],
            self._manifest.time_unit or "",
        )

    def _type(self, own: ExportedType) -> TypePlan:
        raise NotImplementedError

    def _edges(self, own: ExportedRelation, tally: RelationTally) -> EdgeStream:
        raise NotImplementedError

    def _edge_column(self, own: ExportedRelation, name: str, column: ExportedColumn) -> RowStream:
        raise NotImplementedError

    def _relation(self, own: ExportedRelation) -> RelationPlan:
        tally = RelationTally()
        edges = self._edges(own, tally)
        columns = [
            _source(name, column, self._edge_column(own, name, column))
            for name, column in _stored_columns(own.columns, self._manifest.format)
        ]
        return RelationPlan(
            own.triple,
            edges,
            columns,
            view=own.view,
            symmetric=own.symmetric,
            dedup=own.dedup,
            edge_ids=own.edge_ids is not None,
            direction=cast('Literal["in", "out", "both"]', own.direction),
            weight_name=own.weight_name or "",
            tally=tally,
        )


class _ParquetPlanning(_Planning):
    """Tables of nodes and edges, and one for each split and dictionary."""

    def __init__(self, folder: Path, manifest: TypedManifest, workshop: Workshop) -> None:
        super().__init__(folder, manifest, workshop)
        self._indexes = KeyIndexes(workshop.resources)
        self._keys: dict[str, Keys] = {}

    def _table(self, directory: str, name: str) -> ArrowTable:
        file = existing_file(self._folder, f"{directory}/{name}.parquet")
        return open_arrow_table(str(file))

    def _type(self, own: ExportedType) -> TypePlan:
        directory = type_directory(own.name)
        table = self._table(directory, "nodes")
        keys = self._number(own, table)
        own_rows = own_nodes(table, "id", keys, self._workshop.resources.temp_dir)
        rows = NumberedRows(table, keys, own_rows, TypeTally())
        columns = []
        original = None
        for name, column in _stored_columns(own.columns, "parquet"):
            if name == ORIGINAL_IDS:
                if own.ids == "column":
                    original = self._node_column(directory, rows, name, column)
                continue
            stream = self._node_column(directory, rows, name, column)
            columns.append(_source(name, column, stream))
        times = None
        if own.times is not None and own.times not in own.columns:
            times = time_rows(TimeColumn(table, own.times, self._unit), rows)
        return TypePlan(
            own.name,
            keys.count,
            columns,
            own.times if times is None else None,
            times=times,
            original_ids=original,
            original_ids_description=_about_ids(own),
        )

    def _number(self, own: ExportedType, table: Table) -> Keys:
        owner = f"{table.name} column 'id'"
        if own.ids != "original":
            keys = Keys(own.name, owner, own.num_nodes, False, None, self._indexes)
            self._keys[own.name] = keys
            return keys
        directory = self._workshop.directory / type_directory(own.name)
        directory.mkdir(exist_ok=True)
        file = directory / f"{ORIGINAL_IDS}{COLUMN_SUFFIX}"
        texts = table.kinds_of(["id"])[0].what == "text"
        with self._workshop.show_progress(own.name) as report:
            found = collect_keys(table, "id", texts, file, self._workshop.resources, report)
        keys = Keys(own.name, owner, found[1], texts, file, self._indexes)
        if found[0] != found[1]:
            refuse_repeated(table, "id", keys)
        self._keys[own.name] = keys
        return keys

    def _node_column(
        self, directory: str, rows: NumberedRows, name: str, column: ExportedColumn
    ) -> RowStream:
        if column.role == "ids":
            return self._split(directory, name, "node", rows.keys)
        made = self._matrix(directory, rows.table, name, column, Filling())
        return shaped_rows(node_rows(made, rows), column.row_shape)

    def _matrix(
        self, directory: str, table: Table, name: str, column: ExportedColumn, filling: Filling
    ) -> MatrixColumn:
        about = parse_description(f"{MANIFEST} {name}", (column.description or "").encode())
        dictionary = None
        if about.categories:
            dictionary = self._table(directory, f"{name}{CATEGORIES_SUFFIX}")
        asked = column.stored_type if about.unit is None else f"date[{about.unit}]"
        asked = "category" if dictionary is not None else asked
        matrix = matrix_type(name, table, [name], asked, None)
        return MatrixColumn(matrix, filling, described=about, dictionary=dictionary)

    def _split(self, directory: str, name: str, column: str, keys: Keys | None) -> RowStream:
        """A list of nodes, or of edge ids."""
        table = self._table(directory, name)
        tally = RelationTally()

        def chunks() -> Iterator[RowChunk]:
            end = None if keys is None else End(table, column, keys, drop=False)
            wanted = Wanted("integer", (column,)) if end is None else end.wanted
            for chunk in table.read([wanted]):
                ids: Array
                if end is None:
                    ids = chunk.groups[0].array.reshape(-1)
                else:
                    ids = end.find(chunk.groups[0], row_numbers(chunk), tally)
                yield RowChunk(ids, np.empty(0))

        return RowStream(
            table.name, chunks, (), "int64", rows=table.num_rows, has_ids=True, place_of=table.place
        )

    def _edges(self, own: ExportedRelation, tally: RelationTally) -> EdgeStream:
        table = self._table(relation_directory(*own.triple), "edges")
        ends = (
            End(table, "source", self._keys[own.source], drop=False),
            End(table, "target", self._keys[own.target], drop=False),
        )
        wanted = [end.wanted for end in ends]
        time = None
        if own.times is not None:
            time = TimeColumn(table, own.times, self._unit)
            wanted.append(time.wanted(may_be_missing=False))
        if own.weights is not None:
            wanted.append(Wanted("weight", (own.weights,)))
        if own.edge_ids is not None:
            wanted.append(Wanted("integer", (own.edge_ids,)))
        table.require([column for each in wanted for column in each.columns])

        def chunks() -> Iterator[EdgeChunk]:
            for chunk in table.read(wanted):
                numbers = row_numbers(chunk)
                groups = iter(chunk.groups)
                src, dst = (end.find(next(groups), numbers, tally) for end in ends)
                times = None if time is None else time.values(next(groups), numbers)
                weights = ids = None
                if own.weights is not None:
                    weights = np.ascontiguousarray(next(groups).array, np.float32)
                if own.edge_ids is not None:
                    ids = _checked_ids(next(groups).array.reshape(-1), own, table.place, numbers)
                bound = None if ids is None else own.edge_id_bound
                yield EdgeChunk(src, dst, weights, ids, bound, times=times)
            yield _end_of(own)

        return EdgeStream(
            table.name,
            chunks,
            weighted=own.weights is not None,
            count=table.num_rows or 0,
            place_of=table.place,
            timed=time is not None,
        )

    def _edge_column(self, own: ExportedRelation, name: str, column: ExportedColumn) -> RowStream:
        directory = relation_directory(*own.triple)
        if column.role == "ids":
            return self._split(directory, name, "edge", None)
        assert own.edge_ids is not None
        table = self._table(directory, "edges")
        made = self._matrix(directory, table, name, column, Filling(gaps=True))
        wanted = [Wanted("integer", (own.edge_ids,)), made.wanted]

        def chunks() -> Iterator[RowChunk]:
            made.begin()
            for chunk in table.read(wanted, made.tally):
                ids = np.ascontiguousarray(chunk.groups[0].array.reshape(-1))
                yield RowChunk(ids, made.rows(chunk.groups[1]))

        stream = RowStream(
            table.name,
            chunks,
            made.type.row_shape,
            made.type.dtype,
            rows=table.num_rows,
            has_ids=True,
            place_of=table.place,
            tally=made.tally,
            matrix=made,
        )
        return shaped_rows(stream, column.row_shape)


class _NpyPlanning(_Planning):
    """Arrays, each in a file of its own."""

    def _load(self, directory: str, name: str) -> FileArray:
        return open_npy(str(existing_file(self._folder, f"{directory}/{name}.npy")))

    def _column(self, directory: str, name: str) -> RowStream:
        array = self._load(directory, name)
        return array_rows(array.name, array.texts_as_bytes())

    def _type(self, own: ExportedType) -> TypePlan:
        directory = type_directory(own.name)
        columns = [
            _source(name, column, self._column(directory, name))
            for name, column in _stored_columns(own.columns, "npy")
            if name != ORIGINAL_IDS
        ]
        original = self._column(directory, ORIGINAL_IDS) if ORIGINAL_IDS in own.columns else None
        times = None
        if own.times is not None and own.times not in own.columns:
            times = self._column(directory, own.times)
        return TypePlan(
            own.name,
            own.num_nodes,
            columns,
            own.times if times is None else None,
            times=times,
            original_ids=original,
            original_ids_description=_about_ids(own),
        )

    def _edges(self, own: ExportedRelation, tally: RelationTally) -> EdgeStream:
        directory = relation_directory(*own.triple)
        index = self._load(directory, "edge_index")
        if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
            raise InputError(
                f"{index.name}: found {index.dtype} of shape {index.shape}, expected integers of "
                "shape (2, E)"
            )
        count = index.shape[1]

        def load(name: str | None) -> FileArray | None:
            if name is None:
                return None
            array = self._load(directory, name)
            if array.shape != (count,):
                raise InputError(
                    f"{array.name}: found shape {array.shape}, expected ({count},) as in "
                    "edge_index.npy"
                )
            return array

        weights, times, ids = load(own.weights), load(own.times), load(own.edge_ids)
        pairs = index.T

        def chunks() -> Iterator[EdgeChunk]:
            step = rows_per_chunk(40)
            for first in range(0, count, step):
                piece = slice(first, first + step)
                both = pairs[piece]
                numbers = None
                if ids is not None:
                    rows = np.arange(first, first + len(both))
                    numbers = _checked_ids(
                        ids[piece], own, lambda row: f"{index.name} edge {row}", rows
                    )
                yield EdgeChunk(
                    both[:, 0],
                    both[:, 1],
                    None if weights is None else np.asarray(weights[piece], np.float32),
                    numbers,
                    None if ids is None else own.edge_id_bound,
                    times=None if times is None else np.asarray(times[piece], np.int64),
                )
            yield _end_of(own)

        return EdgeStream(
            index.name,
            chunks,
            weighted=weights is not None,
            count=count,
            stored_bytes=index.nbytes,
            timed=times is not None,
        )

    def _edge_column(self, own: ExportedRelation, name: str, column: ExportedColumn) -> RowStream:
        directory = relation_directory(*own.triple)
        rows = self._column(directory, name)
        if column.role != "edge" or own.edge_ids is None:
            return rows
        ids = self._load(directory, own.edge_ids)

        def chunks() -> Iterator[RowChunk]:
            first = 0
            for chunk in rows.open():
                numbers = ids[first : first + len(chunk.rows)]
                yield RowChunk(np.asarray(numbers, np.int64), chunk.rows)
                first += len(chunk.rows)

        return replace(rows, open=chunks, has_ids=True)


def _about_ids(own: ExportedType) -> str:
    """The description of the type's original ids, such as the order of its nodes."""
    column = own.columns.get(ORIGINAL_IDS)
    return "" if column is None else column.description or ""


def _stored_columns(
    columns: dict[str, ExportedColumn], format: str
) -> Iterator[tuple[str, ExportedColumn]]:
    for name, column in columns.items():
        # The dictionaries of Parquet are made again with the columns that they belong to.
        if column.role != "categories" or format == "npy":
            yield name, column


def _source(name: str, column: ExportedColumn, rows: RowStream) -> ColumnSource:
    is_split = column.role == "ids"
    return ColumnSource(
        name,
        rows,
        None if is_split else column.stored_type,
        cast(Role, column.role),
        # Rows of edges that were left out are zeros.
        fill=0 if column.role == "edge" else None,
        row_align=None if is_split else column.row_bytes,
        description=column.description or "",
        quantisation=column.engine_quantisation(),
    )


def _end_of(own: ExportedRelation) -> EdgeChunk:
    """A chunk without edges that states the bound of edge ids, which may exceed the number of
    edges."""
    empty = np.empty(0, np.int64)
    return EdgeChunk(
        empty,
        empty,
        None if own.weights is None else np.empty(0, np.float32),
        empty,
        own.edge_id_bound,
        times=None if own.times is None else empty,
    )


def _checked_ids(
    ids: Array, own: ExportedRelation, place: Any, numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Edge ids, checked to be below the bound."""
    found = np.ascontiguousarray(ids, np.int64)
    outside = (found < 0) | (found >= own.edge_id_bound)
    if outside.any():
        at = int(np.argmax(outside))
        raise InputError(
            f"{place(int(numbers[at]))}: found edge id {found[at]}, expected 0 to "
            f"{own.edge_id_bound - 1}"
        )
    return found
