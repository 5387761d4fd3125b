"""Rows that samples will ask for most, kept before anyone asks for them.

A node is found along its edges, so how often depends on how many it has. A cache learns this only
by seeing rows twice, and in a large graph a row of medium degree comes up once in a hundred
batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.files.topology_file import TopologyFile

_NODES_AT_A_TIME = 1 << 20  # 8 MiB of offsets
_BYTES_AT_A_TIME = 4 << 20  # of rows
_HIGHEST_DEGREE = 1 << 16  # nodes with more edges are counted together at this degree
_ROW_OVERHEAD = 32  # bytes that the cache takes for a row beside the row, at most
_SHARE_OF_CACHE = 0.9  # the rest is for rows that turn out to be hot


def fill(
    cache: _engine.RowCache, datasets: Sequence[Dataset], stopped: Callable[[], bool]
) -> int | None:
    """How many rows went to the free part of the cache; None if `stopped` said so. Raises OSError.

    Datasets get equal shares, and in each the columns of a node stand or fall together.
    """
    columns = [(dataset.graph, _kept_columns(dataset)) for dataset in datasets]
    columns = [(graph, kept) for graph, kept in columns if kept]
    usage = cache.usage()
    room = int(usage.capacity_bytes * _SHARE_OF_CACHE) - usage.used_bytes
    rows = 0
    for graph, kept in columns:
        node_bytes = sum(column.row_bytes + _ROW_OVERHEAD for column in kept)
        for nodes in hot_nodes(graph, max(0, room // len(columns) // node_bytes)):
            for column in kept:
                if not _keep(column, nodes, stopped):
                    return None
                rows += len(nodes)
    return rows


def hot_nodes(graph: TopologyFile, most: int) -> Iterator[npt.NDArray[np.int64]]:
    """Up to `most` nodes with the most edges, in the order of their ids, in pieces."""
    counts = np.zeros(_HIGHEST_DEGREE + 1, np.int64)
    for _, degree in _degrees(graph):
        counts += np.bincount(degree, minlength=len(counts))
    at_least = np.cumsum(counts[::-1])[::-1]  # entry d: how many nodes have d edges or more
    fits = np.flatnonzero(at_least <= most)
    # All nodes from this degree on, and some that have one edge less.
    lowest = int(fits[0]) if len(fits) else len(counts)
    left = most - (int(at_least[lowest]) if lowest < len(counts) else 0)
    for begin, degree in _degrees(graph):
        chosen = degree >= max(lowest, 1)
        if lowest > 1:
            rest = np.flatnonzero(degree == lowest - 1)[:left]
            chosen[rest] = True
            left -= len(rest)
        yield begin + np.flatnonzero(chosen)


def _degrees(graph: TopologyFile) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """(first node, edges of each), read in order from the file.

    Samples follow in-edges to the nodes at their other ends: those are found by their out-edges. A
    file that was replaced meanwhile has other degrees, and then other rows are kept.
    """
    sections = {section.name: section for section in graph.topology.sections}
    offsets = sections.get("out.indptr") or sections.get("in.indptr")
    if offsets is None:
        return
    with graph.path.open("rb") as file:
        file.seek(offsets.offset)
        last = np.fromfile(file, offsets.dtype, 1)
        for begin in range(0, graph.num_nodes, _NODES_AT_A_TIME):
            count = min(_NODES_AT_A_TIME, graph.num_nodes - begin)
            bounds = np.concatenate([last, np.fromfile(file, offsets.dtype, count)])
            # A damaged file gives wild degrees here, and errors to those who sample.
            yield begin, np.clip(np.diff(bounds.astype(np.int64)), 0, _HIGHEST_DEGREE)
            last = bounds[-1:]


def _kept_columns(dataset: Dataset) -> list[ColumnFile]:
    return [
        column
        for column in dataset.columns.values()
        if column.role == "node" and column.reader.path == _engine.ColumnPath.DIRECT
    ]


def _keep(column: ColumnFile, nodes: npt.NDArray[np.int64], stopped: Callable[[], bool]) -> bool:
    """Reads the rows, by which they get into the cache; False if it was stopped."""
    step = max(1, _BYTES_AT_A_TIME // column.row_bytes)
    out = np.empty(min(step, len(nodes)) * column.row_bytes, np.uint8)
    for begin in range(0, len(nodes), step):
        if stopped():
            return False
        piece = nodes[begin : begin + step]
        column.reader.gather(piece, out[: len(piece) * column.row_bytes], threads=1)
    return True
