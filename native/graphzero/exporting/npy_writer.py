"""An export as .npy arrays.

No two files get the same name: a Dataset leaves out columns called edge_index or num_nodes, which
are reserved, and weights, times and ids of edges get names that no column has.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from graphzero.base.progress import Report
from graphzero.exporting.edges import Edges, count_edges
from graphzero.exporting.parts import Array, Part
from graphzero.exporting.writers import Writer, ranges_of, tell, values_of
from graphzero.files.column_file import ColumnFile
from graphzero.files.dtypes import DataType
from graphzero.files.paths import ORIGINAL_IDS


class _NpyFile:
    """A .npy file that is filled in any order. It is not mapped: a store to a mapping kills the
    process if the disk is full or the file was cut."""

    def __init__(self, file: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        np_format: Any = np.lib.format  # Any, because the module has no types
        self._path = file
        self._dtype = dtype
        self._file = file.open("xb", buffering=0)
        header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np_format.write_array_header_1_0(self._file, header)
        self._offset = self._file.tell()
        size = math.prod(shape) * dtype.itemsize
        if size > 0:
            # Allocates the whole file, so that a lack of space shows before the work begins.
            with self._named():
                os.posix_fallocate(self._file.fileno(), self._offset, size)

    def __enter__(self) -> _NpyFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, first: int, values: Array) -> None:
        """Writes values, in their order in memory, to positions first, first + 1, ... of the
        file."""
        own = np.ascontiguousarray(values, self._dtype).reshape(-1)
        data = memoryview(cast(Any, own.view(np.uint8)))
        place = self._offset + first * self._dtype.itemsize
        with self._named():
            while data:
                done = os.pwrite(self._file.fileno(), data, place)
                data, place = data[done:], place + done

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Adds the name of the file to system errors."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or 0), str(self._path)) from error


class NpyWriter(Writer):
    usual_weight_name = "edge_weight"
    usual_time_name = "edge_time"
    usual_id_name = "edge_id"

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self._rows = 0 if part.relation_number is None else count_edges(part)
        self._at = 0
        with ExitStack() as files:  # closes the files if one of them cannot be created
            if part.relation_number is not None:
                self._open_edges(files)
            self._stack = files.pop_all()

    def _open_edges(self, files: ExitStack) -> None:
        part, integers = self.part, np.dtype(np.int64)

        def open_file(name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> _NpyFile:
            return files.enter_context(self._new(name, dtype, shape))

        self._index = open_file("edge_index", integers, (2, self._rows))
        self._weights = self._times = self._ids = None
        if part.has_weights:
            self._weights = open_file(self.weight_name, np.dtype(np.float32), (self._rows,))
        if part.has_times:
            self._times = open_file(self.time_name, integers, (self._rows,))
        if part.writes_edge_ids:
            self._ids = open_file(self.id_name, integers, (self._rows,))
        self._columns = [
            (column, open_file(name, _dtype(column), (self._rows, *column.shape[1:])))
            for name, column in part.edge_columns.items()
        ]

    def _new(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> _NpyFile:
        return _NpyFile(self._directory / f"{name}.npy", dtype, shape)

    def add_edges(self, edges: Edges) -> None:
        first = self._at
        self._at += len(edges.src)
        self._index.write(first, edges.src)
        self._index.write(self._rows + first, edges.dst)
        if self._weights is not None and edges.weights is not None:
            self._weights.write(first, edges.weights)
        if self._times is not None and edges.times is not None:
            self._times.write(first, edges.times)
        if self._ids is not None:
            self._ids.write(first, edges.ids)
        for column, file in self._columns:
            file.write(first * column.row_values, values_of(column, edges.ids))

    def write_columns(self, report: Report | None) -> None:
        part = self.part
        if part.type_number is not None:
            np.save(self._directory / "num_nodes.npy", np.int64(part.num_nodes))
        if self._writes_node_times and part.node_times is not None:
            with self._new(self.node_time_name, np.dtype(np.int64), (part.num_nodes,)) as file:
                for ids in ranges_of(part.num_nodes, 8):
                    file.write(int(ids[0]), part.node_times[ids])
        columns = part.of_role("node") | part.of_role("ids") | part.of_role("categories")
        for name, column in columns.items():
            texts = name == ORIGINAL_IDS or column.role == "categories"
            if texts and column.dtype is DataType.UINT8:
                self._write_texts(name, column)
                continue
            with self._new(name, _dtype(column), column.shape) as file:
                for ids in ranges_of(column.num_rows, column.row_bytes):
                    file.write(int(ids[0]) * column.row_values, values_of(column, ids))
                    tell(report, f"writing {name}", int(ids[-1]) + 1, column.num_rows)

    def _write_texts(self, name: str, column: ColumnFile) -> None:
        dtype = np.dtype(f"S{column.row_values}")
        with self._new(name, dtype, (column.num_rows,)) as file:
            for ids in ranges_of(column.num_rows, column.row_bytes):
                file.write(int(ids[0]), column.gather(ids).view(dtype).reshape(-1))


def _dtype(column: ColumnFile) -> np.dtype[Any]:
    if column.dtype is DataType.BFLOAT16:
        return np.dtype(np.float32)
    return column.dtype.storage
