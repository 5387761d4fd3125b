"""LABOR samples: byte for byte what the plain Python sampler gives, whatever the number of threads
and the way of reading; what they promise about nodes, and which requests they refuse."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from labor_reference import LaborOptions, LaborReference
from sampling_graphs import EdgeList, open_graph, random_edges, write_legacy_graph
from typed_engine import TypedEngine, assert_same
from typed_graphs import plain_graph, random_typed_graph
from typed_reference_sampler import Excluded
from typed_requests import Request, random_request

FIELDS = ("n_id", "edge_index", "e_id", "edge_weight", "edge_scale", "batch")


def labor_request(request: Request) -> Request:
    """The same without what LABOR refuses."""
    temporal = request.temporal
    options = {**request.options, "replace": False}
    if temporal is not None:
        options["temporal"] = replace(temporal, last=False)
    subgraph = "drawn" if options["weighted"] else request.subgraph
    return Request(request.seeds, request.fanout, subgraph, options)


def random_options(rng: random.Random) -> LaborOptions:
    return LaborOptions(
        run_seed=rng.choice([None, 0, 2**64 - 1]),
        batch=rng.choice([0, 1, 7, 1000, 2**62]),
        dependency=rng.choice([1, 2, 7, 64, 2**32 - 1]),
        one_for_all_hops=rng.random() < 0.3,
    )


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("graph_seed", range(16))
def test_engine_and_reference_give_the_same_bytes(
    tmp_path: Path, graph_seed: int, direction: str
) -> None:
    graph = random_typed_graph(graph_seed, timed=graph_seed % 3 != 0)
    path = graph.write(tmp_path / "graph.gl")
    engines = [TypedEngine(path, disk=disk, direction=direction) for disk in (False, True)]
    rng = random.Random(f"labor {graph_seed} {direction}")
    for _ in range(8):
        request = labor_request(random_request(graph, rng))
        options = random_options(rng)
        reference = LaborReference(graph, direction, options)
        expected = request.expected(reference)
        for engine in engines:
            for threads in (1, 2, 8):
                drawn = request.draw(engine, threads, labor=options)
                assert_same(graph, drawn, expected, disjoint=request.disjoint)
                assert drawn.has_scales == request.options["weighted"]
                if drawn.has_scales:
                    assert scales(drawn) == reference.scales


def scales(drawn: Any) -> list[list[float]]:
    found = []
    for r in range(drawn.num_relations):
        array = np.empty(drawn.num_edges_of(r), np.float32)
        drawn.copy_edges(r, edge_scale=array)
        found.append(array.tolist())
    return found


def hub_edges(degree: int, *, weighted: bool = False) -> EdgeList:
    """Node 0 has `degree` in-edges, a third of them parallel to another; node 1 has a few."""
    rng = np.random.default_rng(degree)
    sources = np.r_[rng.integers(2, degree, degree), np.arange(2, 12)]
    targets = np.r_[np.zeros(degree, np.int64), np.ones(10, np.int64)]
    weights = (rng.random(degree + 10) * (rng.random(degree + 10) < 0.9)).astype(np.float32)
    return EdgeList(degree, sources, targets, weights if weighted else None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("degree", "fanout"),
    [(256, 9), (257, 9), (1023, 9), (4097, 9), (5000, 9), (5000, 101), (4700, 4500)],
)
def test_windows_of_long_rows_are_those_of_the_reference(
    tmp_path: Path, degree: int, fanout: int, weighted: bool
) -> None:
    edges = hub_edges(degree, weighted=weighted)
    open_graph(tmp_path / "g.gl", edges, edge_ids=True)
    # Some of the hub's edges are excluded, so that a window does not lie as the file has it.
    gone = edges.src[:degree:50].tolist()
    for seed in range(4):
        # Two nodes of three are in the next period already, node 0 in some runs.
        drift = gz.Labor(batch_dependency=3, batch=5, run_seed=seed)
        labor = drift if seed > 0 else gz.Labor()
        options = LaborOptions(seed, 5, 3) if seed > 0 else LaborOptions()
        reference = LaborReference(plain_graph(edges), options=options)
        for excluded in ([], gone):
            expected = reference.sample(
                {0: [0, 1]},
                [[fanout]],
                seed=seed,
                weighted=weighted,
                excluded=excluded_pairs(excluded),
            )
            for io in ("mapped", "staged"):
                ours = gz.Graph(tmp_path / "g.gl", io=io).sample(
                    [0, 1],
                    [fanout],
                    seed=seed,
                    weighted=weighted,
                    sampler=labor,
                    exclude=(excluded, [0] * len(excluded)),
                )
                assert ours.n_id.tolist() == expected.n_id[0]
                assert ours.e_id is not None
                assert ours.e_id.tolist() == [place for _, _, place in expected.edges[0]]
                if weighted:
                    assert ours.edge_scale is not None
                    assert ours.edge_scale.tolist() == reference.scales[0]


def scattered_edges() -> EdgeList:
    """30,000 nodes with 30 in-edges on average, and three with so many that there are windows."""
    rng = np.random.default_rng(5)
    nodes = 30_000
    long = np.repeat([0, 15_000, nodes - 1], [5_000, 9_000, 4_500])
    targets = np.r_[rng.integers(0, nodes, 30 * nodes), long]
    weights = rng.random(len(targets), np.float32)
    return EdgeList(nodes, rng.integers(0, nodes, len(targets)), targets, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_from_disk_are_read_together_with_those_of_other_calls(
    tmp_path: Path, weighted: bool
) -> None:
    open_graph(tmp_path / "g.gl", scattered_edges(), edge_ids=True)
    calls = [np.random.default_rng(i).permutation(30_000)[:20_000] for i in range(6)]

    def draw(graph: gz.Graph, number: int) -> Any:
        return graph.sample(
            calls[number], [7], seed=number, weighted=weighted, sampler="labor", threads=1
        )

    mapped = gz.Graph(tmp_path / "g.gl", io="mapped")
    expected = [draw(mapped, number) for number in range(len(calls))]
    alone = gz.Graph(tmp_path / "g.gl", io="staged")
    for number in range(len(calls)):
        assert_equal_samples(draw(alone, number), expected[number])
    reads = alone._file.disk.stats().reads
    fewest = reads
    for _ in range(20):
        shared = gz.Graph(tmp_path / "g.gl", io="staged")
        with ThreadPoolExecutor(len(calls)) as pool:
            given = list(pool.map(partial(draw, shared), range(len(calls))))
        for ours, theirs in zip(given, expected, strict=True):
            assert_equal_samples(ours, theirs)
        fewest = min(fewest, shared._file.disk.stats().reads)
        if fewest < reads:
            break
    assert fewest < reads  # alone, calls make the same reads every time


def assert_equal_samples(ours: Any, expected: Any) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(ours, name), getattr(expected, name), name)


def excluded_pairs(sources: list[int]) -> Excluded:
    return Excluded({0: {(source, 0) for source in sources}} if sources else {})


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fanout", [[3, 2], [-1, 4, 1], [0, 5], [60]])
def test_rows_give_what_other_samplers_give(
    tmp_path: Path, fanout: list[int], weighted: bool
) -> None:
    """As many edges of each node, each at most once, and none of weight zero."""
    edges = random_edges(400, 8_000, seed=5, weighted=True)
    graph = open_graph(tmp_path / "g.gl", edges, edge_ids=True)
    rows, weights = edges.in_rows(), edges.weights
    assert weights is not None
    sample = graph.sample([0, 1, 7, 399, 7], fanout, sampler="labor", weighted=weighted, seed=3)
    assert sample.e_id is not None
    hop = np.repeat(np.arange(len(fanout)), sample.num_sampled_edges)
    begins = np.cumsum([0, *sample.num_sampled_nodes])
    for h, k in enumerate(fanout):
        for at in range(begins[h], begins[h + 1]):
            drawn = sample.e_id[(hop == h) & (sample.edge_index[1] == at)].tolist()
            row = [e for e in rows[sample.n_id[at]] if not weighted or weights[e] > 0]
            assert len(drawn) == len(set(drawn)) == (len(row) if k == -1 else min(k, len(row)))
            assert set(drawn) <= set(row)


def test_targets_agree_on_whom_they_take(tmp_path: Path) -> None:
    centres, leaves, k = 50, 200, 10
    src = np.tile(np.arange(centres, centres + leaves), centres)
    dst = np.repeat(np.arange(centres), leaves)
    graph = open_graph(tmp_path / "g.gl", EdgeList(centres + leaves, src, dst))
    seeds = np.arange(centres)
    assert len(graph.sample(seeds, [k], seed=1, sampler="labor").n_id) == centres + k
    assert len(graph.sample(seeds, [k], seed=1).n_id) > centres + 15 * k
    # Trees have numbers in common, too.
    trees = graph.sample(seeds, [k], seed=1, sampler="labor", disjoint=True)
    assert len(np.unique(trees.n_id)) == centres + k


def test_hops_have_numbers_of_their_own_unless_asked(tmp_path: Path) -> None:
    """In a complete graph, hop 2 takes whom hop 1 took only if both have the same numbers."""
    nodes = 300
    src, dst = np.divmod(np.arange(nodes * nodes), nodes)
    graph = open_graph(tmp_path / "g.gl", EdgeList(nodes, src, dst))
    fresh = graph.sample([0], [20, 20], seed=4, sampler="labor")
    shared = graph.sample([0], [20, 20], seed=4, sampler=gz.Labor(layer_dependency=True))
    assert fresh.num_sampled_nodes[2] > 10
    assert shared.num_sampled_nodes[2] == 0
    assert fresh.n_id[:21].tolist() == shared.n_id[:21].tolist()


def nodes_of_batches(graph: gz.Graph, kappa: int, batches: range) -> list[set[int]]:
    seeds = np.arange(0, 3000, 7)
    labor = [gz.Labor(batch_dependency=kappa, batch=b, run_seed=11) for b in batches]
    drawn = [graph.sample(seeds, [5, 5], seed=b, sampler=one) for b, one in enumerate(labor)]
    return [set(one.n_id.tolist()) - set(seeds.tolist()) for one in drawn]


def test_consecutive_batches_share_more_nodes_the_more_they_depend(tmp_path: Path) -> None:
    graph = open_graph(tmp_path / "g.gl", random_edges(20_000, 200_000, seed=2))
    shared = []
    for kappa in (1, 4, 32, 256):
        found = nodes_of_batches(graph, kappa, range(40, 48))
        pairs = itertools.pairwise(found)
        shared.append(float(np.mean([len(a & b) / len(a) for a, b in pairs])))
    assert all(more > less + 0.03 for less, more in itertools.pairwise(shared)), shared
    # Of the nodes, one in kappa has a new number: hardly more than so many are replaced.
    assert shared[-1] > 0.95


def test_numbers_are_all_new_after_kappa_batches(tmp_path: Path) -> None:
    graph = open_graph(tmp_path / "g.gl", random_edges(20_000, 200_000, seed=2))
    first, later, fresh = nodes_of_batches(graph, 16, range(160, 193, 16))
    apart = nodes_of_batches(graph, 1, range(2))
    by_chance = len(apart[0] & apart[1]) / len(apart[0])
    for one, other in ((first, later), (later, fresh)):
        assert abs(len(one & other) / len(one) - by_chance) < 0.02


def test_without_dependency_a_batch_has_fresh_numbers(tmp_path: Path) -> None:
    """kappa = 1 is a plain LABOR sample: batch 0 of a run is that of the run's seed."""
    graph = open_graph(tmp_path / "g.gl", random_edges(2_000, 40_000, seed=2))
    plain = graph.sample([1, 2, 3], [4, 4], seed=9, sampler="labor")
    batch = gz.Labor(batch_dependency=1, batch=0, run_seed=9)
    same(plain, graph.sample([1, 2, 3], [4, 4], seed=123, sampler=batch))
    other = gz.Labor(batch_dependency=1, batch=1, run_seed=9)
    assert graph.sample([1, 2, 3], [4, 4], seed=9, sampler=other).n_id.tolist() != (
        plain.n_id.tolist()
    )


