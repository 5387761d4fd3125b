"""Links, negatives and walks of a graph with types through a daemon."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from contents import same_typed_sample
from typed_dataset import FOLLOWS, HAS, RATES, REV_RATES, TypedData, write_typed_dataset

FANOUT = [4, 3]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TypedData:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "shop")


@pytest.fixture(params=["shared_memory", "inline"])
def client(
    request: pytest.FixtureRequest, data: TypedData, daemon_of: Callable[[Path], Any]
) -> Any:
    with gz.connect(daemon_of(data.path).address, transport=request.param) as connected:
        yield connected


@pytest.fixture
def graph(data: TypedData) -> gz.Graph:
    return gz.Graph(data.path)


def links(data: TypedData, relation: Any, count: int = 12) -> dict[str, Any]:
    """Some edges of a relation, at the times when they came to be."""
    turned = relation == REV_RATES
    edges = data.edges[RATES if turned else relation]
    ends = (edges.dst, edges.src) if turned else (edges.src, edges.dst)
    times = None if edges.times is None else list(edges.times)[:count]
    return {"sources": ends[0][:count], "targets": ends[1][:count], "time": times}


@pytest.mark.parametrize("relation", [RATES, REV_RATES, FOLLOWS])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"negatives": gz.Negatives("pairs", 2)},
        {"negatives": gz.Negatives("targets", 3, reject=True)},
        {"exclude_seed_edges": "pair"},
        {"exclude_seed_edges": "both", "negatives": gz.Negatives("pairs", 1, weights="degree")},
        {"disjoint": True, "negatives": gz.Negatives("targets", 2)},
    ],
)
def test_links_are_those_of_the_embedded_engine(
    client: gz.Client, graph: gz.Graph, data: TypedData, relation: Any, timed: bool, options: Any
) -> None:
    found = links(data, relation)
    time = found.pop("time") if timed else found.pop("time") and None
    if timed:
        time = time or [10] * 12
        options = {name: value for name, value in options.items() if name != "disjoint"}
        if options.get("exclude_seed_edges") == "both":
            options = {**options, "exclude_seed_edges": None, "negatives": gz.Negatives("pairs")}
    asked: dict[str, Any] = {
        **found,
        "fanout": FANOUT,
        "relation": relation,
        "time": time,
        "seed": 9,
        **options,
    }
    batch = client.sample_links(**asked)
    same_typed_sample(batch, graph.sample_links(**asked))
    assert batch.link_relation == relation
    source, target = relation[0], relation[2]
    ends = batch[source].n_id[batch.source_index], batch[target].n_id[batch.target_index]
    assert ends[0][:12].tolist() == found["sources"]
    assert ends[1][:12].tolist() == found["targets"]
    assert np.array_equal(batch["user"].x, data.columns["user/x"][batch["user"].n_id])


def test_candidates_are_of_the_types_of_the_ends(
    client: gz.Client, graph: gz.Graph, data: TypedData
) -> None:
    found = links(data, RATES)
    found.pop("time")
    mask, train = data.columns["movie/train_mask"], data.columns["user/train"]
    for named, given in (
        ({"candidates": "train_mask"}, {"candidates": mask}),
        ({"candidates": [5, 6]}, {"candidates": [5, 6]}),
        (
            {"candidates": "train_mask", "source_candidates": "train"},
            {"candidates": mask, "source_candidates": train},
        ),
    ):
        batch, expected = (
            maker.sample_links(
                **found,
                fanout=FANOUT,
                relation=RATES,
                seed=2,
                negatives=gz.Negatives("pairs", **by),
            )
            for maker, by in ((client, named), (graph, given))
        )
        same_typed_sample(batch, expected)
    with pytest.raises(gz.NotFound, match="no split 'train' of type 'movie'"):
        client.sample_links(
            **found,
            fanout=FANOUT,
            relation=RATES,
            negatives=gz.Negatives("targets", candidates="train"),
        )


def test_the_edge_of_a_link_can_be_named(
    client: gz.Client, graph: gz.Graph, data: TypedData
) -> None:
    found = links(data, RATES)
    found["time"] = [100] * 12  # after all edges
    asked: dict[str, Any] = {
        **found,
        "fanout": [-1],
        "relation": RATES,
        "seed": 1,
        "link_edge_ids": list(data.edges[RATES].edge_ids or ())[:12],
    }
    batch = client.sample_links(**asked)
    same_typed_sample(batch, graph.sample_links(**asked))
    # In the trees of its own link, its edge is not there.
    edges = batch[RATES]
    tree = batch["movie"].batch[edges.edge_index[1]].numpy() % 12
    own = np.array(asked["link_edge_ids"])[tree]
    assert edges.num_edges > 100
    assert not (edges.e_id.numpy() == own).any()


def test_nothing_of_a_link_s_future_is_in_its_trees(client: gz.Client, data: TypedData) -> None:
    found = links(data, RATES, 200)
    found["time"] = [max(time, -40) for time in found["time"]]  # some movies exist by then
    batch = client.sample_links(
        **found, fanout=[6, 5], relation=RATES, negatives=gz.Negatives("pairs", 1), seed=3
    )
    times = batch.seed_time.numpy()
    by_id = np.empty(2000, np.int64)
    by_id[list(data.edges[RATES].edge_ids or ())] = data.edge_times(RATES)
    for relation in (RATES, REV_RATES):
        edges = batch[relation]
        tree = batch[relation[2]].batch[edges.edge_index[1]]
        assert (by_id[edges.e_id] <= times[tree]).all()
    seeds = batch["movie"].batch_size
    released = np.array(data.times["movie"])
    nodes = batch["movie"]
    assert (released[nodes.n_id[seeds:]] <= times[nodes.batch[seeds:]]).all()
    negatives = nodes.n_id[batch.target_index[200:]]
    assert (released[negatives] <= np.array(found["time"])).all()  # they exist by then


@pytest.mark.parametrize(
    ("metapath", "types"),
    [
        ([RATES, REV_RATES], ["user", "movie", "user", "movie", "user"]),
        (["rates", "rev_rates", FOLLOWS], ["user", "movie", "user", "user", "movie"]),
        ([REV_RATES, RATES], ["movie", "user", "movie", "user", "movie"]),
    ],
)
def test_walks_along_a_metapath(
    client: gz.Client, graph: gz.Graph, data: TypedData, metapath: Any, types: list[str]
) -> None:
    starts = list(range(40))
    walks = client.random_walk(starts, 4, metapath=metapath, seed=6)
    expected = graph.random_walk(starts, 4, metapath=metapath, seed=6)
    assert np.array_equal(walks.nodes, expected.nodes)
    assert np.array_equal(walks.lengths, expected.lengths)
    assert int(walks.lengths.max()) == 4
    pairs = {RATES: set(zip(data.edges[RATES].src, data.edges[RATES].dst, strict=True))}
    for step, (source, target) in enumerate(pairwise(types)):
        if (source, target) == ("user", "movie"):
            for walk, length in zip(walks.nodes.tolist(), walks.lengths.tolist(), strict=True):
                assert length <= step or (walk[step], walk[step + 1]) in pairs[RATES]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.sample_links([1], [1], FANOUT), "relation of the links is None, expected one"),
        (lambda c: c.sample_links([1], [1], FANOUT, relation="buys"), "'buys', expected one of"),
        (lambda c: c.sample_links([300], [1], FANOUT, relation=RATES), "300"),
        (lambda c: c.sample_links([1], [120], FANOUT, relation=RATES), "120"),
        (lambda c: c.sample_links([1], [1], FANOUT, relation=RATES, time="own"), "one for each li"),
        (lambda c: c.sample_links([1], [1], FANOUT, relation=RATES, time=[1, 2]), "expected 1 tim"),
        (lambda c: c.random_walk([1], 3), "metapath"),
        (lambda c: c.random_walk([1], 3, metapath=["buys"]), "'buys', expected one of"),
        (lambda c: c.random_walk([1], 3, metapath=[RATES, RATES]), "metapath|begin|start"),
        (lambda c: c.random_walk([300], 3, metapath=[RATES, REV_RATES]), "300"),
        (lambda c: c.random_walk([1], 3, metapath=[HAS], p=2.0), "plain|metapath|type"),
    ],
)
def test_what_makes_no_sense_is_named(
    client: gz.Client, call: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(client)
    assert client.sample({"user": [1]}, [1])["user"].batch_size == 1
