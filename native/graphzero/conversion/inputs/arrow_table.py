"""Tables that pyarrow reads: Parquet, Arrow IPC and Feather files, and folders of them."""

from __future__ import annotations

import itertools
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.base.object_store import is_uri
from graphzero.conversion.inputs.arrow_types import (
    common_type,
    is_list,
    kind_of,
    same_kind,
    width_of,
)
from graphzero.conversion.inputs.arrow_values import Piece, reading, values_of
from graphzero.conversion.inputs.locations import (
    file_bytes,
    open_stored,
    suffix_of,
    table_files,
)
from graphzero.conversion.inputs.streams import Parts, row_place, rows_per_chunk
from graphzero.conversion.inputs.tables import Kind, ReadTally, Table, TableChunk, Wanted

_PARQUET = (".parquet", ".pq")
_READ_BYTES = 1 << 20
# A list column does not say how long its lists are. At most this many rows are read to find out.
_PEEK_ROWS = 1024


def _pyarrow(name: str) -> Any:
    return import_extra("pyarrow", "arrow", f"{name}: a table of this kind needs pyarrow")


class TableFile(NamedTuple):
    """One file of a table."""

    path: str
    types: dict[str, Any]  # of the columns, in their order
    rows: int | None  # None: it does not say
    repeated: frozenset[str]  # columns that are there several times

    @classmethod
    def of(cls, path: str, schema: Any, rows: int | None) -> TableFile:
        types = dict(zip(schema.names, schema.types, strict=True))
        counts = Counter(schema.names)
        return cls(path, types, rows, frozenset(name for name in types if counts[name] > 1))


class ArrowTable(Table):
    """A file, or several files with the same columns. `missing` are texts that stand for a missing
    value."""

    def __init__(self, path: str, missing: tuple[str, ...] = ()) -> None:
        self.name = path  # for messages
        self._missing = missing
        self._files = [self._look_at(file) for file in self._paths(path)]
        self._types: dict[str, Any] = {}  # of columns that were asked for, see _type_of()

    def _type_of(self, column: str) -> Any:
        """The type of a column, by what all files say. It is found once it is asked for, because
        there may be thousands of files and of columns."""
        if column not in self._types:
            self._types[column] = common_type(
                file.types[column] for file in self._files if column in file.types
            )
        return self._types[column]

    @property
    def columns(self) -> list[str]:
        return list(self._files[0].types)

    @property
    def num_rows(self) -> int | None:
        """None if not all files say how many they have."""
        rows = [file.rows for file in self._files]
        return None if None in rows else sum(count or 0 for count in rows)

    @property
    def parts(self) -> Parts:
        """The first row of each of several files, if all files state their number of rows."""
        if self.num_rows is None or len(self._files) == 1:
            return ()
        ends = itertools.accumulate((file.rows or 0 for file in self._files), initial=0)
        return tuple((file.path, first) for file, first in zip(self._files, ends, strict=False))

    def bytes_of(self, columns: Sequence[str]) -> int:
        """Stored bytes, estimated as if all columns took the same."""
        size = sum(file_bytes(file.path) for file in self._files)
        return size * len(columns) // max(len(self._files[0].types), 1)

    def place(self, row: int) -> str:
        return row_place(self.name, self.parts, row)

    def kinds_of(self, columns: Sequence[str]) -> list[Kind]:
        self._require_same_kinds(columns)
        return [kind_of(self._type_of(column)) for column in columns]

    def has_missing(self, column: str) -> bool:
        self.require([column])
        pieces = self._pieces([column], rows_per_chunk(8))
        for piece in pieces:
            with reading(piece.mapped):
                if piece.column(column).has_missing():
                    return True
        return False

    def width_of(self, column: str) -> int:
        """Values in each row of a column of lists, as the first rows have them."""
        width = width_of(self._type_of(column))
        if width is not None:
            return width
        first = next(self._pieces([column], _PEEK_ROWS), None)
        if first is None:
            raise InputError(f"{self.name}: found no rows, so the width of a row is not known")
        return int(values_of(first, Wanted("list", (column,))).array.shape[1])

    def read(
        self, wanted: Sequence[Wanted], tally: ReadTally | None = None
    ) -> Iterator[TableChunk]:
        columns = list(dict.fromkeys(name for each in wanted for name in each.columns))
        self._require_same_kinds(columns)
        width = sum(self.width_of(name) if is_list(self._type_of(name)) else 1 for name in columns)
        row = 0
        for piece in self._pieces(columns, rows_per_chunk(8 * width)):
            end = row + piece.batch.num_rows
            yield TableChunk(row, end, None, [values_of(piece, each) for each in wanted])
            row = end

    def _require_same_kinds(self, columns: Sequence[str]) -> None:
        """Raises InputError if a file lacks one of these columns, or has it of another kind."""
        self.require(columns)
        for column in columns:
            expected = self._type_of(column)
            for file in self._files:
                if column not in file.types:
                    raise InputError(
                        f"{file.path}: found no column {column!r}, expected {expected} as in "
                        f"{self._file_with(column, expected)}"
                    )
                if column in file.repeated:
                    raise InputError(
                        f"{file.path}: found column {column!r} twice, expected it once"
                    )
                found = file.types[column]
                if not same_kind(found, expected):
                    raise InputError(
                        f"{file.path} column {column!r}: found {found}, expected {expected} as in "
                        f"{self._file_with(column, expected)}"
                    )

    def _file_with(self, column: str, expected: Any) -> str:
        return next(file.path for file in self._files if file.types.get(column) == expected)

    def _pieces(self, columns: Sequence[str], rows: int) -> Iterator[Piece]:
        """Batches of these columns in this order, each of at most the given number of rows."""
        for file in self._files:
            row = 0
            opened = self._batches(file.path, columns, rows)
            for batch in opened:
                for first in range(0, batch.num_rows, rows):
                    part = batch.slice(first, rows).select(list(columns))
                    yield Piece(part, file.path, row, opened.mapped, self._missing)
                    row += part.num_rows

    def _paths(self, path: str) -> list[str]:
        return table_files(path)

    @abstractmethod
    def _look_at(self, file: str) -> TableFile: ...

    @abstractmethod
    def _batches(self, file: str, columns: Sequence[str], rows: int) -> Batches:
        """Record batches that have these columns."""