def same(one: Any, other: Any) -> None:
    for name in FIELDS:
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None), name
        if first is not None:
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("weighted", [False, True])
def test_unsorted_rows_of_older_files(tmp_path: Path, weighted: bool) -> None:
    """What is taken of a row does not depend on its order, unless edges are parallel."""
    rng = np.random.default_rng(3)
    src, dst = np.divmod(rng.permutation(300 * 300)[:9_000], 300)
    edges = EdgeList(300, src, dst, rng.random(9_000, np.float32) if weighted else None)
    old = gz.Graph(write_legacy_graph(tmp_path / "old.gl", edges), symmetric=True)
    new = open_graph(tmp_path / "new.gl", edges)
    options: dict[str, Any] = {"sampler": "labor", "weighted": weighted, "direction": "out"}
    for seed in range(5):
        one = old.sample([3, 4, 5], [4], seed=seed, **options)
        other = new.sample([3, 4, 5], [4], seed=seed, **options)
        for at in range(3):
            ends = [set(s.n_id[s.edge_index[1][s.edge_index[0] == at]]) for s in (one, other)]
            assert ends[0] == ends[1]


def test_links_and_negatives_take_the_same_sampler(tmp_path: Path) -> None:
    edges = random_edges(3_000, 60_000, seed=6)
    graph = open_graph(tmp_path / "g.gl", edges, edge_ids=True)
    sources, targets = edges.src[:200], edges.dst[:200]
    options: dict[str, Any] = {"negatives": gz.Negatives("targets", 2), "seed": 8}
    usual = graph.sample_links(sources, targets, [10, 5], **options)
    labor = graph.sample_links(sources, targets, [10, 5], sampler="labor", **options)
    assert labor.n_id[labor.source_index].tolist() == usual.n_id[usual.source_index].tolist()
    assert labor.n_id[labor.target_index].tolist() == usual.n_id[usual.target_index].tolist()
    assert len(labor.n_id) < len(usual.n_id)


