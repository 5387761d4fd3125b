"""Tables that pyarrow reads: Parquet, Arrow IPC and Feather files, and folders of them.

Read in batches of rows with only the columns that are wanted.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphzero._errors import InputError
from graphzero._extras import import_extra
from graphzero._inputs.arrow_types import same_kind
from graphzero._inputs.locations import table_files
from graphzero._inputs.streams import Parts

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
                if not same_kind(found, expected):
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
