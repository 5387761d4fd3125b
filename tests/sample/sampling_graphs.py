"""Small graphs as files, and what they hold, for tests of sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import graphzero as gz
import numpy as np
import numpy.typing as npt
from legacy_writer import legacy_arrays


@dataclass(frozen=True)
class EdgeList:
    """Directed edges in input order; edge i has id i."""

    num_nodes: int
    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls,
        num_nodes: int,
        pairs: Sequence[tuple[int, int]],
        weights: Sequence[float] | None = None,
    ) -> "EdgeList":
        array = np.array(pairs, np.int64).reshape(-1, 2)
        return cls(
            num_nodes,
            array[:, 0].copy(),
            array[:, 1].copy(),
            None if weights is None else np.array(weights, np.float32),
        )

    def in_rows(self) -> list[list[int]]:
        """Edge ids that enter each node, in the order of a sorted file."""
        order = np.lexsort((np.arange(len(self.src)), self.src))
        rows: list[list[int]] = [[] for _ in range(self.num_nodes)]
        for edge in order:
            rows[self.dst[edge]].append(int(edge))
        return rows


def write_graph(
    path: Path, edges: EdgeList, *, direction: str = "both", edge_ids: bool = False
) -> Path:
    gz.write_graph(
        path,
        edges.src,
        edges.dst,
        num_nodes=edges.num_nodes,
        weights=edges.weights,
        direction=direction,  # type: ignore[arg-type]
        edge_ids=edge_ids,
        overwrite=True,
    )
    return path


def write_legacy_graph(path: Path, edges: EdgeList) -> Path:
    """A file of GraphZero 0.2: out-edges with 64-bit ids, rows in input order, so unsorted."""
    order = np.argsort(edges.src, kind="stable")
    indptr = np.searchsorted(edges.src[order], np.arange(edges.num_nodes + 1))
    weights = None if edges.weights is None else edges.weights[order]
    path.write_bytes(legacy_arrays(indptr, edges.dst[order], weights))
    return path


def open_graph(
    path: Path, edges: EdgeList, *, direction: str = "both", edge_ids: bool = False
) -> gz.Graph:
    return gz.Graph(write_graph(path, edges, direction=direction, edge_ids=edge_ids))


def random_edges(
    num_nodes: int, num_edges: int, *, seed: int = 0, weighted: bool = False
) -> EdgeList:
    """Skewed, with multi-edges, self-loops and isolated nodes."""
    rng = np.random.default_rng(seed)
    src = (num_nodes * rng.random(num_edges) ** 2).astype(np.int64)
    dst = (num_nodes * rng.random(num_edges) ** 3).astype(np.int64)
    weights = None
    if weighted:
        weights = rng.random(num_edges, dtype=np.float32)
        weights[rng.random(num_edges) < 0.2] = 0
    return EdgeList(num_nodes, src, dst, weights)


def fan_edges(centres: int, leaves: int, weights: Sequence[float] | None = None) -> EdgeList:
    """Every leaf has an edge to every centre. Centres are 0 .. centres - 1, leaves follow.

    One sample of all centres draws as often from the same row as there are centres.
    """
    centre = np.repeat(np.arange(centres), leaves)
    leaf = centres + np.tile(np.arange(leaves), centres)
    tiled = None if weights is None else np.tile(np.array(weights, np.float32), centres)
    return EdgeList(centres + leaves, leaf, centre, tiled)