def test_what_it_cannot_do_is_a_clear_error(tmp_path: Path) -> None:
    graph = open_graph(tmp_path / "g.gl", random_edges(100, 900, weighted=True))
    with pytest.raises(ValueError, match="expected no replacement, or the neighbour sampler"):
        graph.sample([1], [2], sampler="labor", replace=True)
    with pytest.raises(ValueError, match="a scale for each edge that was drawn"):
        graph.sample([1], [2], sampler="labor", weighted=True, subgraph="induced")
    with pytest.raises(ValueError, match='sampler is \'ladies\', expected "neighbour", "labor"'):
        graph.sample([1], [2], sampler="ladies")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="batch_dependency is 0, expected at least 1"):
        gz.Labor(batch_dependency=0)
    with pytest.raises(ValueError, match="batch_dependency is 4294967296, expected at most"):
        gz.Labor(batch_dependency=2**32)
    with pytest.raises(TypeError, match=r"batch is 1\.5, expected a whole number"):
        gz.Labor(batch=1.5)  # type: ignore[arg-type]
    gz.write_graph(tmp_path / "t.gl", [0, 1, 2], [1, 2, 0], times=[1, 2, 3])
    with pytest.raises(ValueError, match="not the last by time"):
        gz.Graph(tmp_path / "t.gl").sample(
            [1], [2], time=[5], temporal_strategy="last", sampler="labor"
        )


