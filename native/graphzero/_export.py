"""A dataset back into files that other programs read: Parquet tables or .npy arrays.

Edges come in the order of the file, and columns per edge in the order of the edges. Of an
undirected graph every edge comes once. bfloat16, which neither format has, becomes float32. What
such files cannot say is in `graphzero.json` beside them, and importing the folder gives the dataset
again; edge ids then count the rows of the export.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero._dataset import Dataset, open_dataset
from graphzero._dtypes import DataType
from graphzero._errors import InputError
from graphzero._export_manifest import ExportedColumn, Ids, Manifest
from graphzero._extras import import_extra
from graphzero._features import FeatureStore
from graphzero._files import ORIGINAL_IDS
from graphzero._publish import StrPath, new_directory

Format: TypeAlias = Literal["parquet", "npy"]
Report: TypeAlias = Callable[[str, int, int], None]
Array: TypeAlias = npt.NDArray[Any]

_DIRECTIONS: tuple[Literal["in", "out"], ...] = ("in", "out")
_EDGES_AT_ONCE = 1 << 19
_BYTES_AT_ONCE = 8 << 20


class ExportReport(NamedTuple):
    """What was written."""

    num_nodes: int
    num_edges: int  # rows: an undirected edge counts once
    undirected: bool
    files: dict[str, int]  # bytes of each
    seconds: float
    notes: tuple[str, ...] = ()  # what was left out, and why


class Edges(NamedTuple):
    """Consecutive edges."""

    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32] | None
    ids: npt.NDArray[np.int64]


def export_dataset(
    dataset: StrPath,
    out: StrPath,
    *,
    format: Format = "parquet",
    original_ids: bool = True,
    report: Report | None = None,
) -> ExportReport:
    """Writes a dataset to a new directory `out`, which appears complete or not at all.

    "parquet": edges.parquet (source, target, weight, columns per edge), nodes.parquet (id, columns
    per node), and a file for each split. Of a relabelled dataset, ids are the original ones unless
    `original_ids` is false.
    "npy": edge_index.npy, edge_weight.npy, num_nodes.npy, and a file for each column and split. Ids
    are 0 to N - 1; original ones are a file of their own.
    import_folder() makes the dataset again from either.
    """
    started = time.monotonic()
    opened = open_dataset(Path(dataset))
    with new_directory(out) as directory:
        names = _Names(opened, original_ids and format == "parquet")
        writers: dict[str, type[_Writer]] = {"parquet": _ParquetWriter, "npy": _NpyWriter}
        if format not in writers:
            raise ValueError(f"found format {format!r}, expected 'parquet' or 'npy'")
        writer = writers[format](opened, directory, names)
        rows = _count_edges(opened)
        with writer:
            done = 0
            for edges in _edges(opened):
                writer.add_edges(edges)
                done += len(edges.src)
                _tell(report, "writing edges", done, rows)
        writer.write_columns(report)
        _manifest(opened, format, names).write(directory)
        files = {file.name: file.stat().st_size for file in sorted(directory.iterdir())}
    return ExportReport(
        opened.graph.num_nodes,
        done,
        opened.graph.is_symmetric,
        files,
        time.monotonic() - started,
        _left_out(opened),
    )


def _manifest(dataset: Dataset, format: Format, names: _Names) -> Manifest:
    graph = dataset.graph
    left_out = () if graph.has_edge_ids else ("edge",)
    stored = [direction for direction in _DIRECTIONS if graph.has_direction(direction)]
    return Manifest(
        format=format,
        num_nodes=graph.num_nodes,
        undirected=graph.is_symmetric,
        direction="both" if graph.is_symmetric or len(stored) == 2 else stored[0],
        dedup=graph._topology.multi_edges_dropped,
        weights=graph.has_weights,
        edge_ids=graph.has_edge_ids,
        ids=names.kind,
        columns={
            name: ExportedColumn(column.role, column.dtype.label, column._matrix.row_stride)
            for name, column in dataset.columns.items()
            if column.role not in left_out
        },
    )


def _left_out(dataset: Dataset) -> tuple[str, ...]:
    if dataset.graph.has_edge_ids:
        return ()
    return tuple(
        f"{name}: left out, the graph has no edge ids, which tell its rows"
        for name, column in dataset.columns.items()
        if column.role == "edge"
    )


class _Names:
    """What stands for a node in the output."""

    def __init__(self, dataset: Dataset, original: bool) -> None:
        self.original = dataset.original_ids if original else None
        self.kind: Ids = "none"
        if dataset.original_ids is not None:
            self.kind = "original" if original else "column"

    def of(self, ids: Array) -> Any:
        return ids if self.original is None else self.original.gather(ids)


class _Writer(ABC):
    """Takes edges inside its context, columns after it."""

    def __init__(self, dataset: Dataset, directory: Path, names: _Names) -> None:
        self._dataset = dataset
        self._directory = directory
        self._names = names
        self._stack = ExitStack()

    def __enter__(self) -> _Writer:
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

    def _of_role(self, role: str) -> dict[str, FeatureStore]:
        columns = self._dataset.columns
        return {name: column for name, column in columns.items() if column.role == role}

    def _edge_columns(self) -> dict[str, FeatureStore]:
        """Without edge ids in the graph, nobody knows which row is whose."""
        return self._of_role("edge") if self._dataset.graph.has_edge_ids else {}


class _ParquetWriter(_Writer):
    def __init__(self, dataset: Dataset, directory: Path, names: _Names) -> None:
        super().__init__(dataset, directory, names)
        edge_fields = ("source", "target", "weight")
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
            columns["weight"] = edges.weights
        for name, column in self._edge_columns().items():
            columns[name] = _values(column, edges.ids)
        self._edges = self._append(self._edges, "edges", columns)

    def write_columns(self, report: Report | None) -> None:
        nodes = self._of_role("node")
        if self._names.original is not None:
            del nodes[ORIGINAL_IDS]  # they are the ids
        total = self._dataset.graph.num_nodes
        with self._stack:
            empty = np.empty(0, np.int64)
            columns = {"id": self._names.of(empty)}
            columns |= {name: _values(column, empty) for name, column in nodes.items()}
            writer = self._append(None, "nodes", columns)  # also of a graph without nodes
            for ids in _ranges(total, sum(column.row_bytes for column in nodes.values()) + 8):
                columns = {"id": self._names.of(ids)}
                columns |= {name: _values(column, ids) for name, column in nodes.items()}
                writer = self._append(writer, "nodes", columns)
                _tell(report, "writing nodes", int(ids[-1]) + 1, total)
            for name, split in self._of_role("ids").items():
                ids = split.get_tensor()
                self._append(None, name, {"node": self._names.of(np.asarray(ids, np.int64))})

    def _append(self, writer: Any, name: str, columns: dict[str, Any]) -> Any:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.table({key: _arrow(values) for key, values in columns.items()})
        if writer is None:
            file = self._directory / f"{name}.parquet"
            writer = self._stack.enter_context(parquet.ParquetWriter(file, table.schema))
        writer.write_table(table)
        return writer


class _NpyWriter(_Writer):
    def __init__(self, dataset: Dataset, directory: Path, names: _Names) -> None:
        super().__init__(dataset, directory, names)
        others = (self._of_role("node") | self._of_role("ids")).keys()
        self._require_distinct(
            "files", ("edge_index", "edge_weight", "num_nodes"), [*self._edge_columns(), *others]
        )
        rows = _count_edges(dataset)
        self._at = 0
        self._index = self._new("edge_index", np.dtype(np.int64), (2, rows))
        self._weights = None
        if dataset.graph.has_weights:
            self._weights = self._new("edge_weight", np.dtype(np.float32), (rows,))
        self._columns = [
            (column, self._new(name, _dtype(column), (rows, *column.shape[1:])))
            for name, column in self._edge_columns().items()
        ]

    def _new(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        file = self._directory / f"{name}.npy"
        if 0 in shape:  # cannot be mapped
            np.save(file, np.empty(shape, dtype))
            return np.empty(shape, dtype)
        mapped: Array = np.lib.format.open_memmap(  # type: ignore[no-untyped-call]
            file, "w+", dtype, shape
        )
        return mapped

    def add_edges(self, edges: Edges) -> None:
        rows = slice(self._at, self._at + len(edges.src))
        self._at = rows.stop
        self._index[0, rows], self._index[1, rows] = edges.src, edges.dst
        if self._weights is not None and edges.weights is not None:
            self._weights[rows] = edges.weights
        for column, array in self._columns:
            array[rows] = _values(column, edges.ids)

    def write_columns(self, report: Report | None) -> None:
        np.save(self._directory / "num_nodes.npy", np.int64(self._dataset.graph.num_nodes))
        for name, column in (self._of_role("node") | self._of_role("ids")).items():
            if name == ORIGINAL_IDS and column.dtype is DataType.UINT8:
                self._write_texts(column)
                continue
            array = self._new(name, _dtype(column), column.shape)
            for ids in _ranges(column.num_nodes, column.row_bytes):
                array[ids[0] : ids[-1] + 1] = _values(column, ids)
                _tell(report, f"writing {name}", int(ids[-1]) + 1, column.num_nodes)

    def _write_texts(self, column: FeatureStore) -> None:
        dtype = np.dtype(f"S{column.feature_dim}")
        array = self._new(ORIGINAL_IDS, dtype, (column.num_nodes,))
        for ids in _ranges(column.num_nodes, column.row_bytes):
            array[ids[0] : ids[-1] + 1] = column.gather(ids).view(dtype).reshape(-1)


def _edges(dataset: Dataset) -> Iterator[Edges]:
    """In pieces that are worth a call; of an undirected graph, the half with source <= target."""
    reader: Any = _engine.EdgeReader(dataset.graph._topology)  # whose tuples have no type
    pieces: list[Edges] = []
    while (found := reader.next()) is not None:
        edges = Edges(*found)
        if dataset.graph.is_symmetric:
            edges = _select(edges, edges.src <= edges.dst)
        pieces.append(edges)
        if sum(len(piece.src) for piece in pieces) >= _EDGES_AT_ONCE:
            yield _joined(pieces)
            pieces = []
    if pieces:
        yield _joined(pieces)


def _select(edges: Edges, kept: Array) -> Edges:
    weights = None if edges.weights is None else edges.weights[kept]
    return Edges(edges.src[kept], edges.dst[kept], weights, edges.ids[kept])


def _joined(pieces: list[Edges]) -> Edges:
    src, dst, weights, ids = zip(*pieces, strict=True)
    joined = None if weights[0] is None else np.concatenate(weights)
    return Edges(np.concatenate(src), np.concatenate(dst), joined, np.concatenate(ids))


def _count_edges(dataset: Dataset) -> int:
    """Rows of the output: arrays have to be made in their whole length."""
    if not dataset.graph.is_symmetric:
        return dataset.graph.num_edges
    return sum(len(edges.src) for edges in _edges(dataset))


def _ranges(rows: int, row_bytes: int) -> Iterator[npt.NDArray[np.int64]]:
    step = max(1, _BYTES_AT_ONCE // max(1, row_bytes))
    for first in range(0, rows, step):
        yield np.arange(first, min(first + step, rows))


def _values(column: FeatureStore, ids: Array) -> Array:
    values: Array = column.gather(ids, upcast=column.dtype is DataType.BFLOAT16)
    return values


def _dtype(column: FeatureStore) -> np.dtype[Any]:
    if column.dtype is DataType.BFLOAT16:
        return np.dtype(np.float32)
    return column.dtype.storage


def _arrow(values: Any) -> Any:
    import pyarrow

    if not isinstance(values, np.ndarray):
        return pyarrow.array(values, pyarrow.string())
    if values.ndim == 1:
        return pyarrow.array(values)
    flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _tell(report: Report | None, phase: str, done: int, total: int) -> None:
    if report is not None:
        report(phase, done, total)
