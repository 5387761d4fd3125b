"""Tables that pyarrow reads: Parquet, Arrow IPC and Feather files, and folders of them.

Read in batches of rows with only the columns that are wanted.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from graphzero import _engine
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
    mapped: _engine.ForeignFile | None  # the file, if the batch lies in a mapping of it

    def reading(self) -> AbstractContextManager[None]:
        """Values of the batch must be read, and copied, inside of this."""
        return reading(self.mapped)

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
            opened = self._batches(file.path, columns, rows)
            for batch in opened:
                for first in range(0, batch.num_rows, rows):
                    part = batch.slice(first, rows).select(list(columns))
                    yield Piece(part, file.path, row, opened.mapped)
                    row += part.num_rows

    @abstractmethod
    def _look_at(self, file: str) -> _File: ...

    @abstractmethod
    def _batches(self, file: str, columns: Sequence[str], rows: int) -> _Batches:
        """Record batches that have these columns."""


class _ParquetTable(Table):
    def _look_at(self, file: str) -> _File:
        opened = self._open(file)
        return _File(file, opened.schema_arrow, opened.metadata.num_rows)

    def _batches(self, file: str, columns: Sequence[str], rows: int) -> _Batches:
        opened = self._open(file)
        return _Batches(file, opened.iter_batches(batch_size=rows, columns=list(columns)))

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
    """Arrow IPC, files and streams; Feather is the former.

    Mapped: pyarrow would otherwise read all columns of a batch, and batches may be of any size.
    """

    def _look_at(self, file: str) -> _File:
        mapped = _map(file)
        with reading(mapped):
            reader = self._open(file, mapped)
        if not hasattr(reader, "num_record_batches"):
            return _File(file, reader.schema, None)  # a stream
        numbers = range(reader.num_record_batches)
        batches = _Batches(file, (reader.get_batch(number) for number in numbers), mapped)
        return _File(file, reader.schema, sum(batch.num_rows for batch in batches))

    def _batches(self, file: str, columns: Sequence[str], rows: int) -> _Batches:
        mapped = _map(file)
        with reading(mapped):
            reader = self._open(file, mapped, columns)
        if not hasattr(reader, "num_record_batches"):
            return _Batches(file, iter(reader), mapped)
        numbers = range(reader.num_record_batches)
        return _Batches(file, (reader.get_batch(number) for number in numbers), mapped)

    def _open(
        self, file: str, mapped: _engine.ForeignFile | None, columns: Sequence[str] | None = None
    ) -> Any:
        pyarrow = _pyarrow(file)
        content = b"" if mapped is None else mapped.bytes()
        try:
            source = pyarrow.BufferReader(pyarrow.py_buffer(content))
            # Only this thread is allowed to meet the end of a file that was cut.
            options = pyarrow.ipc.IpcReadOptions(use_threads=False)
            if bytes(content[:6]) != b"ARROW1":
                return pyarrow.ipc.open_stream(source, options=options)
            if columns is not None:
                names = pyarrow.ipc.open_file(source).schema.names
                options.included_fields = [names.index(column) for column in columns]
            return pyarrow.ipc.open_file(source, options=options)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: not a readable Arrow file: {_one_line(error)}") from error


def _map(file: str) -> _engine.ForeignFile | None:
    """None for an empty file, which cannot be mapped."""
    return _engine.ForeignFile.open(file) if Path(file).stat().st_size > 0 else None


def reading(mapped: _engine.ForeignFile | None) -> AbstractContextManager[None]:
    """For blocks that read the mapping of a file, if there is one: they end with an OSError that
    names it if it was cut short meanwhile. Not to be held over a yield, because it belongs to the
    thread."""
    return nullcontext() if mapped is None else mapped.reading()


def open_table(path: str) -> Table:
    """A Parquet or Arrow file or a folder of them, by the suffix."""
    files = table_files(path)
    of_parquet = [Path(file).suffix in _PARQUET for file in files]
    if any(of_parquet) and not all(of_parquet):
        other = files[of_parquet.index(False)]
        raise InputError(f"{path}: found {other} beside Parquet files, expected one kind of tables")
    return _ParquetTable(path) if of_parquet[0] else _ArrowTable(path)


class _Batches:
    """Record batches of a file; an error of pyarrow becomes one that names the file."""

    def __init__(
        self, file: str, batches: Iterator[Any], mapped: _engine.ForeignFile | None = None
    ) -> None:
        self._file = file
        self._batches = batches
        self.mapped = mapped  # what the batches lie in, if they do

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Any:
        with reading(self.mapped):
            try:
                return next(self._batches)
            except (ValueError, OSError) as error:
                raise InputError(f"{self._file}: cannot be read: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