@pytest.mark.parametrize("io", ["mapped", "staged"])
def test_bad_weights_and_damaged_neighbours_are_named(tmp_path: Path, io: str) -> None:
    edges = EdgeList(61, np.arange(1, 61), np.zeros(60, np.int64), np.ones(60, np.float32))
    path = tmp_path / "g.gl"
    open_graph(path, edges, direction="in")
    offsets = {s.name: s.offset for s in gz.Graph(path)._file.topology.sections}
    with path.open("r+b") as file:
        file.seek(offsets["in.weights"] + 4 * 33)
        file.write(np.float32(-2).tobytes())
        file.seek(offsets["in.indices"])
        file.write(b"\xff" * 4 * 60)
    graph = gz.Graph(path, io=io)
    with pytest.raises(ValueError, match=r"weight -2.* of node 0|node 0.* weight -2"):
        graph.sample([0], [5], weighted=True, sampler="labor")
    with pytest.raises(gz.FormatError, match="neighbour 4294967295"):
        graph.sample([0], [5], sampler="labor")


def test_hubs_with_the_same_neighbours_take_the_same_ones(tmp_path: Path) -> None:
    """Their windows are at the same place, so that targets agree on whom they take."""
    hubs, degree, k = 6, 3000, 15
    sources = np.tile(np.arange(hubs, hubs + degree), hubs)
    targets = np.repeat(np.arange(hubs), degree)
    graph = open_graph(tmp_path / "g.gl", EdgeList(hubs + degree, sources, targets))
    found = [graph.sample(np.arange(hubs), [k], seed=seed, sampler="labor") for seed in range(20)]
    assert {len(sample.n_id) for sample in found} == {hubs + k}
    assert len({sample.n_id[hubs:].tobytes() for sample in found}) == 20


