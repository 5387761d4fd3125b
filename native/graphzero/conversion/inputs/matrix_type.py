"""The type of the matrix that columns of a table become together.

The same columns become the same matrix from text and from Parquet. Unless a type is asked for:

- several columns are features: float32; so is one that is given as a list;
- one column of integers is int64, of truth values bool, of other numbers float32; one of lists is a
  matrix of what its items are;
- dates are int64 in the unit that the table says;
- texts are categories, see matrix_columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.advice import OPTIONS, Advice
from graphzero.conversion.inputs.tables import Kind, ReadAs, Table
from graphzero.files.column_types import (
    FLOAT_DTYPES,
    QUANTISED,
    ColumnType,
    TimeUnit,
    parse_column_type,
    unquantised,
)

# How Arrow calls types whose values float32 holds, also as the items of lists.
_FLOAT32 = re.compile(r"\b(half)?float( not null)?>?(\[\d+\])?$")


@dataclass(frozen=True)
class MatrixType:
    """What columns of a table are to become."""

    name: str  # of the matrix
    table: Table
    columns: tuple[str, ...]
    read_as: ReadAs
    dtype: str  # of the matrix
    row_shape: tuple[int, ...]
    unit: TimeUnit | None = None  # of dates
    category: bool = False
    integers: tuple[int, ...] = ()  # columns whose integers become floating, by their position
    truths: tuple[int, ...] = ()  # columns whose truth values become floating
    quantised: str | None = None  # one of QUANTISED: the type in which values are stored in the end

    @property
    def is_floating(self) -> bool:
        return self.dtype in FLOAT_DTYPES


def matrix_type(
    name: str,
    table: Table,
    columns: Sequence[str],
    asked: str | None,
    float_dtype: str | None,
    advice: Advice = OPTIONS,
    *,
    is_list: bool = False,
) -> MatrixType:
    """`asked`: one of COLUMN_TYPES. `float_dtype`: what floating values become without one.
    `is_list`: rows are lists with a number for each column, even if there is only one column."""
    table.require(columns)
    wanted = ColumnType() if asked is None else parse_column_type(asked)
    found = _deduced(name, table, columns, wanted, float_dtype, advice, is_list)
    if wanted.dtype in QUANTISED:
        return _quantised(found, wanted.dtype)
    by_dtype = wanted.dtype is None and found.is_floating
    if by_dtype and float_dtype in QUANTISED and quantises_rows_of(math.prod(found.row_shape)):
        return _quantised(found, float_dtype)
    return found


def _quantised(found: MatrixType, asked: str | None) -> MatrixType:
    """The same matrix, to be quantised from values as the table has them: those that float32 would
    round are float64 until then, so that the errors are measured against them."""
    table = found.table
    narrow = table.says_kinds and all(
        _FLOAT32.search(kind.name) for kind in table.kinds_of(found.columns)
    )
    return replace(found, dtype="float32" if narrow else "float64", quantised=asked)


def quantises_rows_of(values: int) -> bool:
    """Whether --dtype q8 applies to rows of this many values. One value in a row is more often a
    label than a feature: it is quantised only where its own type says so."""
    return values > 1


def _deduced(
    name: str,
    table: Table,
    columns: Sequence[str],
    wanted: ColumnType,
    float_dtype: str | None,
    advice: Advice,
    is_list: bool,
) -> MatrixType:
    if wanted.dtype is not None:
        wanted = wanted._replace(dtype=unquantised(wanted.dtype))
    floats = unquantised(float_dtype or "float32")
    # Text does not state the kinds of its columns. It is read to find them only where they matter.
    look = table.says_kinds or (wanted.dtype is None and wanted.unit is None)
    kinds = tuple(table.kinds_of(columns)) if look else ()
    deduction = _Deduction(name, table, tuple(columns), kinds, floats, advice, is_list)
    if any(kind.what == "list" for kind in kinds):
        return deduction.of_lists(wanted)
    if wanted.category:
        return deduction.of_categories(also_dates=True)
    if wanted.unit is not None:
        return deduction.make("time", "int64", unit=wanted.unit)
    if wanted.dtype is not None:
        return deduction.make(_read_as(wanted.dtype), wanted.dtype)
    return deduction.by_kinds()


def _read_as(dtype: str) -> ReadAs:
    if dtype in FLOAT_DTYPES:
        return "number"
    return "bool" if dtype == "bool" else "integer"


@dataclass(frozen=True)
class _Deduction:
    """Deduces the type of a matrix from the kinds of its columns and the type that was asked
    for."""

    name: str
    table: Table
    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    float_dtype: str
    advice: Advice
    is_list: bool

    def make(self, read_as: ReadAs, dtype: str, **details: Any) -> MatrixType:
        # A category is always one value in a row.
        is_list = len(self.columns) > 1 or (self.is_list and not details.get("category"))
        shape = (len(self.columns),) if is_list else ()
        return MatrixType(self.name, self.table, self.columns, read_as, dtype, shape, **details)

    def by_kinds(self) -> MatrixType:
        """The type that follows from what the columns hold."""
        # A text among numbers is more often a mistake than a category: reading it as a number then
        # reports it.
        found = {"number" if kind.mixed else kind.what for kind in self.kinds}
        if found == {"time"}:
            return self._of_times()
        if len(self.columns) == 1 and found == {"text"}:
            return self.of_categories(also_dates=False)
        for column, kind in zip(self.columns, self.kinds, strict=True):
            if kind.what not in ("integer", "number", "bool") and not kind.mixed:
                dates = kind.looks_like_time
                raise InputError(
                    f"{self.table.name} column {column!r}: found {'dates' if dates else kind.name} "
                    f"beside other columns of {self.name!r}, expected numbers; give it a name of "
                    f"its own, such as {self.advice.alone(column, 'date[s]' if dates else None)}, "
                    "or leave it out"
                    if len(self.columns) > 1
                    else f"{self.table.name} column {column!r}: found {kind.name}, expected numbers"
                )
        if len(self.columns) > 1 or self.is_list or found == {"number"}:
            integers, truths = (
                tuple(at for at, kind in enumerate(self.kinds) if kind.what == what)
                for what in ("integer", "bool")
            )
            return self.make("number", self.float_dtype, integers=integers, truths=truths)
        return self.make("bool", "bool") if found == {"bool"} else self.make("integer", "int64")

    def _of_times(self) -> MatrixType:
        units = {kind.unit for kind in self.kinds if kind.unit is not None}
        if len(units) != 1:
            raise InputError(
                f"{self.table.name}: found dates in {' and '.join(sorted(units))} for "
                f"{self.name!r}, expected one unit; name it, such as date[s]"
            )
        return self.make("time", "int64", unit=units.pop())

    def of_categories(self, *, also_dates: bool) -> MatrixType:
        column, kind = self.columns[0], self.kinds[0]
        if len(self.columns) > 1:
            raise InputError(
                f"{self.name!r}: found {len(self.columns)} columns as one category, expected one; "
                "give each a name of its own"
            )
        if kind.looks_like_time and not also_dates:
            raise InputError(
                f"{self.table.name} column {column!r}: found dates, expected their unit: "
                f"{self.advice.with_type(column, 'date[s]')} counts seconds since 1970 (or D, ms, "
                f"us, ns), {self.advice.with_type(column, 'category')} takes them as texts"
            )
        as_integers = kind.what == "integer" and not kind.padded
        is_other = kind.what != "text" and not kind.is_empty
        if not as_integers and self.table.says_kinds and is_other:
            raise InputError(
                f"{self.table.name} column {column!r}: found {kind.name}, expected texts or "
                "integers as categories"
            )
        return self.make("integer" if as_integers else "text", "int64", category=True)

    def of_lists(self, wanted: ColumnType) -> MatrixType:
        column, kind = self.columns[0], self.kinds[0]
        if len(self.columns) > 1:
            raise InputError(
                f"{self.table.name}: found lists beside other columns for {self.name!r}, expected "
                "one number in a row; give the column of lists a name of its own"
            )
        known = {"integer": "int64", "bool": "bool", "number": self.float_dtype, "time": "int64"}
        if kind.items not in known or wanted.category:
            raise InputError(
                f"{self.table.name} column {column!r}: found {kind.name}, expected a number or a "
                "list of numbers"
            )
        if wanted.dtype is not None and kind.items == "time":
            raise InputError(
                f"{self.table.name} column {column!r}: found {kind.name}, expected numbers for "
                f"{wanted.dtype}; date[s] takes dates"
            )
        shape = (self.table.width_of(column),)
        dtype = wanted.dtype or known[kind.items]
        unit = wanted.unit or kind.unit
        return MatrixType(self.name, self.table, self.columns, "list", dtype, shape, unit)
