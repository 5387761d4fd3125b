"""Times of rows: one unit for a dataset, chosen by what its tables hold or stated by the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.conversion.inputs.arrow_values import in_unit
from graphzero.conversion.inputs.tables import Kind, Table, Values, Wanted
from graphzero.conversion.inputs.text_table import ENGINE_UNITS
from graphzero.conversion.tables.description import TimeDescription, TimePoint
from graphzero.files.column_types import NO_TIME, TIME_UNITS, TimeUnit
from graphzero.files.original_ids import encode_texts

# The unit of dates in text, which state none.
_TEXT_UNIT: TimeUnit = "s"


class TimeWords(NamedTuple):
    """How messages refer to what a user can state about times."""

    missing: str  # what to do about rows without a time
    stated_unit: str  # how a unit is stated, with {} in its place

    def unit(self, unit: str | None) -> str:
        return self.stated_unit.format(unit)


TABLE_WORDS = TimeWords(
    '; missing = "drop" leaves out such rows and counts them', 'time_unit = "{}"'
)


@dataclass
class TimeColumn:
    """The times of a table, read in the unit of the dataset."""

    table: Table
    column: str
    unit: TimeUnit | None  # None: integers on a scale of the user's
    own_unit: TimeUnit | None = None  # of integers, if it is another unit
    may_round: bool = True  # down to the unit; only if the user stated it, see values()
    words: TimeWords = TABLE_WORDS
    rounded: int = field(default=0, init=False)  # times finer than the unit, when last read

    def wanted(self, *, may_be_missing: bool) -> Wanted:
        return Wanted(
            "time",
            (self.column,),
            unit=self.own_unit or self.unit or _TEXT_UNIT,
            may_be_missing=may_be_missing,
            hint=self.words.missing,
        )

    def begin(self) -> None:
        """Call it before each reading of the times; there may be several."""
        self.rounded = 0

    def values(self, found: Values, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The times that were read, in the dataset's unit. `numbers`: their row numbers, for
        messages. Rows without a time must be left out before.

        After rounding to seconds, an event would seem to be known as early as any other of the same
        second, so times are rounded only to a unit that the user stated.
        """
        times: npt.NDArray[np.int64] = np.ascontiguousarray(found.array.reshape(-1), np.int64)
        if found.rounded and not self.may_round:
            raise InputError(
                f"{self.table.name} column {self.column!r}: found times that are finer than "
                f"{self.unit}, expected the unit of the dataset: {self._finer_units()}"
                f"{self.words.unit(self.unit)} rounds them down"
            )
        self.rounded += found.rounded
        if self.own_unit is not None and self.unit is not None:
            times, rounded, misfit = in_unit(times, self.own_unit, self.unit)
            self.rounded += rounded
            if misfit.any():
                at = int(np.argmax(misfit))
                raise InputError(
                    f"{self._place(numbers[at])}: found a time that 64 bits do not hold in "
                    f"{self.unit}"
                )
        if times.size and int(times.min()) == NO_TIME:
            raise InputError(
                f"{self._place(numbers[int(np.argmin(times))])}: found the time {NO_TIME}, which "
                "stands for none (NaT), expected times after it"
            )
        return times

    def _finer_units(self) -> str:
        """What a message advises to somebody who wants to lose nothing of the times."""
        assert self.unit is not None
        finer = TIME_UNITS[TIME_UNITS.index(self.unit) + 1 :]
        if not finer:
            return ""
        *between, last = (self.words.unit(finer[0]), *finer[1:])
        units = f"{', '.join(between)} or {last}" if between else last
        return f"{units} keeps them apart, "

    def _place(self, row: int) -> str:
        return f"{self.table.place(int(row))} column {self.column!r}"