def test_pieces_of_a_window_that_share_a_neighbour(tmp_path: Path) -> None:
    """Most edges of the hub are parallel, so that all pieces of its window have edges of one
    neighbour, which are numbered over all of them."""
    sources = np.r_[np.arange(2, 102), np.full(4800, 500), np.arange(600, 700)]
    edges = EdgeList(5000, sources, np.zeros(5000, np.int64))
    open_graph(tmp_path / "g.gl", edges, edge_ids=True)
    reference = LaborReference(plain_graph(edges))
    for seed in range(12):
        expected = reference.sample({0: [0]}, [[40]], seed=seed)
        for io in ("mapped", "staged"):
            graph = gz.Graph(tmp_path / "g.gl", io=io)
            ours = graph.sample([0], [40], seed=seed, sampler="labor")
            assert ours.n_id.tolist() == expected.n_id[0]
            assert ours.e_id is not None
            assert ours.e_id.tolist() == [place for _, _, place in expected.edges[0]]


DRAW_ALL = """
import hashlib, sys
import graphzero as gz
from graphzero import _engine

found = hashlib.sha256()
for path in sys.argv[1:]:
    graph = gz.Graph(path)
    for seed in range(6):
        for labor in (gz.Labor(), gz.Labor(batch_dependency=7).of_batch(3, seed)):
            for weighted in (False, True):
                drawn = graph.sample(
                    [0, 1, 5], [40, 9], seed=seed, weighted=weighted, sampler=labor, direction="out"
                )
                found.update(drawn.n_id.tobytes() + drawn.edge_index.tobytes())
print(_engine.instructions(), found.hexdigest())
"""


def draw_all(instructions: str, *graphs: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", DRAW_ALL, *map(str, graphs)],
        env={**os.environ, "GRAPHZERO_INSTRUCTIONS": instructions},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(_engine.instructions() == "baseline", reason="this processor has no others")
def test_instructions_of_older_processors_draw_the_same_bytes(tmp_path: Path) -> None:
    edges = hub_edges(5000, weighted=True)
    assert edges.weights is not None
    turned = EdgeList(
        5000,
        np.r_[edges.dst, edges.src],
        np.r_[edges.src, edges.dst],
        np.r_[edges.weights, edges.weights],
    )
    graphs = (tmp_path / "g.gl", tmp_path / "legacy.gl")
    open_graph(graphs[0], turned)
    write_legacy_graph(graphs[1], turned)  # 64-bit ids, rows that are not sorted
    best, older = draw_all("", *graphs), draw_all("baseline", *graphs)
    assert (best[0], older[0]) == (_engine.instructions(), "baseline")
    assert best[1] == older[1]


def test_unknown_instructions_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from graphzero import _engine"],
        env={**os.environ, "GRAPHZERO_INSTRUCTIONS": "basline"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "GRAPHZERO_INSTRUCTIONS is basline, expected baseline, or nothing" in done.stderr