class _ParquetTable(ArrowTable):
    def _look_at(self, file: str) -> TableFile:
        opened = self._open(file)
        return TableFile.of(file, opened.schema_arrow, opened.metadata.num_rows)

    def _batches(self, file: str, columns: Sequence[str], rows: int) -> Batches:
        witness = _map(file)
        opened = self._open(file)
        batches = opened.iter_batches(batch_size=rows, columns=list(columns))
        return Batches(file, _in_one_piece(batches, witness))

    def _open(self, file: str) -> Any:
        _pyarrow(file)
        from pyarrow import parquet

        source = open_stored(file) if is_uri(file) else file
        if source is file:
            with Path(file).open("rb"):  # a missing file is OSError as everywhere
                pass
        try:
            # By default pyarrow reads all column chunks into memory before the first batch.
            return parquet.ParquetFile(source, pre_buffer=False, buffer_size=_READ_BYTES)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: not a readable Parquet file: {_one_line(error)}") from error


def _in_one_piece(batches: Iterator[Any], witness: _engine.ForeignFile | None) -> Iterator[Any]:
    """The batches of a file; raises OSError once the file is cut short. pyarrow does not notice
    every cut: pages of Parquet need no checksums, and missing bytes can read as other values."""
    for batch in batches:
        with reading(witness):
            pass
        yield batch


