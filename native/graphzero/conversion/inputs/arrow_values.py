"""Converts columns of Arrow batches to the arrays that a Wanted asks for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.conversion.inputs.arrow_texts import offsets_of, texts_of
from graphzero.conversion.inputs.arrow_types import (
    is_list,
    is_null,
    is_whole_decimal,
    kind_of,
    width_of,
)
from graphzero.conversion.inputs.streams import Array, IdColumn, Texts
from graphzero.conversion.inputs.tables import Values, Wanted
from graphzero.files.column_types import TIME_UNITS, TimeUnit

# How many of each unit make one of the next coarser unit.
_STEPS = {"s": 86_400, "ms": 1_000, "us": 1_000, "ns": 1_000}


class Piece(NamedTuple):
    """Consecutive rows of one file of a table."""

    batch: Any  # a pyarrow.RecordBatch
    file: str
    first_row: int  # in that file
    mapped: _engine.ForeignFile | None  # the file, if the batch lies in a mapping of it
    missing: tuple[str, ...] = ()  # texts that stand for a missing value

    def column(self, name: str) -> ArrowColumn:
        values = _decoded(self.batch.column(name))
        return ArrowColumn(values, f"{self.file} column {name!r}", self.first_row, self.missing)


class ArrowColumn(NamedTuple):
    """Values of one column in consecutive rows."""

    values: Any  # a pyarrow.Array
    name: str  # for messages
    first_row: int
    missing: tuple[str, ...] = ()  # texts that stand for a missing value
    width: int = 1  # values in each row: more where these are the items of lists

    @property
    def what(self) -> str:
        return kind_of(self.values.type).what

    def at(self, place: int) -> str:
        """What messages call a place in it."""
        return f"{self.name} row {self.first_row + place // self.width}"

    def nulls(self) -> Array | None:
        if not self.values.null_count:
            return None
        nulls: Array = self.values.is_null().to_numpy(zero_copy_only=False)
        return nulls

    def has_missing(self) -> bool:
        if self.values.null_count:
            return True
        if self.what != "text" or not self.missing:
            return False
        return bool(texts_of(self.values, self.name).are_any_of(self.missing).any())

    def refuse_nulls(self, hint: str = "") -> None:
        nulls = self.nulls()
        if nulls is not None:
            raise InputError(
                f"{self.at(int(np.argmax(nulls)))}: found null, expected a value{hint}"
            )

    def unlike(self, expected: str) -> InputError:
        return InputError(f"{self.name}: found {self.values.type}, expected {expected}")


def reading(mapped: _engine.ForeignFile | None) -> AbstractContextManager[None]:
    """Guards a block that reads the mapping of a file, if there is one: the block ends with an
    OSError that names the file if it was cut short meanwhile. Must not be held over a yield,
    because it belongs to the thread."""
    return nullcontext() if mapped is None else mapped.reading()


def values_of(piece: Piece, wanted: Wanted) -> Values:
    """Reads what is wanted from the rows of a piece. The result stays valid when the file
    changes."""
    with reading(piece.mapped):
        found = _read(piece, wanted)
        if piece.mapped is not None and not isinstance(found.values, Texts):
            found = found._replace(values=np.array(found.values))
    return found


def _read(piece: Piece, wanted: Wanted) -> Values:
    if wanted.read_as in ("id", "node_id"):
        return Values(_ids(piece.column(wanted.columns[0])))
    if wanted.read_as == "list":
        return _list_rows(piece.column(wanted.columns[0]), wanted)
    if wanted.read_as == "weight":
        return Values(_numbers(piece.column(wanted.columns[0]), wanted).array)
    if wanted.read_as == "text":
        return _texts(piece.column(wanted.columns[0]), wanted)
    readers: dict[str, Callable[[ArrowColumn, Wanted], Values]] = {
        "number": _numbers,
        "integer": _integers,
        "bool": _bools,
        "time": _times,
    }
    found = [readers[wanted.read_as](piece.column(name), wanted) for name in wanted.columns]
    return _side_by_side(found)


def _side_by_side(columns: list[Values]) -> Values:
    values = np.stack([column.array for column in columns], axis=1)
    missing = None
    if any(column.missing is not None for column in columns):
        missing = np.stack(
            [
                np.zeros(len(values), np.bool_) if column.missing is None else column.missing
                for column in columns
            ],
            axis=1,
        )
    return Values(values, missing, sum(column.rounded for column in columns))


def _ids(column: ArrowColumn) -> IdColumn:
    column.refuse_nulls()
    if column.what == "integer":
        values = column.values
        if is_whole_decimal(values.type):
            values = _exact_integers(column)
        integers: Array = values.to_numpy(zero_copy_only=False)
        return integers
    if column.what != "text":
        raise column.unlike("integers or texts as ids")
    texts = texts_of(column.values, column.name)
    missing = texts.are_any_of(column.missing)
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(
            f"{column.at(row)}: found {texts.text(row)!r}, which stands for a missing value, "
            "expected an id"
        )
    return texts


def _decoded(values: Any) -> Any:
    """An array without its dictionary, which may hold null as one of its values. Texts stay as
    they are: texts_of reads their dictionary, and does not trust its offsets."""
    from pyarrow import types

    if not types.is_dictionary(values.type) or kind_of(values.type).what == "text":
        return values
    return values.dictionary_decode()


def _texts(column: ArrowColumn, wanted: Wanted) -> Values:
    import pyarrow

    values = column.values
    if is_null(values.type):
        values = values.cast(pyarrow.string())
    elif column.what != "text":
        raise column.unlike("texts")
    texts = texts_of(values, column.name)
    missing = texts.are_any_of(column.missing)
    nulls = column.nulls()
    if nulls is not None:
        missing |= nulls
    if missing.any():
        texts = texts.emptied(missing)  # the stored bytes of a null are undefined
    empty = np.diff(texts.offsets) == 0
    if not empty.any():
        return Values(texts)
    _refuse_missing(column, empty, wanted)
    return Values(texts, empty)


def _numbers(column: ArrowColumn, wanted: Wanted) -> Values:
    import pyarrow
    from pyarrow import types

    values = column.values
    if column.what not in ("integer", "number", "bool"):
        raise column.unlike("numbers")
    if types.is_decimal(values.type) or types.is_boolean(values.type):
        values = values.cast(pyarrow.uint8() if column.what == "bool" else pyarrow.float64())
    if is_null(values.type):
        values = values.cast(pyarrow.float64())
    numbers: Array = values.to_numpy(zero_copy_only=False)  # null is NaN
    if numbers.dtype.kind != "f":
        numbers = numbers.astype(np.float64)
    if not wanted.may_be_missing:
        _refuse_missing(column, np.isnan(numbers), wanted)
    return Values(numbers)


def _integers(column: ArrowColumn, wanted: Wanted) -> Values:
    import pyarrow
    from pyarrow import types

    values = column.values
    if types.is_decimal(values.type):
        is_value = wanted.read_as == "integer" and not wanted.names_rows
        hint = "; as float64 the column takes larger ones, rounded" if is_value else ""
        values = _exact_integers(column, hint)
    elif column.what == "number":
        return _whole_numbers(column, wanted)
    elif column.what not in ("integer", "bool"):
        raise column.unlike("integers")
    nulls = column.nulls()
    if nulls is not None:
        _refuse_missing(column, nulls, wanted)
        values = values.fill_null(pyarrow.scalar(0).cast(values.type))
    integers: Array = values.to_numpy(zero_copy_only=False)
    if integers.dtype == np.uint64 and integers.size and int(integers.max()) >= 2**63:
        row = int(np.argmax(integers >= 2**63))
        raise InputError(f"{column.at(row)}: found {integers[row]}, which does not fit int64")
    return Values(integers.astype(np.int64, copy=False), nulls)


def _exact_integers(column: ArrowColumn, hint: str = "") -> Any:
    """Decimals as integers. Floating values would round those beyond 2^53 to their neighbours."""
    import pyarrow

    try:
        return column.values.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        for row, value in enumerate(column.values.to_pylist()):
            if value is not None and not (value == int(value) and -(2**63) <= value < 2**63):
                raise InputError(
                    f"{column.at(row)}: found {value:f}, expected an integer that 64 bits hold"
                    f"{hint}"
                ) from None
        raise


def _whole_numbers(column: ArrowColumn, wanted: Wanted) -> Values:
    """Integers that are stored as floating values, as pandas does where some are missing."""
    numbers = _numbers(column, wanted).array
    missing = np.isnan(numbers)
    known = np.where(missing, 0, numbers)
    bad = (known != np.floor(known)) | (known < -(2.0**63)) | (known >= 2.0**63)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{column.at(row)}: found {numbers[row]}, expected an integer")
    if wanted.names_rows:
        _refuse_rounded(column, known)
    return Values(known.astype(np.int64), missing if missing.any() else None)


def _refuse_rounded(column: ArrowColumn, numbers: Array) -> None:
    """Raises InputError for an id that may be another one, rounded: from some size on, floating
    values stand for several integers."""
    digits = {"halffloat": 11, "float": 24}.get(str(column.values.type), 53)
    rounded = np.abs(numbers) >= 2.0**digits
    if rounded.any():
        row = int(np.argmax(rounded))
        raise InputError(
            f"{column.at(row)}: found {int(numbers[row])} as {column.values.type}, expected an id "
            f"below 2^{digits}, because floating values round larger ones to their neighbours; "
            "store the column as integers with nulls (of pandas, dtype 'Int64')"
        )


def _bools(column: ArrowColumn, wanted: Wanted) -> Values:
    integers = _integers(column, wanted)
    outside = (integers.array != 0) & (integers.array != 1)
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(f"{column.at(row)}: found {integers.array[row]}, expected 0 or 1")
    return Values(integers.array.astype(np.bool_), integers.missing)


def _times(column: ArrowColumn, wanted: Wanted) -> Values:
    if column.what in ("integer", "number"):  # counted in that unit already
        return _integers(column, wanted)
    if column.what == "text":
        return _parsed_times(column, wanted)
    if column.what != "time":
        raise column.unlike("dates or times")
    import pyarrow
    from pyarrow import types

    unit = kind_of(column.values.type).unit
    assert unit is not None
    days = types.is_date32(column.values.type)
    counts = column.values.cast(pyarrow.int32() if days else pyarrow.int64())
    nulls = column.nulls()
    if nulls is not None:
        _refuse_missing(column, nulls, wanted)
        counts = counts.fill_null(0)
    stored = counts.to_numpy(zero_copy_only=False).astype(np.int64)
    values, rounded, misfit = in_unit(stored, unit, wanted.unit)
    if misfit.any():
        row = int(np.argmax(misfit))
        raise InputError(
            f"{column.at(row)}: found {stored[row]} ({unit} since 1970), which 64 bits do not "
            f"hold in {wanted.unit}"
        )
    return Values(values, nulls, rounded)


def in_unit(counts: Array, unit: TimeUnit, wanted: TimeUnit) -> tuple[Array, int, Array]:
    """Times in another unit, how many of them were rounded down for that, and which overflow."""
    own, other = TIME_UNITS.index(unit), TIME_UNITS.index(wanted)
    factor = 1
    for finer in TIME_UNITS[min(own, other) + 1 : max(own, other) + 1]:
        factor *= _STEPS[finer]
    if own >= other:
        rounded = int(np.count_nonzero(counts % factor))
        return counts // factor, rounded, np.zeros(len(counts), np.bool_)
    limit = (2**63 - 1) // factor
    return counts * factor, 0, (counts > limit) | (counts < -limit)


def _parsed_times(column: ArrowColumn, wanted: Wanted) -> Values:
    from graphzero.conversion.inputs.text_table import ENGINE_UNITS

    texts = _texts(column, wanted)
    assert isinstance(texts.values, Texts)
    values, status = _engine.parse_times(*texts.values, unit=ENGINE_UNITS[wanted.unit])
    bad = status > 1
    if texts.missing is not None:
        bad &= ~texts.missing
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{column.at(row)}: found {texts.values.text(row)!r}, expected a date such as "
            "2013-01-31 or 2013-01-31T05:17:00Z that 64 bits hold in the unit asked for"
        )
    return Values(values, texts.missing, int(np.count_nonzero(status == 1)))


def _refuse_missing(column: ArrowColumn, missing: Array, wanted: Wanted) -> None:
    if wanted.may_be_missing or not missing.any():
        return
    row = int(np.argmax(missing))
    found = column.values[row].as_py()
    raise InputError(
        f"{column.at(row)}: found {'null' if found is None else repr(found)}, expected a value"
        f"{wanted.hint}"
    )


def _list_rows(column: ArrowColumn, wanted: Wanted) -> Values:
    """Lists of one length as the rows of a matrix."""
    column.refuse_nulls()
    values = column.values
    if is_list(values.type.value_type):
        raise column.unlike("a number or a list of numbers")
    width = width_of(values.type)
    if width is not None:
        flat = values.flatten()
        if wanted.width is not None and len(values) and width != wanted.width:
            raise _wrong_width(column, 0, width, wanted.width)
    else:
        offsets = offsets_of(values, column.name)
        if offsets[-1] > len(values.values):
            raise InputError(
                f"{column.name}: found lists that end beyond its values; copy it again"
            )
        flat = values.values.slice(offsets[0], offsets[-1] - offsets[0])
        lengths = np.diff(offsets)
        width = wanted.width
        if width is None:
            width = int(lengths[0]) if len(lengths) else 1
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise _wrong_width(column, row, int(lengths[row]), width)
    items = ArrowColumn(_decoded(flat), column.name, column.first_row, width=max(width, 1))
    if items.what not in ("integer", "number", "bool", "time"):
        raise column.unlike("lists of numbers")
    if items.what != "number":
        items.refuse_nulls()
    if items.what == "time":
        times = _times(items, wanted)
        return times._replace(values=times.array.reshape(len(values), width))
    numbers = np.asarray(_plain_numbers(items).to_numpy(zero_copy_only=False))
    return Values(numbers.reshape(len(values), width))


def _plain_numbers(column: ArrowColumn) -> Any:
    """Numbers of a type that NumPy has: decimals would become Python objects."""
    from pyarrow import types

    kind = column.values.type
    if is_whole_decimal(kind):
        return _exact_integers(column)
    return (
        column.values.cast("float64") if types.is_decimal(kind) or is_null(kind) else column.values
    )


def _wrong_width(column: ArrowColumn, row: int, found: int, expected: int) -> InputError:
    return InputError(
        f"{column.at(row)}: found a list of {found} values, expected {expected} as in the rows "
        "before; make all lists of the column equally long"
    )
