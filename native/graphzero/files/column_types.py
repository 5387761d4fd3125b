"""Types that a user may ask for a column: a type of numbers, a date in a unit, a category, or
floating values in one byte each.

This module does not import NumPy, because the command line uses it.
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
# The element types that hold floating values.
FLOAT_DTYPES = ("float32", "float64", "float16", "bfloat16")

_EXACT_AS_FLOAT32 = frozenset(
    ("float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "bool")
)

# Units of dates and times, from coarse to fine, as NumPy and Arrow write them.
TimeUnit: TypeAlias = Literal["D", "s", "ms", "us", "ns"]
TIME_UNITS: tuple[TimeUnit, ...] = ("D", "s", "ms", "us", "ns")
# NumPy's NaT, which is no time.
NO_TIME = -(2**63)

# Floating values stored as one byte each, with a scale and an offset for each feature; by name, the
# type of the values that are read. The name is not int8, because int8 stands for integers.
QUANTISED = {"q8": "float32", "q8[float16]": "float16"}
# Types that a user may ask for floating values.
FLOAT_TYPES = (*FLOAT_DTYPES, *QUANTISED)

CATEGORY = "category"
COLUMN_TYPES = (
    *MATRIX_DTYPES,
    *QUANTISED,
    CATEGORY,
    *(f"date[{unit}]" for unit in TIME_UNITS),
)


class ColumnType(NamedTuple):
    """A type that a user asked for; exactly one field is set."""

    dtype: str | None = None  # one of MATRIX_DTYPES or QUANTISED
    unit: TimeUnit | None = None  # of a date or time, which becomes int64
    category: bool = False


def parse_column_type(text: str) -> ColumnType:
    """Raises ValueError if `text` is not one of COLUMN_TYPES."""
    if text == CATEGORY:
        return ColumnType(category=True)
    if text in MATRIX_DTYPES or text in QUANTISED:
        return ColumnType(dtype=text)
    unit = text.removeprefix("date[").removesuffix("]")
    if text == f"date[{unit}]" and unit in TIME_UNITS:
        return ColumnType(unit=unit)
    raise ValueError(f"found type {text!r}, expected one of {', '.join(COLUMN_TYPES)}")


def unquantised(dtype: str) -> str:
    """The type that values have before quantisation; `dtype` itself if it is not quantised."""
    return "float32" if dtype in QUANTISED else dtype


def exact_float_type(dtype: str) -> str:
    """A floating type that holds the values of `dtype`, one of MATRIX_DTYPES or another name of
    NumPy's, before they are quantised: errors are those against the values that were given, so none
    must be rounded before. float64 rounds integers beyond 2^53."""
    return "float32" if dtype in _EXACT_AS_FLOAT32 else "float64"


def quantised_type(delivered: str) -> str:
    """ "float16" -> "q8[float16]"."""
    return next(name for name, values in QUANTISED.items() if values == delivered)


def general_float_type(text: str) -> str:
    """The type that --dtype asks for all floating columns.

    There "int8" means q8, because integers would keep nothing of floating values. As the type of
    one column, "int8" means integers. Raises ValueError.
    """
    asked = "q8" if text == "int8" else text
    if asked not in FLOAT_TYPES:
        raise ValueError(
            f"found {text!r}, expected one of {', '.join(FLOAT_TYPES)}: it is for columns of "
            "floating values"
        )
    return asked


def split_type(text: str) -> tuple[str, str | None]:
    """ "joined_at:date[s]" -> ("joined_at", "date[s]"). A colon without a type after it is part of
    the name."""
    name, colon, asked = text.rpartition(":")
    return (name, asked) if colon and asked in COLUMN_TYPES else (text, None)
