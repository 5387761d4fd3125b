"""The edges of a dataset in the order of its file, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.files.dataset import Dataset

_EDGES_AT_ONCE = 1 << 19


class Edges(NamedTuple):
    """Consecutive edges."""

    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32] | None
    ids: npt.NDArray[np.int64]


def edges_of(dataset: Dataset) -> Iterator[Edges]:
    """In pieces that are worth a call; of an undirected graph, the half with source <= target."""
    reader: Any = _engine.EdgeReader(dataset.graph.topology)  # whose tuples have no type
    pieces: list[Edges] = []
    while (found := reader.next()) is not None:
        edges = Edges(*found)
        if dataset.graph.symmetric:
            edges = _select(edges, edges.src <= edges.dst)
        pieces.append(edges)
        if sum(len(piece.src) for piece in pieces) >= _EDGES_AT_ONCE:
            yield _joined(pieces)
            pieces = []
    if pieces:
        yield _joined(pieces)


def _select(edges: Edges, kept: npt.NDArray[np.bool_]) -> Edges:
    weights = None if edges.weights is None else edges.weights[kept]
    return Edges(edges.src[kept], edges.dst[kept], weights, edges.ids[kept])


def _joined(pieces: list[Edges]) -> Edges:
    src, dst, weights, ids = zip(*pieces, strict=True)
    joined = None if weights[0] is None else np.concatenate(weights)
    return Edges(np.concatenate(src), np.concatenate(dst), joined, np.concatenate(ids))


def count_edges(dataset: Dataset) -> int:
    """Rows of the output: arrays have to be made in their whole length."""
    if not dataset.graph.symmetric:
        return dataset.graph.num_edges
    return sum(len(edges.src) for edges in edges_of(dataset))
