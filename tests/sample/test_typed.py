"""Samples of typed and timed graphs: byte for byte what the plain Python sampler gives, whatever
the number of threads and the way of reading, and never later than the time of the seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from typed_engine import TypedEngine, assert_same, placed
from typed_graphs import NO_TIME, TypedGraph, random_typed_graph
from typed_reference_sampler import Excluded, Temporal, TypedReferenceSampler
from typed_requests import Request, random_request

GRAPHS = range(24)
REQUESTS = 10  # for each graph and direction


def written(seed: int, path: Path) -> tuple[TypedGraph, Path]:
    graph = random_typed_graph(seed, timed=seed % 5 != 0)
    return graph, graph.write(path / "graph.gl")


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("graph_seed", GRAPHS)
def test_engine_and_reference_give_the_same_bytes(
    tmp_path: Path, graph_seed: int, direction: str
) -> None:
    graph, path = written(graph_seed, tmp_path)
    reference = TypedReferenceSampler(graph, direction)
    engines = [TypedEngine(path, disk=disk, direction=direction) for disk in (False, True)]
    rng = random.Random(f"{graph_seed} {direction}")
    for _ in range(REQUESTS):
        request = random_request(graph, rng, mixed=True)
        expected = request.expected(reference)
        for engine in engines:
            for threads in (1, 2, 8):
                drawn = request.draw(engine, threads)
                assert_same(graph, drawn, expected, disjoint=request.disjoint)


@pytest.mark.parametrize("disjoint", [True, False])
@pytest.mark.parametrize("subgraph", ["drawn", "induced"])
def test_large_samples_are_the_same_with_any_number_of_threads(
    tmp_path: Path, limit_threads: Callable[[int], None], subgraph: str, disjoint: bool
) -> None:
    """Tables of local ids grow several times, in trees that differ a lot in size and have several
    runs of edges in a hop, because several relations find a type; and threads share the draws, and
    the types whose nodes are numbered. The samples above, which the reference checks, are too small
    for that."""
    limit_threads(8)
    graph = random_typed_graph(3, scale=4)
    path = graph.write(tmp_path / "graph.gl")
    rng = random.Random(1)
    seeds = {t: [rng.randrange(graph.types[t][1]) for _ in range(600)] for t in (0, 1)}
    options = {
        "replace": False,
        "weighted": False,
        "seed": 5,
        "disjoint": disjoint,
        "temporal": Temporal([rng.randint(-1000, 1000) for _ in range(1200)]) if disjoint else None,
        "excluded": Excluded(),
    }
    request = Request(seeds, [[6, 6]] * graph.num_relations, subgraph, options)
    expected = placed(request.draw(TypedEngine(path), 1))
    if disjoint:
        assert max(new[-1] for new in expected["num_sampled_nodes"]) > 2 * 4096
    for disk in (False, True):
        engine = TypedEngine(path, disk=disk)
        for threads in (2, 8):
            assert placed(request.draw(engine, threads)) == expected


@pytest.mark.parametrize("graph_seed", GRAPHS)
def test_nothing_is_later_than_the_time_of_its_seed(tmp_path: Path, graph_seed: int) -> None:
    graph, path = written(graph_seed, tmp_path)
    rng = random.Random(graph_seed)
    for direction in ("in", "out"):
        engine = TypedEngine(path, direction=direction)
        for _ in range(2 * REQUESTS):
            request = random_request(graph, rng, timed=1.0)
            assert not latecomers(graph, request, placed(request.draw(engine)), direction)


def latecomers(
    graph: TypedGraph, request: Request, sample: dict[str, list], direction: str
) -> list[str]:
    """Nodes and edges of a sample that its seeds cannot have known: looks at times alone."""
    temporal = request.temporal
    assert temporal is not None
    late = []
    for t, (name, _, times) in enumerate(graph.types):
        seeds = sample["num_sampled_nodes"][t][0]
        for at, (node, tree) in enumerate(zip(sample["n_id"][t], sample["batch"][t], strict=True)):
            if at >= seeds and times is not None and not allowed(temporal, times[node], tree):
                late.append(f"{name} {node} of time {times[node]} in tree {tree}")
    for r in range(graph.num_relations):
        times = graph.relations[graph.base(r)].times
        if times is None or sample["e_id"][r] is None:
            continue
        of_id = dict(zip(graph.relations[graph.base(r)].edge_ids(), times, strict=True))
        rows = 1 if direction == "in" else 0
        kind = graph.ends(r)[rows]
        for e_id, node in zip(sample["e_id"][r], sample["edge_index"][r][rows], strict=True):
            if not allowed(temporal, of_id[e_id], sample["batch"][kind][node]):
                late.append(f"edge {e_id} of relation {r} of time {of_id[e_id]}")
    return late


def allowed(temporal: Temporal, time: int, tree: int) -> bool:
    """No window here: of two times of a slot, only the later one must lie in it."""
    assert time != NO_TIME
    at = temporal.times[tree]
    return time < at if temporal.strict else time <= at


class IgnoresTime(TypedReferenceSampler):
    def eligible(self, row, tree, temporal):  # type: ignore[no-untyped-def]
        return row


class TimeOfTheNeighbour(TypedReferenceSampler):
    """Goes by the time of the edge alone, and shows nodes that do not exist yet."""

    def _rows(self, relation):  # type: ignore[no-untyped-def]
        edge_times = self.graph.relations[self.graph.base(relation)].times
        rows = super()._rows(relation)
        if edge_times is None:
            return rows
        return [
            [type(s)(s.place, s.source, s.target, edge_times[s.place]) for s in row] for row in rows
        ]


@pytest.mark.parametrize("mutant", [IgnoresTime, TimeOfTheNeighbour])
def test_a_sampler_that_ignores_time_is_found_out(tmp_path: Path, mutant: type) -> None:
    found = []
    for graph_seed in GRAPHS:
        graph = random_typed_graph(graph_seed)
        reference = mutant(graph)
        rng = random.Random(graph_seed)
        for _ in range(REQUESTS):
            request = random_request(graph, rng, timed=1.0)
            if request.subgraph != "drawn":
                continue
            sample = request.expected(reference)
            lists = {
                "n_id": sample.n_id,
                "batch": sample.batch,
                "num_sampled_nodes": sample.num_sampled_nodes,
                "e_id": [
                    [graph.relations[graph.base(r)].edge_ids()[place] for *_, place in edges]
                    for r, edges in enumerate(sample.edges)
                ],
                "edge_index": [
                    [[e[0] for e in edges], [e[1] for e in edges]] for edges in sample.edges
                ],
            }
            found += latecomers(graph, request, lists, "in")
    assert found
