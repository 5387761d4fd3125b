"""What takes the place of missing values in a matrix that is made of columns of a table."""

from __future__ import annotations

import math

import numpy as np

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.conversion.compile_column import Number, parse_number
from graphzero.conversion.inputs.matrix_type import MatrixType
from graphzero.conversion.inputs.streams import Array
from graphzero.conversion.inputs.tables import Wanted
from graphzero.files.original_ids import encode_texts

MEAN = "mean"


def fill_name(matrix: MatrixType) -> str:
    """What messages call the value."""
    return f"fill value of {matrix.name!r}"


def fill_values(matrix: MatrixType, value: Number, wanted: Wanted) -> Array:
    """A fill value for each column of a matrix without categories. For means, `wanted` is read from
    the table once."""
    width = matrix.row_shape[0] if matrix.row_shape else 1
    what = fill_name(matrix)
    if value == MEAN:
        return _means(matrix, wanted)
    if matrix.is_floating:
        return np.full(width, float(parse_number(value, what)))
    if matrix.unit is not None:
        return np.full(width, _time(matrix, value))
    if matrix.dtype == "bool":
        if str(value).lower() not in ("true", "false", "0", "1"):
            raise InputError(f"{what}: found {value!r}, expected true, false, 1 or 0")
        value = int(str(value).lower() in ("true", "1"))
    number = fill_integer(matrix, value)
    low, high = (0, 1) if matrix.dtype == "bool" else _range(matrix.dtype)
    if not low <= number <= high:
        raise InputError(f"{what}: found {value}, which does not fit {matrix.dtype}")
    return np.full(width, number)


def fill_integer(matrix: MatrixType, value: Number) -> int:
    number = parse_number(value, fill_name(matrix))
    # NaN and infinity are no integers either, and int() of them raises.
    if not math.isfinite(number) or number != int(number) or not -(2**63) <= number < 2**63:
        raise InputError(f"{fill_name(matrix)}: found {value}, expected an integer")
    return int(number)


def _time(matrix: MatrixType, value: Number) -> int:
    from graphzero.conversion.inputs.text_table import ENGINE_UNITS

    assert matrix.unit is not None
    text = str(value)
    if text.removeprefix("-").isdigit():
        return fill_integer(matrix, value)
    times, status = _engine.parse_times(*encode_texts([text]), unit=ENGINE_UNITS[matrix.unit])
    if status[0] > 1:
        raise InputError(
            f"{fill_name(matrix)}: found {text!r}, expected a date such as 2013-01-31, or an "
            "integer"
        )
    return int(times[0])


def _means(matrix: MatrixType, wanted: Wanted) -> Array:
    """The means of the values that are not missing. Sums of chunks are added exactly, and chunks
    depend only on the table, so the means do too."""
    what = fill_name(matrix)
    if matrix.read_as == "list":
        raise InputError(f"{what}: found {MEAN!r}, expected a number: lists have no mean")
    if matrix.unit is not None:
        raise InputError(f"{what}: found {MEAN!r}, expected a date: dates have no mean")
    if not matrix.is_floating:
        raise InputError(
            f"{what}: found {MEAN!r}, expected a number: only columns of floating values have a "
            "mean; type float32 makes it one"
        )
    sums: list[list[float]] = [[] for _ in matrix.columns]
    counts = np.zeros(len(matrix.columns), np.int64)
    for chunk in matrix.table.read([wanted]):
        values = chunk.groups[0].array.astype(np.float64, copy=False)
        known = ~np.isnan(values)
        counts += known.sum(axis=0)
        for at, total in enumerate(np.where(known, values, 0.0).sum(axis=0)):
            sums[at].append(float(total))
    for column, count in zip(matrix.columns, counts, strict=True):
        if not count:
            raise InputError(
                f"{matrix.table.name} column {column!r}: found no value, so there is no mean"
            )
    return np.array([math.fsum(parts) for parts in sums]) / counts


def _range(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)