class _IpcTable(ArrowTable):
    """Arrow IPC, files and streams; Feather is the former.

    Files are mapped, because pyarrow would otherwise read all columns of a batch, and batches may
    be of any size.
    """

    def _look_at(self, file: str) -> TableFile:
        mapped = _map(file)
        with reading(mapped):
            reader = self._open(file, mapped)
        if not hasattr(reader, "num_record_batches"):
            return TableFile.of(file, reader.schema, None)  # a stream
        numbers = range(reader.num_record_batches)
        batches = Batches(file, (reader.get_batch(number) for number in numbers), mapped)
        return TableFile.of(file, reader.schema, sum(batch.num_rows for batch in batches))

    def _batches(self, file: str, columns: Sequence[str], rows: int) -> Batches:
        mapped = _map(file)
        with reading(mapped):
            reader = self._open(file, mapped, columns)
        if not hasattr(reader, "num_record_batches"):
            return Batches(file, iter(reader), mapped)
        numbers = range(reader.num_record_batches)
        return Batches(file, (reader.get_batch(number) for number in numbers), mapped)

    def _open(
        self, file: str, mapped: _engine.ForeignFile | None, columns: Sequence[str] | None = None
    ) -> Any:
        pyarrow = _pyarrow(file)
        content = b"" if mapped is None else mapped.bytes()
        try:
            source = pyarrow.PythonFile(_MappedContent(mapped), mode="r")
            # Only this thread is guarded against a mapped file that is cut short.
            options = pyarrow.ipc.IpcReadOptions(use_threads=False)
            if bytes(content[:6]) != b"ARROW1":
                return pyarrow.ipc.open_stream(source, options=options)
            if columns is not None:
                names = pyarrow.ipc.open_file(source).schema.names
                options.included_fields = [names.index(column) for column in columns]
            return pyarrow.ipc.open_file(source, options=options)
        except (ValueError, OSError) as error:
            raise InputError(f"{file}: not a readable Arrow file: {_one_line(error)}") from error


class _MappedContent:
    """A mapped file as pyarrow reads it: short pieces are copied, long ones are views.

    pyarrow checks the footer and the header of each batch once and then follows the offsets in
    them. In the mapping of a file that is cut meanwhile these become zeros, which crashes it. It
    may ask for them on threads of its own, so each copy is guarded by itself.
    """

    _MOST_COPIED = 16 << 20  # longer than a footer or a header; values are followed by nobody
    closed = False

    def __init__(self, mapped: _engine.ForeignFile | None) -> None:
        self._mapped = mapped
        content: Any = b"" if mapped is None else mapped.bytes()
        self._content = memoryview(content)
        self._at = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self._content)}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes | memoryview:
        begin = min(self._at, len(self._content))
        end = len(self._content) if size < 0 else min(begin + size, len(self._content))
        self._at = end
        piece = self._content[begin:end]
        if len(piece) > self._MOST_COPIED:
            return piece
        with reading(self._mapped):
            return bytes(piece)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        pass


def _map(file: str) -> _engine.ForeignFile | None:
    """None for an empty file, which cannot be mapped, and for one of an object store."""
    if is_uri(file):
        return None
    return _engine.ForeignFile.open(file) if Path(file).stat().st_size > 0 else None


def open_arrow_table(path: str, missing: tuple[str, ...] = ()) -> ArrowTable:
    """A Parquet or Arrow file or a folder of them, by the suffix. `missing` are texts that stand
    for a missing value."""
    files = table_files(path)
    of_parquet = [suffix_of(file) in _PARQUET for file in files]
    if any(of_parquet) and not all(of_parquet):
        other = files[of_parquet.index(False)]
        raise InputError(f"{path}: found {other} beside Parquet files, expected one kind of tables")
    if is_uri(path) and not of_parquet[0]:
        raise InputError(
            f"{path}: found Arrow files, which are mapped; expected Parquet from an object store, "
            "or Arrow files on this machine"
        )
    return _ParquetTable(path, missing) if of_parquet[0] else _IpcTable(path, missing)


class Batches:
    """Record batches of a file; an error of pyarrow becomes one that names the file."""

    def __init__(
        self, file: str, batches: Iterator[Any], mapped: _engine.ForeignFile | None = None
    ) -> None:
        self._file = file
        self._batches = batches
        self.mapped = mapped  # the mapping that the batches lie in, if any

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        with reading(self.mapped):
            try:
                return next(self._batches)
            except (ValueError, OSError) as error:
                raise InputError(f"{self._file}: cannot be read: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
