"""The sampler again, in plain Python from its README: slow, obvious, and byte for byte the same.

Each step is a method of its own, so that a mutant can get one of them wrong.
"""

from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from sampling_graphs import EdgeList

_MASK = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15
_NEIGHBOURS, _WEIGHTED, _NEGATIVES, _REPEATED, _DISJOINT = 1, 2, 4, 7, 9
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
    batch: list[int] = field(default_factory=list)


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
        disjoint: bool = False,
        exclude: tuple[list[int], list[int]] = ([], []),
    ) -> Sample:
        result = Sample(list(seeds), num_sampled_nodes=[len(seeds)])
        excluded = set(zip(*exclude, strict=True))
        # In a disjoint sample a node is a pair (tree, id); else all are in one tree.
        result.batch = list(range(len(seeds))) if disjoint else [0] * len(seeds)
        local: dict[tuple[int, int], int] = {}
        for i, node in enumerate(seeds):
            local.setdefault((result.batch[i], node), i)
        begin = 0
        for hop, k in enumerate(fanout):
            end, edges_before = len(result.n_id), len(result.e_id)
            for target in range(begin, end):
                node, tree = result.n_id[target], result.batch[target]
                occurrence = seeds[:target].count(node) if hop == 0 else 0
                draws = self.node_draws(seed, weighted, hop, node, occurrence)
                if disjoint:
                    draws = self.tree_draws(seed, weighted, hop, node, tree)
                row = self.row_without(node, excluded, weighted)
                for edge in self.pick(row, k, replace, weighted, draws):
                    source = int(self.edges.src[edge])
                    if (tree, source) not in local:
                        local[tree, source] = len(result.n_id)
                        result.n_id.append(source)
                        result.batch.append(tree)
                    result.edge_index[0].append(local[tree, source])
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

    def tree_draws(self, seed: int, weighted: bool, hop: int, node: int, tree: int) -> Draws:
        domain = _WEIGHTED if weighted else _NEIGHBOURS
        return request_draws(seed, _DISJOINT).child(domain).child(tree).child(hop).child(node)

    def row_without(self, node: int, excluded: set[tuple[int, int]], weighted: bool) -> list[int]:
        """Weighted rows keep their places, which the order of additions depends on."""
        row = self.rows[node]
        out = {edge for edge in row if (int(self.edges.src[edge]), node) in excluded}
        if weighted:
            return [-1 if edge in out else edge for edge in row]
        return [edge for edge in row if edge not in out]

    def bidirectional(self, sample: Sample, excluded: set[tuple[int, int]]) -> Sample:
        """The drawn edges and their reverses, by target and source, each pair once."""
        drawn = list(zip(*sample.edge_index, sample.e_id, strict=True))
        reverse = [
            (target, source, edge)
            for source, target, edge in drawn
            if (sample.n_id[target], sample.n_id[source]) not in excluded
        ]
        first: dict[tuple[int, int], int] = {}
        for source, target, edge in drawn + reverse:
            first.setdefault((target, source), edge)
        pairs = sorted(first)
        return Sample(
            sample.n_id,
            ([source for _, source in pairs], [target for target, _ in pairs]),
            [first[pair] for pair in pairs],
            sample.num_sampled_nodes,
            batch=sample.batch,
        )

    def induced(self, sample: Sample, excluded: set[tuple[int, int]]) -> Sample:
        """Every edge between the nodes, by target, then in the order of its row."""
        local: dict[tuple[int, int], int] = {}
        for i, key in enumerate(zip(sample.batch, sample.n_id, strict=True)):
            local.setdefault(key, i)
        result = Sample(sample.n_id, num_sampled_nodes=sample.num_sampled_nodes, batch=sample.batch)
        for target, (tree, node) in enumerate(zip(sample.batch, sample.n_id, strict=True)):
            for edge in self.row_without(node, excluded, weighted=False):
                source = local.get((tree, int(self.edges.src[edge])))
                if source is not None:
                    result.edge_index[0].append(source)
                    result.edge_index[1].append(target)
                    result.e_id.append(edge)
        return result

    def negatives(
        self,
        count: int,
        *,
        sources: list[int] | None = None,
        by_degree: bool = False,
        reject: bool = False,
        candidates: list[int] | None = None,
        source_candidates: list[int] | None = None,
        seed: int = 0,
    ) -> tuple[list[int], list[int]]:
        """Of a file that stores out-edges: slots are in the order of (source, target)."""
        nodes = list(range(self.edges.num_nodes))
        ends = (source_candidates or nodes, candidates or nodes)
        slots = sorted(zip(self.edges.src.tolist(), self.edges.dst.tolist(), strict=True))
        found: list[tuple[int, int]] = []
        for i in range(count):
            draws = request_draws(seed, _NEGATIVES).child(i)
            for _ in range(64):
                source = sources[i] if sources else self.draw_end(draws, by_degree, slots, 0, ends)
                target = self.draw_end(draws, by_degree, slots, 1, ends)
                if not reject or self.is_negative(source, target):
                    found.append((source, target))
                    break
            else:
                first = 0 if sources else draws.below(len(ends[0]))
                for step in range(1 if sources else len(ends[0])):
                    source = sources[i] if sources else ends[0][(first + step) % len(ends[0])]
                    left = [t for t in ends[1] if self.is_negative(source, t)]
                    if left:
                        found.append((source, left[draws.below(len(left))]))
                        break
        return [source for source, _ in found], [target for _, target in found]

    def draw_end(
        self,
        draws: Draws,
        by_degree: bool,
        slots: list[tuple[int, int]],
        end: int,
        candidates: tuple[list[int], list[int]],
    ) -> int:
        if by_degree:
            return slots[draws.below(len(slots))][end]
        return candidates[end][draws.below(len(candidates[end]))]

    def is_negative(self, source: int, target: int) -> bool:
        return (
            source != target and not ((self.edges.src == source) & (self.edges.dst == target)).any()
        )

    def pick(
        self, row: list[int], k: int, replace: bool, weighted: bool, draws: Draws
    ) -> list[int]:
        if not weighted:
            return [row[i] for i in self.pick_uniform(len(row), k, replace, draws)]
        assert self.edges.weights is not None
        weights = [float(self.edges.weights[edge]) if edge >= 0 else 0.0 for edge in row]
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
