"""Tables that pyarrow reads: Parquet, Arrow IPC and Feather files, and folders of them.

Read in batches of rows with only the columns that are wanted.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphzero._errors import InputError
from graphzero._extras import import_extra
from graphzero._inputs.locations import table_files
from graphzero._inputs.streams import Array, IdColumn, Parts, Texts

_PARQUET = (".parquet", ".pq")
_READ_BYTES = 1 << 20


def _pyarrow(name: str) -> Any:
    return import_extra("pyarrow", "arrow", f"{name}: a table of this kind needs pyarrow")


class Piece(NamedTuple):
    """Consecutive rows of one file of a table."""

    batch: Any  # a pyarrow.RecordBatch
    file: str
    first_row: int  # in that file

    def where(self, column: str) -> str:
        """For messages."""
        return f"{self.file} column {column!r}"


class _File(NamedTuple):
    path: str
    schema: Any
    rows: int | None  # None: it does not say


class Table(ABC):
    """Columns by name, of one length: a file, or several of the same columns."""

    def __init__(self, path: str) -> None:
        self.name = path  # for messages
        self._files = [self._look_at(file) for file in table_files(path)]
        first = self._files[0].schema
        self._types = dict(zip(first.names, first.types, strict=True))

    @property
    def columns(self) -> list[str]:
        return list(self._types)

    @property
    def num_rows(self) -> int | None:
        """None if not all files say how many they have."""
        rows = [file.rows for file in self._files]
        return None if None in rows else sum(count or 0 for count in rows)

    @property
    def parts(self) -> Parts:
        """Where each of several files begins, if they say."""
        if self.num_rows is None or len(self._files) == 1:
            return ()
        ends = itertools.accumulate((file.rows or 0 for file in self._files), initial=0)
        return tuple((file.path, first) for file, first in zip(self._files, ends, strict=False))

    def bytes_of(self, columns: Sequence[str]) -> int:
        """Stored bytes, if all columns take the same."""
        size = sum(Path(file.path).stat().st_size for file in self._files)
        return size * len(columns) // max(len(self._types), 1)

    def type_of(self, column: str) -> Any:
        """The column's Arrow type. Raises InputError if there is no such column."""
        if column not in self._types:
            known = ", ".join(map(repr, self._types)) or "none"
            raise InputError(f"{self.name}: found no column {column!r}, expected one of {known}")
        return self._types[column]

    def types_of(self, column: str) -> list[Any]:
        """What it is in each of the files."""
        return [file.schema.field(column).type for file in self._files]

    def require_same_kinds(self, columns: Sequence[str]) -> None:
        """Raises InputError if a file lacks one of these columns, or has it of another kind."""
        first = self._files[0].path
        for column in columns:
            expected = self.type_of(column)
            for file in self._files:
                if column not in file.schema.names:
                    raise InputError(
                        f"{file.path}: found no column {column!r}, expected {expected} as in "
                        f"{first}"
                    )
                found = file.schema.field(column).type
                if not _same_kind(found, expected):
                    raise InputError(
                        f"{file.path} column {column!r}: found {found}, expected {expected} as in "
                        f"{first}"
                    )

    def pieces(self, columns: Sequence[str], rows: int) -> Iterator[Piece]:
        """At most so many rows at a time, with these columns in this order."""
        for file in self._files:
            row = 0
            for batch in _readable(file.path, self._batches(file.path, columns, rows)):
                for first in range(0, batch.num_rows, rows):
                    part = batch.slice(first, rows).select(list(columns))
                    yield Piece(part, file.path, row)
                    row += part.num_rows

    @abstractmethod
    def _look_at(self, file: str) -> _File: ...

    @abstractmethod
    def _batches(self, file: str, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Record batches that have these columns."""


class _ParquetTable(Table):
    def _look_at(self, file: str) -> _File:
        opened = self._open(file)
        return _File(file, opened.schema_arrow, opened.metadata.num_rows)

    def _batches(self, file: str, columns: Sequence[str], rows: int) -> Iterator[Any]:
        batches: Iterator[Any] = self._open(file).iter_batches(
            batch_size=rows, columns=list(columns)
        )
        return batches

    def _open(self, file: str) -> Any:
        _pyarrow(file)
        from pyarrow import parquet

        with Path(file).open("rb"):  # a missing file is OSError as everywhere
            pass
        try:
            # By default pyarrow reads all column chunks into memory before the first batch.
            return parquet.ParquetFile(file, pre_buffer=False, buffer_size=_READ_BYTES)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: not a readable Parquet file: {_one_line(error)}") from error


class _ArrowTable(Table):
    """Arrow IPC, files and streams; Feather is the former."""

    def _look_at(self, file: str) -> _File:
        reader = self._open(file)
        if not hasattr(reader, "num_record_batches"):
            return _File(file, reader.schema, None)  # a stream
        numbers = range(reader.num_record_batches)
        batches = _readable(file, (reader.get_batch(number) for number in numbers))
        return _File(file, reader.schema, sum(batch.num_rows for batch in batches))

    def _batches(self, file: str, columns: Sequence[str], rows: int) -> Iterator[Any]:
        reader = self._open(file, columns)
        if not hasattr(reader, "num_record_batches"):
            return iter(reader)
        return (reader.get_batch(number) for number in range(reader.num_record_batches))

    def _open(self, file: str, columns: Sequence[str] | None = None) -> Any:
        pyarrow = _pyarrow(file)
        with Path(file).open("rb") as opened:
            is_file = opened.read(6) == b"ARROW1"
        try:
            source = pyarrow.memory_map(file)
            if not is_file:
                return pyarrow.ipc.open_stream(source)
            options = pyarrow.ipc.IpcReadOptions()
            if columns is not None:
                names = pyarrow.ipc.open_file(source).schema.names
                options.included_fields = [names.index(column) for column in columns]
            return pyarrow.ipc.open_file(source, options=options)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: not a readable Arrow file: {_one_line(error)}") from error


def open_table(path: str) -> Table:
    """A Parquet or Arrow file or a folder of them, by the suffix."""
    files = table_files(path)
    of_parquet = [Path(file).suffix in _PARQUET for file in files]
    if any(of_parquet) and not all(of_parquet):
        other = files[of_parquet.index(False)]
        raise InputError(f"{path}: found {other} beside Parquet files, expected one kind of tables")
    return _ParquetTable(path) if of_parquet[0] else _ArrowTable(path)


def is_integer(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(arrow_type))


def is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type))


def is_bool(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(types.is_boolean(arrow_type))


def ids_of(piece: Piece, name: str) -> IdColumn:
    """A column of ids."""
    import pyarrow
    from pyarrow import types

    column, where = piece.batch.column(name), piece.where(name)
    _refuse_nulls(column, where, piece.first_row)
    if types.is_integer(column.type):
        integers: Array = column.to_numpy(zero_copy_only=False)
        return integers
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not is_text(column.type):
        raise InputError(f"{where}: found {column.type}, expected integers or texts as ids")
    column = column.cast(pyarrow.large_string())
    _, offsets, data = column.buffers()
    all_offsets = np.frombuffer(offsets, np.int64)
    own = all_offsets[column.offset : column.offset + len(column) + 1]
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return Texts(own, bytes_)


def mask_of(piece: Piece, name: str) -> Array:
    """A column of bool."""
    column = piece.batch.column(name)
    _refuse_nulls(column, piece.where(name), piece.first_row)
    mask: Array = column.to_numpy(zero_copy_only=False)
    return mask


class Values(NamedTuple):
    """Numbers of a table."""

    values: Array  # (rows,) for one column of scalars, else (rows, values)
    replaced: int  # nulls among integers that got the value for NaN


def values_of(piece: Piece, columns: Sequence[str], nan: int | float | None) -> Values:
    """The columns as one array."""
    found = [
        _numbers(piece.batch.column(name), piece.where(name), nan, piece.first_row)
        for name in columns
    ]
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


def width_of(arrow_type: Any) -> int | None:
    """Values in each row of a list column; None for scalars and lists of several lengths."""
    from pyarrow import types

    if types.is_fixed_size_list(arrow_type):
        return int(arrow_type.list_size)
    return None


def is_list(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_list(arrow_type)
        or types.is_large_list(arrow_type)
        or types.is_fixed_size_list(arrow_type)
    )


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
    if width is None:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        width = int(lengths[0]) if len(lengths) else 1
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise InputError(
                f"{where} row {first_row + row}: found a list of {lengths[row]} values, expected "
                f"{width} as in the rows before"
            )
    numbers = _numbers(column.flatten(), where, nan, first_row)
    return numbers._replace(values=numbers.values.reshape(len(column), width))


def _refuse_nulls(column: Any, where: str, first_row: int, hint: str = "") -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"{where} row {first_row + row}: found null, expected a value{hint}")


def _same_kind(found: Any, expected: Any) -> bool:
    """Integers of any width, texts of any encoding and so on can follow each other."""
    from pyarrow import types

    if is_list(found) and is_list(expected):
        return _same_kind(found.value_type, expected.value_type)
    kinds = (types.is_integer, types.is_floating, is_text)
    return bool(found == expected or any(kind(found) and kind(expected) for kind in kinds))


def _readable(file: str, batches: Iterator[Any]) -> Iterator[Any]:
    """The batches; an error of pyarrow becomes one that names the file."""
    while True:
        try:
            batch = next(batches, None)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: cannot be read: {_one_line(error)}") from error
        if batch is None:
            return
        yield batch


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
