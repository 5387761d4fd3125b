"""`ColumnFile`: an open matrix file, and the way in which its rows are read.

`FeatureStore` holds one, and each column of the daemon's datasets is one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.ids import Ids, id_array
from graphzero.base.lazy_torch import import_torch
from graphzero.base.resources import available_memory
from graphzero.base.result_arrays import result_array
from graphzero.base.text import size_text
from graphzero.files.column_io import (
    ColumnReading,
    checked_io,
    choose_reading,
    default_io,
    default_row_cache,
    room_for_a_file,
    warn_of_problems,
)
from graphzero.files.description import parse_description
from graphzero.files.dtypes import DataType
from graphzero.files.paths import require_sound
from graphzero.files.warm import warm_file

_BYTES_AT_ONCE = 8 << 20  # size of one of pieces()
# Indexed by the numbers that files use for roles.
ROLES = ("node", "edge", "ids", "categories")


class ColumnFile:
    """Thread-safe. `verify`, `io` and `row_cache` are those of FeatureStore.

    Arrays have the type `dtype`, except that bfloat16 is held as int16; as_users_type() makes a
    torch tensor of such an array.
    """

    def __init__(
        self,
        path: Path,
        *,
        verify: bool = False,
        io: str | None = None,
        row_cache: int | None = None,
    ) -> None:
        self.io = checked_io(default_io() if io is None else io)
        if row_cache is not None and row_cache < 0:
            raise ValueError(f"row_cache is {row_cache}, expected a number of bytes, or 0 for none")
        self.row_cache = row_cache
        self.path = path
        self.matrix = _engine.Matrix.open(os.fspath(path))
        if verify:
            require_sound(self.matrix)
        self.dtype = DataType[self.matrix.dtype.upper()]
        """Type of the values that are read; a quantised file stores bytes instead."""
        self.quantisation = self.matrix.quantisation
        """How stored bytes become values; None if values are stored as they are."""
        self.shard = self.matrix.shard
        """Which rows the file has, if it is one part of a column; else None."""
        self._array: npt.NDArray[Any] | None = None
        if self.quantisation is None:
            self._array = self.matrix.tensor()
        self.num_rows = self.matrix.rows if self.shard is None else self.shard.total_rows
        """Rows of the whole column, even if the file has one part of it."""
        self.shape = (self.num_rows, *self.matrix.row_shape)
        self.row_values = self.matrix.cols
        """Number of values in a row."""
        self.row_bytes = self.row_values * self.dtype.storage.itemsize
        """Size of a row in memory, after it was read. In the file, padding may follow a row, and a
        quantised row has one byte for each value."""
        self.stored_row_bytes = self.matrix.stored_row_bytes
        """Size of a row in the file and in the row cache, without padding."""
        self.byte_size = self.matrix.file_bytes
        self.role = ROLES[self.matrix.role]
        self.description = parse_description(str(path), self.matrix.description)
        self.planned: _engine.ColumnPath | None = None
        """The path that read_by() was given; None before that call."""
        self._reader: _engine.Column | None = None
        self.sharded: _engine.ShardedColumn | None = None
        """Gathers rows of all parts, if a daemon serves this file as one part."""
        self._gave_views = False

    def read_by(
        self,
        reading: ColumnReading,
        cache: _engine.RowCache | None,
        remote_cache: _engine.RowCache | None = None,
    ) -> None:
        """Makes `reader` read in this way from now on. The daemon calls it, with its plan for all
        files. `remote_cache` keeps rows of other parts, if the file is one part."""
        self._reader = _engine.Column.open(self.matrix, reading.path, cache, reading.reason)
        self.planned = reading.path
        if self.shard is not None:
            self.sharded = _engine.ShardedColumn(self._reader, remote_cache)

    @property
    def reader(self) -> _engine.Column:
        """Gathers rows on the path that was chosen; opened when first needed.

        No lock is taken: a forked child would wait for ever for one that another thread of its
        parent held. If two threads are first at the same time, both open a reader, and one of the
        two readers stays.
        """
        reader = self._reader
        adaptive = reader is not None and reader.path == _engine.ColumnPath.ADAPTIVE
        if reader is None or (adaptive and self._gave_views):
            reader = self._reader = self._open_reader()
        return reader

    def _open_reader(self) -> _engine.Column:
        reading = choose_reading(self.io, self.byte_size, room_for_a_file())
        if reading.path == _engine.ColumnPath.ADAPTIVE and self._gave_views:
            reading = ColumnReading(
                _engine.ColumnPath.MAPPED, "views of it may have been written to"
            )
        cache = None
        size = default_row_cache() if self.row_cache is None else self.row_cache
        if reading.path == _engine.ColumnPath.DIRECT and size > 0:
            cache = _engine.RowCache(min(size, self.byte_size))
        reader = _engine.Column.open(self.matrix, reading.path, cache, reading.reason)
        warn_of_problems(reader, str(self.path))
        return reader

    @property
    def fingerprint(self) -> str:
        """Hash of the content in hex; for one part, the hash of the whole column; "" for a file of
        GraphZero 0.2, which has none."""
        return self.file_fingerprint if self.shard is None else self.shard.whole_fingerprint.hex()

    @property
    def file_fingerprint(self) -> str:
        """Hash of this file alone, which tells parts of a column apart."""
        return self.matrix.fingerprint.hex() if self.matrix.version else ""

    def require_whole(self) -> None:
        """Raises InputError if the file has one part of the rows."""
        if self.shard is not None:
            raise InputError(
                f"{self.path}: is part {self.shard.part} of {self.shard.parts} of a column; "
                "graphzero-server --data PART --peers ... serves all rows"
            )

    def warm(self) -> None:
        warm_file(self.matrix)

    def view(self) -> npt.NDArray[Any]:
        """All rows, mapped. What is written to a view shows in later views of this object. It also
        shows in its gathers, unless rows are read from disk (`io` "cached" or "direct"). It never
        reaches the file.

        A quantised file does not contain its values: each call computes all of them in new memory.
        Raises MemoryError if there is no room for that.
        """
        self.require_whole()
        if self._array is not None:
            self._gave_views = True
            return self._array[...]
        needed = self.num_rows * self.row_bytes
        if needed > (room := available_memory()):
            raise MemoryError(
                f"{self.path}: all values of this quantised column take {size_text(needed)}, and "
                f"{size_text(room)} are available; gather the rows that are needed"
            )
        values = self.new_array(self.num_rows)
        step = self._rows_at_once()
        for first in range(0, self.num_rows, step):
            self.matrix.read_rows(first, _flat_bytes(values[first : first + step]))
        return values

    def gather(self, ids: Ids, threads: int = 0) -> npt.NDArray[Any]:
        """Copies of these rows, in memory of their own."""
        rows = id_array(ids, self.num_rows)
        out = self.new_array(len(rows))
        self.gather_into(rows, out, threads)
        return out

    def gather_into(
        self, rows: npt.NDArray[np.int64], out: npt.NDArray[Any], threads: int = 0
    ) -> None:
        """Fills `out`, a contiguous array of the type of new_array()."""
        self.require_whole()
        self.reader.gather(rows, _flat_bytes(out), threads=threads)

    def pieces(self) -> Iterator[Any]:
        """All rows in order, as as_users_type() gives them, a few megabytes at a time. They are
        copied from the file: writes to views do not show, and a file that is cut short meanwhile
        raises OSError."""
        self.require_whole()
        step = self._rows_at_once()
        for first in range(0, self.num_rows, step):
            piece = self.new_array(min(step, self.num_rows - first))
            self.matrix.read_rows(first, _flat_bytes(piece))
            yield self.as_users_type(piece)

    def _rows_at_once(self) -> int:
        return max(1, _BYTES_AT_ONCE // max(1, self.row_bytes))

    def new_array(self, rows: int) -> npt.NDArray[Any]:
        """An array with room for that number of rows; its values are undefined."""
        return result_array((rows, *self.shape[1:]), self.dtype.storage)

    def as_users_type(self, array: npt.NDArray[Any]) -> Any:
        """The array itself, or a torch tensor over it if the values are bfloat16."""
        if self.dtype is not DataType.BFLOAT16:
            return array
        torch = import_torch(f"{self.path} holds bfloat16, which NumPy does not have")
        return torch.from_numpy(array).view(torch.bfloat16)


def _flat_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)
