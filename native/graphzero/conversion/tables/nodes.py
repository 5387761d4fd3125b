"""Tables of nodes: which rows are nodes, how they are numbered, what their columns become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from graphzero import _engine
from graphzero.base.progress import Report
from graphzero.conversion.inputs.advice import DESCRIPTION
from graphzero.conversion.inputs.matrix_columns import Filling, MatrixColumn
from graphzero.conversion.inputs.matrix_type import matrix_type
from graphzero.conversion.inputs.streams import Array, RowChunk, RowStream
from graphzero.conversion.inputs.table_views import FilteredTable, row_numbers
from graphzero.conversion.inputs.tables import Table, TableChunk
from graphzero.conversion.tables.description import MatrixDescription, TableDescription
from graphzero.conversion.tables.keys import (
    KeyIndexes,
    Keys,
    OwnNodes,
    check_id_kind,
    collect_keys,
    id_wanted,
    missing_of,
    own_nodes,
    read_as_texts,
    refuse_repeated,
)
from graphzero.conversion.tables.times import TimeColumn
from graphzero.conversion.typed_plan import TypeTally
from graphzero.files.column_types import unquantised
from graphzero.files.description import ColumnDescription


@dataclass(frozen=True)
class NumberedRows:
    """The rows of a table that are nodes, and their numbers."""

    table: Table  # without rows that were dropped
    keys: Keys
    own: OwnNodes
    tally: TypeTally


def number_rows(
    description: TableDescription,
    table: Table,
    time: TimeColumn | None,
    ids_file: Path,
    indexes: KeyIndexes,
    resources: _engine.Resources,
    report: Report | None,
) -> NumberedRows:
    """Numbers the nodes of a table, and writes their original ids if they have any."""
    numbering = _Numbering(description, table, time, ids_file, indexes, resources, report)
    return numbering.by_row() if description.key is None else numbering.by_key(description.key)


@dataclass(frozen=True)
class _Numbering:
    description: TableDescription
    table: Table
    time: TimeColumn | None
    ids_file: Path
    indexes: KeyIndexes
    resources: _engine.Resources
    report: Report | None

    def by_key(self, key: str) -> NumberedRows:
        kind = self.table.kinds_of([key])[0]
        check_id_kind(self.table, key, kind)
        texts = read_as_texts(kind)
        tally = TypeTally()
        kept = self._kept(tally, key, texts)
        rows, count = collect_keys(kept, key, texts, self.ids_file, self.resources, self.report)
        owner = f"{self.table.name} column {key!r}"
        keys = Keys(self.description.name, owner, count, texts, self.ids_file, self.indexes)
        if rows != count:
            refuse_repeated(kept, key, keys)
        own = own_nodes(kept, key, keys, self.resources.temp_dir)
        return NumberedRows(kept, keys, own, _settled(tally))

    def by_row(self) -> NumberedRows:
        tally = TypeTally()
        kept = self._kept(tally, None, False)
        known = kept.num_rows
        count = known if known is not None else sum(len(row_numbers(c)) for c in _rows(kept))
        file = None
        if tally.dropped:
            file = self.ids_file
            self._write_row_numbers(kept)
        keys = Keys(self.description.name, self.table.name, count, False, file, self.indexes)
        return NumberedRows(kept, keys, OwnNodes(count), _settled(tally))

    def _kept(self, tally: TypeTally, key: str | None, texts: bool) -> Table:
        """The table without rows that lack a key or a time, if these are to be dropped."""
        if not self.description.drop_missing or (key is None and self.time is None):
            return self.table
        needed = []
        if key is not None:
            needed.append(id_wanted(key, texts, may_be_missing=True))
        if self.time is not None:
            needed.append(self.time.wanted(may_be_missing=True))

        def keep(chunk: TableChunk) -> Array | None:
            if chunk.first_row == 0:
                tally.dropped = 0  # each reading counts anew
            missing = np.zeros(len(row_numbers(chunk)), np.bool_)
            for found in chunk.groups[: len(needed)]:
                own = missing_of(found)
                if own is not None:
                    missing |= own
            tally.dropped += int(np.count_nonzero(missing))
            return ~missing if missing.any() else None

        return FilteredTable(self.table, keep, needed)

    def _write_row_numbers(self, kept: Table) -> None:
        """Writes the numbers by which references name the rows that were not dropped."""
        writer = _engine.MatrixWriter(
            str(self.ids_file), rows=None, cols=1, ndim=1, dtype="int64", role="node", row_stride=8
        )
        for chunk in _rows(kept):
            writer.append(np.ascontiguousarray(row_numbers(chunk), np.int64).view(np.uint8))
        writer.finish()


def _rows(table: Table) -> Iterator[TableChunk]:
    """Chunks of a table without any values, to count and number its rows."""
    return table.read([])


def _settled(tally: TypeTally) -> TypeTally:
    """The tally as it is now, because later readings count again."""
    return TypeTally(tally.dropped)


# --- Columns ---


def matrix_of(table: Table, matrix: MatrixDescription, float_dtype: str | None) -> MatrixColumn:
    """Columns of a table as a matrix in the making."""
    asked, deduced = matrix.type, False
    if asked is None and matrix.fill is None and matrix.is_label and len(matrix.columns) == 1:
        # A label may be missing, which no integer can express.
        kind = table.kinds_of(matrix.columns)[0]
        if kind.what == "integer" and table.has_missing(matrix.columns[0]):
            asked, deduced = unquantised(float_dtype or "float32"), True
    found = matrix_type(
        matrix.name,
        table,
        matrix.columns,
        asked,
        float_dtype,
        DESCRIPTION,
        is_list=matrix.is_list,
    )
    if deduced:  # nobody asked for floating values, so integers that they round are counted
        found = replace(found, integers=(0,))
    return MatrixColumn(found, Filling(everything=matrix.fill), advice=DESCRIPTION)


def node_rows(column: MatrixColumn, rows: NumberedRows) -> RowStream:
    """The rows of a matrix with the nodes that they belong to, or without if they come in order."""
    matrix, table, own = column.type, rows.table, rows.own

    def chunks() -> Iterator[RowChunk]:
        column.begin()
        cursor = own.cursor()
        for chunk in table.read([column.wanted], column.tally):
            values = column.rows(chunk.groups[0])
            nodes = None if own.in_order else cursor.next(len(values))
            yield RowChunk(nodes, values, numbers=chunk.numbers)

    return RowStream(
        table.name,
        chunks,
        matrix.row_shape,
        matrix.dtype,
        rows=table.num_rows,
        has_ids=not own.in_order,
        stored_bytes=table.bytes_of(matrix.columns),
        place_of=table.place,
        tally=column.tally,
        matrix=column,
    )


def time_rows(time: TimeColumn, rows: NumberedRows) -> RowStream:
    """The times of nodes, as the rows of a column."""
    table, own = rows.table, rows.own

    def chunks() -> Iterator[RowChunk]:
        time.begin()
        cursor = own.cursor()
        for chunk in table.read([time.wanted(may_be_missing=False)]):
            values = time.values(chunk.groups[0], row_numbers(chunk))
            nodes = None if own.in_order else cursor.next(len(values))
            yield RowChunk(nodes, values, numbers=chunk.numbers)
        rows.tally.rounded_times = time.rounded

    return RowStream(
        table.name,
        chunks,
        (),
        "int64",
        rows=table.num_rows,
        has_ids=not own.in_order,
        stored_bytes=table.bytes_of([time.column]),
        place_of=table.place,
    )


def time_description(time: TimeColumn) -> str:
    """What the file of times says about them."""
    return ColumnDescription((time.column,), time.unit).to_json()


def numeric_columns(table: Table, used: set[str]) -> tuple[str, ...]:
    """Columns of numbers and truth values that have no other use. One that a table says to have no
    value at all is none of them."""
    free = [column for column in table.columns if column not in used]
    kinds = table.kinds_of(free) if free else []
    return tuple(
        column
        for column, kind in zip(free, kinds, strict=True)
        if kind.what in ("integer", "number", "bool") and not (kind.is_empty and table.says_kinds)
    )
