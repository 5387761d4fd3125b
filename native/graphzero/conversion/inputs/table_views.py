"""Views of tables: one that surveys all columns at once, and one with some rows only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.streams import Array, select_ids
from graphzero.conversion.inputs.tables import Kind, ReadTally, Table, TableChunk, Values, Wanted

# Which rows of a chunk stay, as a mask; None: all.
Keep: TypeAlias = Callable[[TableChunk], "Array | None"]


class _View(Table):
    def __init__(self, table: Table) -> None:
        self.table = table
        self.name = table.name
        self.has_names = table.has_names

    @property
    def columns(self) -> list[str]:
        return self.table.columns

    @property
    def num_rows(self) -> int | None:
        return self.table.num_rows

    @property
    def says_kinds(self) -> bool:
        return self.table.says_kinds

    @property
    def skips(self) -> bool:
        return self.table.skips

    def kinds_of(self, columns: Sequence[str]) -> list[Kind]:
        return self.table.kinds_of(columns)

    def read(
        self, wanted: Sequence[Wanted], tally: ReadTally | None = None
    ) -> Iterator[TableChunk]:
        return self.table.read(wanted, tally)

    def has_missing(self, column: str) -> bool:
        return self.table.has_missing(column)

    def width_of(self, column: str) -> int:
        return self.table.width_of(column)

    def place(self, row: int) -> str:
        return self.table.place(row)

    def bytes_of(self, columns: Sequence[str]) -> int:
        return self.table.bytes_of(columns)


class SurveyedTable(_View):
    """Finds out what all `used` columns hold when it is first asked about any of them, so that text
    is read only once for that."""

    def __init__(self, table: Table, used: Sequence[str]) -> None:
        super().__init__(table)
        self._used = list(used)
        self._kinds: dict[str, Kind] = {}

    def kinds_of(self, columns: Sequence[str]) -> list[Kind]:
        if unknown := [column for column in columns if column not in self._kinds]:
            asked = list(dict.fromkeys([*self._used, *unknown]))
            kinds = self.table.kinds_of(asked)
            self._kinds |= dict(zip(asked, kinds, strict=True))
        return [self._kinds[column] for column in columns]


class FilteredTable(_View):
    """The rows of a table that `keep` selects. `needed` are the values that `keep` looks at: the
    first groups of the chunk that it gets. Rows keep their numbers. A missing value in a row that
    is left out is no error."""

    def __init__(self, table: Table, keep: Keep, needed: Sequence[Wanted] = ()) -> None:
        super().__init__(table)
        self._keep = keep
        self._needed = list(needed)

    @property
    def num_rows(self) -> int | None:
        return None

    def read(
        self, wanted: Sequence[Wanted], tally: ReadTally | None = None
    ) -> Iterator[TableChunk]:
        skip = len(self._needed)
        lenient = [each._replace(may_be_missing=True) for each in wanted]
        for chunk in self.table.read([*self._needed, *lenient], tally):
            mask = self._keep(chunk)
            groups = chunk.groups[skip:]
            numbers = row_numbers(chunk)
            if mask is not None:
                numbers = numbers[mask]
                groups = [_selected(values, mask) for values in groups]
            for each, values in zip(wanted, groups, strict=True):
                if not each.may_be_missing:
                    self._refuse_missing(each, values, numbers)
            yield chunk._replace(numbers=numbers, groups=groups)

    def _refuse_missing(self, wanted: Wanted, values: Values, numbers: Array) -> None:
        missing = values.missing
        if wanted.read_as == "number":
            missing = np.isnan(values.array)
        if missing is None or not missing.any():
            return
        row, *column = np.unravel_index(int(np.argmax(missing)), missing.shape)
        name = wanted.columns[int(column[0]) if column else 0]
        raise InputError(
            f"{self.place(int(numbers[row]))} column {name!r}: found no value, expected one"
            f"{wanted.hint}"
        )


def row_numbers(chunk: TableChunk) -> Array:
    """The numbers of the rows of a chunk."""
    return np.arange(chunk.first_row, chunk.end_row) if chunk.numbers is None else chunk.numbers


def _selected(values: Values, mask: Array) -> Values:
    missing = None if values.missing is None else values.missing[mask]
    return values._replace(values=select_ids(values.values, mask), missing=missing)
