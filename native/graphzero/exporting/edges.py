"""The edges of a part of a dataset in the order of its file, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.exporting.parts import Part

_EDGES_AT_ONCE = 1 << 19


class Edges(NamedTuple):
    """Consecutive edges."""

    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32] | None
    ids: npt.NDArray[np.int64]
    times: npt.NDArray[np.int64] | None = None


def edges_of(part: Part) -> Iterator[Edges]:
    """Yields edges in pieces of about _EDGES_AT_ONCE; of a symmetric relation, only the edges with
    source <= target."""
    topology = part.dataset.graph.topology
    # Any, because the tuples that it returns have no type.
    reader: Any = _engine.EdgeReader(topology, part.relation_number or 0)
    pieces: list[Edges] = []
    while (found := reader.next()) is not None:
        edges = Edges(*found)
        if part.symmetric:
            edges = _select(edges, edges.src <= edges.dst)
        pieces.append(edges)
        if sum(len(piece.src) for piece in pieces) >= _EDGES_AT_ONCE:
            yield _joined(pieces)
            pieces = []
    if pieces:
        yield _joined(pieces)


def _select(edges: Edges, kept: npt.NDArray[np.bool_]) -> Edges:
    fields: list[Any] = [None if own is None else own[kept] for own in edges]
    return Edges(*fields)


def _joined(pieces: list[Edges]) -> Edges:
    fields: Any = zip(*pieces, strict=True)
    joined: list[Any] = [None if own[0] is None else np.concatenate(own) for own in fields]
    return Edges(*joined)


def count_edges(part: Part) -> int:
    """Number of rows in the output; .npy arrays are created in their full length."""
    if not part.symmetric:
        return part.relation.num_edges
    return sum(len(edges.src) for edges in edges_of(part))
