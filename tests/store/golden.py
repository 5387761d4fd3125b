"""What the files in tests/golden hold, and how the reference writer makes them.

The files are kept so that every release reads what version 1.0 wrote. Those of GraphZero 0.2 were
written by that release itself. Run this module to write the others anew; they never change within
version 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import reference_writer as rw
from legacy_writer import legacy_matrix, legacy_topology

DIRECTORY = Path(__file__).parent.parent / "golden"


@dataclass(frozen=True)
class GoldenGraph:
    """`neighbours` and the lists parallel to it are of out-edges, row by row."""

    name: str
    neighbours: Sequence[Sequence[int]]
    weights: Sequence[Sequence[float]] | None = None
    edge_ids: Sequence[Sequence[int]] | None = None
    in_neighbours: Sequence[Sequence[int]] | None = None
    symmetric: bool = False
    weight_name: str = ""


@dataclass(frozen=True)
class GoldenMatrix:
    name: str
    values: np.ndarray[Any, Any]
    dtype: str
    role: str = "node"
    row_stride: int | None = None


# Row 0 has the edge to 1 twice, row 3 nothing; the input order is that of the edge ids.
DIRECTED_EDGES = rw.Edges(
    src=[0, 2, 0, 0, 1],
    dst=[1, 1, 1, 3, 2],
    weights=[0.5, 1.5, 2.5, 0.0, 1.0],
    edge_ids=[0, 1, 2, 3, 4],
)
# The undirected edges 0-1, 2-1 and 2-2: both halves carry the id of their input row.
UNDIRECTED_INPUT = ([0, 2, 2], [1, 1, 2])
SYMMETRIC_EDGES = rw.Edges(
    src=[0, 1, 2, 1, 2], dst=[1, 0, 1, 2, 2], weights=None, edge_ids=[0, 0, 1, 1, 2]
)

GRAPHS = [
    GoldenGraph(
        "directed.gl",
        neighbours=[[1, 1, 3], [2], [1], []],
        weights=[[0.5, 2.5, 0.0], [1.0], [1.5], []],
        edge_ids=[[0, 2, 3], [4], [1], []],
        in_neighbours=[[], [0, 0, 2], [1], [0]],
    ),
    GoldenGraph(
        "named_weights.gl",
        neighbours=[[1, 1, 3], [2], [1], []],
        weights=[[0.5, 2.5, 0.0], [1.0], [1.5], []],
        edge_ids=[[0, 2, 3], [4], [1], []],
        in_neighbours=[[], [0, 0, 2], [1], [0]],
        weight_name="distance",
    ),
    GoldenGraph(
        "symmetric.gl",
        neighbours=[[1], [0, 2], [1, 2]],
        edge_ids=[[0], [0, 1], [1, 2]],
        in_neighbours=[[1], [0, 2], [1, 2]],
        symmetric=True,
    ),
]
LEGACY_GRAPHS = [
    GoldenGraph("graphzero02.gl", neighbours=[[1, 2, 1], [], [1], [0]]),
    GoldenGraph(
        "graphzero02_weighted.gl",
        neighbours=[[2, 1], [], [1], [0]],
        weights=[[0.5, 1.5], [], [2.0], [1.0]],
    ),
]

_BFLOAT16_BITS = np.array([[0x3F80, 0x4000, 0x4040], [0xC080, 0x0000, 0x7F80]], np.uint16)
MATRICES = [
    GoldenMatrix("float32.gd", np.array([[1, 2], [3, 4.5], [-5, 6]], np.float32), "float32"),
    GoldenMatrix("bfloat16.gd", _BFLOAT16_BITS.view(np.int16), "bfloat16"),
    GoldenMatrix(
        "float16_padded.gd",
        np.array([[1, 2, 3], [4, 5, 6.5]], np.float16),
        "float16",
        row_stride=16,
    ),
    GoldenMatrix("int64_1d.gd", np.array([7, -1, 2**40], np.int64), "int64"),
    GoldenMatrix("uint8_column.gd", np.array([[1], [255]], np.uint8), "uint8"),
    GoldenMatrix("bool_edges.gd", np.array([[True, False], [False, False]]), "bool", role="edge"),
    GoldenMatrix(
        "cube.gd",
        np.arange(1, 13, dtype=np.int16).reshape(2, 2, 3),
        "int16",
        row_stride=16,
    ),
    GoldenMatrix("split.gd", np.array([3, 0, 2], np.int64), "int64", role="ids"),
]
LEGACY_MATRICES = [
    GoldenMatrix("graphzero02.gd", np.array([[1, 2], [3, 4], [5, 6]], np.float32), "float32"),
    GoldenMatrix("graphzero02_int64.gd", np.array([[1], [-2], [3]], np.int64), "int64"),
]


def reference_bytes(name: str) -> bytes:
    """The file as the reference writer makes it."""
    for graph in LEGACY_GRAPHS:
        if graph.name == name:
            return legacy_topology(graph.neighbours, graph.weights)
    for matrix in LEGACY_MATRICES:
        if matrix.name == name:
            return legacy_matrix(matrix.values)
    if name == "directed.gl":
        return rw.topology(4, DIRECTED_EDGES).bytes()
    if name == "named_weights.gl":
        return rw.topology(4, DIRECTED_EDGES, extra=[rw.weight_name("distance")]).bytes()
    if name == "symmetric.gl":
        flags = rw.SORTED | rw.SYMMETRIC
        return rw.topology(
            3, SYMMETRIC_EDGES, directions=["out"], flags=flags, edge_id_bound=3
        ).bytes()
    matrix = next(m for m in MATRICES if m.name == name)
    return rw.matrix(
        matrix.values, role=matrix.role, row_stride=matrix.row_stride, dtype=matrix.dtype
    ).bytes()


if __name__ == "__main__":
    for golden in (*GRAPHS, *MATRICES):
        (DIRECTORY / golden.name).write_bytes(reference_bytes(golden.name))
