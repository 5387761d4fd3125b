"""Columns of a table as arrays: ids, masks and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphzero._errors import InputError
from graphzero._inputs.arrow_types import is_bool, is_list, is_text, width_of
from graphzero._inputs.streams import Array, IdColumn, Texts
from graphzero._inputs.tables import Piece


def ids_of(piece: Piece, name: str) -> IdColumn:
    """A column of ids."""
    from pyarrow import types

    with piece.reading():
        column, where = piece.batch.column(name), piece.where(name)
        _refuse_nulls(column, where, piece.first_row)
        if types.is_integer(column.type):
            return _own(column.to_numpy(zero_copy_only=False), piece)
        if not is_text(column.type):
            raise InputError(f"{where}: found {column.type}, expected integers or texts as ids")
        return _texts(column, where)


def _own(values: Array, piece: Piece) -> Array:
    """Values that stay when the file of the piece changes."""
    return values if piece.mapped is None else np.array(values)


def _texts(column: Any, where: str) -> Texts:
    """A copy: pyarrow's own functions trust offsets, which may be wrong in a file that changes."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        places = np.array(column.indices.to_numpy(zero_copy_only=False))
        words = _texts(column.dictionary, where)
        if places.size and not 0 <= int(places.min()) <= int(places.max()) < words.num_texts:
            raise InputError(f"{where}: found numbers of texts that are not there; copy it again")
        return words.take(places)
    offsets, data = _offsets(column, where), column.buffers()[2]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if offsets[-1] > len(content):
        raise InputError(f"{where}: found texts that end beyond its data; copy it again")
    return Texts(offsets - offsets[0], np.array(content[offsets[0] : offsets[-1]]))


def _offsets(column: Any, where: str) -> npt.NDArray[np.int64]:
    """Where the texts or lists of a column begin, and the last one ends, once they are known not to
    fall."""
    from pyarrow import types

    is_large = types.is_large_string(column.type) or types.is_large_list(column.type)
    buffer = column.buffers()[1]
    if buffer is None:  # of a column without rows
        return np.zeros(1, np.int64)
    stored = np.frombuffer(buffer, np.int64 if is_large else np.int32)
    offsets = stored[column.offset : column.offset + len(column) + 1].astype(np.int64)
    if len(offsets) != len(column) + 1 or offsets[0] < 0 or (np.diff(offsets) < 0).any():
        raise InputError(f"{where}: found falling offsets, expected rising ones; copy it again")
    return offsets


def mask_of(piece: Piece, name: str) -> Array:
    """A column of bool."""
    with piece.reading():
        column = piece.batch.column(name)
        _refuse_nulls(column, piece.where(name), piece.first_row)
        mask: Array = column.to_numpy(zero_copy_only=False)  # whole bytes: a copy
        return mask


class Values(NamedTuple):
    """Numbers of a table."""

    values: Array  # (rows,) for one column of scalars, else (rows, values)
    replaced: int  # nulls among integers that got the value for NaN


def values_of(piece: Piece, columns: Sequence[str], nan: int | float | None) -> Values:
    """The columns as one array."""
    with piece.reading():
        found = [
            _numbers(piece.batch.column(name), piece.where(name), nan, piece.first_row)
            for name in columns
        ]
        found = [numbers._replace(values=_own(numbers.values, piece)) for numbers in found]
    if len(found) == 1:
        return found[0]
    for name, numbers in zip(columns, found, strict=True):
        if numbers.values.ndim != 1:
            raise InputError(
                f"{piece.where(name)}: found lists beside other columns, expected one number in a "
                f"row; name one column as {piece.file}#COLUMN"
            )
    stacked = np.stack([numbers.values for numbers in found], axis=1)
    return Values(stacked, sum(numbers.replaced for numbers in found))


def _numbers(column: Any, where: str, nan: int | float | None, first_row: int) -> Values:
    from pyarrow import types

    if is_list(column.type):
        return _list_rows(column, where, nan, first_row)
    if not (
        types.is_integer(column.type)
        or types.is_floating(column.type)
        or types.is_boolean(column.type)
    ):
        raise InputError(f"{where}: found {column.type}, expected numbers")
    replaced = 0
    if column.null_count and not types.is_floating(column.type):
        if nan is None:
            _refuse_nulls(column, where, first_row, "; --nan VALUE gives such rows a value")
        replaced = column.null_count
        column = _without_nulls(column, where, nan)
    return Values(column.to_numpy(zero_copy_only=False), replaced)


def _without_nulls(column: Any, where: str, nan: int | float | None) -> Any:
    import pyarrow

    low, high = (0, 1)
    if not is_bool(column.type):
        info = np.iinfo(column.type.to_pandas_dtype())
        low, high = int(info.min), int(info.max)
    if nan is None or nan != int(nan) or not low <= nan <= high:
        raise InputError(
            f"{where}: found {nan} as the value for NaN, which does not fit {column.type}"
        )
    value = bool(nan) if is_bool(column.type) else int(nan)
    return column.fill_null(pyarrow.scalar(value, column.type))


def _list_rows(column: Any, where: str, nan: int | float | None, first_row: int) -> Values:
    """Lists of one length as the rows of a matrix."""
    _refuse_nulls(column, where, first_row)
    if is_list(column.type.value_type):
        raise InputError(f"{where}: found {column.type}, expected a number or a list of numbers")
    width = width_of(column.type)
    if width is not None:
        values = column.flatten()
    else:
        offsets = _offsets(column, where)
        if offsets[-1] > len(column.values):
            raise InputError(f"{where}: found lists that end beyond its values; copy it again")
        values = column.values.slice(offsets[0], offsets[-1] - offsets[0])
        lengths = np.diff(offsets)
        width = int(lengths[0]) if len(lengths) else 1
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise InputError(
                f"{where} row {first_row + row}: found a list of {lengths[row]} values, expected "
                f"{width} as in the rows before"
            )
    numbers = _numbers(values, where, nan, first_row)
    return numbers._replace(values=numbers.values.reshape(len(column), width))


def _refuse_nulls(column: Any, where: str, first_row: int, hint: str = "") -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"{where} row {first_row + row}: found null, expected a value{hint}")
