"""Links, negatives and walks of typed and timed graphs."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from typed_graphs import TypedEdges, TypedGraph, random_typed_graph, symmetric_edges
from typed_reference_sampler import TypedReferenceSampler

RATES = ("user", "rates", "item")


def draw_negatives(
    topology: _engine.Topology, relation: int, count: int, disk: Any = None, **options: Any
) -> list[tuple[int, int]]:
    sources, targets = np.empty(count, np.int64), np.empty(count, np.int64)
    given = options.pop("sources", None)
    arrays = {
        "target_candidates": options.pop("candidates", None),
        "source_candidates": options.pop("source_candidates", None),
        "times": options.pop("times", None),
    }
    _engine.draw_negatives(
        topology,
        relation=relation,
        given_sources=np.array([] if given is None else given, np.int64),
        weights=_engine.NegativeWeights.UNIFORM,
        threads=2,
        sources=sources,
        targets=targets,
        disk=disk,
        **{k: None if v is None else np.array(v, np.int64) for k, v in arrays.items()},
        **options,
    )
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


@pytest.mark.parametrize("graph_seed", range(16))
def test_negatives_are_those_of_the_reference(tmp_path: Path, graph_seed: int) -> None:
    graph = random_typed_graph(graph_seed, timed=graph_seed % 4 != 0)
    topology = _engine.Topology.open(str(graph.write(tmp_path / "g.gl")))
    disk = _engine.DiskTopology.open(topology)
    reference = TypedReferenceSampler(graph)
    rng = random.Random(graph_seed)
    for relation, reject, timed in product(range(graph.num_relations), (False, True), (0, 1)):
        source_type, target_type = graph.ends(relation)
        count = 40

        def some(kind: int) -> list[int] | None:
            nodes = graph.types[kind][1]
            return [rng.randrange(nodes) for _ in range(9)] if rng.random() < 0.4 else None

        options: dict[str, Any] = {"reject": reject, "seed": rng.randrange(2**63)}
        options["candidates"] = some(target_type)
        if rng.random() < 0.5:
            options["sources"] = [rng.randrange(graph.types[source_type][1]) for _ in range(count)]
        else:
            options["source_candidates"] = some(source_type)
        if timed:
            lists = (
                (source_type, options.get("source_candidates")),
                (
                    target_type,
                    options["candidates"],
                ),
            )
            low = max(
                min((graph.types[t][2] or [0])[n] for n in nodes or range(graph.types[t][1]))
                if graph.types[t][2]
                else -1000
                for t, nodes in lists
            )
            low -= rng.random() < 0.1  # then nothing exists for some
            options["times"] = [
                rng.choice([low + rng.randint(0, 30), 2**63 - 1]) for _ in range(count)
            ]
        try:
            expected = reference.negatives(relation, count, **options)
        except ValueError:  # a node has edges to all others, or none exists yet
            with pytest.raises(gz.InputError, match=r"there (is|are) no negative"):
                draw_negatives(topology, relation, count, **options)
            continue
        for source in (None, disk):
            assert draw_negatives(topology, relation, count, source, **options) == expected


@pytest.mark.parametrize("graph_seed", range(12))
def test_walks_are_those_of_the_reference(tmp_path: Path, graph_seed: int) -> None:
    graph = random_typed_graph(graph_seed)
    path = graph.write(tmp_path / "g.gl")
    reference = TypedReferenceSampler(graph, "out")
    rng = random.Random(graph_seed)
    for metapath, weighted in (([0, 5], False), ([0, 5], True), ([2], False), ([2, 0, 5], True)):
        starts = [rng.randrange(graph.types[0][1]) for _ in range(50)]
        expected = reference.walk(starts, 6, metapath, weighted=weighted, seed=graph_seed)
        for io in ("mapped", "staged"):
            walks = gz.Graph(path, io=io).random_walk(
                starts,
                6,
                metapath=[graph.triple(r) for r in metapath],
                weighted=weighted,
                seed=graph_seed,
            )
            assert walks.lengths.tolist() == [len(walk) - 1 for walk in expected]
            for found, walk in zip(walks.nodes.tolist(), expected, strict=True):
                assert found == walk + [walk[-1]] * (7 - len(walk))


def test_a_walk_that_ends_early_repeats_a_node_of_the_type_where_it_ended(tmp_path: Path) -> None:
    graph = TypedGraph(
        [("user", 9, None), ("item", 2, None)],
        [TypedEdges(0, "rates", 1, src=[8], dst=[1]), TypedEdges(1, "like", 1, src=[0], dst=[1])],
    )
    opened = gz.Graph(graph.write(tmp_path / "g.gl"))
    walks = opened.random_walk([8, 7], 2, metapath=["rates", "like"])
    assert walks.lengths.tolist() == [1, 0]
    # User 7 has no item, and there is no item 7.
    assert walks.nodes.tolist() == [[8, 1, 1], [7, 7, 7]]


def test_a_metapath_of_the_only_relation_walks_as_without(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    gz.write_graph(tmp_path / "g.gl", rng.integers(0, 50, 300), rng.integers(0, 50, 300))
    graph = gz.Graph(tmp_path / "g.gl")
    plain = graph.random_walk(range(50), 8, seed=4)
    along = graph.random_walk(range(50), 8, metapath=[("", "", "")], seed=4)
    assert plain.nodes.tolist() == along.nodes.tolist()


@pytest.mark.parametrize(
    ("metapath", "options", "message"),
    [
        ([], {}, "follow a metapath, expected metapath"),
        (["rates", "rates"], {}, "expected a relation that starts where that one ends"),
        (["rates"], {}, "expected a relation that starts where that one ends"),  # comes again
        (["rates", "rev_rates"], {"p": 2.0}, "walks along a metapath are plain"),
        (["rates", "rev_rates"], {"restart": 0.5}, "walks along a metapath are plain"),
        (["likes"], {}, "a step of metapath is 'likes', expected one of"),
        (["like"], {"weighted": True}, "stores no edge weights of relation"),
    ],
)
def test_wrong_metapaths_are_named(
    tmp_path: Path, metapath: list[str], options: dict[str, Any], message: str
) -> None:
    graph = gz.Graph(random_typed_graph(1).write(tmp_path / "g.gl"))
    with pytest.raises(ValueError, match=message):
        graph.random_walk([0], 4, metapath=metapath, **options)


# Users 0 to 3 rate items 0 to 4; (0, 1) at times 5, 10 and 10.
RATINGS = TypedGraph(
    [("user", 4, [0, 0, 0, 20]), ("item", 5, [0, 10, 0, 30, 0])],
    [
        TypedEdges(
            0,
            "rates",
            1,
            src=[0, 0, 0, 1, 1, 2],
            dst=[1, 1, 1, 1, 0, 4],
            times=[5, 10, 10, 11, 7, 8],
        ),
        symmetric_edges(0, "knows", [0, 0], [1, 1], times=[5, 10]),
    ],
    views=[("rev_rates", 0)],
)


@pytest.fixture
def ratings(tmp_path: Path) -> gz.Graph:
    return gz.Graph(RATINGS.write(tmp_path / "ratings.gl"))


def edges_between(sample: gz.TypedSample, relation: Any, pair: tuple[int, int]) -> list[int]:
    """Edge ids of a relation between two nodes, in any tree."""
    source, _, target = next(t for t in sample.edge_types if relation in (t, t[1]))
    edges = sample[relation]
    ends = sample[source].n_id[edges.edge_index[0]], sample[target].n_id[edges.edge_index[1]]
    return sorted(set(edges.e_id[(ends[0] == pair[0]) & (ends[1] == pair[1])].tolist()))


def test_typed_links_are_seeds_of_their_types(ratings: gz.Graph) -> None:
    sample = ratings.sample_links([0, 1, 0], [1, 0, 0], [0], relation="rates")
    assert isinstance(sample, gz.TypedSample)
    assert sample["user"].n_id.tolist() == [0, 1]
    assert sample["item"].n_id.tolist() == [0, 1]
    assert sample.source_index.tolist() == [0, 1, 0]
    assert sample.target_index.tolist() == [1, 0, 0]
    assert sample.link_relation == RATES
    assert sample.num_links == 3


def test_links_along_a_view_have_its_ends(ratings: gz.Graph) -> None:
    sample = ratings.sample_links([3, 3], [2, 0], [0], relation="rev_rates", disjoint=True)
    assert sample["item"].n_id.tolist() == [3, 3]
    assert sample["user"].n_id.tolist() == [2, 0]
    # Trees count over the types in schema order.
    assert sample["user"].batch.tolist() == [0, 1]
    assert sample["item"].batch.tolist() == [2, 3]


def test_links_with_times_do_not_show_their_own_edges(ratings: gz.Graph) -> None:
    sample = ratings.sample_links([0], [1], [-1, -1], relation="rates", time=[10])
    # Item 1 comes into being at 10, so that no edge to it is older: none is history.
    assert edges_between(sample, "rates", (0, 1)) == []
    assert edges_between(sample, "rev_rates", (1, 0)) == []
    assert sample.seed_time.tolist() == [10, 10]
    later = ratings.sample_links([0], [1], [-1, -1], relation="rates", time=[12])
    assert edges_between(later, "rates", (0, 1)) == [0, 1, 2]
    assert 3 in later["rates"].e_id


def test_history_between_the_ends_of_a_link_stays(ratings: gz.Graph) -> None:
    fanout = {"knows": [-1, -1]}
    options: dict[str, Any] = {"relation": "knows", "default_fanout": [0, 0], "time": [10]}
    sample = ratings.sample_links([0], [1], fanout, **options)
    assert set(sample["knows"].e_id.tolist()) == {0}
    everything = ratings.sample_links([0], [1], fanout, exclude_seed_edges=False, **options)
    assert set(everything["knows"].e_id.tolist()) == {0, 1}
    nothing = ratings.sample_links([0], [1], fanout, exclude_seed_edges="pair", **options)
    assert nothing["knows"].num_edges == 0


@pytest.mark.parametrize(("relation", "pair"), [("rates", ([0], [1])), ("rev_rates", ([1], [0]))])
def test_excluded_edges_do_not_come_back_through_a_view(
    ratings: gz.Graph, relation: str, pair: Any
) -> None:
    sample = ratings.sample({"user": [0], "item": [1]}, [-1, -1], exclude={relation: pair})
    assert edges_between(sample, "rates", (0, 1)) == []
    assert edges_between(sample, "rev_rates", (1, 0)) == []
    assert edges_between(sample, "rates", (1, 1)) == edges_between(sample, "rev_rates", (1, 1))
    assert edges_between(sample, "rates", (1, 1)) == [3]


def test_excluded_edges_do_not_come_back_as_their_reverses(
    ratings: gz.Graph, tmp_path: Path
) -> None:
    seeds = {"user": [0, 1]}
    sample = ratings.sample(seeds, {"knows": [-1]}, default_fanout=[0])
    assert len(sample["knows"].e_id) == 4
    options: dict[str, Any] = {"fanout": {"knows": [-1]}, "default_fanout": [0]}
    assert not len(ratings.sample(seeds, exclude={"knows": ([1], [0])}, **options)["knows"].e_id)
    graph = TypedGraph(
        [("user", 2, None), ("item", 2, None)],
        [
            TypedEdges(0, "rates", 1, src=[0, 1], dst=[1, 1]),
            TypedEdges(1, "rated", 0, src=[1, 1], dst=[0, 1]),
        ],
        inverses=[(0, 1)],
    )
    inverse = gz.Graph(graph.write(tmp_path / "g.gl"))
    found = inverse.sample({"user": [0, 1]}, [-1], exclude={"rates": ([0], [1])})
    assert found["rated"].e_id.tolist() == [1]
    with pytest.raises(ValueError, match="has 1 sources and 2 targets"):
        inverse.sample({"user": [0]}, [-1], exclude={"rates": ([0], [1, 1])})


@pytest.mark.parametrize("exclude", [None, "own"])
def test_a_link_after_its_edge_can_name_it(ratings: gz.Graph, exclude: Any) -> None:
    sample = ratings.sample_links(
        [0],
        [1],
        [-1, -1],
        relation="rates",
        time=[12],
        link_edge_ids=[1],
        exclude_seed_edges=exclude,
    )
    assert edges_between(sample, "rates", (0, 1)) == [0, 2]
    assert edges_between(sample, "rev_rates", (1, 0)) == [0, 2]


def test_edges_of_an_inverse_cannot_be_told_by_the_ids_of_links(tmp_path: Path) -> None:
    graph = TypedGraph(
        [("user", 2, None), ("item", 2, None)],
        [
            TypedEdges(0, "rates", 1, src=[0, 0, 0], dst=[1, 1, 0], times=[5, 10, 5]),
            TypedEdges(1, "rated", 0, src=[0, 1, 1], dst=[0, 0, 0], times=[5, 10, 5]),
        ],
        inverses=[(0, 1)],
    )
    opened = gz.Graph(graph.write(tmp_path / "g.gl"))
    options: dict[str, Any] = {"relation": "rates", "time": [12], "link_edge_ids": [1]}
    sample = opened.sample_links([0], [1], [-1], **options)
    assert edges_between(sample, "rates", (0, 1)) == [0]
    assert edges_between(sample, "rated", (1, 0)) == []
    assert edges_between(sample, "rated", (0, 0)) == [0]


def test_own_edges_are_left_out_of_their_own_trees_only(ratings: gz.Graph) -> None:
    sample = ratings.sample_links([0, 1], [1, 1], [-1, -1], relation="rates", time=[10, 11])
    edges = sample["rates"]
    tree = sample["item"].batch[edges.edge_index[1]]
    # The second link sees the first one's edges: they are history for it.
    for tree_number, expected in ((2, []), (3, [0, 1, 2])):
        assert sorted(edges.e_id[tree == tree_number].tolist())[:3] == expected


@pytest.mark.parametrize("kind", ["pairs", "targets"])
def test_negatives_of_timed_links_exist_then(ratings: gz.Graph, kind: Any) -> None:
    times = np.array([7, 10, 40])
    for seed in range(30):
        sample = ratings.sample_links(
            [0, 1, 2],
            [1, 0, 4],
            [2],
            relation="rates",
            time=times,
            negatives=gz.Negatives(kind, 2, reject=True),
            seed=seed,
        )
        users = sample["user"].n_id[sample.source_index]
        items = sample["item"].n_id[sample.target_index]
        if kind == "pairs":
            at = times[np.arange(6) % 3]
            sources, targets = users[3:], items[3:]
        else:
            at = times.repeat(2)
            sources, targets = users.repeat(2), items[3:]
        node_times = [np.array(times_) for _, _, times_ in RATINGS.types]
        assert (node_times[1][targets] <= at).all()
        if kind == "pairs":
            assert (node_times[0][sources] <= at).all()
        rates = RATINGS.relations[0]
        for source, target, time in zip(sources, targets, at, strict=True):
            assert not any(
                (u, v) == (source, target) and t <= time
                for u, v, t in zip(rates.src, rates.dst, rates.times or [], strict=True)
            )
        # Every end has the time of its link.
        assert sample.seed_time[sample["item"].batch[sample.target_index]].tolist() == [
            *times,
            *at,
        ]


def test_typed_links_without_times_leave_their_edges_out_on_request(ratings: gz.Graph) -> None:
    options: dict[str, Any] = {"relation": "rates", "seed": 1}
    shown = ratings.sample_links([0], [1], [-1], **options)
    assert edges_between(shown, "rates", (0, 1)) == [0, 1, 2]
    hidden = ratings.sample_links([0], [1], [-1], exclude_seed_edges=True, **options)
    assert edges_between(hidden, "rates", (0, 1)) == []
    assert edges_between(hidden, "rev_rates", (1, 0)) == []
    assert 3 in hidden["rates"].e_id


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.sample_links([0], [1], [1]), "relation of the links is None, expected one of"),
        (lambda g: g.sample_links([0], [9], [1], relation="rates"), "seed of type item 9"),
        (
            lambda g: g.sample_links([0], [1], [1], relation="rates", time=[1, 2]),
            "expected 1 times",
        ),
        (
            lambda g: g.sample_links([0], [1], [1], relation="rates", time="own"),
            "expected times, one for each link",
        ),
        (
            lambda g: g.sample_links([0], [1], [1], relation="rates", link_edge_ids=[1]),
            "expected times of the links",
        ),
        (
            lambda g: g.sample_links([0], [1], [1], relation="rates", exclude_seed_edges="own"),
            "expected times of the links",
        ),
        (
            lambda g: g.sample_links([0], [1], [1], relation="rates", time=5, link_edge_ids=[6]),
            r"link_edge_ids\[0\] is 6, expected 0 to 5: ids of edges of \('user', 'rates'",
        ),
        (
            lambda g: g.sample_links([0], [1], [1], relation="rates", time=5, link_edge_ids=[-1]),
            r"link_edge_ids\[0\] is -1, expected 0 to 5",
        ),
        (
            lambda g: g.sample_links([0], [1], [1], relation="rates", time=5, link_edge_ids=[1, 2]),
            "2 edge ids of links, expected 1",
        ),
        (
            lambda g: g.sample_links(
                [0],
                [1],
                [1],
                relation="rates",
                time=5,
                negatives=gz.Negatives("pairs", weights="degree"),
            ),
            "negatives that exist at a time are drawn uniformly",
        ),
        (
            lambda g: g.sample_links(
                [0], [1], [1], relation="rates", time=-5, negatives=gz.Negatives("pairs")
            ),
            "no source exists at time -5, that of the link: .* the first source exists from 0 on",
        ),
        (
            lambda g: g.sample_links(
                [0, 1],
                [1, 1],
                [1],
                relation="rates",
                time=[40, 20],
                negatives=gz.Negatives("targets", 3, candidates=[3]),
            ),
            "no target exists at time 20, that of link 1: .* the first target exists from 30 on",
        ),
        (
            lambda g: g.sample_links(
                [0, 1, 2],
                [1, 1, 1],
                [1],
                relation="rates",
                time=[40, 40, 20],
                negatives=gz.Negatives("pairs", 2, candidates=[3]),
            ),
            "no target exists at time 20, that of link 2",
        ),
        (
            lambda g: g.sample_links([0, 1], [1, 1], [1], relation="rates", time=[40, 20, 5]),
            r"time: found shape \(3,\), expected 2 times, one for each link",
        ),
        (
            lambda g: g.sample_links(
                [0], [1], [1], relation="rates", negatives=gz.Negatives("pairs", candidates=[7])
            ),
            "candidate 7 at position 0",
        ),
    ],
)
def test_wrong_links_are_named(ratings: gz.Graph, call: Any, message: str) -> None:
    with pytest.raises((ValueError, IndexError), match=message):
        call(ratings)


def test_timed_links_of_a_flat_graph(tmp_path: Path) -> None:
    only = symmetric_edges(0, "", [0, 0, 1], [1, 1, 2], times=[5, 10, 7])
    flat = TypedGraph([("", 4, None)], [only], flat=True)
    graph = gz.Graph(flat.write(tmp_path / "g.gl"))
    sample = graph.sample_links([0], [1], [-1, -1], time=[10], seed=2)
    assert isinstance(sample, gz.SampledLinks)
    assert set(sample.e_id.tolist()) == {0, 2}  # not the edge of time 10, either way round
    assert sample.seed_time.tolist() == [10, 10]
    assert (sample.source_index.tolist(), sample.target_index.tolist()) == ([0], [1])