class FoundTimes:
    """Collects what the time columns of all tables hold, to choose a unit."""

    def __init__(self, stated: TimeUnit | None) -> None:
        self._stated = stated
        self._units: list[TimeUnit] = []
        self._integers: str | None = None  # the first column of integers without a unit
        self._dates: str | None = None  # the first column of dates

    def look_at(self, table: Table, time: TimeDescription) -> None:
        """Raises InputError for a column that holds no times."""
        kind = table.kinds_of([time.column])[0]
        place = f"{table.name} column {time.column!r}"
        if kind.is_empty:  # a table without rows, or one whose rows are all dropped
            return
        if kind.what == "integer" or (kind.what == "number" and table.says_kinds):
            if time.unit is not None:
                self._units.append(time.unit)
            elif self._integers is None:
                self._integers = place
        # Whether texts of Arrow are dates shows only when they are read.
        elif kind.what == "time" or kind.looks_like_time or _is_arrow_text(table, kind):
            if time.unit is not None:
                raise InputError(
                    f"{place}: found dates and the unit {time.unit}, expected integers: dates "
                    "need none, and time_unit is that of the dataset"
                )
            self._units.append(kind.unit or _TEXT_UNIT)
            self._dates = self._dates or place
        else:
            if not table.says_kinds:
                _require_times(table, time.column)
            raise InputError(f"{place}: found {_found(kind)}, expected integers or dates as times")

    def unit(self) -> TimeUnit | None:
        """The stated unit, or the finest of those found, so that nothing is rounded."""
        if self._stated is not None:
            return self._stated
        if not self._units:
            return None
        if self._integers is not None:
            other = self._dates or "times with a unit"
            raise InputError(
                f"{self._integers}: found integers and in {other} dates, expected one scale: "
                "time_unit says what integers count (D, s, ms, us or ns), or time = { column = "
                "NAME, unit = UNIT } of one table"
            )
        return max(self._units, key=TIME_UNITS.index)


def _require_times(table: Table, column: str) -> None:
    """Reads a column of text as times, which raises InputError with the line and the value of the
    first field that is none."""
    for _ in table.read([Wanted("time", (column,), unit=_TEXT_UNIT, may_be_missing=True)]):
        pass


def _is_arrow_text(table: Table, kind: Kind) -> bool:
    return table.says_kinds and kind.what == "text"


def _found(kind: Kind) -> str:
    return f"{kind.name}, some of them dates or numbers" if kind.mixed else kind.name


def time_points(
    place: str,
    points: Sequence[TimePoint],
    unit: TimeUnit | None,
    *,
    own_unit: TimeUnit | None = None,
    of_dates: bool = False,
) -> list[int]:
    """The points as times of the dataset. Raises InputError unless they ascend. `own_unit`: what
    the integers of the table count, and so those among the points; None: the dataset's unit.
    `of_dates`: they divide dates, among which an integer is more often a year than a count of the
    unit."""
    for point in points:
        if of_dates and isinstance(point, int):
            raise InputError(
                f"{place}: found {point}, expected a date such as 2013-01-31, as the times are"
            )
    found = [_time_point(place, point, unit, own_unit) for point in points]
    for before, after in pairwise(found):
        if before >= after:
            shown = ", ".join(map(str, points))
            raise InputError(f"{place}: found {shown}, expected points in time that ascend")
    return found


def _time_point(
    place: str, point: TimePoint, unit: TimeUnit | None, own_unit: TimeUnit | None
) -> int:
    if isinstance(point, int):
        if not NO_TIME < point < 2**63:
            raise InputError(f"{place}: found {point}, which 64 bits do not hold")
        # The dataset has no unit if no row has a time; then there is nothing to divide.
        return point if own_unit is None or unit is None else _count(place, point, own_unit, unit)
    if unit is None:
        raise InputError(
            f"{place}: found {point!r}, expected an integer as the times are; time_unit says what "
            "they count"
        )
    times, status = _engine.parse_times(*encode_texts([point]), unit=ENGINE_UNITS[unit])
    if status[0] > 1:
        raise InputError(f"{place}: found {point!r}, expected a date such as 2013-01-31")
    if status[0] == 1:
        raise _too_fine(place, repr(point), unit)
    return int(times[0])


def _count(place: str, point: int, own_unit: TimeUnit, unit: TimeUnit) -> int:
    """A point that was counted in the unit of its table, in that of the dataset."""
    times, rounded, misfit = in_unit(np.array([point]), own_unit, unit)
    if misfit.any():
        raise InputError(
            f"{place}: found {point} (in {own_unit}, the unit of the table's times), which 64 bits "
            f"do not hold in {unit}, the unit of the dataset"
        )
    if rounded:
        raise _too_fine(place, f"{point} (in {own_unit}, the unit of the table's times)", unit)
    return int(times[0])


def _too_fine(place: str, point: str, unit: TimeUnit) -> InputError:
    return InputError(
        f"{place}: found {point}, which is finer than the unit of the dataset, {unit}, so that "
        "rows would be on the wrong side of it; expected a whole number of that unit, or a finer "
        "time_unit"
    )
