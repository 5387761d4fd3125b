"""`FeatureStore`: the embedded, read-only view of a matrix file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from graphzero.base.ids import Ids, checked_id, id_array
from graphzero.base.lazy_torch import import_torch
from graphzero.files.column_file import ColumnFile
from graphzero.files.dtypes import DataType, widen
from graphzero.files.paths import GRAPH_FILE
from graphzero.files.quantisation import Quantisation

# How many columns an error names.
_MOST_NAMED = 10


class FeatureStore:
    """A matrix on disk, mapped: features, labels, a split; one row per node, edge or list entry.

    `filename` is a `.gd` file (version 1, or written by GraphZero 0.2). `verify=True` reads the
    whole file first and raises FormatError at the first damage.

    Rows come back as NumPy arrays of the stored type; bfloat16, which NumPy does not have, as
    torch.bfloat16 tensors. A quantised file stores a byte for each value, which is read as float32
    or float16: `dtype` is that type, and `quantisation` says how values are computed.

    Thread-safe. Picklable: the copy opens the same absolute path again. get_data() and get_tensor()
    return views of the mapping: valid for as long as they are referenced, also when the store is
    gone or the file is replaced. They may be written to; the change is private to this process,
    visible in later views, and never reaches the file. For a quantised file, which does not contain
    its values, both return copies: get_tensor() takes memory for all values.

    `io` says how gather() reads rows; the result is the same:
      "mapped"  copies from the mapping (and sees what was written to views); a row that is not in
                memory costs a page fault
      "cached"  reads through the page cache, hundreds of rows at a time
      "direct"  reads in the same way around the page cache, with a row cache: for files larger than
                memory. `row_cache` is its size in bytes, by default a quarter of the memory that is
                available; 0 for none
      "auto"    "direct" if the file does not fit into the available memory (also that of a control
                group); else "mapped" while the requested rows are in memory, and "cached" if not.
                After get_data() or get_tensor(), "mapped": gather() then agrees with the views
    The default is "auto", or the value of the environment variable GRAPHZERO_FEATURE_IO.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        *,
        verify: bool = False,
        io: str | None = None,
        row_cache: int | None = None,
    ) -> None:
        path = Path(filename).absolute()
        if (path / GRAPH_FILE).exists():
            raise IsADirectoryError(_columns_of_dataset(Path(filename)))
        self._file = ColumnFile(path, verify=verify, io=io, row_cache=row_cache)

    @property
    def path(self) -> Path:
        """The matrix file, as an absolute path."""
        return self._file.path

    @property
    def num_nodes(self) -> int:
        """Number of rows; row i belongs to node i unless `role` says otherwise."""
        return self._file.num_rows

    @property
    def feature_dim(self) -> int:
        """Number of values in a row: columns, or the product of a row's dimensions."""
        return self._file.row_values

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, then the dimensions of a row in the input of the conversion."""
        return self._file.shape

    @property
    def dtype(self) -> DataType:
        """Type of the values that are read; a quantised file stores bytes instead."""
        return self._file.dtype

    @property
    def quantisation(self) -> Quantisation | None:
        """How stored bytes become values, and how exact they are; None if values are stored as
        they are."""
        found = self._file.quantisation
        return None if found is None else Quantisation.of(found)

    @property
    def role(self) -> str:
        """What a row belongs to: "node"; "edge" (by edge id); "ids": the values are node ids;
        "categories": row i is the category of code i of another column."""
        return self._file.role

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table columns that rows were made of, if the file states them."""
        return self._file.description.columns

    @property
    def unit(self) -> str | None:
        """If values are times: "D", "s", "ms", "us" or "ns" since 1970, in UTC."""
        return self._file.description.unit

    @property
    def has_categories(self) -> bool:
        """Whether values are codes of categories, see graphzero.Categories; -1 stands for a missing
        value."""
        return self._file.description.categories

    @property
    def row_bytes(self) -> int:
        """Size of one row as gather() returns it."""
        return self._file.row_bytes

    @property
    def byte_size(self) -> int:
        """Size of the file."""
        return self._file.byte_size

    @property
    def fingerprint(self) -> str:
        """Hash of the content in hex: equal for equal content; "" for a file of GraphZero 0.2."""
        return self._file.fingerprint

    def warm(self) -> None:
        """Reads the file into memory in order, as far as it is not there yet.

        Later random access then finds it there, on huge pages if the kernel supports them for
        files. Parts that are in memory on small pages are read again to get huge pages, unless a
        process has mapped them.
        """
        self._file.warm()

    def get_data(self, node_id: SupportsIndex) -> Any:
        """Row of one node: a view of its values, one-dimensional unless a row has dimensions."""
        row = checked_id(node_id, self.num_nodes)
        if self._file.quantisation is not None:
            found = self._file.gather([row])
            return self._file.as_users_type(found if found.ndim == 1 else found[0])
        view = self._file.view()
        return self._file.as_users_type(view[row : row + 1] if view.ndim == 1 else view[row])

    def get_tensor(self) -> Any:
        """The whole matrix as a view: instant for any size, also beyond memory.

        Only pages that are touched are read, and `torch.from_numpy` takes the array as it is. For a
        quantised file the result is an array in memory; raises MemoryError if there is no room.
        """
        return self._file.as_users_type(self._file.view())

    def gather(
        self, ids: Ids, out: Any = None, threads: int | None = None, *, upcast: bool = False
    ) -> Any:
        """Copies of the rows `ids` (list, NumPy array or torch tensor), in that order.

        `out`, a NumPy array or torch tensor of the result's shape and type, is filled and returned
        instead of a new array. At most `threads` threads copy; None means one per core. `upcast`
        gives float16 and bfloat16 as a NumPy array of float32.
        """
        if upcast and out is not None:
            raise ValueError("out and upcast exclude each other: out has the column's type")
        if threads is not None and threads < 1:
            raise ValueError(f"threads: found {threads}, expected at least 1")
        if out is not None:
            rows = id_array(ids, self.num_nodes)
            buffer = self._writable(out, (len(rows), *self.shape[1:]))
            self._file.gather_into(rows, buffer, threads or 0)
            return out
        found = self._file.gather(ids, threads or 0)
        if upcast and self.dtype.is_half:
            return widen(found, self.dtype)
        return self._file.as_users_type(found)

    def _writable(self, out: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """`out` as a NumPy array of the same memory. Raises ValueError if it does not fit."""
        dtype = str(out.dtype).removeprefix("torch.")
        if dtype != self.dtype.label or tuple(out.shape) != shape:
            raise ValueError(
                f"out: found {dtype} of shape {tuple(out.shape)}, "
                f"expected {self.dtype.label} of shape {shape}"
            )
        if self.dtype is DataType.BFLOAT16:
            out = out.view(import_torch("a bfloat16 array needs torch").int16)
        buffer = np.asarray(out)
        if not (buffer.flags.c_contiguous and buffer.flags.writeable):
            raise ValueError("out: expected a writable array in C order")
        return buffer

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), os.fspath(self.path), self._file.io, self._file.row_cache)

    def __repr__(self) -> str:
        return f"FeatureStore({os.fspath(self.path)!r}: {self.dtype.label} {self.shape})"


def _reopen(kind: type[FeatureStore], path: str, io: str, row_cache: int | None) -> FeatureStore:
    return kind(path, io=io, row_cache=row_cache)


def _columns_of_dataset(directory: Path) -> str:
    """The error for a dataset in place of one of its columns."""
    columns = sorted(map(os.fspath, directory.glob("**/*.gd")))
    more = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
    shown = ", ".join(columns[:_MOST_NAMED]) or "it has none"
    return f"{os.fspath(directory)!r} is a dataset; give one of its columns: {shown}{more}"
