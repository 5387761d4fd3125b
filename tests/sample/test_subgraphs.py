"""Disjoint samples, excluded edges, bidirectional and induced subgraphs: byte for byte what the
plain Python sampler gives, and what they promise."""

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from reference_sampler import ReferenceSampler, Sample
from sampling_graphs import EdgeList, open_graph, random_edges, write_legacy_graph

SEEDS = [0, 1, 7, 399, 7, 50, 7, 0]
FANOUTS = [[3, 2], [-1, 4, 1], [0, 5], [60], []]


@pytest.fixture(scope="module")
def edges() -> EdgeList:
    return random_edges(400, 8_000, seed=5, weighted=True)


@pytest.fixture(scope="module")
def graph(edges: EdgeList, tmp_path_factory: pytest.TempPathFactory) -> gz.Graph:
    return open_graph(tmp_path_factory.mktemp("g") / "g.gl", edges, edge_ids=True)


def some_edges(edges: EdgeList) -> tuple[list[int], list[int]]:
    """A third of all edges, pairs that are none, and one pair twice."""
    chosen = np.flatnonzero(np.random.default_rng(0).random(len(edges.src)) < 0.3)
    sources, targets = edges.src[chosen].tolist(), edges.dst[chosen].tolist()
    return [*sources, 399, sources[0]], [*targets, 398, targets[0]]


def same(ours: Any, theirs: Sample, *, disjoint: bool = False) -> None:
    assert ours.n_id.tolist() == theirs.n_id
    assert ours.edge_index.tolist() == list(theirs.edge_index)
    assert ours.e_id.tolist() == theirs.e_id
    assert ours.num_sampled_nodes == theirs.num_sampled_nodes
    assert ours.num_sampled_edges == theirs.num_sampled_edges
    assert (ours.batch is not None) == disjoint
    if disjoint:
        assert ours.batch.tolist() == theirs.batch


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("excludes", [False, True])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("fanout", FANOUTS)
def test_engine_and_reference_give_the_same_bytes(
    graph: gz.Graph,
    edges: EdgeList,
    fanout: list[int],
    disjoint: bool,
    excludes: bool,
    replace: bool,
    weighted: bool,
) -> None:
    reference = ReferenceSampler(edges)
    exclude = some_edges(edges) if excludes else ([], [])
    options = {"replace": replace, "weighted": weighted, "disjoint": disjoint, "exclude": exclude}
    for seed in (0, 2**64 - 1):
        drawn = reference.sample(SEEDS, fanout, seed=seed, **options)  # type: ignore[arg-type]
        same(graph.sample(SEEDS, fanout, seed=seed, **options), drawn, disjoint=disjoint)  # type: ignore[arg-type]


@pytest.mark.parametrize("excludes", [False, True])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("subgraph", ["bidirectional", "induced"])
@pytest.mark.parametrize("fanout", FANOUTS)
def test_other_edges_are_those_of_the_reference(
    graph: gz.Graph,
    edges: EdgeList,
    fanout: list[int],
    subgraph: Any,
    disjoint: bool,
    excludes: bool,
) -> None:
    reference = ReferenceSampler(edges)
    exclude = some_edges(edges) if excludes else ([], [])
    ours = graph.sample(
        SEEDS, fanout, seed=3, subgraph=subgraph, disjoint=disjoint, exclude=exclude
    )
    drawn = reference.sample(SEEDS, fanout, seed=3, disjoint=disjoint, exclude=exclude)
    make = reference.induced if subgraph == "induced" else reference.bidirectional
    same(ours, make(drawn, set(zip(*exclude, strict=True))), disjoint=disjoint)


@pytest.mark.parametrize("subgraph", ["directional", "bidirectional", "induced"])
def test_threads_change_nothing(graph: gz.Graph, edges: EdgeList, subgraph: Any) -> None:
    options: dict[str, Any] = {
        "subgraph": subgraph,
        "disjoint": True,
        "exclude": some_edges(edges),
        "seed": 8,
    }
    one, eight = (graph.sample(range(400), [5, 4], threads=n, **options) for n in (1, 8))
    for name in ("n_id", "edge_index", "e_id", "edge_weight", "batch"):
        assert np.array_equal(getattr(one, name), getattr(eight, name))


