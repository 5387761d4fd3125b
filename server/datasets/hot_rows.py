"""Rows that samples will ask for most, kept before anyone asks for them.

A node is found along its edges, so how often depends on how many it has. A cache learns this only
by seeing rows twice, and in a large graph a row of medium degree comes up once in a hundred
batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import split_key
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
    kept = [found for found in map(_kept_types, datasets) if found]
    usage = cache.usage()
    room = int(usage.capacity_bytes * _SHARE_OF_CACHE) - usage.used_bytes
    rows = 0
    for types in kept:
        wanted = sum(found.bytes_asked for found in types)
        for found in types:
            share = room / len(kept) * (found.bytes_asked / wanted if wanted else 0)
            for nodes in hot_nodes(found.graph, max(0, int(share) // found.node_bytes), found.type):
                for column in found.columns:
                    if not _keep(column, nodes, stopped):
                        return None
                    rows += len(nodes)
    return rows


@dataclass(frozen=True)
class _KeptType:
    """A type of nodes whose columns are read from disk."""

    graph: TopologyFile
    type: int
    columns: list[ColumnFile]

    @property
    def node_bytes(self) -> int:
        """What the cache takes for a node."""
        return sum(column.row_bytes + _ROW_OVERHEAD for column in self.columns)

    @property
    def bytes_asked(self) -> int:
        """In proportion to what samples will ask for, if every edge is followed as often."""
        edges = sum(
            relation.num_edges
            for relation in self.graph.schema.relations
            if relation.source == self.type
        )
        return edges * self.node_bytes


def hot_nodes(graph: TopologyFile, most: int, type: int = 0) -> Iterator[npt.NDArray[np.int64]]:
    """Up to `most` nodes of a type with the most edges, in the order of their ids, in pieces."""
    counts = np.zeros(_HIGHEST_DEGREE + 1, np.int64)
    for _, degree in _degrees(graph, type):
        counts += np.bincount(degree, minlength=len(counts))
    at_least = np.cumsum(counts[::-1])[::-1]  # entry d: how many nodes have d edges or more
    fits = np.flatnonzero(at_least <= most)
    # All nodes from this degree on, and some that have one edge less.
    lowest = int(fits[0]) if len(fits) else len(counts)
    left = most - (int(at_least[lowest]) if lowest < len(counts) else 0)
    for begin, degree in _degrees(graph, type):
        chosen = degree >= max(lowest, 1)
        if lowest > 1:
            rest = np.flatnonzero(degree == lowest - 1)[:left]
            chosen[rest] = True
            left -= len(rest)
        yield begin + np.flatnonzero(chosen)


def _degrees(graph: TopologyFile, type: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """(first node, edges of each), read in order from the file.

    Samples follow in-edges to the nodes at their other ends: those are found by their out-edges, in
    each relation that begins at their type. A file that was replaced meanwhile has other degrees,
    and then other rows are kept.
    """
    sections = _offsets_of_rows(graph, type)
    count = graph.schema.types[type].count if sections else 0
    for begin in range(0, count, _NODES_AT_A_TIME):
        degree = np.zeros(min(_NODES_AT_A_TIME, count - begin), np.int64)
        for offsets in sections:
            width = np.dtype(offsets.dtype).itemsize
            place = offsets.offset + begin * width
            bounds = np.fromfile(graph.path, offsets.dtype, len(degree) + 1, offset=place)
            if len(bounds) <= len(degree):  # another file by now, which is shorter
                return
            # A damaged file gives wild degrees here, and errors to those who sample.
            degree += np.clip(np.diff(bounds.astype(np.int64)), 0, _HIGHEST_DEGREE)
        yield begin, np.minimum(degree, _HIGHEST_DEGREE)


def _offsets_of_rows(graph: TopologyFile, type: int) -> list[_engine.SectionInfo]:
    """Where the out-edges of a type's nodes begin, in each relation; in a relation within the type
    that has only in-edges, those stand for them."""
    sections = {(found.name, found.relation): found for found in graph.topology.sections}
    found = []
    for relation in graph.schema.relations:
        # The out-edges of a view are the in-edges of its base.
        names = ["in.indptr", "out.indptr"] if relation.is_view else ["out.indptr", "in.indptr"]
        if relation.source != relation.target:
            names = names[:1]
        offsets = next((s for n in names if (s := sections.get((n, relation.base)))), None)
        if relation.source == type and offsets is not None:
            found.append(offsets)
    return found


def _kept_types(dataset: Dataset) -> list[_KeptType]:
    columns: dict[int, list[ColumnFile]] = {}
    for key, column in dataset.columns.items():
        if column.role == "node" and column.reader.path == _engine.ColumnPath.DIRECT:
            number = dataset.schema.number_of(split_key(key)[0])
            columns.setdefault(number, []).append(column)
    return [_KeptType(dataset.graph, number, found) for number, found in columns.items()]


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
