"""Writers of an export: Parquet tables, or .npy arrays."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.base.progress import Report
from graphzero.exporting.edges import Edges, count_edges
from graphzero.exporting.manifest import Ids
from graphzero.files.categories import Categories
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.files.dtypes import DataType, widen
from graphzero.files.paths import ORIGINAL_IDS

Array: TypeAlias = npt.NDArray[Any]

_BYTES_AT_ONCE = 8 << 20


class NodeNames:
    """What stands for a node in the output."""

    def __init__(self, dataset: Dataset, original: bool) -> None:
        self.original = dataset.original_ids if original else None
        self.kind: Ids = "none"
        if dataset.original_ids is not None:
            self.kind = "original" if original else "column"

    def of(self, ids: Array) -> Any:
        return ids if self.original is None else self.original.gather(ids)


class Writer(ABC):
    """Takes edges inside its context, columns after it."""

    usual_weight_name: str
    """What the weights of the edges are called, unless a column of edges has that name."""

    def __init__(self, dataset: Dataset, directory: Path, names: NodeNames) -> None:
        self._dataset = dataset
        self._directory = directory
        self._names = names
        self._stack = ExitStack()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @abstractmethod
    def add_edges(self, edges: Edges) -> None: ...

    @abstractmethod
    def write_columns(self, report: Report | None) -> None: ...

    def _require_distinct(self, place: str, reserved: Iterable[str], names: Iterable[str]) -> None:
        """Before anything is written: two of one name would overwrite each other."""
        taken = set(reserved)
        for name in names:
            if name in taken:
                raise InputError(
                    f"{self._dataset.path}: found two things that would be called {name!r} among "
                    f"the {place}, expected one of a name; rename NAME.gd of that column"
                )
            taken.add(name)

    def _of_role(self, role: str) -> dict[str, ColumnFile]:
        columns = self._dataset.columns
        return {name: column for name, column in columns.items() if column.role == role}

    @property
    def weight_name(self) -> str:
        name = self.usual_weight_name
        while name in self._dataset.columns:
            name = f"graph_{name}"
        return name

    @property
    def other_weight_name(self) -> str | None:
        """Where the usual one is taken."""
        has_other = self._dataset.graph.has_weights and self.weight_name != self.usual_weight_name
        return self.weight_name if has_other else None

    def _edge_columns(self) -> dict[str, ColumnFile]:
        """Without edge ids in the graph, nobody knows which row is whose."""
        return self._of_role("edge") if self._dataset.graph.has_edge_ids else {}


class ParquetWriter(Writer):
    usual_weight_name = "weight"

    def __init__(self, dataset: Dataset, directory: Path, names: NodeNames) -> None:
        super().__init__(dataset, directory, names)
        edge_fields = ("source", "target", self.weight_name)
        self._require_distinct("columns of edges", edge_fields, self._edge_columns())
        self._require_distinct("columns of nodes", ("id",), self._of_role("node"))
        self._require_distinct("files", ("nodes", "edges"), self._of_role("ids"))
        import_extra("pyarrow", "arrow", "writing Parquet needs pyarrow")
        self._edges: Any = None
        if dataset.graph.num_edges == 0:
            empty = np.empty(0, np.int64)
            weights = np.empty(0, np.float32) if dataset.graph.has_weights else None
            self.add_edges(Edges(empty, empty, weights, empty))

    def add_edges(self, edges: Edges) -> None:
        columns = {"source": self._names.of(edges.src), "target": self._names.of(edges.dst)}
        if edges.weights is not None:
            columns[self.weight_name] = edges.weights
        for name, column in self._edge_columns().items():
            columns[name] = _meant(column, edges.ids)
        self._edges = self._append(self._edges, "edges", columns)

    def write_columns(self, report: Report | None) -> None:
        nodes = self._of_role("node")
        if self._names.original is not None:
            del nodes[ORIGINAL_IDS]  # they are the ids
        total = self._dataset.graph.num_nodes
        with self._stack:
            empty = np.empty(0, np.int64)
            columns = {"id": self._names.of(empty)}
            columns |= {name: _meant(column, empty) for name, column in nodes.items()}
            writer = self._append(None, "nodes", columns)  # also of a graph without nodes
            for ids in _ranges(total, sum(column.row_bytes for column in nodes.values()) + 8):
                columns = {"id": self._names.of(ids)}
                columns |= {name: _meant(column, ids) for name, column in nodes.items()}
                writer = self._append(writer, "nodes", columns)
                tell(report, "writing nodes", int(ids[-1]) + 1, total)
            for name, split in self._of_role("ids").items():
                ids = split.gather(np.arange(split.num_rows))
                self._append(None, name, {"node": self._names.of(np.asarray(ids, np.int64))})
            for name, column in self._of_role("categories").items():
                self._write_categories(name, Categories(column))

    def _write_categories(self, name: str, categories: Categories) -> None:
        """The dictionary of a column, in the order of its codes."""
        writer = self._append(None, name, {"category": _texts_or_integers(categories, [])})
        for codes in _ranges(len(categories), 64):
            column = {"category": _texts_or_integers(categories, codes)}
            writer = self._append(writer, name, column)

    def _append(self, writer: Any, name: str, columns: dict[str, Any]) -> Any:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.table({key: _arrow(values) for key, values in columns.items()})
        if writer is None:
            file = self._directory / f"{name}.parquet"
            writer = self._stack.enter_context(parquet.ParquetWriter(file, table.schema))
        try:
            writer.write_table(table)
        except OSError as error:  # pyarrow's does not say of what
            name_of_file = str(self._directory / f"{name}.parquet")
            raise OSError(error.errno, os.strerror(error.errno or 0), name_of_file) from error
        return writer


class _NpyFile:
    """A .npy file that is filled in any order. Written and not mapped: a store to a mapping that
    finds no room on the disk, or no file any more, ends the process."""

    def __init__(self, file: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        np_format: Any = np.lib.format  # which has no types
        self._path = file
        self._dtype = dtype
        self._file = file.open("xb", buffering=0)
        header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np_format.write_array_header_1_0(self._file, header)
        self._offset = self._file.tell()
        size = math.prod(shape) * dtype.itemsize
        if size > 0:
            # At once, so that a disk without room for all of it is known before the work begins.
            with self._named():
                os.posix_fallocate(self._file.fileno(), self._offset, size)

    def __enter__(self) -> _NpyFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, first: int, values: Array) -> None:
        """Puts values, in their order in memory, at the first-th one of the file."""
        own = np.ascontiguousarray(values, self._dtype).reshape(-1)
        data = memoryview(cast(Any, own.view(np.uint8)))
        place = self._offset + first * self._dtype.itemsize
        with self._named():
            while data:
                done = os.pwrite(self._file.fileno(), data, place)
                data, place = data[done:], place + done

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of the system say of which file."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno or 0), str(self._path)) from error


class NpyWriter(Writer):
    usual_weight_name = "edge_weight"

    def __init__(self, dataset: Dataset, directory: Path, names: NodeNames) -> None:
        super().__init__(dataset, directory, names)
        others = (self._of_role("node") | self._of_role("ids")).keys()
        self._require_distinct(
            "files", ("edge_index", self.weight_name, "num_nodes"), [*self._edge_columns(), *others]
        )
        self._rows = count_edges(dataset)
        self._at = 0
        with ExitStack() as files:  # which are closed if one of them cannot be made
            open_file = files.enter_context
            self._index = open_file(self._new("edge_index", np.dtype(np.int64), (2, self._rows)))
            self._weights = None
            if dataset.graph.has_weights:
                weights = self._new(self.weight_name, np.dtype(np.float32), (self._rows,))
                self._weights = open_file(weights)
            self._columns = [
                (column, open_file(self._new(name, _dtype(column), self._edge_shape(column))))
                for name, column in self._edge_columns().items()
            ]
            self._stack = files.pop_all()

    def _edge_shape(self, column: ColumnFile) -> tuple[int, ...]:
        return (self._rows, *column.shape[1:])

    def _new(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> _NpyFile:
        return _NpyFile(self._directory / f"{name}.npy", dtype, shape)

    def add_edges(self, edges: Edges) -> None:
        first = self._at
        self._at += len(edges.src)
        self._index.write(first, edges.src)
        self._index.write(self._rows + first, edges.dst)
        if self._weights is not None and edges.weights is not None:
            self._weights.write(first, edges.weights)
        for column, file in self._columns:
            file.write(first * column.row_values, _values(column, edges.ids))

    def write_columns(self, report: Report | None) -> None:
        np.save(self._directory / "num_nodes.npy", np.int64(self._dataset.graph.num_nodes))
        columns = self._of_role("node") | self._of_role("ids") | self._of_role("categories")
        for name, column in columns.items():
            texts = name == ORIGINAL_IDS or column.role == "categories"
            if texts and column.dtype is DataType.UINT8:
                self._write_texts(name, column)
                continue
            with self._new(name, _dtype(column), column.shape) as file:
                for ids in _ranges(column.num_rows, column.row_bytes):
                    file.write(int(ids[0]) * column.row_values, _values(column, ids))
                    tell(report, f"writing {name}", int(ids[-1]) + 1, column.num_rows)

    def _write_texts(self, name: str, column: ColumnFile) -> None:
        dtype = np.dtype(f"S{column.row_values}")
        with self._new(name, dtype, (column.num_rows,)) as file:
            for ids in _ranges(column.num_rows, column.row_bytes):
                file.write(int(ids[0]), column.gather(ids).view(dtype).reshape(-1))


def _ranges(rows: int, row_bytes: int) -> Iterator[npt.NDArray[np.int64]]:
    step = max(1, _BYTES_AT_ONCE // max(1, row_bytes))
    for first in range(0, rows, step):
        yield np.arange(first, min(first + step, rows))


def _values(column: ColumnFile, ids: Array) -> Array:
    values = column.gather(ids)
    return widen(values, column.dtype) if column.dtype is DataType.BFLOAT16 else values


def _meant(column: ColumnFile, ids: Array) -> Any:
    """Rows as other programs understand them: categories by their names, dates as dates."""
    values = _values(column, ids)
    if column.description.categories:
        return _texts_or_integers(Categories(column.path), values)
    return values if column.description.unit is None else _dates(column, values)


def _texts_or_integers(categories: Categories, codes: Any) -> Any:
    import pyarrow

    kind = pyarrow.string() if categories.are_texts else pyarrow.int64()
    return pyarrow.array(categories.gather(codes), kind)


def _dates(column: ColumnFile, values: Array) -> Any:
    import pyarrow

    unit = column.description.unit
    # Parquet counts milliseconds at least, and a date of Arrow has 32 bits.
    factor = {"D": 86_400_000, "s": 1_000}.get(unit or "", 1)
    if factor > 1:
        limit = (2**63 - 1) // factor
        if values.size and not -limit <= int(values.min()) <= int(values.max()) <= limit:
            raise InputError(
                f"{column.path}: found a time beyond those that milliseconds of 64 bits can count; "
                "format npy exports it"
            )
        values, unit = values * factor, "ms"
    dates = pyarrow.array(values.reshape(-1)).cast(pyarrow.timestamp(unit, "UTC"))
    if values.ndim == 1:
        return dates
    return pyarrow.FixedSizeListArray.from_arrays(dates, values.shape[1])


def _dtype(column: ColumnFile) -> np.dtype[Any]:
    if column.dtype is DataType.BFLOAT16:
        return np.dtype(np.float32)
    return column.dtype.storage


def _arrow(values: Any) -> Any:
    import pyarrow

    if isinstance(values, pyarrow.Array):
        return values
    if not isinstance(values, np.ndarray):
        return pyarrow.array(values, pyarrow.string())
    if values.ndim == 1:
        return pyarrow.array(values)
    # Rows of several dimensions too are one list: their shape is in the manifest.
    flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, math.prod(values.shape[1:]))


def tell(report: Report | None, phase: str, done: int, total: int) -> None:
    if report is not None:
        report(phase, done, total)
