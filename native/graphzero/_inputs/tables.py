"""Tables that pyarrow reads: Parquet, Arrow IPC and Feather files, folders of them, and text.

Read in batches of rows with only the columns that are wanted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphzero._errors import InputError
from graphzero._extras import import_extra
from graphzero._inputs.compressed import compression_of
from graphzero._inputs.locations import table_files
from graphzero._inputs.streams import Array, IdColumn, Texts
from graphzero._inputs.text_head import read_head

_PARQUET = (".parquet", ".pq")
_READ_BYTES = 1 << 20


def _pyarrow(name: str) -> Any:
    return import_extra("pyarrow", "arrow", f"{name}: a table of this kind needs pyarrow")


class Table(ABC):
    """Columns by name, of one length."""

    def __init__(self, name: str, schema: Any, num_rows: int | None) -> None:
        self.name = name  # for messages
        self.num_rows = num_rows
        self._types = dict(zip(schema.names, schema.types, strict=True))

    @property
    def columns(self) -> list[str]:
        return list(self._types)

    def type_of(self, column: str) -> Any:
        """The column's Arrow type. Raises InputError if there is no such column."""
        if column not in self._types:
            known = ", ".join(map(repr, self._types)) or "none"
            raise InputError(f"{self.name}: found no column {column!r}, expected one of {known}")
        return self._types[column]

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Record batches of at most so many rows, with these columns in this order."""


class _ParquetTable(Table):
    def __init__(self, path: str) -> None:
        self._files = table_files(path)
        files = [self._open(file) for file in self._files]
        rows = sum(file.metadata.num_rows for file in files)
        super().__init__(path, files[0].schema_arrow, rows)

    def _open(self, file: str) -> Any:
        _pyarrow(file)
        from pyarrow import parquet

        with Path(file).open("rb"):  # a missing file is OSError as everywhere
            pass
        try:
            # By default pyarrow reads all column chunks into memory before the first batch.
            return parquet.ParquetFile(file, pre_buffer=False, buffer_size=_READ_BYTES)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: not a readable Parquet file: {error}") from error

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        for file in self._files:
            yield from _readable(
                file, self._open(file).iter_batches(batch_size=rows, columns=list(columns)), columns
            )


class _ArrowTable(Table):
    """Arrow IPC, files and streams; Feather is the former."""

    def __init__(self, path: str) -> None:
        self._files = table_files(path)
        readers = [self._open(file) for file in self._files]
        super().__init__(path, readers[0].schema, self._count(readers))

    @staticmethod
    def _count(readers: Sequence[Any]) -> int | None:
        if not all(hasattr(reader, "num_record_batches") for reader in readers):
            return None  # streams do not say
        rows: int = sum(
            reader.get_batch(number).num_rows
            for reader in readers
            for number in range(reader.num_record_batches)
        )
        return rows

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
            raise InputError(f"{file}: not a readable Arrow file: {error}") from error

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        for file in self._files:
            reader = self._open(file, columns)
            if hasattr(reader, "num_record_batches"):
                numbers = range(reader.num_record_batches)
                whole = (reader.get_batch(number) for number in numbers)
            else:
                whole = iter(reader)
            for batch in _readable(file, whole, columns):
                for first in range(0, batch.num_rows, rows):
                    yield batch.slice(first, rows)


class _TextTable(Table):
    """Separated text, plain or compressed, whose ids the engine's parser does not take."""

    def __init__(self, path: str, header: bool | None, as_texts: Sequence[int]) -> None:
        import_extra("pyarrow", "arrow", f"{path}: relabelling text needs pyarrow")
        self._path = path
        self._head = read_head(path, header)
        self._as_texts = [self._head.names[number] for number in as_texts]
        super().__init__(path, self._open(None).schema, None)

    def _open(self, columns: Sequence[str] | None) -> Any:
        import pyarrow
        from pyarrow import csv

        head = self._head
        try:
            return csv.open_csv(
                pyarrow.input_stream(self._path, compression=compression_of(self._path)),
                read_options=csv.ReadOptions(
                    skip_rows=head.skipped_lines, column_names=head.names, block_size=1 << 20
                ),
                parse_options=csv.ParseOptions(delimiter=head.delimiter),
                convert_options=csv.ConvertOptions(
                    include_columns=columns,
                    column_types={name: pyarrow.string() for name in self._as_texts},
                    strings_can_be_null=False,
                ),
            )
        except (ValueError, OSError) as error:
            raise InputError(f"{self._path}: {_one_line(error)}") from error

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        for batch in _readable(self._path, self._open(list(columns)), columns):
            for first in range(0, batch.num_rows, rows):
                yield batch.slice(first, rows)


