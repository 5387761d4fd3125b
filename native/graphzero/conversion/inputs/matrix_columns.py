"""Columns of a table as the rows of one matrix: what is missing, times, categories.

A value that is missing is NaN in a column of floating values and -1 in one of categories, and is
counted. In others it is an error, unless a value to fill in was given.

Categories are int64 codes: the places of texts, or integers, in a dictionary of all that occur, in
their order. The dataset keeps the dictionary beside the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import Report
from graphzero.conversion.compile_column import Number
from graphzero.conversion.inputs.advice import OPTIONS, Advice
from graphzero.conversion.inputs.fill_values import fill_integer, fill_name, fill_values
from graphzero.conversion.inputs.matrix_type import MatrixType
from graphzero.conversion.inputs.streams import (
    Array,
    IdColumn,
    RowChunk,
    RowStream,
    Texts,
    id_count,
    select_ids,
    words_for_nothing,
)
from graphzero.conversion.inputs.tables import ReadTally, Table, TableChunk, Values, Wanted
from graphzero.files.column_types import NO_TIME
from graphzero.files.description import ColumnDescription
from graphzero.files.original_ids import encode_texts
from graphzero.files.paths import categories_file

# The code of a missing category; no other category has it.
NO_CATEGORY = -1


@dataclass(frozen=True)
class Filling:
    """What replaces missing values and rows; None: nothing does."""

    everything: Number | None = None  # values and whole rows; "mean" is that of each column
    values: Number | None = None  # in columns that are not floating
    rows: Number | None = None  # rows of nodes that have none
    gaps: bool = False  # rows that belong to no edge are zeros


@dataclass
class MatrixColumn:
    """A matrix in the making: turns values of a table into its rows, and counts what is missing.

    Call prepare() first. It reads the table as often as it must to find fill values and categories.
    """

    type: MatrixType
    filling: Filling
    described: ColumnDescription | None = None  # instead of what the type says
    dictionary: Table | None = None  # of one column: the categories, instead of those that occur
    advice: Advice = OPTIONS
    tally: ReadTally = field(default_factory=ReadTally)
    num_categories: int = 0
    words_for_nothing: list[str] = field(default_factory=list)  # among the categories
    _index: _engine.IdIndex | None = None
    _fill: Array | None = None  # a value for each column
    _fill_row: Array | None = None

    @property
    def wanted(self) -> Wanted:
        """What to read from the table."""
        matrix = self.type
        return Wanted(
            matrix.read_as,
            matrix.columns,
            unit=matrix.unit or "s",
            may_be_missing=matrix.is_floating or matrix.category or self._value_fill is not None,
            hint=self._hint(),
            text_hint=" (type category takes texts)" if len(matrix.columns) == 1 else "",
            truths=matrix.truths,
            width=matrix.row_shape[0] if matrix.read_as == "list" else None,
        )

    def _hint(self) -> str:
        matrix, advice = self.type, self.advice
        if matrix.unit:
            return f"; {advice.filled(matrix.name, '1970-01-01')} replaces it"
        floats = advice.as_floats(matrix.name, matrix.columns)
        return f"; {advice.filled(matrix.name, '0')} replaces it, {floats} keeps it as NaN"

    @property
    def _value_fill(self) -> Number | None:
        if self.filling.everything is not None or self.type.is_floating:
            return self.filling.everything
        return None if self.type.category else self.filling.values

    def prepare(
        self, directory: Path, resources: _engine.Resources, report: Report | None = None
    ) -> None:
        """Writes the dictionary of categories into `directory`, if there is one."""
        if self.type.category:
            self._collect_categories(directory, resources, report)
        given, rows = self._value_fill, self.filling.rows
        self._fill = self._fill_row = None
        if given is not None:
            self._fill = self._filled_with(given)
            if self.filling.everything is not None:
                self._fill_row = self._fill
        if self.filling.everything is None and rows is not None:
            self._fill_row = self._filled_with(None if self.type.category else rows)
        if self.filling.gaps:
            self._fill_row = np.zeros(math.prod(self.type.row_shape), np.int64)

    @property
    def description(self) -> str:
        """What the file says about its values."""
        matrix = self.type
        if self.described is not None:
            return self.described.to_json()
        names = matrix.columns if matrix.table.has_names else ()
        return ColumnDescription(names, matrix.unit, matrix.category).to_json()

    def begin(self) -> None:
        """Counts from zero again."""
        self.tally.begin()
        self.tally.filled = self._fill is not None

    def rows(self, found: Values) -> Array:
        """What was read of some rows, as rows of the matrix."""
        matrix = self.type
        missing: Array | None
        if matrix.category:
            values, missing = self._codes(found)
        else:
            values = found.array
            missing = np.isnan(values) if values.dtype.kind == "f" else found.missing
        self.tally.rounded_times += found.rounded
        if matrix.unit is not None:
            self._note_times(values, missing)
        if matrix.dtype == "float32":
            for at in matrix.integers:
                column = values[:, at]
                inexact = (column.astype(np.float32) != column) & ~np.isnan(column)
                self.tally.rounded_integers += int(np.count_nonzero(inexact))
        self._count(missing)
        if missing is not None and self._fill is not None and missing.any():
            values = np.where(missing, self._fill, values)
        return values.reshape(len(values), *matrix.row_shape)

    @property
    def fill_row(self) -> Array | None:
        """The row of nodes that have none; None: that is an error."""
        if self._fill_row is None:
            return None
        return self._fill_row.reshape(1, *self.type.row_shape)

    def _count(self, missing: Array | None) -> None:
        if missing is None or not missing.any():
            return
        counts = missing.sum(axis=0)
        if self.type.read_as == "list":
            counts = counts.sum(keepdims=True)
        for column, count in zip(self.type.columns, counts, strict=True):
            if count:
                name = column if self.type.table.has_names else ""
                before = self.tally.missing.get(name, 0)
                self.tally.missing[name] = before + int(count)

    def _note_times(self, values: Array, missing: Array | None) -> None:
        known = values.reshape(-1) if missing is None else values[~missing]
        if not known.size:
            return
        tally, low, high = self.tally, int(known.min()), int(known.max())
        if low == NO_TIME:
            raise InputError(
                f"{self.type.table.name}: found the time {low} in {self.type.name!r}, which stands "
                "for none (NaT) elsewhere, expected times after it"
            )
        tally.first_time = low if tally.first_time is None else min(tally.first_time, low)
        tally.last_time = high if tally.last_time is None else max(tally.last_time, high)

    def _codes(self, found: Values) -> tuple[Array, Array]:
        count = id_count(found.values) if isinstance(found.values, Texts) else len(found.values)
        codes: Array = np.full(count, NO_CATEGORY, np.int64)
        if self._index is not None:
            codes = self._find(found.values)
        missing = codes < 0 if found.missing is None else found.missing.reshape(-1)
        codes[missing] = NO_CATEGORY
        return codes[:, None], missing[:, None]

    def _find(self, values: IdColumn) -> Array:
        assert self._index is not None
        if isinstance(values, Texts):
            return self._index.find_texts(values.offsets, values.data)
        return self._index.find_integers(np.ascontiguousarray(values.reshape(-1)))

    def _collect_categories(
        self, directory: Path, resources: _engine.Resources, report: Report | None
    ) -> None:
        matrix, file = self.type, categories_file(directory, self.type.name)
        texts = matrix.read_as == "text"
        integer_ids = _engine.IntegerIdCollector(resources)
        text_ids = _engine.TextIdCollector(resources)
        given = self.filling.everything
        if given is not None and texts:
            text_ids.add(
                *encode_texts([str(given)]), name=fill_name(self.type), first_row=0, what="text"
            )
        elif given is not None:
            integer_ids.add(np.array([fill_integer(self.type, given)]))
        table = matrix.table if self.dictionary is None else self.dictionary
        wanted = self.wanted
        if self.dictionary is not None:
            wanted = wanted._replace(columns=tuple(self.dictionary.columns))
        for chunk in table.read([wanted]):
            found = chunk.groups[0]
            values: IdColumn = found.values if texts else found.array.reshape(-1)
            if found.missing is not None:
                values = select_ids(values, ~found.missing.reshape(-1))
            if isinstance(values, Texts):
                text_ids.add(*values, place=self._place, first_row=chunk.first_row, what="text")
            else:
                integer_ids.add(np.ascontiguousarray(values))
            if report is not None:
                report("coding rows", chunk.end_row, table.num_rows or 0)
        collector = text_ids if texts else integer_ids
        self.num_categories = collector.write(str(file), categories=True, report=report).total
        if self.num_categories:
            self._index = _engine.IdIndex(
                _engine.Matrix.open(str(file)),
                memory=resources.memory // 4,
                threads=resources.threads,
            )
            self.words_for_nothing = words_for_nothing(self._index)

    def _place(self, row: int) -> str:
        return f"{self.type.table.place(row)} column {self.type.columns[0]!r}"

    def _filled_with(self, value: Number | None) -> Array:
        """A value for each column of the matrix."""
        if self.type.category:
            return np.full(1, NO_CATEGORY if value is None else self._code(value))
        assert value is not None
        return fill_values(self.type, value, self.wanted)

    def _code(self, value: Number) -> int:
        if self.type.read_as == "text":
            found = self._find(Texts(*encode_texts([str(value)])))
        else:
            found = self._find(np.array([fill_integer(self.type, value)]))
        return int(found[0])


def matrix_rows(column: MatrixColumn, ids: Wanted | None, *, role: str) -> RowStream:
    """The rows of the matrix. `ids`: the column with the ids of the rows; None: they come in
    order."""
    matrix, table = column.type, column.type.table
    wanted = [column.wanted] if ids is None else [ids, column.wanted]

    def chunks() -> Iterator[RowChunk]:
        column.begin()
        for chunk in table.read(wanted, column.tally):
            rows = column.rows(chunk.groups[-1])
            if ids is not None:
                yield RowChunk(chunk.groups[0].values, rows, numbers=chunk.numbers)
            else:
                yield RowChunk(None, _with_gaps(rows, chunk) if role == "edge" else rows)

    def ids_alone() -> Iterator[IdColumn]:
        assert ids is not None
        return (chunk.groups[0].values for chunk in table.read([ids]))

    return RowStream(
        table.name,
        chunks,
        matrix.row_shape,
        matrix.dtype,
        rows=table.num_rows,
        has_ids=ids is not None,
        texts=ids is not None and ids.texts,
        stored_bytes=table.bytes_of(matrix.columns),
        place_of=table.place,
        tally=column.tally,
        # If bad lines are skipped, all columns must be read to know which lines are good.
        open_ids=None if ids is None or table.skips else ids_alone,
        matrix=column,
        id_column=None if ids is None else ids.columns[0],
    )


def _with_gaps(rows: Array, chunk: TableChunk) -> Array:
    """Zeros where rows were skipped: no edge has those rows, but all others keep their numbers."""
    if chunk.numbers is None:
        return rows
    whole = np.zeros((chunk.end_row - chunk.first_row, *rows.shape[1:]), rows.dtype)
    whole[chunk.numbers - chunk.first_row] = rows
    return whole
