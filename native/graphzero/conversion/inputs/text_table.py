"""Tables in text, whose fields the engine reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.conversion.inputs.streams import Texts
from graphzero.conversion.inputs.tables import (
    Kind,
    ReadTally,
    Table,
    TableChunk,
    Values,
    Wanted,
)
from graphzero.conversion.inputs.texts import TextInput
from graphzero.files.column_types import TimeUnit

ENGINE_UNITS: dict[TimeUnit, _engine.TimeUnit] = {
    "D": _engine.TimeUnit.DAY,
    "s": _engine.TimeUnit.SECOND,
    "ms": _engine.TimeUnit.MILLISECOND,
    "us": _engine.TimeUnit.MICROSECOND,
    "ns": _engine.TimeUnit.NANOSECOND,
}
_KINDS = {
    "node_id": _engine.FieldKind.NODE_ID,
    "weight": _engine.FieldKind.WEIGHT,
    "number": _engine.FieldKind.NUMBER,
    "integer": _engine.FieldKind.INTEGER,
    "bool": _engine.FieldKind.BOOL,
    "time": _engine.FieldKind.TIME,
    "text": _engine.FieldKind.TEXT,
}
# Bits of what a survey of fields found, see FieldLook in native/compile/text/field_values.h.
_MISSING, _INTEGER, _PADDED, _NUMBER, _BOOL, _TIME, _TEXT = (1 << bit for bit in range(7))
_NUMBERS = _INTEGER | _PADDED | _NUMBER


class TextTable(Table):
    """A text with a first line of names, or without.

    `columns`: their names; `named`: these come from the text, else they are 1, 2, 3, ... `missing`:
    texts that stand for a missing value. `skip`: leave out bad lines instead of raising.
    """

    def __init__(
        self,
        text: TextInput,
        columns: Sequence[str],
        *,
        header: bool,
        named: bool = True,
        whole_lines: bool = False,
        missing: Sequence[str] = (),
        skip: bool = False,
        threads: int = 0,
    ) -> None:
        self.name = text.path
        self.text = text
        self.has_names = named
        self._has_header = header
        self._columns = list(columns)
        self._whole_lines = whole_lines
        self._missing = list(missing)
        self._skips = skip
        self._threads = threads

    @property
    def columns(self) -> list[str]:
        return self._columns

    @property
    def num_rows(self) -> int | None:
        return None

    @property
    def says_kinds(self) -> bool:
        return False

    @property
    def skips(self) -> bool:
        return self._skips

    def kinds_of(self, columns: Sequence[str]) -> list[Kind]:
        return [kind_of_looks(int(looks)) for looks in self.looks_of(columns)]

    def looks_of(self, columns: Sequence[str]) -> npt.NDArray[np.uint8]:
        """What the fields of columns look like, for kind_of_looks(): bits that several files of a
        table may join."""
        self.require(columns)
        found = np.zeros(len(columns), np.uint8)
        group = self._group(_engine.FieldKind.SURVEY, columns)
        reader: Any = self._reader([group], skip=True)
        while (batch := reader.next()) is not None:
            found |= batch[1][0][0]
            # Later fields cannot change what texts mixed with numbers and gaps are taken for.
            if ((found & _TEXT > 0) & (found & _NUMBERS > 0) & (found & _MISSING > 0)).all():
                break
        return found

    def read(
        self, wanted: Sequence[Wanted], tally: ReadTally | None = None
    ) -> Iterator[TableChunk]:
        groups = [self._group_of(each) for each in wanted]
        reader: Any = self._reader(groups, skip=self._skips, wanted=wanted)
        first_row = position = 0
        while (batch := reader.next()) is not None:
            numbers, found = batch
            end_row = reader.rows_seen
            consecutive = end_row - first_row == len(numbers)
            yield TableChunk(
                first_row,
                end_row,
                None if consecutive else numbers,
                [_values(group, each) for group, each in zip(found, wanted, strict=True)],
                reader.stored_position - position,
            )
            first_row, position = end_row, reader.stored_position
        if tally is not None:
            tally.rows = reader.rows_seen
            tally.skipped, tally.messages = reader.skipped, tuple(reader.messages)

    def place(self, row: int) -> str:
        line = _engine.line_of_row(*self.text, self._format([]), row)
        return f"{self.name} line {line}"

    def bytes_of(self, columns: Sequence[str]) -> int:
        return self.text.stored_bytes or Path(self.text.path).stat().st_size

    def _group_of(self, wanted: Wanted) -> _engine.FieldGroup:
        if wanted.read_as == "id":
            kinds = (_engine.FieldKind.INTEGER_ID, _engine.FieldKind.TEXT_ID)
            return self._group(kinds[wanted.texts], wanted.columns)
        if wanted.read_as not in _KINDS:
            raise InputError(f"{self.name}: found text, expected a table that has lists")
        return self._group(_KINDS[wanted.read_as], wanted.columns, wanted)

    def _group(
        self, kind: _engine.FieldKind, columns: Sequence[str], wanted: Wanted | None = None
    ) -> _engine.FieldGroup:
        self.require(columns)
        places: dict[str, list[int]] = {}
        for place, name in enumerate(self._columns):
            places.setdefault(name, []).append(place)
        for name in columns:
            if len(places[name]) > 1:
                raise InputError(f"{self.name}: found column {name!r} twice, expected it once")
        labels = [f"column {name!r}" if self.has_names else f"column {name}" for name in columns]
        if wanted is not None and wanted.label:
            labels = [wanted.label for _ in columns]
        return _engine.FieldGroup(
            kind,
            columns=[places[name][0] for name in columns],
            labels=labels,
            unit=ENGINE_UNITS["s" if wanted is None else wanted.unit],
            may_be_missing=wanted is not None and wanted.may_be_missing,
            missing_hint="" if wanted is None else wanted.hint,
            text_hint="" if wanted is None else wanted.text_hint,
            truths=[] if wanted is None else list(wanted.truths),
        )

    def _format(
        self, groups: list[_engine.FieldGroup], *, skip: bool = False, id_limit: int = 2**63
    ) -> _engine.TextTableFormat:
        return _engine.TextTableFormat(
            header=self._has_header,
            whole_lines=self._whole_lines,
            columns=len(self._columns),
            groups=groups,
            missing=self._missing,
            id_limit=id_limit,
            skip_bad_lines=skip,
        )

    def _reader(
        self, groups: list[_engine.FieldGroup], *, skip: bool, wanted: Sequence[Wanted] = ()
    ) -> _engine.TextTableReader:
        limit = min((each.limit for each in wanted), default=2**63)
        return _engine.TextTableReader(
            *self.text,
            self._format(groups, skip=skip, id_limit=limit),
            threads=self._threads or len(os.sched_getaffinity(0)),
        )


def _values(group: Any, wanted: Wanted) -> Values:
    values, missing, rounded = group
    if isinstance(values, tuple):
        return Values(Texts(*values), None if missing is None else missing.view(np.bool_))
    if wanted.read_as in ("id", "node_id", "weight"):
        return Values(values)
    shape = (-1, len(wanted.columns))
    if missing is not None:
        missing = missing.view(np.bool_).reshape(shape)
    if wanted.read_as == "bool":
        values = values.astype(np.bool_)
    return Values(values.reshape(shape), missing, rounded)


def kind_of_looks(looks: int) -> Kind:
    """The kind of a column in which fields with these looks were found."""
    return _kind_of_values(looks & ~_MISSING)._replace(some_missing=bool(looks & _MISSING))


def _kind_of_values(seen: int) -> Kind:
    if not seen & ~(_INTEGER | _PADDED) and seen:
        return Kind("integer", "integers", padded=bool(seen & _PADDED))
    if not seen & ~_NUMBERS:
        return Kind("number", "numbers", is_empty=not seen)
    if seen == _BOOL:
        return Kind("bool", "truth values")
    mixed = bool(seen & _NUMBERS)
    return Kind("text", "texts", looks_like_time=seen == _TIME, mixed=mixed)
