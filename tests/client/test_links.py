"""Samples around links, disjoint samples and other subgraphs through a daemon."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from contents import same_sample

SEEDS = [7, 11, 7, 1999, 0]
FANOUT = [4, 3]


@pytest.fixture
def links(graph: gz.Graph) -> tuple[Any, Any]:
    """Sources and targets of 50 edges."""
    every = graph.sample(range(0, graph.num_nodes, 40), [1], seed=0)
    return every.n_id[every.edge_index[0]], every.n_id[every.edge_index[1]]


@pytest.mark.parametrize(
    "options",
    [
        {"disjoint": True},
        {"subgraph": "bidirectional"},
        {"subgraph": "induced", "disjoint": True, "weighted": True},
    ],
)
def test_sample_is_that_of_the_embedded_engine(
    client: gz.Client, graph: gz.Graph, column: Callable[[str], Any], options: dict[str, Any]
) -> None:
    batch = client.sample(SEEDS, FANOUT, seed=5, **options)
    same_sample(batch, graph.sample(SEEDS, FANOUT, seed=5, **options))
    assert np.array_equal(batch.x, column("x")[batch.n_id])


@pytest.mark.parametrize("exclude", [False, True, "both"])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize(
    "negatives",
    [None, gz.Negatives("pairs", 1.5), gz.Negatives("targets", 2, weights="degree", reject=True)],
    ids=["none", "pairs", "targets"],
)
def test_links_are_those_of_the_embedded_engine(
    client: gz.Client,
    graph: gz.Graph,
    column: Callable[[str], Any],
    links: tuple[Any, Any],
    negatives: gz.Negatives | None,
    disjoint: bool,
    exclude: Any,
) -> None:
    options: dict[str, Any] = {
        "negatives": negatives,
        "exclude_seed_edges": exclude,
        "disjoint": disjoint,
        "seed": 9,
    }
    batch = client.sample_links(*links, FANOUT, **options)
    expected = graph.sample_links(*links, FANOUT, **options)
    same_sample(batch, expected)
    assert np.array_equal(batch.source_index, expected.source_index)
    assert np.array_equal(batch.target_index, expected.target_index)
    assert np.array_equal(batch.x, column("x")[batch.n_id])
    assert np.array_equal(batch.n_id[batch.source_index[:50]], links[0])
    assert np.array_equal(batch.n_id[batch.target_index[:50]], links[1])
    found = set(zip(*batch.n_id[batch.edge_index].tolist(), strict=True))
    own = set(zip(links[0].tolist(), links[1].tolist(), strict=True))
    assert bool(found & own) == (exclude is False)
    if exclude == "both":
        assert not found & {(target, source) for source, target in own}


def test_candidates_are_those_of_the_embedded_engine(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path, links: tuple[Any, Any]
) -> None:
    data = tmp_path / "masked"
    shutil.copytree(dataset, data)
    valid = np.arange(2000) % 7 == 3
    gz.write_features(data / "valid_mask.gd", valid)
    train = gz.FeatureStore(data / "train.gd").get_tensor()
    graph = gz.Graph(data)
    ways: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"kind": "targets", "candidates": [5, 6, 5]}, {}),
        ({"kind": "pairs", "source_candidates": valid}, {}),
        ({"kind": "pairs", "candidates": range(2000), "source_candidates": [7, 8]}, {}),
        ({"kind": "targets", "candidates": "train"}, {"candidates": train}),
        (
            {"kind": "pairs", "candidates": "valid_mask", "source_candidates": "train"},
            {"candidates": valid, "source_candidates": train},
        ),
    ]
    with gz.connect(start_daemon(data).address) as client:
        for (asked, embedded), reject in itertools.product(ways, (False, True)):
            batch, expected = (
                source.sample_links(
                    *links, FANOUT, negatives=gz.Negatives(amount=3, reject=reject, **given), seed=2
                )
                for source, given in ((client, asked), (graph, {**asked, **embedded}))
            )
            same_sample(batch, expected)
            assert np.array_equal(batch.source_index, expected.source_index)
            assert np.array_equal(batch.target_index, expected.target_index)


def test_a_loader_takes_disjoint_and_subgraph(client: gz.Client, graph: gz.Graph) -> None:
    loader = client.loader(None, FANOUT, 500, disjoint=True, subgraph="induced", columns=[])
    for batch in loader:
        expected = graph.sample(
            batch.n_id[:500], FANOUT, seed=batch.seed, disjoint=True, subgraph="induced"
        )
        same_sample(batch, expected)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda c: c.sample_links([0, 1], [2], FANOUT), ValueError, "2 sources and 1 targets"),
        (lambda c: c.sample_links([0], [2000], FANOUT), gz.InvalidRequest, "2000"),
        (lambda c: c.sample_links([0], [1], FANOUT, exclude_seed_edges="all"), ValueError, "all"),
        (lambda c: c.sample(SEEDS, FANOUT, subgraph="all"), ValueError, "all"),
        (
            lambda c: links_among(c, candidates=[3, 2000]),
            gz.InvalidRequest,
            r"candidates of negatives\[1\] is 2000",
        ),
        (
            lambda c: links_among(c, source_candidates=[-1]),
            gz.InvalidRequest,
            r"source_candidates of negatives\[0\] is -1",
        ),
        (lambda c: links_among(c, candidates=np.ones(3, bool)), ValueError, "mask of 3 values"),
        (lambda c: links_among(c, candidates="x"), gz.NotFound, "no split 'x', it has .*train"),
    ],
)
def test_errors_have_the_value_and_the_session_lives(
    client: gz.Client, call: Callable[[gz.Client], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call(client)
    assert client.sample(SEEDS, FANOUT).batch_size == len(SEEDS)


def links_among(client: gz.Client, **candidates: Any) -> gz.Batch:
    return client.sample_links([0], [1], FANOUT, negatives=gz.Negatives("pairs", **candidates))


def test_an_older_daemon_is_not_asked_for_what_it_would_ignore(client: gz.Client) -> None:
    del client._pool.welcome.features[:]
    assert client.sample(SEEDS, FANOUT).batch_size == len(SEEDS)
    with pytest.raises(gz.InvalidRequest, match="cannot do 'disjoint'"):
        client.sample(SEEDS, FANOUT, disjoint=True)
    with pytest.raises(gz.InvalidRequest, match="cannot do 'subgraph'"):
        client.loader(None, FANOUT, 10, subgraph="induced")
    with pytest.raises(gz.InvalidRequest, match="cannot do 'links'"):
        client.sample_links([0], [1], FANOUT)
    client._pool.welcome.features.append("links")
    with pytest.raises(gz.InvalidRequest, match="cannot do 'candidates'"):
        links_among(client, candidates=[3])


def test_negatives_of_another_type_say_what_is_expected(client: gz.Client) -> None:
    for given in ("binary", 4):
        with pytest.raises(TypeError, match=r"negatives is .*, expected graphzero\.Negatives"):
            client.sample_links([0], [1], [1], negatives=given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="amount of negatives is '2', expected a number"):
        gz.Negatives("targets", "2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"found texts, .* Client\.find_nodes\(\)"):
        client.gather("x", ["ann"])  # type: ignore[list-item]


def test_negatives_for_a_node_that_is_linked_to_all_is_a_refused_request(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    data = tmp_path / "star"
    data.mkdir()
    gz.write_graph(data / "graph.gl", np.zeros(4, np.int64), np.arange(1, 5))
    with gz.connect(start_daemon(data).address) as client:
        wanted = gz.Negatives("targets", reject=True)
        with pytest.raises(gz.InvalidRequest, match=r"node 0 of .* has edges to all other nodes"):
            client.sample_links([0], [1], [1], negatives=wanted)
        batch = client.sample_links([1], [0], [1], negatives=wanted)
        assert len(batch.target_index) == 2
