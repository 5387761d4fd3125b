"""Puts the rows that samples will need most into the row cache before anyone asks for them.

Samples find a node along its edges, so a node with many edges is found often. A cache learns this
only by seeing rows twice, and in a large graph a row of medium degree comes up once in a hundred
batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import split_key
from graphzero.files.dataset import Dataset
from graphzero.files.topology_file import TopologyFile
from graphzero.server.datasets.pace import Pace

_NODES_AT_A_TIME = 1 << 20  # 8 MiB of offsets
# Bytes of rows that are read at a time. While requests wait for the disk it is the second number,
# which is so small that they hardly notice.
_BYTES_AT_A_TIME = 2 << 20
_BYTES_BETWEEN_REQUESTS = 128 << 10
_SHARE_OF_DISK = 0.1  # of the disk's time, while requests wait for it
_HIGHEST_DEGREE = 1 << 16  # nodes with more edges are counted together at this degree
_ROW_OVERHEAD = 32  # bytes that the cache takes for a row beside the row, at most
_SHARE_OF_CACHE = 0.9  # the rest is for rows that turn out to be hot


def fill(cache: _engine.RowCache, datasets: Sequence[Dataset], pace: Pace) -> int | None:
    """Fills the free part of the cache; returns how many rows, or None if it was stopped. Raises
    OSError.

    Datasets get equal shares. Of each node the rows of all columns are put there, or none.
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
                    if not _keep(column, nodes, pace):
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
        """Bytes that the cache takes for a node."""
        return sum(column.stored_row_bytes + _ROW_OVERHEAD for column in self.columns)

    @property
    def bytes_asked(self) -> int:
        """Proportional to the bytes that samples will read, if they follow all edges equally
        often."""
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
    # All nodes of this degree or more fit, and some that have one edge less.
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
    """Pieces of nodes: the first node, and how many edges each has, read in order from the file.

    Samples follow in-edges to the sources of these edges. So a node is found along its out-edges,
    in each relation whose source is the node's type. If the file was replaced meanwhile, degrees
    are those of the new file, and other rows are kept.
    """
    sections = _offsets_of_rows(graph, type)
    count = graph.schema.types[type].count if sections else 0
    for begin in range(0, count, _NODES_AT_A_TIME):
        degree = np.zeros(min(_NODES_AT_A_TIME, count - begin), np.int64)
        for offsets in sections:
            found = _degrees_of(graph, offsets, begin, len(degree))
            if found is None:
                return
            # A damaged file gives wild degrees here; requests that sample from it get errors.
            degree += np.clip(found, 0, _HIGHEST_DEGREE)
        yield begin, np.minimum(degree, _HIGHEST_DEGREE)


def _degrees_of(
    graph: TopologyFile, offsets: _engine.SectionInfo, begin: int, count: int
) -> npt.NDArray[np.int64] | None:
    """Number of edges of each of these nodes in one relation; None if the file was replaced by a
    shorter one."""
    adjacency = offsets.name.removesuffix(".indptr")
    degrees = np.empty(count, np.int64)
    if graph.disk is not None and graph.disk.known_degrees(
        graph.topology, offsets.relation, adjacency, begin, degrees
    ):
        return degrees
    width = np.dtype(offsets.dtype).itemsize
    place = offsets.offset + begin * width
    bounds = np.fromfile(graph.path, offsets.dtype, count + 1, offset=place)
    return np.diff(bounds.astype(np.int64)) if len(bounds) > count else None


def _offsets_of_rows(graph: TopologyFile, type: int) -> list[_engine.SectionInfo]:
    """The sections that say where the out-edges of a type's nodes begin, one for each relation. If
    a relation within the type has only in-edges, these are taken instead."""
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
        is_direct = column.reader.path == _engine.ColumnPath.DIRECT
        # Of a sharded column, only the rows of this daemon's part could be read here.
        if column.role == "node" and is_direct and column.shard is None:
            number = dataset.schema.number_of(split_key(key)[0])
            columns.setdefault(number, []).append(column)
    return [_KeptType(dataset.graph, number, found) for number, found in columns.items()]


def _keep(column: ColumnFile, nodes: npt.NDArray[np.int64], pace: Pace) -> bool:
    """Reads the rows, which puts them into the cache; False if it was stopped."""
    out = np.empty(max(_BYTES_AT_A_TIME, column.row_bytes), np.uint8)
    begin = 0
    while begin < len(nodes):
        if pace.stopped:
            return False
        size = _BYTES_BETWEEN_REQUESTS if pace.requests_wait() else _BYTES_AT_A_TIME
        piece = nodes[begin : begin + max(1, size // column.row_bytes)]
        column.reader.gather(piece, out[: len(piece) * column.row_bytes], threads=1)
        begin += len(piece)
        pace.give_way(_SHARE_OF_DISK)
    return True