@pytest.mark.parametrize("subgraph", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_excluded_edges_are_nowhere(
    graph: gz.Graph, edges: EdgeList, subgraph: Any, direction: Any
) -> None:
    exclude = some_edges(edges)
    sample = graph.sample(
        range(100), [5, 5], subgraph=subgraph, direction=direction, exclude=exclude, seed=1
    )
    found = set(zip(*sample.n_id[sample.edge_index].tolist(), strict=True))
    assert found
    assert not found & set(zip(*exclude, strict=True))


def test_a_node_draws_as_many_of_its_other_edges(tmp_path: Path) -> None:
    star = EdgeList.of(12, [(leaf, 0) for leaf in range(1, 12)])
    graph = open_graph(tmp_path / "g.gl", star)
    for seed in range(50):
        drawn = graph.sample([0], [3], exclude=([4, 5, 6, 7], [0] * 4), seed=seed).n_id[1:]
        assert len(drawn) == 3
        assert not set(drawn.tolist()) & {4, 5, 6, 7}


def test_what_is_left_of_a_row_is_drawn_evenly(tmp_path: Path) -> None:
    star = EdgeList.of(12, [(leaf, 0) for leaf in range(1, 12)])
    graph = open_graph(tmp_path / "g.gl", star)
    counts = np.zeros(12)
    for seed in range(4_000):
        counts[graph.sample([0], [3], exclude=([1, 6, 11], [0] * 3), seed=seed).n_id[1:]] += 1
    assert counts[[1, 6, 11]].sum() == 0
    expected = 4_000 * 3 / 8
    kept = counts[[2, 3, 4, 5, 7, 8, 9, 10]]
    # Chi-square with 7 degrees of freedom, corrected for drawing 3 of 8 without replacement; 40 has
    # p < 1e-6.
    assert ((kept - expected) ** 2 / expected).sum() * 7 / 5 < 40


def test_trees_share_no_node_and_draw_independently(graph: gz.Graph) -> None:
    sample = graph.sample([0] * 64, [4], disjoint=True, seed=2)
    assert sample.batch is not None
    sources, targets = sample.batch[sample.edge_index]
    assert np.array_equal(sources, targets)
    draws = {tuple(sorted(sample.n_id[sample.batch == tree][1:].tolist())) for tree in range(64)}
    assert len(draws) > 50


def test_unsorted_rows_can_be_excluded_from(tmp_path: Path) -> None:
    edges = random_edges(60, 900, seed=3)
    graph = gz.Graph(write_legacy_graph(tmp_path / "g.gl", edges))
    exclude = (edges.src[:200], edges.dst[:200])
    sample = graph.sample(range(60), [-1], direction="out", exclude=exclude)
    found = set(zip(*sample.n_id[sample.edge_index].tolist(), strict=True))
    every = set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    assert found == every - set(zip(*(ids.tolist() for ids in exclude), strict=True))


def test_subgraphs_above_the_limit_are_refused(graph: gz.Graph) -> None:
    drawn = graph.sample(range(100), [1]).edge_index.shape[1]
    graph.sample(range(100), [1], subgraph="bidirectional", max_edges=2 * drawn)
    with pytest.raises(gz.InputError, match="and their reverses are more than the limit"):
        graph.sample(range(100), [1], subgraph="bidirectional", max_edges=2 * drawn - 1)
    with pytest.raises(gz.InputError, match="induce has more edges than the limit of 100"):
        graph.sample(range(100), [0], subgraph="induced", max_edges=100)


def test_wrong_arguments_are_named(graph: gz.Graph) -> None:
    with pytest.raises(ValueError, match="subgraph is 'tree'"):
        graph.sample([0], [1], subgraph="tree")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 sources of excluded edges, and 1 targets"):
        graph.sample([0], [1], exclude=([1, 2], [1]))


@pytest.mark.parametrize("reject", [False, True])
@pytest.mark.parametrize("weights", ["uniform", "degree"])
@pytest.mark.parametrize("kind", ["pairs", "targets"])
def test_negatives_are_those_of_the_reference(
    graph: gz.Graph, edges: EdgeList, kind: Any, weights: Any, reject: bool
) -> None:
    links = 40
    amount = 3
    sources, targets = edges.src[:links], edges.dst[:links]
    negatives = gz.Negatives(kind, amount, weights=weights, reject=reject)
    ours = graph.sample_links(sources, targets, [2], negatives=negatives, seed=11)
    given = np.repeat(sources, amount).tolist() if kind == "targets" else None
    expected_sources, expected_targets = ReferenceSampler(edges).negatives(
        links * amount, sources=given, by_degree=weights == "degree", reject=reject, seed=11
    )
    n_id = ours.n_id
    assert n_id[ours.target_index].tolist() == [*targets.tolist(), *expected_targets]
    if kind == "pairs":
        assert n_id[ours.source_index].tolist() == [*sources.tolist(), *expected_sources]
    else:
        assert n_id[ours.source_index].tolist() == sources.tolist()
    seeds = n_id[: ours.batch_size].tolist()
    assert seeds == sorted(set(seeds))


@pytest.mark.parametrize("reject", [False, True])
@pytest.mark.parametrize("kind", ["pairs", "targets"])
def test_negatives_from_candidates_are_those_of_the_reference(
    graph: gz.Graph, edges: EdgeList, kind: Any, reject: bool
) -> None:
    links, amount = 40, 3
    sources, targets = edges.src[:links], edges.dst[:links]
    # Few candidates for targets, with a repetition: many pairs are edges.
    lists: dict[str, Any] = {"candidates": [*edges.dst[:5].tolist(), int(edges.dst[0])]}
    if kind == "pairs":
        lists["source_candidates"] = edges.src[:7].tolist()
    negatives = gz.Negatives(kind, amount, reject=reject, **lists)
    ours = graph.sample_links(sources, targets, [2], negatives=negatives, seed=11)
    given = np.repeat(sources, amount).tolist() if kind == "targets" else None
    expected_sources, expected_targets = ReferenceSampler(edges).negatives(
        links * amount, sources=given, reject=reject, seed=11, **lists
    )
    n_id = ours.n_id
    assert n_id[ours.target_index[links:]].tolist() == expected_targets
    assert set(expected_targets) <= set(lists["candidates"])
    if kind == "pairs":
        assert n_id[ours.source_index[links:]].tolist() == expected_sources


def test_a_mask_of_candidates_draws_as_its_ids_do(graph: gz.Graph, edges: EdgeList) -> None:
    ids = np.unique(edges.dst[:9])
    mask = np.zeros(graph.num_nodes, bool)
    mask[ids] = True
    by_ids, by_mask = (
        graph.sample_links(
            edges.src[:9],
            edges.dst[:9],
            [1],
            negatives=gz.Negatives("targets", 4, candidates=candidates),
            seed=3,
        )
        for candidates in (ids.tolist(), mask)
    )
    assert np.array_equal(by_ids.target_index, by_mask.target_index)
    assert np.array_equal(by_ids.n_id, by_mask.n_id)


def test_rejection_among_candidates_is_exact(tmp_path: Path) -> None:
    # Among the candidates node 0 lacks an edge to 7 alone, which is one of 200 of them.
    pairs = [(0, b) for b in range(1, 300) if b != 7]
    graph = open_graph(tmp_path / "g.gl", EdgeList.of(400, pairs))
    candidates = np.arange(1, 201)
    _, targets = draw_negatives(graph, 20, [0] * 20, target_candidates=candidates)
    assert set(targets.tolist()) == {7}
    sources, targets = draw_negatives(
        graph, 20, [], source_candidates=np.array([0]), target_candidates=candidates
    )
    assert set(zip(sources.tolist(), targets.tolist(), strict=True)) == {(0, 7)}
    with pytest.raises(gz.InputError, match=r"node 0 of .* has edges to all candidates"):
        draw_negatives(graph, 1, [0], target_candidates=np.array([1, 2, 0]))
    with pytest.raises(gz.InputError, match="an edge between any two candidates"):
        draw_negatives(
            graph, 1, [], source_candidates=np.array([0]), target_candidates=np.array([1, 2])
        )


def test_negatives_are_the_same_if_their_candidates_are() -> None:
    one = gz.Negatives("pairs", candidates=[1, 2], source_candidates="train")
    assert one == gz.Negatives("pairs", candidates=[1, 2], source_candidates="train")
    assert hash(one) == hash(gz.Negatives("pairs", candidates=[1, 2], source_candidates="train"))
    assert one != gz.Negatives("pairs", candidates=[1, 3], source_candidates="train")
    assert one != gz.Negatives("pairs", candidates=[1, 2])
    assert one != gz.Negatives("pairs", candidates="train", source_candidates="train")


def test_candidates_outside_the_graph_are_named(graph: gz.Graph) -> None:
    negatives = gz.Negatives("targets", candidates=[1, graph.num_nodes])
    with pytest.raises(IndexError, match=rf"candidate.*{graph.num_nodes}"):
        graph.sample_links([0], [1], [1], negatives=negatives)
    for candidates, message in (
        ([], "candidates of negatives: found none"),
        (np.zeros(graph.num_nodes, bool), "candidates of negatives: found none"),
        (np.ones(3, bool), rf"mask of 3 values, expected {graph.num_nodes}"),
        ("train", "called 'train', expected ids or a mask"),
    ):
        with pytest.raises(ValueError, match=message):
            graph.sample_links(
                [0], [1], [1], negatives=gz.Negatives("targets", candidates=candidates)
            )


def draw_negatives(graph: gz.Graph, count: int, given: Any, **options: Any) -> Any:
    arguments: dict[str, Any] = {"weights": _engine.NegativeWeights.UNIFORM, "reject": True}
    sources, targets = np.empty(count, np.int64), np.empty(count, np.int64)
    _engine.draw_negatives(
        graph._file.topology,
        given_sources=np.array(given, np.int64),
        seed=1,
        threads=2,
        sources=sources,
        targets=targets,
        **{**arguments, **options},
    )
    return sources, targets


def test_rejection_is_exact_where_almost_every_pair_is_an_edge(tmp_path: Path) -> None:
    # Node 0 has an edge to all but node 7; every other pair is an edge too, except (150, 5).
    pairs = [(a, b) for a in range(300) for b in range(300) if (a, b) not in {(0, 7), (150, 5)}]
    graph = open_graph(tmp_path / "g.gl", EdgeList.of(300, pairs))
    sources, targets = draw_negatives(graph, 20, [0] * 20)
    assert set(targets.tolist()) == {7}
    sources, targets = draw_negatives(graph, 20, [])
    assert set(zip(sources.tolist(), targets.tolist(), strict=True)) == {(0, 7), (150, 5)}
    with pytest.raises(gz.InputError, match=r"node 1 of .* has edges to all other nodes"):
        draw_negatives(graph, 1, [1])
    complete = open_graph(
        tmp_path / "c.gl", EdgeList.of(5, [(a, b) for a in range(5) for b in range(5)])
    )
    with pytest.raises(gz.InputError, match="an edge between any two nodes"):
        draw_negatives(complete, 1, [])


def test_negatives_by_degree_follow_the_degrees(tmp_path: Path) -> None:
    pairs = [(0, 1)] * 6 + [(1, 2)] * 3 + [(2, 0)]
    graph = open_graph(tmp_path / "g.gl", EdgeList.of(4, pairs))
    sources, targets = draw_negatives(
        graph, 20_000, [], weights=_engine.NegativeWeights.DEGREE, reject=False
    )
    # Five standard deviations of a count are below 360.
    assert np.abs(np.bincount(sources, minlength=4) - [12_000, 6_000, 2_000, 0]).max() < 360
    assert np.abs(np.bincount(targets, minlength=4) - [2_000, 12_000, 6_000, 0]).max() < 360


def test_in_edges_alone_give_negatives_too(tmp_path: Path, edges: EdgeList) -> None:
    graph = open_graph(tmp_path / "g.gl", edges, direction="in")
    negatives = gz.Negatives("targets", 4, reject=True)
    links = graph.sample_links(edges.src[:50], edges.dst[:50], [1], negatives=negatives, seed=1)
    sources = np.repeat(edges.src[:50], 4)
    targets = links.n_id[links.target_index[50:]]
    every = set(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    assert not every & set(zip(sources.tolist(), targets.tolist(), strict=True))


def test_disjoint_links_have_trees_by_link(graph: gz.Graph, edges: EdgeList) -> None:
    links = 10
    sources, targets = edges.src[:links], edges.dst[:links]
    plain, disjoint = (
        graph.sample_links(
            sources, targets, [1], negatives=gz.Negatives("targets", 3), disjoint=d, seed=4
        )
        for d in (False, True)
    )
    assert np.array_equal(plain.n_id[plain.target_index], disjoint.n_id[disjoint.target_index])
    negatives = disjoint.target_index[links:].reshape(links, 3)
    assert np.array_equal(negatives % links, np.repeat(np.arange(links), 3).reshape(links, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "triplet"}, "kind of negatives is 'triplet'"),
        ({"kind": "pairs", "amount": 0}, "amount of negatives is 0"),
        ({"kind": "targets", "amount": 1.5}, "whole number"),
        ({"kind": "pairs", "weights": "log"}, "weights of negatives is 'log'"),
        (
            {"kind": "pairs", "weights": "degree", "candidates": [1]},
            "candidates of negatives are drawn uniformly, found weights 'degree'",
        ),
        ({"kind": "targets", "source_candidates": [1]}, "their sources are those of the links"),
        ({"kind": "targets", "candidates": [0.5]}, "candidates of negatives"),
        ({"kind": "targets", "candidates": [[1], [2]]}, "candidates of negatives"),
    ],
)
def test_wrong_negatives_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        gz.Negatives(**options)
