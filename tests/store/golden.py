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
# Everything that a typed graph may have: types with and without times, ascending or not; edges with
# times of their own, with those of their neighbours and with none; a symmetric relation, a view, an
# inverse, parallel edges, an empty type and an empty relation.
TYPED_IMAGE = rw.typed_topology(
    [
        rw.NodeType("user", 3, times=[1, 1, 4]),
        rw.NodeType("movie", 4, times=[10, 5, 5, 40]),
        rw.NodeType("tag", 2),
        rw.NodeType("none", 0),
    ],
    [
        rw.Relation(
            0,
            "rates",
            1,
            rw.Edges(
                src=[0, 0, 2, 0],
                dst=[3, 1, 0, 1],
                weights=[1.0, 2.0, 3.0, 4.0],
                edge_ids=[0, 1, 2, 3],
                times=[20, 7, 30, 6],
            ),
            weight_name="stars",
        ),
        rw.Relation(1, "has", 2, rw.Edges(src=[0, 3, 3], dst=[1, 0, 0])),
        rw.Relation(
            0,
            "knows",
            0,
            rw.Edges([0, 1, 1], [1, 0, 1], edge_ids=[0, 0, 1]),
            directions=["out"],
            extra_flags=rw.SYMMETRIC | rw.MULTI_EDGES_DROPPED,
            edge_id_bound=2,
        ),
        rw.Relation(2, "of", 1, rw.Edges(src=[1], dst=[0]), directions=["in"]),
        rw.Relation(3, "empty", 0, rw.Edges([], [])),
    ],
    views=[rw.View("rated_by", 0), rw.View("rev_of", 3)],
    inverses=[(1, 3)],
    time_unit="s",
)
# Without types: times of edges, some of which are older than the node that they lead to.
TIMED_IMAGE = rw.topology(
    4,
    rw.Edges(
        src=[0, 2, 0, 0, 1], dst=[1, 1, 1, 3, 2], edge_ids=range(5), times=[5, -7, 5, 2**40, 0]
    ),
    flags=rw.TIME_ORDERED,
    node_times=[3, -2, 6, 6],
    time_unit="ms",
)
TYPED_GRAPHS = {"typed.gl": TYPED_IMAGE, "timed.gl": TIMED_IMAGE}

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
# Padded, delivered as float16, with a column of equal values.
QUANTISED_VALUES = np.array([[0, -1, 5], [0.25, 1, 5], [1, 0.5, 5]], np.float32)
QUANTISED = rw.quantised(QUANTISED_VALUES, delivered="float16")
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
    if name in TYPED_GRAPHS:
        return TYPED_GRAPHS[name].bytes()
    if name == "directed.gl":
        return rw.topology(4, DIRECTED_EDGES).bytes()
    if name == "named_weights.gl":
        return rw.topology(4, DIRECTED_EDGES, extra=[rw.weight_name("distance")]).bytes()
    if name == "symmetric.gl":
        flags = rw.SORTED | rw.SYMMETRIC
        return rw.topology(
            3, SYMMETRIC_EDGES, directions=["out"], flags=flags, edge_id_bound=3
        ).bytes()
    if name == "quantised.gd":
        return QUANTISED.image(row_stride=4).bytes()
    matrix = next(m for m in MATRICES if m.name == name)
    return rw.matrix(
        matrix.values, role=matrix.role, row_stride=matrix.row_stride, dtype=matrix.dtype
    ).bytes()


if __name__ == "__main__":
    kept = [golden.name for golden in (*GRAPHS, *MATRICES)]
    for name in (*kept, *TYPED_GRAPHS, "quantised.gd"):
        (DIRECTORY / name).write_bytes(reference_bytes(name))
