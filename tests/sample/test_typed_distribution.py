"""Draws under a time bound have the distribution that they should have among eligible edges, and
samples without bounds are whole neighbourhoods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sampling_statistics import BOUND, inclusion_p, subset_p, subset_probabilities
from typed_engine import TypedEngine, placed
from typed_graphs import TypedEdges, TypedGraph, random_typed_graph
from typed_reference_sampler import Temporal, TypedReferenceSampler

CENTRES, LEAVES, ELIGIBLE = 3000, 12, 8
WEIGHTS = [1.0, 2.0, 4.0, 0.0, 3.0, 1.0, 5.0, 2.0, 100.0, 100.0, 100.0, 100.0]


def fan() -> TypedGraph:
    """Every leaf has an edge to every centre; edges of leaves from ELIGIBLE on are later than 0,
    and heavy, so that one of them would show."""
    centre = np.repeat(np.arange(CENTRES), LEAVES)
    leaf = np.tile(np.arange(LEAVES), CENTRES)
    # In an order of times that is not that of the leaves.
    times = np.tile([(5 * i) % 8 - 7 if i < ELIGIBLE else 1 + i for i in range(LEAVES)], CENTRES)
    edges = TypedEdges(
        1,
        "of",
        0,
        leaf.tolist(),
        centre.tolist(),
        weights=np.tile(WEIGHTS, CENTRES).tolist(),
        times=times.tolist(),
    )
    return TypedGraph([("centre", CENTRES, None), ("leaf", LEAVES, None)], [edges])


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> TypedEngine:
    return TypedEngine(fan().write(tmp_path_factory.mktemp("fan") / "g.gl"))


def drawn_sets(engine: TypedEngine, k: int, **options: bool) -> list[list[int]]:
    """The leaves that each centre draws at time 0."""
    sample = placed(
        engine.draw(
            {0: list(range(CENTRES))}, [[k]], temporal=Temporal([0] * CENTRES), seed=11, **options
        )
    )
    leaves = np.array(sample["n_id"][1])
    sources, targets = sample["edge_index"][0]
    found: list[list[int]] = [[] for _ in range(CENTRES)]
    for source, target in zip(sources, targets, strict=True):
        found[target].append(int(leaves[source]))
    return found


@pytest.mark.parametrize("k", [1, 3, 7])
def test_uniform_draws_are_uniform_among_what_is_eligible(engine: TypedEngine, k: int) -> None:
    found = drawn_sets(engine, k)
    assert all(len(set(leaves)) == k for leaves in found)
    counts = np.bincount(np.concatenate(found), minlength=LEAVES)
    assert counts[ELIGIBLE:].sum() == 0
    assert inclusion_p(counts[:ELIGIBLE], CENTRES, k) > BOUND


def test_draws_with_replacement_are_uniform_too(engine: TypedEngine) -> None:
    found = drawn_sets(engine, 20, replace=True)
    counts = np.bincount(np.concatenate(found), minlength=LEAVES)
    assert counts[ELIGIBLE:].sum() == 0
    assert inclusion_p(counts[:ELIGIBLE], CENTRES * 20, 1) > BOUND


@pytest.mark.parametrize("k", [1, 2, 3])
def test_weighted_draws_are_by_weight_among_what_is_eligible(engine: TypedEngine, k: int) -> None:
    found = [frozenset(leaves) for leaves in drawn_sets(engine, k, weighted=True)]
    assert subset_p(found, subset_probabilities(WEIGHTS[:ELIGIBLE], k)) > BOUND


def test_the_tests_find_draws_that_ignore_time_or_weights(engine: TypedEngine) -> None:
    plain = placed(engine.draw({0: list(range(CENTRES))}, [[1]], disjoint=True, seed=11))
    assert max(plain["n_id"][1]) >= ELIGIBLE
    uniform = [frozenset(leaves) for leaves in drawn_sets(engine, 2)]
    assert subset_p(uniform, subset_probabilities(WEIGHTS[:ELIGIBLE], 2)) < BOUND
    weighted = np.bincount(np.concatenate(drawn_sets(engine, 2, weighted=True)), minlength=LEAVES)
    assert inclusion_p(weighted[:ELIGIBLE], CENTRES, 2) < BOUND


@pytest.mark.parametrize("k", [0, 1, 3, 8, 9, -1])
def test_last_is_exact(engine: TypedEngine, k: int) -> None:
    temporal = Temporal([0] * CENTRES, last=True)
    sample = placed(engine.draw({0: list(range(CENTRES))}, [[k]], temporal=temporal))
    by_time = sorted(range(ELIGIBLE), key=lambda i: (5 * i) % 8)
    expected = by_time if k == -1 else by_time[max(ELIGIBLE - k, 0) :]
    leaves = np.array(sample["n_id"][1], np.int64)
    found = leaves[np.array(sample["edge_index"][0][0], np.int64)]
    assert found.tolist() == expected * CENTRES


@pytest.mark.parametrize("graph_seed", range(8))
@pytest.mark.parametrize("time", [None, 0, 5])
def test_full_neighbourhoods_are_those_of_a_search(
    tmp_path: Path, graph_seed: int, time: int | None
) -> None:
    """Against sets that grow edge by edge, relation by relation, over all edges of the graph."""
    graph = random_typed_graph(graph_seed)
    engine = TypedEngine(graph.write(tmp_path / "g.gl"))
    hops = 2
    seeds = {0: [0, 1], 1: [2]}
    temporal = None if time is None else Temporal([time] * 3)
    fanout = [[-1] * hops] * graph.num_relations
    sample = placed(engine.draw(seeds, fanout, temporal=temporal, disjoint=True))
    roots = [(0, 0), (0, 1), (1, 2)]
    for tree, root in enumerate(roots):
        reached = {root}
        frontier = {root}
        edges: set[tuple[int, int, int, int]] = set()
        for _ in range(hops):
            found = set()
            for r in range(graph.num_relations):
                source_type, target_type = graph.ends(r)
                for u, v, place in graph.edges(r):
                    if (target_type, v) not in frontier:
                        continue
                    since = graph.slot_time(r, place, source_type, u)
                    if time is not None and since != -(2**63) and since > time:
                        continue
                    found.add((source_type, u))
                    edges.add((r, u, v, place))
            frontier = found - reached
            reached |= found
        nodes = {
            (t, node)
            for t in range(len(graph.types))
            for node, of in zip(sample["n_id"][t], sample["batch"][t], strict=True)
            if of == tree
        }
        assert nodes == reached
        got = set()
        for r in range(graph.num_relations):
            source_type, target_type = graph.ends(r)
            edge_ids = graph.relations[graph.base(r)].edge_ids()
            for u, v, e_id in zip(*sample["edge_index"][r], sample["e_id"][r], strict=True):
                if sample["batch"][source_type][u] == tree:
                    ends = sample["n_id"][source_type][u], sample["n_id"][target_type][v]
                    got.add((r, *ends, e_id))
            edges = {(q, u, v, edge_ids[p]) if q == r else (q, u, v, p) for q, u, v, p in edges}
        assert got == edges


def test_the_reference_of_a_fan_is_the_engine(engine: TypedEngine) -> None:
    graph = fan()
    reference = TypedReferenceSampler(graph)
    temporal = Temporal([0, -3, 5])
    for weighted in (False, True):
        options = {"temporal": temporal, "weighted": weighted, "seed": 4}
        expected = reference.sample({0: [5, 5, 6]}, [[3, 2]], **options)
        found = placed(engine.draw({0: [5, 5, 6]}, [[3, 2]], **options))
        assert found["n_id"] == expected.n_id
