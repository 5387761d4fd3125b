"""What a typed or timed topology of given edges must be, worked out plainly and by the reference
writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import reference_writer as rw
from graphzero import _engine
from graphzero.conversion.compile_typed import (
    NodeType,
    RelationCounts,
    RelationEdges,
    compile_typed_graph,
)


@dataclass(frozen=True)
class RelationCase:
    """The edges of a relation as they are put in, and what is asked of the compiler."""

    source: int
    name: str
    target: int
    src: Sequence[int]
    dst: Sequence[int]
    weights: Sequence[float] | None = None
    times: Sequence[int] | None = None
    undirected: bool = False
    dedup: bool = False
    edge_ids: bool = False
    direction: Literal["in", "out", "both"] = "both"
    weight_name: str = ""

    def kept(self) -> list[tuple[int, int, int]]:
        """(source, target, input row) of what is stored."""
        rows = [
            (int(s), int(d), i) for i, (s, d) in enumerate(zip(self.src, self.dst, strict=True))
        ]
        if self.undirected:
            rows += [(d, s, i) for s, d, i in rows if s != d]
        if not self.dedup:
            return rows
        first: dict[Any, tuple[int, int, int]] = {}
        for s, d, i in sorted(rows, key=lambda row: row[2]):
            first.setdefault((s, d, None if self.times is None else int(self.times[i])), (s, d, i))
        return list(first.values())

    def edges(self) -> rw.Edges:
        kept = self.kept()
        ids = [i for _, _, i in kept]
        return rw.Edges(
            src=[s for s, _, _ in kept],
            dst=[d for _, d, _ in kept],
            weights=None if self.weights is None else [self.weights[i] for i in ids],
            edge_ids=ids,
            times=None if self.times is None else [int(self.times[i]) for i in ids],
            store_ids=self.edge_ids,
        )

    def flags(self) -> int:
        return rw.SYMMETRIC * self.undirected | rw.MULTI_EDGES_DROPPED * self.dedup

    def directions(self) -> list[str]:
        if self.undirected:
            return ["out"]
        return ["out", "in"] if self.direction == "both" else [self.direction]

    def stored(self) -> rw.Relation:
        return rw.Relation(
            self.source,
            self.name,
            self.target,
            self.edges(),
            directions=self.directions(),
            extra_flags=self.flags(),
            edge_id_bound=len(self.src),
            weight_name=self.weight_name if self.weights is not None else "",
        )

    def arrays(self) -> _engine.EdgeInput:
        return _engine.EdgeInput.arrays(
            self.name,
            np.asarray(self.src, np.int64),
            np.asarray(self.dst, np.int64),
            None if self.weights is None else np.asarray(self.weights, np.float32),
            None if self.times is None else np.asarray(self.times, np.int64),
        )


def expected_bytes(
    types: Sequence[rw.NodeType],
    cases: Sequence[RelationCase],
    *,
    views: Sequence[rw.View] = (),
    inverses: Sequence[tuple[int, int]] = (),
    time_unit: str = "",
) -> bytes:
    relations = [case.stored() for case in cases]
    return rw.typed_topology(
        types, relations, views=views, inverses=inverses, time_unit=time_unit
    ).bytes()


def expected_flat(
    count: int, case: RelationCase, node_times: Sequence[int] | None = None, time_unit: str = ""
) -> bytes:
    types = [rw.NodeType("", count, node_times)]
    stored = case.stored()
    return rw.topology(
        count,
        stored.edges,
        directions=stored.directions,
        flags=stored.all_flags(types),
        edge_id_bound=stored.bound,
        node_times=node_times,
        time_unit=time_unit,
    ).bytes()


def node_types(types: Sequence[rw.NodeType]) -> list[NodeType]:
    return [
        NodeType(t.name, t.count, None if t.times is None else np.asarray(t.times, np.int64))
        for t in types
    ]


def compile_cases(
    path: Path,
    types: Sequence[rw.NodeType],
    cases: Sequence[RelationCase],
    resources: _engine.Resources,
    *,
    views: Sequence[rw.View] = (),
    inverses: Sequence[tuple[int, int]] = (),
    time_unit: str = "",
    edges: Sequence[Any] | None = None,
) -> list[RelationCounts]:
    """Compiles into `path`; `edges` are other inputs than the cases' arrays."""
    names = [t.name for t in types]
    relations = [
        RelationEdges(
            names[case.source],
            case.name,
            names[case.target],
            case.arrays() if edges is None else edges[i],
            undirected=case.undirected,
            direction=case.direction,
            dedup=case.dedup,
            edge_ids=case.edge_ids,
            weight_name=case.weight_name,
        )
        for i, case in enumerate(cases)
    ]
    triples = [relation.triple for relation in relations]
    return compile_typed_graph(
        path,
        node_types(types),
        relations,
        resources,
        views={triples[view.base]: view.name for view in views},
        inverses=[(triples[a], triples[b]) for a, b in inverses],
        time_unit=time_unit,
    )
