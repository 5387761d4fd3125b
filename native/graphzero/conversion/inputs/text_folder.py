"""Folders of text files that are one table, such as the CSV files that Spark writes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.tables import Kind, ReadTally, Table, TableChunk, Wanted
from graphzero.conversion.inputs.text_table import TextTable, kind_of_looks


class TextFolder(Table):
    """Text files with the same columns, one after the other.

    `name` is that of the folder. Columns go by their names, so their order may differ, or by their
    position if no file has a first line of names.
    """

    def __init__(self, name: str, files: Sequence[TextTable]) -> None:
        self.name = name
        self._files = list(files)
        self.has_names = self._files[0].has_names
        self._first_rows = [0]  # of the files in the whole, as far as they were read

    @property
    def columns(self) -> list[str]:
        return self._files[0].columns

    @property
    def num_rows(self) -> int | None:
        return None

    @property
    def says_kinds(self) -> bool:
        return False

    @property
    def skips(self) -> bool:
        return self._files[0].skips

    def kinds_of(self, columns: Sequence[str]) -> list[Kind]:
        self._require_everywhere(columns)
        looks = np.zeros(len(columns), np.uint8)
        for file in self._files:
            looks |= file.looks_of(columns)
        return [kind_of_looks(int(own)) for own in looks]

    def read(
        self, wanted: Sequence[Wanted], tally: ReadTally | None = None
    ) -> Iterator[TableChunk]:
        self._require_everywhere([name for each in wanted for name in each.columns])
        total, first = ReadTally(), 0
        for number, file in enumerate(self._files):
            if number == len(self._first_rows):
                self._first_rows.append(first)
            own = ReadTally()
            for chunk in file.read(wanted, own):
                yield chunk._replace(
                    first_row=first + chunk.first_row,
                    end_row=first + chunk.end_row,
                    numbers=None if chunk.numbers is None else first + chunk.numbers,
                )
            first += own.rows
            total.rows = first
            total.skipped += own.skipped
            total.messages = total.messages or own.messages  # the first ones
        if tally is not None:
            tally.rows = total.rows
            tally.skipped, tally.messages = total.skipped, total.messages

    def place(self, row: int) -> str:
        """Only for a row that was read."""
        number = bisect_right(self._first_rows, row) - 1
        return self._files[number].place(row - self._first_rows[number])

    def bytes_of(self, columns: Sequence[str]) -> int:
        return sum(file.bytes_of(columns) for file in self._files)

    def _require_everywhere(self, columns: Sequence[str]) -> None:
        """Raises InputError before anything is read if a file lacks one of these columns."""
        self.require(columns)
        for file in self._files[1:]:
            known = set(file.columns)
            for column in columns:
                if column not in known:
                    raise InputError(
                        f"{file.name}: found no column {column!r}, expected it as in "
                        f"{self._files[0].name}: each file of a folder begins with a line of names"
                    )
