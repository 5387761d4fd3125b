"""Random requests for typed samples: everything that a request can ask for, in any combination."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from graphzero import _engine
from typed_engine import TypedEngine
from typed_graphs import TypedGraph
from typed_reference_sampler import Excluded, Temporal, TypedReferenceSampler, TypedSample

FIRST_TIME, LAST_TIME = -(2**63) + 1, 2**63 - 1
SUBGRAPHS = {
    "drawn": _engine.Subgraph.DRAWN,
    "bidirectional": _engine.Subgraph.BIDIRECTIONAL,
    "induced": _engine.Subgraph.INDUCED,
}


@dataclass(frozen=True)
class Request:
    seeds: dict[int, list[int]]
    fanout: list[list[int]]
    subgraph: str
    options: dict[str, Any]

    @property
    def temporal(self) -> Temporal | None:
        found: Temporal | None = self.options["temporal"]
        return found

    @property
    def disjoint(self) -> bool:
        return self.options["disjoint"] or self.temporal is not None

    def expected(self, reference: TypedReferenceSampler) -> TypedSample:
        drawn = reference.sample(self.seeds, self.fanout, **self.options)
        excluded = self.options["excluded"]
        if self.subgraph == "induced":
            return reference.induced(drawn, self.fanout, self.temporal, excluded)
        if self.subgraph == "bidirectional":
            return reference.bidirectional(drawn, self.temporal, excluded)
        return drawn

    def draw(self, engine: TypedEngine, threads: int = 0, **more: Any) -> _engine.NeighbourSample:
        subgraph = SUBGRAPHS[self.subgraph]
        return engine.draw(
            self.seeds, self.fanout, subgraph=subgraph, threads=threads, **self.options, **more
        )


def random_request(
    graph: TypedGraph, rng: random.Random, *, timed: float = 0.6, mixed: bool = False
) -> Request:
    """Temporal with the probability `timed`. `mixed`: samples by weight may also follow relations
    without weights, if they follow one that has weights."""
    hops = rng.choice([0, 1, 2, 3])
    relations = range(graph.num_relations)
    fanout = [[rng.choice([0, 1, 2, 3, 5, -1]) for _ in range(hops)] for _ in relations]
    if rng.random() < 0.3:
        fanout[rng.randrange(len(fanout))] = [0] * hops
    seeds = {
        t: [rng.randrange(count) for _ in range(rng.choice([0, 1, 3, 6]))]
        for t, (_, count, _) in enumerate(graph.types)
        if count
    }
    trees = sum(map(len, seeds.values()))
    subgraph = rng.choice(["drawn", "drawn", "induced", "bidirectional"])
    if subgraph == "bidirectional":  # reverses need a relation to go to
        fanout = [[edges or 1 for edges in of_relation] for of_relation in fanout]
    weighted = hops > 0 and subgraph != "bidirectional" and rng.random() < 0.3
    if weighted:
        unweighted = [r for r in relations if graph.relations[graph.base(r)].weights is None]
        followed = [r for r in relations if any(fanout[r]) and r not in unweighted]
        if not (mixed and followed and rng.random() < 0.7):
            for r in unweighted:
                fanout[r] = [0] * hops
    replace = rng.random() < 0.3
    temporal = None
    if rng.random() < timed:
        temporal = random_times(rng, trees, last=not (weighted or replace))
    disjoint = rng.random() < 0.4 or temporal is not None
    excluded = random_exclusions(graph, rng, trees if disjoint else 0, temporal is not None)
    options = {
        "replace": replace,
        "weighted": weighted,
        "seed": rng.choice([0, 5, 2**64 - 1]),
        "disjoint": disjoint,
        "temporal": temporal,
        "excluded": excluded,
    }
    return Request(seeds, fanout, subgraph, options)


def random_times(rng: random.Random, trees: int, *, last: bool) -> Temporal:
    spread = rng.choice([3, 25, 1200])
    times = [
        rng.choice([rng.randint(-spread, spread)] * 8 + [FIRST_TIME, LAST_TIME])
        for _ in range(trees)
    ]
    return Temporal(
        times,
        strict=rng.random() < 0.4,
        window=rng.choice([0, 0, 1, 3, 50, 2**62, 2**63 - 1]),
        last=last and rng.random() < 0.4,
    )


def random_exclusions(
    graph: TypedGraph, rng: random.Random, trees: int, temporal: bool
) -> Excluded:
    excluded = Excluded(spare_history=temporal and trees > 0 and rng.random() < 0.6)
    if rng.random() < 0.4:
        for r in range(graph.num_relations):
            some = {(u, v) for u, v, _ in graph.edges(r) if rng.random() < 0.1}
            excluded.pairs[r] = some | {(999, 3)}  # and one that is no edge
    if trees and rng.random() < 0.5:
        by_id = rng.random() < 0.4
        for r in range(graph.num_relations):
            edge_ids = graph.relations[graph.base(r)].edge_ids()
            some_in_trees = {
                (rng.randrange(trees), u, v, edge_ids[place] if by_id else None)
                for u, v, place in graph.edges(r)
                if rng.random() < 0.5
            }
            if some_in_trees:
                excluded.in_trees[r] = some_in_trees
    return excluded
