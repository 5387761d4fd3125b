"""The sampler again, in plain Python from its README: slow, obvious, and byte for byte the same.

Each step is a method of its own, so that a mutant can get one of them wrong.
"""

from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from sampling_graphs import EdgeList

_MASK = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15
_NEIGHBOURS, _WEIGHTED, _REPEATED = 1, 2, 7
_VERSION = 1


def mix(z: int) -> int:
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


class Draws:
    def __init__(self, state: int) -> None:
        self.state = state

    def child(self, word: int) -> "Draws":
        return Draws(mix(self.state + (word + 1) * _GAMMA & _MASK))

    def next(self) -> int:
        self.state = self.state + _GAMMA & _MASK
        return mix(self.state)

    def below(self, bound: int) -> int:
        while True:
            product = self.next() * bound
            if product & _MASK >= 2**64 % bound:
                return product >> 64

    def unit(self) -> float:
        return (self.next() >> 11) * 2.0**-53


def request_draws(seed: int, domain: int) -> Draws:
    return Draws(_VERSION).child(seed).child(domain).child(0)


@dataclass
class Sample:
    n_id: list[int]
    edge_index: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    e_id: list[int] = field(default_factory=list)
    num_sampled_nodes: list[int] = field(default_factory=list)
    num_sampled_edges: list[int] = field(default_factory=list)


class ReferenceSampler:
    """Samples in-edges of an edge list, like `Graph.sample`."""

    def __init__(self, edges: EdgeList) -> None:
        self.edges = edges
        self.rows = edges.in_rows()

    def sample(
        self,
        seeds: list[int],
        fanout: list[int],
        *,
        replace: bool = False,
        weighted: bool = False,
        seed: int = 0,
        threads: int = 1,
    ) -> Sample:
        result = Sample(list(seeds), num_sampled_nodes=[len(seeds)])
        local: dict[int, int] = {}
        for i, node in enumerate(seeds):
            local.setdefault(node, i)
        begin = 0
        for hop, k in enumerate(fanout):
            end, edges_before = len(result.n_id), len(result.e_id)
            for target in range(begin, end):
                node = result.n_id[target]
                occurrence = seeds[:target].count(node) if hop == 0 else 0
                draws = self.node_draws(seed, weighted, hop, node, occurrence)
                for edge in self.pick(self.rows[node], k, replace, weighted, draws):
                    source = int(self.edges.src[edge])
                    if source not in local:
                        local[source] = len(result.n_id)
                        result.n_id.append(source)
                    result.edge_index[0].append(local[source])
                    result.edge_index[1].append(target)
                    result.e_id.append(edge)
            result.num_sampled_nodes.append(len(result.n_id) - end)
            result.num_sampled_edges.append(len(result.e_id) - edges_before)
            begin = end
        return result

    def node_draws(self, seed: int, weighted: bool, hop: int, node: int, occurrence: int) -> Draws:
        domain = _WEIGHTED if weighted else _NEIGHBOURS
        if occurrence == 0:
            return request_draws(seed, domain).child(hop).child(node)
        return request_draws(seed, _REPEATED).child(domain).child(node).child(occurrence)

    def pick(
        self, row: list[int], k: int, replace: bool, weighted: bool, draws: Draws
    ) -> list[int]:
        if not weighted:
            return [row[i] for i in self.pick_uniform(len(row), k, replace, draws)]
        assert self.edges.weights is not None
        weights = [float(self.edges.weights[edge]) for edge in row]
        return [row[i] for i in self.pick_weighted(weights, k, replace, draws)]

    def below(self, draws: Draws, bound: int) -> int:
        return draws.below(bound)

    def pick_uniform(self, degree: int, k: int, replace: bool, draws: Draws) -> list[int]:
        if replace and k != -1:
            return [self.below(draws, degree) for _ in range(k)] if degree else []
        if k == -1 or k >= degree:
            return list(range(degree))
        chosen: list[int] = []
        for last in range(degree - k, degree):
            position = self.below(draws, last + 1)
            chosen.append(last if position in chosen else position)
        return chosen

    def pick_weighted(self, weights: list[float], k: int, replace: bool, draws: Draws) -> list[int]:
        left = list(weights)
        positive = [i for i, weight in enumerate(weights) if weight > 0]
        if k == -1 or not positive or (not replace and len(positive) <= k):
            return positive
        chosen = []
        for _ in range(k):
            chosen.append(self.draw_weighted(left, draws))
            if not replace:
                left[chosen[-1]] = 0.0
        return chosen

    def draw_weighted(self, weights: list[float], draws: Draws) -> int:
        """By blocks: float addition rounds, so that its order is part of the result."""
        size = 1 << len(weights).bit_length() // 2
        blocks = [range(b, min(b + size, len(weights))) for b in range(0, len(weights), size)]
        sums = []
        for block in blocks:
            total = 0.0
            for i in block:
                total += weights[i]
            sums.append(total)
        running = list(accumulate(sums))
        target = draws.unit() * running[-1]
        at = int(np.searchsorted(running, target, side="right"))
        at = min(at, int(np.searchsorted(running, running[-1])))
        rest = target - running[at - 1] if at else target
        total = 0.0
        position = blocks[at][0]
        for i in blocks[at]:
            if weights[i] > 0:
                position = i
                total += weights[i]
                if total > rest:
                    break
        return position
