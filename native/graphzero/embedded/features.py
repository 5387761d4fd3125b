"""`FeatureStore`: the embedded, read-only view of a matrix file."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.ids import Ids, checked_id, id_array
from graphzero.base.lazy_torch import import_torch
from graphzero.files.column_io import (
    IoPlan,
    checked_io,
    default_io,
    default_row_cache,
    plan_io,
    room_for_a_file,
    warn_of_problems,
)
from graphzero.files.description import parse_description
from graphzero.files.dtypes import DataType, widen
from graphzero.files.paths import require_sound
from graphzero.files.warm import warm_file

_BYTES_AT_ONCE = 8 << 20  # of rows_in_order()
# By the numbers that files use for them.
ROLES = ("node", "edge", "ids", "categories")


class FeatureStore:
    """A matrix on disk, mapped: features, labels, a split; one row per node, edge or list entry.

    `filename` is a `.gd` file (version 1, or written by GraphZero 0.2). `verify=True` reads the
    whole file first and raises FormatError at the first damage.

    Rows come back as NumPy arrays of the stored type; bfloat16, which NumPy does not have, as
    torch.bfloat16 tensors.

    Thread-safe. Picklable: the copy opens the same absolute path again. get_data() and get_tensor()
    return views of the mapping: valid for as long as they are referenced, also when the store is
    gone or the file is replaced. They may be written to; the change is private to this process,
    visible in later views, and never reaches the file.

    `io` says how gather() reads rows; the bytes are the same:
      "mapped"  copies from the mapping (and sees what was written to views); a row that is not in
                memory costs a page fault
      "cached"  reads through the page cache, hundreds of rows at a time
      "direct"  the same around the page cache, with a cache for hot rows: for files larger than
                memory. `row_cache` is its size in bytes, by default a quarter of the memory that is
                available; 0 for none
      "auto"    "direct" if the file does not fit into the available memory (also that of a control
                group); else "mapped" while the rows asked for are in memory, and "cached" if not.
                After get_data() or get_tensor(), "mapped": gather() then agrees with the views
    The default is "auto", or what the environment variable GRAPHZERO_FEATURE_IO says.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        *,
        verify: bool = False,
        io: str | None = None,
        row_cache: int | None = None,
    ) -> None:
        self._io = checked_io(default_io() if io is None else io)
        if row_cache is not None and row_cache < 0:
            raise ValueError(f"row_cache is {row_cache}, expected a number of bytes, or 0 for none")
        self._row_cache = row_cache
        self._path = Path(filename).absolute()
        self._matrix = _engine.Matrix.open(os.fspath(self._path))
        if verify:
            require_sound(self._matrix)
        self._dtype = DataType[self._matrix.dtype.upper()]
        self._array: npt.NDArray[Any] = self._matrix.tensor()
        self._row_bytes = self._matrix.cols * self._dtype.storage.itemsize
        self._opening = threading.Lock()
        self._opened: _engine.Column | None = None
        self._planned: _engine.ColumnPath | None = None
        self._gave_views = False
        self._description = parse_description(str(self._path), self._matrix.description)

    @property
    def path(self) -> Path:
        """The matrix file, as an absolute path."""
        return self._path

    @property
    def num_nodes(self) -> int:
        """Number of rows; row i belongs to node i unless `role` says otherwise."""
        return self._matrix.rows

    @property
    def feature_dim(self) -> int:
        """Number of values in a row: columns, or the product of a row's dimensions."""
        return self._matrix.cols

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and the dimensions of a row, as they were when the file was made."""
        return self._array.shape

    @property
    def dtype(self) -> DataType:
        """Type of the values as they are stored, which is that of the arrays given out."""
        return self._dtype

    @property
    def role(self) -> str:
        """What a row belongs to: "node"; "edge" (by edge id); "ids": the values are node ids;
        "categories": row i is what code i of another column stands for."""
        return ROLES[self._matrix.role]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that a row was made of, if the file says."""
        return self._description.columns

    @property
    def unit(self) -> str | None:
        """If values are times: "D", "s", "ms", "us" or "ns" since 1970, in UTC."""
        return self._description.unit

    @property
    def has_categories(self) -> bool:
        """Whether values are codes of categories, see graphzero.Categories; -1 is none."""
        return self._description.categories

    @property
    def row_bytes(self) -> int:
        """Size of one row as gather() returns it."""
        return self._row_bytes

    @property
    def byte_size(self) -> int:
        """Size of the file."""
        return self._matrix.file_bytes

    @property
    def fingerprint(self) -> str:
        """Hash of the content in hex: equal for equal content; "" for a file of GraphZero 0.2."""
        return self._matrix.fingerprint.hex() if self._matrix.version else ""

    def warm(self) -> None:
        """Reads the file into memory in order, as far as it is not there yet.

        Later random access then finds it there, on huge pages where the kernel has them for files.
        What lies in memory on small pages is read again for that, unless a process has mapped it.
        """
        warm_file(self._matrix)

    def get_data(self, node_id: SupportsIndex) -> Any:
        """Row of one node: a view of its values, one-dimensional unless a row has dimensions."""
        row = checked_id(node_id, self.num_nodes)
        self._gave_views = True
        values = self._array[row : row + 1] if self._array.ndim == 1 else self._array[row]
        return self._as_users_type(values)

    def get_tensor(self) -> Any:
        """The whole matrix as a view: instant for any size, also beyond memory.

        Only what is touched is read, and `torch.from_numpy` takes it as it is.
        """
        self._gave_views = True
        return self._as_users_type(self._array[...])

    def gather(
        self, ids: Ids, out: Any = None, threads: int | None = None, *, upcast: bool = False
    ) -> Any:
        """Copies of the rows `ids` (list, NumPy array or torch tensor), in that order.

        `out`, a NumPy array or torch tensor of the result's shape and type, is filled and returned
        instead of a new array. At most `threads` threads copy; None means one per core. `upcast`
        gives float16 and bfloat16 as a NumPy array of float32.
        """
        if upcast and out is not None:
            raise ValueError("out and upcast exclude each other: out has the stored type")
        if threads is not None and threads < 1:
            raise ValueError(f"threads: found {threads}, expected at least 1")
        rows = id_array(ids, self.num_nodes)
        shape = (len(rows), *self.shape[1:])
        buffer = self._new(shape) if out is None else self._writable(out, shape)
        self._rows.gather(rows, _flat_bytes(buffer), threads=threads or 0)
        if upcast and self._dtype.is_half:
            return widen(buffer, self._dtype)
        return self._as_users_type(buffer) if out is None else out

    def _read_by(self, plan: IoPlan, cache: _engine.RowCache | None) -> None:
        """Makes gather() read in that way from now on; the daemon plans for all its files."""
        with self._opening:
            self._opened = _engine.Column.open(self._matrix, plan.path, cache, plan.reason)
            self._planned = plan.path

    @property
    def _rows(self) -> _engine.Column:
        """The column on its path, opened when first needed."""
        with self._opening:
            column = self._opened
            adaptive = column is not None and column.path == _engine.ColumnPath.ADAPTIVE
            if column is None or (adaptive and self._gave_views):
                column = self._opened = self._open_column()
        return column

    def _open_column(self) -> _engine.Column:
        plan = plan_io(self._io, self.byte_size, room_for_a_file())
        if plan.path == _engine.ColumnPath.ADAPTIVE and self._gave_views:
            plan = IoPlan(_engine.ColumnPath.MAPPED, "views of it may have been written to")
        cache = None
        size = default_row_cache() if self._row_cache is None else self._row_cache
        if plan.path == _engine.ColumnPath.DIRECT and size > 0:
            cache = _engine.RowCache(min(size, self.byte_size))
        column = _engine.Column.open(self._matrix, plan.path, cache, plan.reason)
        warn_of_problems(column, str(self._path))
        return column

    def _new(self, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        return np.empty(shape, self._dtype.storage)

    def _writable(self, out: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """The memory of `out` as NumPy sees it, once it is known to fit."""
        dtype = str(out.dtype).removeprefix("torch.")
        if dtype != self._dtype.label or tuple(out.shape) != shape:
            raise ValueError(
                f"out: found {dtype} of shape {tuple(out.shape)}, "
                f"expected {self._dtype.label} of shape {shape}"
            )
        if self._dtype is DataType.BFLOAT16:
            out = out.view(import_torch("a bfloat16 array needs torch").int16)
        buffer = np.asarray(out)
        if not (buffer.flags.c_contiguous and buffer.flags.writeable):
            raise ValueError("out: expected a writable array in C order")
        return buffer

    def _as_users_type(self, array: npt.NDArray[Any]) -> Any:
        if self._dtype is not DataType.BFLOAT16:
            return array
        torch = import_torch(f"{self._path} holds bfloat16, which NumPy does not have")
        return torch.from_numpy(array).view(torch.bfloat16)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), os.fspath(self._path), self._io, self._row_cache)

    def __repr__(self) -> str:
        return f"FeatureStore({os.fspath(self._path)!r}: {self._dtype.label} {self.shape})"


def rows_in_order(store: FeatureStore) -> Iterator[Any]:
    """All rows, a few megabytes at a time, copied from the file: without what was written to views,
    and with an OSError if the file is cut short meanwhile."""
    step = max(1, _BYTES_AT_ONCE // max(1, store.row_bytes))
    for first in range(0, store.num_nodes, step):
        count = min(step, store.num_nodes - first)
        piece = store._new((count, *store.shape[1:]))
        store._matrix.read_rows(first, _flat_bytes(piece))
        yield store._as_users_type(piece)


def _reopen(kind: type[FeatureStore], path: str, io: str, row_cache: int | None) -> FeatureStore:
    return kind(path, io=io, row_cache=row_cache)


def _flat_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)