def open_table(path: str) -> Table:
    """A Parquet or Arrow file or a folder of them, by the suffix."""
    first = table_files(path)[0]
    return _ParquetTable(path) if Path(first).suffix in _PARQUET else _ArrowTable(path)


def open_text_table(
    path: str, *, header: bool | None = None, as_texts: Sequence[int] = ()
) -> Table:
    """Text with columns. `header` says whether the first line names them, None: look. The columns
    with these numbers are taken as texts, also where they look like numbers."""
    return _TextTable(path, header, as_texts)


def is_integer(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(arrow_type))


def is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type))


def ids_of(column: Any, where: str, first_row: int) -> IdColumn:
    """An Arrow array of ids. `where` names file and column for messages."""
    import pyarrow
    from pyarrow import types

    _refuse_nulls(column, where, first_row)
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


def values_of(batch: Any, columns: Sequence[str], table: str, nan: Any, first_row: int) -> Array:
    """The columns as one array: (rows,) for one of scalars, else (rows, values)."""
    arrays = [
        _numbers(batch.column(name), f"{table} column {name!r}", nan, first_row) for name in columns
    ]
    if len(arrays) == 1:
        return arrays[0]
    return np.stack(arrays, axis=1)


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


def _numbers(column: Any, where: str, nan: Any, first_row: int) -> Array:
    from pyarrow import types

    if is_list(column.type):
        return _list_rows(column, where, nan, first_row)
    if not (
        types.is_integer(column.type)
        or types.is_floating(column.type)
        or types.is_boolean(column.type)
    ):
        raise InputError(f"{where}: found {column.type}, expected numbers")
    if column.null_count and not types.is_floating(column.type):
        if nan is None:
            _refuse_nulls(column, where, first_row, "; --nan VALUE gives such rows a value")
        column = column.fill_null(int(nan))
    numbers: Array = column.to_numpy(zero_copy_only=False)
    return numbers


def _list_rows(column: Any, where: str, nan: Any, first_row: int) -> Array:
    """Lists of one length as the rows of a matrix."""
    _refuse_nulls(column, where, first_row)
    values = _numbers(column.flatten(), where, nan, first_row)
    if len(column) == 0:
        return values.reshape(0, width_of(column.type) or 1)
    width = width_of(column.type)
    if width is None:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        width = int(lengths[0])
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise InputError(
                f"{where} row {first_row + row}: found a list of {lengths[row]} values, expected "
                f"{width} as in the rows before"
            )
    return values.reshape(len(column), width)


def _refuse_nulls(column: Any, where: str, first_row: int, hint: str = "") -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"{where} row {first_row + row}: found null, expected a value{hint}")


def _readable(file: str, batches: Any, columns: Sequence[str]) -> Iterator[Any]:
    """The batches with their columns in order; an error of pyarrow becomes one that names the
    file."""
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator, None)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: cannot be read: {_one_line(error)}") from error
        if batch is None:
            return
        missing = [name for name in columns if name not in batch.schema.names]
        if missing:
            raise InputError(f"{file}: found no column {missing[0]!r}, which other files have")
        yield batch.select(list(columns))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
