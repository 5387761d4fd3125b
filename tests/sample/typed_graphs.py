"""Small typed and timed graphs as files, and what they hold, for tests of sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import reference_writer as rw
from sampling_graphs import EdgeList

NO_TIME = -(2**63)


@dataclass(frozen=True)
class TypedEdges:
    """A stored relation; edge i has id ids[i], or i."""

    source: int
    name: str
    target: int
    src: Sequence[int]
    dst: Sequence[int]
    weights: Sequence[float] | None = None
    times: Sequence[int] | None = None
    ids: Sequence[int] | None = None
    symmetric: bool = False
    directions: Sequence[str] = ("out", "in")

    def edge_ids(self) -> list[int]:
        return list(range(len(self.src))) if self.ids is None else list(self.ids)


@dataclass(frozen=True)
class TypedGraph:
    """Types are (name, count, times); views are (name, base)."""

    types: Sequence[tuple[str, int, Sequence[int] | None]]
    relations: Sequence[TypedEdges]
    views: Sequence[tuple[str, int]] = ()
    inverses: Sequence[tuple[int, int]] = ()
    time_unit: str = ""
    flat: bool = field(default=False)
    """Written as a graph without types, which needs one type and one relation."""

    @property
    def num_relations(self) -> int:
        return len(self.relations) + len(self.views)

    def ends(self, relation: int) -> tuple[int, int]:
        """Types of source and target."""
        if relation < len(self.relations):
            return self.relations[relation].source, self.relations[relation].target
        base = self.relations[self.views[relation - len(self.relations)][1]]
        return base.target, base.source

    def base(self, relation: int) -> int:
        stored = relation < len(self.relations)
        return relation if stored else self.views[relation - len(self.relations)][1]

    def triple(self, relation: int) -> tuple[str, str, str]:
        source, target = (self.types[t][0] for t in self.ends(relation))
        stored = relation < len(self.relations)
        views = self.views[relation - len(self.relations) :]
        return source, self.relations[relation].name if stored else views[0][0], target

    def edges(self, relation: int) -> list[tuple[int, int, int]]:
        """(source, target, place in the arrays of the base), of all edges."""
        base = self.relations[self.base(relation)]
        turned = self.base(relation) != relation
        pairs = (
            zip(base.dst, base.src, strict=True) if turned else zip(base.src, base.dst, strict=True)
        )
        return [(int(u), int(v), at) for at, (u, v) in enumerate(pairs)]

    def slot_time(self, relation: int, place: int, neighbour_type: int, neighbour: int) -> int:
        """NO_TIME if there is none."""
        edge_times = self.relations[self.base(relation)].times
        node_times = self.types[neighbour_type][2]
        own = NO_TIME if edge_times is None else int(edge_times[place])
        return max(own, NO_TIME if node_times is None else int(node_times[neighbour]))

    def write(self, path: Path) -> Path:
        types = [rw.NodeType(name, count, times) for name, count, times in self.types]
        if self.flat:
            (only,) = self.relations
            timed = only.times is not None or self.types[0][2] is not None
            flags = rw.TIME_ORDERED if timed else rw.SORTED
            flags |= rw.SYMMETRIC if only.symmetric else 0
            image = rw.topology(
                self.types[0][1],
                self._edges_of(only),
                directions=only.directions,
                flags=flags,
                edge_id_bound=max(only.edge_ids(), default=0) + 1,
                node_times=self.types[0][2],
                time_unit=self.time_unit,
            )
            return image.write(path)
        relations = [
            rw.Relation(
                r.source,
                r.name,
                r.target,
                self._edges_of(r),
                directions=r.directions,
                extra_flags=rw.SYMMETRIC if r.symmetric else 0,
                edge_id_bound=max(r.edge_ids(), default=0) + 1,
            )
            for r in self.relations
        ]
        views = [rw.View(name, base) for name, base in self.views]
        image = rw.typed_topology(
            types, relations, views=views, inverses=self.inverses, time_unit=self.time_unit
        )
        return image.write(path)

    def _edges_of(self, relation: TypedEdges) -> rw.Edges:
        return rw.Edges(
            [int(u) for u in relation.src],
            [int(v) for v in relation.dst],
            relation.weights,
            relation.edge_ids(),
            relation.times,
        )


def symmetric_edges(
    source: int, name: str, src: Sequence[int], dst: Sequence[int], **options: Any
) -> TypedEdges:
    """An undirected relation within one type: both halves of an edge have its id and values."""
    pairs = [(int(u), int(v), i) for i, (u, v) in enumerate(zip(src, dst, strict=True))]
    both = pairs + [(v, u, i) for u, v, i in pairs if u != v]
    for name_ in ("weights", "times"):
        if options.get(name_) is not None:
            options[name_] = [options[name_][i] for _, _, i in both]
    return TypedEdges(
        source,
        name,
        source,
        [u for u, _, _ in both],
        [v for _, v, _ in both],
        ids=[i for _, _, i in both],
        symmetric=True,
        directions=("out",),
        **options,
    )


def plain_graph(edges: EdgeList) -> TypedGraph:
    """A graph without types, in the terms of those with types."""
    weights = None if edges.weights is None else edges.weights.tolist()
    relation = TypedEdges(0, "to", 0, edges.src.tolist(), edges.dst.tolist(), weights=weights)
    return TypedGraph([("node", edges.num_nodes, None)], [relation], flat=True)


def random_typed_graph(seed: int, *, timed: bool = True, scale: int = 1) -> TypedGraph:
    """Several types, one of them isolated and one without times; relations between types and within
    one, with hubs, parallel edges, self-loops, ties and negative times, with and without weights;
    views and a declared inverse."""
    rng = np.random.default_rng(seed)
    counts = [int(n) * scale for n in rng.integers(5, 40, 3)]

    def times(count: int, spread: int) -> list[int] | None:
        if not timed:
            return None
        drawn = rng.integers(-spread, spread + 1, count)
        if rng.random() < 0.3:
            drawn.sort()
        return [int(t) for t in drawn]

    spread = int(rng.choice([2, 20, 1000]))
    types: list[tuple[str, int, list[int] | None]] = [
        ("user", counts[0], times(counts[0], spread) if rng.random() < 0.6 else None),
        ("item", counts[1], times(counts[1], spread)),
        ("alone", int(rng.integers(0, 3)), None),
        ("tag", counts[2], None),
    ]

    def pairs(source: int, target: int, count: int) -> tuple[list[int], list[int]]:
        src = (types[source][1] * rng.random(count) ** 2).astype(int).tolist()
        dst = (types[target][1] * rng.random(count) ** 3).astype(int).tolist()
        return src, dst

    def weights(count: int) -> list[float]:
        return (rng.random(count).astype(np.float32) * (rng.random(count) < 0.8)).tolist()

    size = 60 * scale
    rates = pairs(0, 1, 3 * size)
    has = pairs(1, 3, size)
    follows = pairs(0, 0, 2 * size)
    relations = [
        TypedEdges(0, "rates", 1, *rates, weights=weights(3 * size), times=times(3 * size, spread)),
        TypedEdges(1, "has", 3, *has, weights=weights(size)),
        TypedEdges(
            0, "follows", 0, *follows, weights=weights(2 * size), times=times(2 * size, spread)
        ),
        symmetric_edges(1, "like", *pairs(1, 1, size), times=times(size, spread)),
        # Every edge of "has" in reverse, in an order and with times of its own.
        TypedEdges(3, "of", 1, has[1][::-1], has[0][::-1]),
    ]
    views = [("rev_rates", 0), ("rev_follows", 2)]
    return TypedGraph(types, relations, views, inverses=[(1, 4)])
