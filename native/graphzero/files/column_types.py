"""What a column may be asked to become: a type of numbers, a date in a unit, a category.

Without NumPy, for the command line.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

# The element types that a matrix may have.
MATRIX_DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
)
# Those that hold floating values.
FLOAT_DTYPES = ("float32", "float64", "float16", "bfloat16")

# Units of dates and times, from coarse to fine, as NumPy and Arrow write them.
TimeUnit: TypeAlias = Literal["D", "s", "ms", "us", "ns"]
TIME_UNITS: tuple[TimeUnit, ...] = ("D", "s", "ms", "us", "ns")

CATEGORY = "category"
COLUMN_TYPES = (*MATRIX_DTYPES, CATEGORY, *(f"date[{unit}]" for unit in TIME_UNITS))


class ColumnType(NamedTuple):
    """A type that was asked for: one of the three."""

    dtype: str | None = None
    unit: TimeUnit | None = None  # of a date or time, which becomes int64
    category: bool = False


def parse_column_type(text: str) -> ColumnType:
    """Raises ValueError for what is none."""
    if text == CATEGORY:
        return ColumnType(category=True)
    if text in MATRIX_DTYPES:
        return ColumnType(dtype=text)
    unit = text.removeprefix("date[").removesuffix("]")
    if text == f"date[{unit}]" and unit in TIME_UNITS:
        return ColumnType(unit=unit)
    raise ValueError(f"found type {text!r}, expected one of {', '.join(COLUMN_TYPES)}")


def split_type(text: str) -> tuple[str, str | None]:
    """ "joined_at:date[s]" -> ("joined_at", "date[s]"); a colon that no type follows is part of the
    name."""
    name, colon, asked = text.rpartition(":")
    return (name, asked) if colon and asked in COLUMN_TYPES else (text, None)
