"""LABOR sampling again, in plain Python from its README: slow, obvious, byte for byte the same.

Each step is a method of its own, so that a mutant can get one of them wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from reference_sampler import Draws
from typed_graphs import TypedGraph
from typed_reference_sampler import Slot, TypedReferenceSampler, TypedSample, request_draws

_LABOR, _WINDOWS = 10, 11
_PHASES, _NUMBERS = 0, 1  # below a type
_HASH, _LOWER = 0, 1  # below a period
_LOW32 = 2**32 - 1
PIECES = 2


@dataclass(frozen=True)
class LaborOptions:
    run_seed: int | None = None  # None: that of the sample
    batch: int = 0
    dependency: int = 1
    one_for_all_hops: bool = False


class Hash32:
    """Two rounds of multiplying and shifting, with a key before each."""

    def __init__(self, draws: Draws) -> None:
        keys = draws.next()
        self.first, self.second = keys & _LOW32, keys >> 32
        factors = draws.next()
        self.upper, self.step = factors & _LOW32 | 1, factors >> 32 | 1

    def __call__(self, node: int, parallel: int = 0) -> int:
        x = (node & _LOW32) + (node >> 32) * self.upper + parallel * self.step
        x = x + self.first & _LOW32
        x = (x ^ x >> 16) * 0x7FEB352D & _LOW32
        x = ((x ^ x >> 15) + self.second) * 0x846CA68B & _LOW32
        return x ^ x >> 16


@dataclass(frozen=True)
class RowKey:
    """Whose row it is, in place of the draws of other samplers: numbers belong to neighbours."""

    seed: int
    relation: int
    hop: int
    node: int


@lru_cache(maxsize=4096)
def generators(seed: int, kind: int, hop: int, period: int) -> tuple[Hash32, Draws]:
    """Of the upper and the lower halves of numbers."""
    draws = request_draws(seed, _LABOR, kind).child(_NUMBERS).child(hop).child(period)
    return Hash32(draws.child(_HASH)), draws.child(_LOWER)


@lru_cache(maxsize=64)
def phase_hash(seed: int, kind: int) -> Hash32:
    return Hash32(request_draws(seed, _LABOR, kind).child(_PHASES))


class LaborReference(TypedReferenceSampler):
    """`scales` has, after a sample by weight, the scale of each edge of each relation."""

    def __init__(
        self, graph: TypedGraph, direction: str = "in", options: LaborOptions | None = None
    ) -> None:
        super().__init__(graph, direction)
        self.options = options or LaborOptions()

    def sample(self, *args: Any, **options: Any) -> TypedSample:
        self.scales: list[list[float]] = [[] for _ in self.rows]
        return super().sample(*args, **options)

    def node_draws(
        self, seed: int, weighted: bool, relation: int, hop: int, node: int, occurrence: int
    ) -> Any:
        run_seed = seed if self.options.run_seed is None else self.options.run_seed
        hop = 0 if self.options.one_for_all_hops else hop
        return RowKey(run_seed, relation, hop, node)

    def tree_draws(
        self, seed: int, weighted: bool, relation: int, hop: int, node: int, tree: int
    ) -> Any:
        return self.node_draws(seed, weighted, relation, hop, node, 0)  # trees share numbers

    def period(self, seed: int, kind: int, node: int) -> int:
        kappa = self.options.dependency
        phase = phase_hash(seed, kind)(node) * kappa >> 32
        return (self.options.batch + phase) // kappa

    def number(self, key: RowKey, kind: int, node: int, parallel: int) -> int:
        period = self.period(key.seed, kind, node)
        upper, lower = generators(key.seed, kind, key.hop, period)
        return upper(node, parallel) << 32 | lower.child(parallel).child(node).next() & _LOW32

    def window_size(self, k: int, weighted: bool) -> int:
        """Pieces are of one size, so it may be one more than what is asked for."""
        slots = max(4096 if weighted else min(max(256, 16 * k), 4096), k + 1)
        return -(-slots // PIECES) * PIECES

    def window_place(self, key: RowKey) -> int:
        """Where windows begin, as a part of 2^64 of the length of the row: the same for all rows
        of a hop, unless they are in different periods."""
        period = self.period(key.seed, self.row_type(key.relation), key.node)
        draws = request_draws(key.seed, _WINDOWS, key.relation).child(key.hop)
        return draws.child(period).next()

    def window(self, key: RowKey, row: list[Slot], k: int, weighted: bool) -> list[Slot]:
        if k == -1 or len(row) <= self.window_size(k, weighted):
            return row
        start = self.window_place(key) * len(row) >> 64
        begins = [start + piece * len(row) // PIECES for piece in range(PIECES)]
        size = self.window_size(k, weighted) // PIECES
        places = sorted((begin + i) % len(row) for begin in begins for i in range(size))
        return [row[place] for place in places]

    def pick(  # type: ignore[override]
        self,
        relation: int,
        row: list[Slot],
        keep: list[bool],
        k: int,
        replace: bool,
        weighted: bool,
        temporal: Any,
        draws: RowKey,
    ) -> list[Slot]:
        left = [slot for slot, kept in zip(row, keep, strict=True) if kept]
        seen = self.window(draws, left, k, weighted)
        share = len(left) / len(seen) if seen else 1.0
        kind = self.neighbour_type(relation)
        counts: dict[int, int] = {}
        numbers = []
        for slot in seen:
            node = self.neighbour(slot)
            parallel = counts.get(node, 0)
            counts[node] = parallel + 1
            numbers.append(self.number(draws, kind, node, parallel))
        if not weighted:
            return self.smallest(seen, numbers, k)
        given = self.graph.relations[self.graph.base(relation)].weights
        assert given is not None
        weights = [float(np.float32(given[slot.place])) for slot in seen]
        return self.smallest_by_weight(relation, seen, numbers, weights, k, share)

    def smallest(self, row: list[Slot], numbers: list[int], k: int) -> list[Slot]:
        order = sorted(range(len(row)), key=lambda i: (numbers[i], self.neighbour(row[i]), i))
        return [row[i] for i in sorted(order if k == -1 else order[:k])]

    def smallest_by_weight(
        self,
        relation: int,
        row: list[Slot],
        numbers: list[int],
        weights: list[float],
        k: int,
        share: float,
    ) -> list[Slot]:
        quotients = {
            i: ((numbers[i] >> 11) + 1) * 2.0**-53 / weights[i]
            for i in range(len(row))
            if weights[i] > 0
        }
        order = sorted(quotients, key=lambda i: (quotients[i], self.neighbour(row[i]), i))
        taken = order if k == -1 else order[:k]
        inverse_tau = 1 / quotients[order[k]] if len(taken) < len(order) else 0.0
        chosen = sorted(taken)
        for i in chosen:
            self.scales[relation].append(self.scale(weights[i], inverse_tau, share))
        return [row[i] for i in chosen]

    def scale(self, weight: float, inverse_tau: float, share: float) -> float:
        return float(np.float32(max(weight, inverse_tau) * share))
