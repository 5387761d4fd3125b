"""The sampler of typed and timed graphs again, in plain Python from its README: slow, obvious, and
byte for byte the same. Each step is a method of its own, so that a mutant can get one wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from reference_sampler import Draws, ReferenceSampler
from sampling_graphs import EdgeList
from typed_graphs import NO_TIME, TypedGraph

_NEIGHBOURS, _WEIGHTED, _WALKS, _NEGATIVES, _REPEATED, _DISJOINT = 1, 2, 3, 4, 7, 9
INT64_MAX = 2**63 - 1


def request_draws(seed: int, domain: int, relation: int) -> Draws:
    return Draws(1).child(seed).child(domain).child(relation)


@dataclass
class TypedSample:
    n_id: list[list[int]]  # by type
    batch: list[list[int]]
    num_sampled_nodes: list[list[int]]
    edges: list[list[tuple[int, int, int]]]  # by relation: local source, target, place
    num_sampled_edges: list[list[int]]


@dataclass(frozen=True)
class Temporal:
    times: list[int]
    strict: bool = False
    window: int = 0
    last: bool = False

    def eligible(self, time: int, tree: int) -> bool:
        if time == NO_TIME:
            return True
        at = self.times[tree]
        if not (time < at if self.strict else time <= at):
            return False
        back = max(at - self.window, NO_TIME)
        return not self.window or (back <= time if self.strict else back < time)


@dataclass(frozen=True)
class Excluded:
    """Pairs by relation; in trees: (tree, source, target, edge id or None) by relation."""

    pairs: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    in_trees: dict[int, set[tuple[int, int, int, int | None]]] = field(default_factory=dict)
    spare_history: bool = False


@dataclass(frozen=True)
class Slot:
    """An edge in the row of one of its ends."""

    place: int
    source: int
    target: int
    time: int


class TypedReferenceSampler:
    def __init__(self, graph: TypedGraph, direction: str = "in") -> None:
        self.graph = graph
        self.inward = direction == "in"
        self.picker = ReferenceSampler(EdgeList.of(0, []))
        self.rows = [self._rows(r) for r in range(graph.num_relations)]

    def row_type(self, relation: int) -> int:
        return self.graph.ends(relation)[1 if self.inward else 0]

    def neighbour_type(self, relation: int) -> int:
        return self.graph.ends(relation)[0 if self.inward else 1]

    def neighbour(self, slot: Slot) -> int:
        return slot.source if self.inward else slot.target

    def _rows(self, relation: int) -> list[list[Slot]]:
        """By (slot time, edge id, neighbour), or without times by (neighbour, edge id)."""
        rows: list[list[Slot]] = [[] for _ in range(self.graph.types[self.row_type(relation)][1])]
        kind = self.neighbour_type(relation)
        ids = self.graph.relations[self.graph.base(relation)].edge_ids()
        for source, target, place in self.graph.edges(relation):
            neighbour = source if self.inward else target
            time = self.graph.slot_time(relation, place, kind, neighbour)
            row = rows[target if self.inward else source]
            row.append(Slot(place, source, target, time))
        for row in rows:
            row.sort(
                key=lambda s: (
                    (0, self.neighbour(s), ids[s.place])
                    if s.time == NO_TIME
                    else (s.time, ids[s.place], self.neighbour(s))
                )
            )
        return rows

    def eligible(self, row: list[Slot], tree: int, temporal: Temporal | None) -> list[Slot]:
        if temporal is None:
            return row
        return [slot for slot in row if temporal.eligible(slot.time, tree)]

    def is_excluded(
        self, relation: int, slot: Slot, tree: int, excluded: Excluded, temporal: Temporal | None
    ) -> bool:
        pair = slot.source, slot.target
        if pair in excluded.pairs.get(relation, ()):
            return True
        in_trees = excluded.in_trees.get(relation, set())
        if not in_trees:
            return False
        edge_id = self.graph.relations[self.graph.base(relation)].edge_ids()[slot.place]
        if not {(tree, *pair, None), (tree, *pair, edge_id)} & in_trees:
            return False
        if not excluded.spare_history:
            return True
        assert temporal is not None
        since = self.exists_since(relation, slot)
        return since == NO_TIME or since >= temporal.times[tree]

    def exists_since(self, relation: int, slot: Slot) -> int:
        """The latest of the edge's own time and those of its ends."""
        source, target = self.graph.ends(relation)
        ends = ((source, slot.source), (target, slot.target))
        return max(self.graph.slot_time(relation, slot.place, *end) for end in ends)

    def sample(
        self,
        seeds: dict[int, list[int]],
        fanout: list[list[int]],
        *,
        replace: bool = False,
        weighted: bool = False,
        seed: int = 0,
        disjoint: bool = False,
        temporal: Temporal | None = None,
        excluded: Excluded | None = None,
    ) -> TypedSample:
        kinds = range(len(self.graph.types))
        relations = range(self.graph.num_relations)
        excluded = excluded or Excluded()
        disjoint = disjoint or temporal is not None
        n_id = [list(seeds.get(t, [])) for t in kinds]
        batch: list[list[int]] = []
        trees = 0
        for t in kinds:
            batch.append([trees + i if disjoint else 0 for i in range(len(n_id[t]))])
            trees += len(n_id[t])
        local: list[dict[tuple[int, int], int]] = [{} for _ in kinds]
        for t in kinds:
            for i, key in enumerate(zip(batch[t], n_id[t], strict=True)):
                local[t].setdefault(key, i)
        result = TypedSample(
            n_id, batch, [[len(n)] for n in n_id], [[] for _ in relations], [[] for _ in relations]
        )
        begins = [0 for _ in kinds]
        for hop in range(len(fanout[0]) if fanout else 0):
            ends = [len(n) for n in n_id]
            for r in relations:
                kind, found = self.row_type(r), self.neighbour_type(r)
                before = len(result.edges[r])
                weights = self.graph.relations[self.graph.base(r)].weights
                by_weight = weighted and weights is not None
                for at in range(begins[kind], ends[kind]) if fanout[r][hop] else ():
                    node, tree = n_id[kind][at], batch[kind][at]
                    row = self.eligible(self.rows[r][node], tree, temporal)
                    occurrence = n_id[kind][:at].count(node) if hop == 0 else 0
                    draws = self.node_draws(seed, by_weight, r, hop, node, occurrence)
                    if disjoint:
                        draws = self.tree_draws(seed, by_weight, r, hop, node, tree)
                    keep = [not self.is_excluded(r, s, tree, excluded, temporal) for s in row]
                    for slot in self.pick(
                        r, row, keep, fanout[r][hop], replace, by_weight, temporal, draws
                    ):
                        key = tree, self.neighbour(slot)
                        if key not in local[found]:
                            local[found][key] = len(n_id[found])
                            n_id[found].append(key[1])
                            batch[found].append(tree)
                        ends_of = local[found][key], at
                        result.edges[r].append(
                            (*(ends_of if self.inward else ends_of[::-1]), slot.place)
                        )
                result.num_sampled_edges[r].append(len(result.edges[r]) - before)
            for t in kinds:
                result.num_sampled_nodes[t].append(len(n_id[t]) - ends[t])
            begins = ends
        return result

    def node_draws(
        self, seed: int, weighted: bool, relation: int, hop: int, node: int, occurrence: int
    ) -> Draws:
        domain = _WEIGHTED if weighted else _NEIGHBOURS
        if occurrence == 0:
            return request_draws(seed, domain, relation).child(hop).child(node)
        repeated = request_draws(seed, _REPEATED, relation)
        return repeated.child(domain).child(node).child(occurrence)

    def tree_draws(
        self, seed: int, weighted: bool, relation: int, hop: int, node: int, tree: int
    ) -> Draws:
        domain = _WEIGHTED if weighted else _NEIGHBOURS
        draws = request_draws(seed, _DISJOINT, relation).child(domain)
        return draws.child(tree).child(hop).child(node)

    def pick(
        self,
        relation: int,
        row: list[Slot],
        keep: list[bool],
        k: int,
        replace: bool,
        weighted: bool,
        temporal: Temporal | None,
        draws: Draws,
    ) -> list[Slot]:
        if weighted:
            # Excluded edges keep their places, which the order of additions depends on.
            given = self.graph.relations[self.graph.base(relation)].weights
            assert given is not None
            weights = [
                float(given[s.place]) if kept else 0.0 for s, kept in zip(row, keep, strict=True)
            ]
            return [row[i] for i in self.picker.pick_weighted(weights, k, replace, draws)]
        row = [slot for slot, kept in zip(row, keep, strict=True) if kept]
        if temporal is not None and temporal.last:
            return self.pick_last(row, k)
        return [row[i] for i in self.picker.pick_uniform(len(row), k, replace, draws)]

    def pick_last(self, row: list[Slot], k: int) -> list[Slot]:
        return row if k == -1 else row[max(len(row) - k, 0) :]

    def negatives(
        self,
        relation: int,
        count: int,
        *,
        sources: list[int] | None = None,
        times: list[int] | None = None,
        candidates: list[int] | None = None,
        source_candidates: list[int] | None = None,
        reject: bool = False,
        seed: int = 0,
    ) -> list[tuple[int, int]]:
        """Of uniform weights. Candidates are those that exist, in the order of their times."""
        source_type, target_type = self.graph.ends(relation)
        found = []
        for i in range(count):
            time = None if times is None else times[i]
            draws = request_draws(seed, _NEGATIVES, relation).child(i)
            given = None if sources is None else [sources[i]]
            first = given or self.existing(source_type, source_candidates, time)
            second = self.existing(target_type, candidates, time)
            if not first or not second:
                raise ValueError("no node exists")
            for _ in range(64):
                source = given[0] if given else first[draws.below(len(first))]
                target = second[draws.below(len(second))]
                if not reject or self.is_negative(relation, source, target, time):
                    found.append((source, target))
                    break
            else:
                start = 0 if given else draws.below(len(first))
                for step in range(len(first)):
                    source = first[(start + step) % len(first)]
                    left = [t for t in second if self.is_negative(relation, source, t, time)]
                    if left:
                        found.append((source, left[draws.below(len(left))]))
                        break
                else:
                    raise ValueError("no negative")
        return found

    def existing(self, kind: int, listed: list[int] | None, time: int | None) -> list[int]:
        _, count, times = self.graph.types[kind]
        nodes = list(range(count)) if listed is None else list(listed)
        if times is None or time is None:
            return nodes
        return sorted((n for n in nodes if times[n] <= time), key=lambda n: times[n])

    def is_negative(self, relation: int, source: int, target: int, time: int | None) -> bool:
        source_type, target_type = self.graph.ends(relation)
        if source_type == target_type and source == target:
            return False
        own = self.graph.relations[self.graph.base(relation)].times
        return not any(
            (u, v) == (source, target) and (time is None or own is None or own[place] <= time)
            for u, v, place in self.graph.edges(relation)
        )

    def walk(
        self, starts: list[int], length: int, metapath: list[int], *, weighted: bool, seed: int
    ) -> list[list[int]]:
        """Along out-edges: needs a sampler of direction "out"."""
        walks = []
        for walker, start in enumerate(starts):
            walk = [start]
            for step in range(length):
                relation = metapath[step % len(metapath)]
                row = self.rows[relation][walk[-1]]
                draws = request_draws(seed, _WALKS, relation).child(step).child(walker)
                weights = self.graph.relations[self.graph.base(relation)].weights
                if weighted:
                    assert weights is not None
                    of_row = [float(weights[slot.place]) for slot in row]
                    if not any(of_row):
                        break
                    walk.append(row[self.picker.draw_weighted(of_row, draws)].target)
                elif row:
                    walk.append(row[draws.below(len(row))].target)
                else:
                    break
            walks.append(walk)
        return walks

    def followed(self, fanout: list[list[int]]) -> list[int]:
        """Relations whose edges an induced subgraph has."""
        return [r for r, hops in enumerate(fanout) if not hops or any(hops)]

    def induced(
        self,
        sample: TypedSample,
        fanout: list[list[int]],
        temporal: Temporal | None = None,
        excluded: Excluded | None = None,
    ) -> TypedSample:
        """Every edge of these relations between nodes of one tree, by the node whose row has it."""
        excluded = excluded or Excluded()
        edges: list[list[tuple[int, int, int]]] = [[] for _ in sample.edges]
        for r in self.followed(fanout):
            kind, found = self.row_type(r), self.neighbour_type(r)
            local: dict[tuple[int, int], int] = {}
            for i, key in enumerate(zip(sample.batch[found], sample.n_id[found], strict=True)):
                local.setdefault(key, i)
            for at, (tree, node) in enumerate(
                zip(sample.batch[kind], sample.n_id[kind], strict=True)
            ):
                for slot in self.eligible(self.rows[r][node], tree, temporal):
                    other = local.get((tree, self.neighbour(slot)))
                    if other is None or self.is_excluded(r, slot, tree, excluded, temporal):
                        continue
                    ends_of = (other, at) if self.inward else (at, other)
                    edges[r].append((*ends_of, slot.place))
        return TypedSample(
            sample.n_id, sample.batch, sample.num_sampled_nodes, edges, [[] for _ in edges]
        )

    def reverse_of(self, relation: int) -> int | None:
        graph = self.graph
        stored = len(graph.relations)
        if relation >= stored:
            return graph.base(relation)
        views = [stored + i for i, (_, base) in enumerate(graph.views) if base == relation]
        if views:
            return views[0]
        for pair in graph.inverses:
            if relation in pair:
                return pair[1] if pair[0] == relation else pair[0]
        source, target = graph.ends(relation)
        return relation if source == target else None

    def bidirectional(
        self,
        sample: TypedSample,
        temporal: Temporal | None = None,
        excluded: Excluded | None = None,
    ) -> TypedSample:
        """The drawn edges, and reverses of those of the relation that leads back."""
        excluded = excluded or Excluded()
        edges: list[list[tuple[int, int, int]]] = []
        for r, drawn in enumerate(sample.edges):
            back = self.reverse_of(r)
            assert back is not None
            first: dict[tuple[int, int], int] = {}
            for source, target, place in drawn:
                first.setdefault((target, source) if self.inward else (source, target), place)
            for target, source, place in sample.edges[back]:
                source_type, target_type = self.graph.ends(r)
                ends = sample.n_id[source_type][source], sample.n_id[target_type][target]
                tree = sample.batch[source_type][source]
                neighbour = (source_type, ends[0]) if self.inward else (target_type, ends[1])
                # The place is one of the other relation, whose edge has the same time.
                slot = Slot(place, *ends, self.graph.slot_time(back, place, *neighbour))
                if temporal and not temporal.eligible(slot.time, tree):
                    continue
                if self.reverse_is_excluded(r, back, slot, tree, excluded, temporal):
                    continue
                first.setdefault((target, source) if self.inward else (source, target), place)
            edges.append(
                [
                    (*(pair[::-1] if self.inward else pair), place)
                    for pair, place in sorted(first.items())
                ]
            )
        return TypedSample(
            sample.n_id, sample.batch, sample.num_sampled_nodes, edges, [[] for _ in edges]
        )

    def reverse_is_excluded(
        self,
        relation: int,
        back: int,
        slot: Slot,
        tree: int,
        excluded: Excluded,
        temporal: Temporal | None,
    ) -> bool:
        """By the pairs of the relation, but id and time of the edge that is reversed."""
        shifted = Excluded(
            {back: excluded.pairs.get(relation, set())},
            {back: excluded.in_trees.get(relation, set())},
            excluded.spare_history,
        )
        turned: Any = TurnedEnds(self, back)
        return bool(turned.is_excluded(back, slot, tree, shifted, temporal))


class TurnedEnds(TypedReferenceSampler):
    """Looks at the edges of a relation from their other ends."""

    def __init__(self, sampler: TypedReferenceSampler, relation: int) -> None:
        self.graph = sampler.graph
        self.relation = relation

    def exists_since(self, relation: int, slot: Slot) -> int:
        source, target = self.graph.ends(relation)
        ends = ((source, slot.target), (target, slot.source))
        return max(self.graph.slot_time(relation, slot.place, *end) for end in ends)
