"""Samples of a graph with types and times through a daemon: the bytes of the embedded engine."""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from contents import same_typed_sample
from daemon_process import DaemonProcess
from typed_dataset import (
    FOLLOWS,
    HAS,
    RATES,
    RELATIONS,
    REV_HAS,
    REV_RATES,
    TypedData,
    write_typed_dataset,
)

USERS = [7, 11, 7, 299, 0, 45, 46, 47]
BOTH = {"user": USERS, "movie": [3, 3, 90]}
FANOUT = [4, 3]
BY_RELATION = {RATES: [4, 3], FOLLOWS: [0, 2], HAS: [-1, -1], REV_RATES: [2, 1], REV_HAS: [0, 3]}
TIMES = [0, 10, -50, 49, 30, -20, 5, 5]

READING = {
    "mapped": {"GRAPHZERO_TOPOLOGY_IO": "mapped", "GRAPHZERO_FEATURE_IO": "mapped"},
    "staged": {"GRAPHZERO_TOPOLOGY_IO": "staged", "GRAPHZERO_FEATURE_IO": "direct"},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TypedData:
    return write_typed_dataset(tmp_path_factory.mktemp("typed") / "shop")


@pytest.fixture(scope="module", params=READING)
def typed_daemon(request: pytest.FixtureRequest, data: TypedData) -> Any:
    place = Path(tempfile.mkdtemp(prefix="gz-"))
    daemon = DaemonProcess(data.path, place / "s.sock", env=READING[request.param])
    yield daemon
    daemon.stop()
    shutil.rmtree(place)


@pytest.fixture(params=["shared_memory", "inline"])
def client(request: pytest.FixtureRequest, typed_daemon: Any) -> Any:
    with gz.connect(typed_daemon.address, transport=request.param) as connected:
        yield connected


@pytest.fixture
def graph(data: TypedData) -> gz.Graph:
    return gz.Graph(data.path)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "replace": {"replace": True},
    "disjoint": {"disjoint": True},
    "out": {"direction": "out"},
    "induced": {"subgraph": "induced"},
    "bidirectional": {"subgraph": "bidirectional"},
    "timed": {"time": TIMES},
    "strict": {"time": TIMES, "time_strict": True},
    "window": {"time": TIMES, "time_window": 20},
    "last": {"time": TIMES, "temporal_strategy": "last"},
    "timed, induced": {"time": TIMES, "subgraph": "induced"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("fanout", [FANOUT, BY_RELATION, []], ids=["all", "by relation", "none"])
def test_sample_is_that_of_the_embedded_engine(
    client: gz.Client, graph: gz.Graph, options: dict[str, Any], fanout: Any
) -> None:
    batch = client.sample({"user": USERS}, fanout, seed=5, **options)
    same_typed_sample(batch, graph.sample({"user": USERS}, fanout, seed=5, **options))
    assert batch.seed == 5
    assert batch["user"].batch_size == len(USERS)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_seeds_of_several_types(
    client: gz.Client, graph: gz.Graph, options: dict[str, Any]
) -> None:
    if "time" in options:
        options = {**options, "time": {"movie": [1, 2, 3], "user": TIMES}}
    batch = client.sample(BOTH, FANOUT, seed=6, **options)
    same_typed_sample(batch, graph.sample(BOTH, FANOUT, seed=6, **options))
    assert (batch["user"].batch_size, batch["movie"].batch_size) == (8, 3)


def test_every_column_has_the_rows_of_its_nodes_and_edges(
    client: gz.Client, data: TypedData
) -> None:
    batch = client.sample(BOTH, FANOUT, columns=["x", "y", "year", "rating"])
    for key, array in data.columns.items():
        owner, name = key.split("/")
        if owner in ("user", "movie") and name in ("x", "y", "year"):
            assert np.array_equal(batch[owner][name], array[batch[owner].n_id]), key
    for relation in (RATES, REV_RATES):  # a view has the columns of its relation
        rating = data.columns["user.rates.movie/rating"]
        assert batch[relation].num_edges > 0
        assert np.array_equal(batch[relation].rating, rating[batch[relation].e_id])
    assert "rating" not in batch[FOLLOWS]
    assert batch["tag"].keys() == ["n_id"]


def test_all_node_columns_come_unless_told_otherwise(client: gz.Client, data: TypedData) -> None:
    batch = client.sample({"user": USERS}, FANOUT)
    assert batch["user"].keys() == ["n_id", "city", "joined", "x", "y"]
    assert batch["movie"].keys() == ["n_id", "released", "train_mask", "x", "year"]
    assert client.sample({"user": [1]}, [1], columns=[])["user"].keys() == ["n_id"]
    chosen = client.sample({"user": [1]}, [1], columns={"user": ["y"], RATES: ["rating"]})
    assert chosen["user"].keys() == ["n_id", "y"]
    assert "rating" in chosen[RATES]
    assert "rating" not in chosen[REV_RATES]
    assert client.sample({"user": [1]}, [1], columns=["movie/x"])["movie"].keys() == ["n_id", "x"]
    for_seeds = client.sample(BOTH, FANOUT, seed_columns=["y", "movie/year"])
    assert np.array_equal(for_seeds["user"].y, data.columns["user/y"][USERS])
    assert np.array_equal(for_seeds["movie"].year, data.columns["movie/year"][[3, 3, 90]])
    assert "x" in for_seeds["user"]


def test_weights_are_those_of_the_relation(client: gz.Client, graph: gz.Graph) -> None:
    only = {RATES: [3, 2], REV_RATES: [3, 2]}
    options: dict[str, Any] = {"default_fanout": [0, 0], "weighted": True, "seed": 3}
    batch = client.sample({"movie": [1, 2, 3]}, only, **options)
    same_typed_sample(batch, graph.sample({"movie": [1, 2, 3]}, only, **options))
    assert batch[RATES].edge_weight is not None
    timed = client.sample({"movie": [1, 2, 3]}, only, time=20, **options)
    same_typed_sample(timed, graph.sample({"movie": [1, 2, 3]}, only, time=20, **options))
    every = client.sample(BOTH, FANOUT, weighted=True, seed=3)
    same_typed_sample(every, graph.sample(BOTH, FANOUT, weighted=True, seed=3))
    assert every[REV_RATES].edge_weight is not None
    assert every[FOLLOWS].num_edges > 0
    assert every[FOLLOWS].edge_weight is None


def test_times_that_the_data_has(client: gz.Client, graph: gz.Graph, data: TypedData) -> None:
    own = client.sample({"movie": [5, 6]}, FANOUT, time="own", seed=1)
    same_typed_sample(own, graph.sample({"movie": [5, 6]}, FANOUT, time="own", seed=1))
    assert own.seed_time.tolist() == [data.times["movie"][5], data.times["movie"][6]]
    joined = data.columns["user/joined"]
    column = client.sample({"user": USERS}, FANOUT, time="joined", seed=1)
    same_typed_sample(column, graph.sample({"user": USERS}, FANOUT, time=joined[USERS], seed=1))
    dates = client.sample(
        {"user": USERS}, FANOUT, time=joined[USERS].astype("datetime64[s]"), seed=1
    )
    same_typed_sample(dates, column)
    both = client.sample(BOTH, FANOUT, time={"user": "joined", "movie": "released"}, seed=1)
    wanted = np.concatenate([joined[USERS], np.array(data.times["movie"])[[3, 3, 90]]])
    assert both.seed_time.tolist() == wanted.tolist()


def test_one_array_of_times_is_in_the_order_in_which_the_types_were_given(
    client: gz.Client, graph: gz.Graph
) -> None:
    seeds = {"movie": [3, 90], "user": [7, 11, 12]}
    batch = client.sample(seeds, FANOUT, time=[-9, -8, 1, 2, 3], seed=1)
    assert batch.seed_time.tolist() == [1, 2, 3, -9, -8]
    by_type = {"user": [1, 2, 3], "movie": [-9, -8]}
    same_typed_sample(batch, graph.sample(seeds, FANOUT, time=by_type, seed=1))


def latest(batch: Any, data: TypedData) -> None:
    """Nothing in a batch is later than the seed that it was found from."""
    times = batch.seed_time.numpy()
    sizes = {name: batch[name].batch_size for name in batch.node_types}
    for name, of_nodes in data.times.items():
        nodes = batch[name]
        found = np.array(of_nodes)[nodes.n_id[sizes[name] :]]
        assert (found <= times[nodes.batch[sizes[name] :]]).all(), name
    by_id = np.empty(2000, np.int64)
    by_id[list(data.edges[RATES].edge_ids or ())] = data.edge_times(RATES)
    for relation in (RATES, REV_RATES):
        edges = batch[relation]
        tree = batch[relation[2]].batch[edges.edge_index[1]]
        assert (by_id[edges.e_id] <= times[tree]).all(), relation


@pytest.mark.parametrize("strategy", ["uniform", "last"])
@pytest.mark.parametrize("subgraph", ["directional", "induced", "bidirectional"])
def test_nothing_later_than_its_seed_is_in_a_batch(
    client: gz.Client, data: TypedData, strategy: Any, subgraph: Any
) -> None:
    rng = np.random.default_rng(4)
    seen = 0
    for seed in range(10):
        users, movies = rng.integers(0, 300, 30), rng.integers(0, 120, 10)
        batch = client.sample(
            {"user": users, "movie": movies},
            [6, 5, 4],
            time=rng.integers(-60, 60, 40),
            temporal_strategy=strategy,
            subgraph=subgraph,
            seed=seed,
            columns=[],
        )
        latest(batch, data)
        seen += batch[RATES].num_edges
    assert seen > 500


def test_full_neighbourhoods_have_every_edge(client: gz.Client, data: TypedData) -> None:
    batch = client.sample({"movie": range(120)}, [-1], columns=[])
    rates = data.edges[RATES]
    ends = list(zip(rates.src, rates.dst, strict=True))
    by_id = dict(zip(rates.edge_ids or (), ends, strict=True))
    found = batch[RATES]
    source, target = found.edge_index
    drawn = zip(
        batch["user"].n_id[source].tolist(), batch["movie"].n_id[target].tolist(), strict=True
    )
    assert sorted(found.e_id.tolist()) == sorted(by_id)
    assert [by_id[e] for e in found.e_id.tolist()] == list(drawn)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.sample({"usr": [1]}, [1]), gz.InvalidRequest, "'usr', expected one of"),
        (lambda c: c.sample([1], [1]), gz.InvalidRequest, "seeds: found ids of no type"),
        (lambda c: c.sample({"user": [300]}, [1]), gz.InvalidRequest, "300"),
        (lambda c: c.sample({"movie": [120]}, [1]), gz.InvalidRequest, "120"),
        (lambda c: c.sample({"movie": [-1]}, [1]), gz.InvalidRequest, "-1"),
        (lambda c: c.sample({"user": [1]}, {RATES: [1]}), gz.InvalidRequest, "nothing for"),
        (lambda c: c.sample({"user": [1]}, {"buys": [1]}), gz.InvalidRequest, "'buys'"),
        (
            lambda c: c.sample({"user": [1]}, {RATES: [1]}, default_fanout=[1, 2]),
            gz.InvalidRequest,
            "as many for each relation",
        ),
        (lambda c: c.sample({"user": [1]}, [1], time=[1, 2]), gz.InvalidRequest, "expected 1 time"),
        (lambda c: c.sample({"user": [1]}, [1], time=[1.5]), TypeError, "found float64"),
        (lambda c: c.sample({"user": [1]}, [1], time=[-(2**63)]), gz.InvalidRequest, "NaT"),
        (lambda c: c.sample({"user": [1]}, [1], time="own"), gz.InvalidRequest, "have no times"),
        (lambda c: c.sample({"user": [1]}, [1], time="x"), gz.NotFound, "time is 'x', expected"),
        (lambda c: c.sample({"user": [1]}, [1], time="when"), gz.NotFound, "joined"),
        (lambda c: c.sample({"user": [1]}, [1], time_window=5), ValueError, "there is no time"),
        (
            lambda c: c.sample({"user": [1]}, [1], time=1, temporal_strategy="first"),
            ValueError,
            "temporal_strategy is 'first'",
        ),
        (
            lambda c: c.sample({"user": [1]}, [1], time=1, temporal_strategy="last", replace=True),
            gz.InvalidRequest,
            "last",
        ),
        (lambda c: c.sample({"user": [1]}, [1], edge_ids=True), gz.InvalidRequest, "'has', 'tag'"),
        (lambda c: c.sample({"user": [1]}, [1], columns=["z"]), gz.NotFound, "no column 'z'"),
        (
            lambda c: c.sample({"user": [1]}, [1], columns={"tag": ["x"]}),
            gz.NotFound,
            "'tag' .* has no column 'x'",
        ),
        (
            lambda c: c.sample({"user": [1]}, [1], columns={"usr": ["x"]}),
            gz.NotFound,
            "columns has 'usr', expected a type",
        ),
        (
            lambda c: c.sample({"user": [1]}, [1], seed_columns=["rating"]),
            gz.InvalidRequest,
            "by edge, expected one by node",
        ),
    ],
)
def test_what_cannot_be_served_is_named(
    client: gz.Client, call: Callable[[Any], Any], error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        call(client)
    assert client.sample({"user": [1]}, [1])["user"].batch_size == 1  # the session lives on


def test_what_the_client_knows_of_types(client: gz.Client) -> None:
    info = client.info().dataset
    assert list(info.types) == ["user", "movie", "tag"]
    assert list(info.relations) == RELATIONS
    assert info.types["user"].num_nodes == 300
    assert info.types["movie"].has_times
    assert info.types["user"].original_ids == "text"
    assert info.types["movie"].columns["year"].dtype == "int16"
    assert info.types["movie"].columns["year"].name == "movie/year"
    rates, rev = info.relations[RATES], info.relations[REV_RATES]
    assert (rates.num_edges, rates.has_weights, rates.view_of) == (2000, True, None)
    assert rev.view_of == RATES
    assert rev.columns == rates.columns
    assert info.time_unit == "s"
    assert info.has_times
    assert client.datasets() == [info]
    assert pickle.loads(pickle.dumps(info)) == info


def test_rows_and_ids_by_key_and_type(client: gz.Client, data: TypedData) -> None:
    assert np.array_equal(client.gather("movie/year", [5, 0]), data.columns["movie/year"][[5, 0]])
    rating = data.columns["user.rates.movie/rating"]
    assert np.array_equal(client.gather("movie.rev_rates.user/rating", [9]), rating[[9]])
    assert torch.equal(client.column("user/x"), torch.from_numpy(data.columns["user/x"]))
    assert client.find_nodes(["u003", "u000"], type="user").tolist() == [3, 0]
    assert client.original_ids([3, 0], type="user") == ["u003", "u000"]
    codes = data.columns["user/city"][:4]
    names = [None if code < 0 else ["Oslo", "Paris", "Zürich"][code] for code in codes]
    assert client.categories("user/city", codes) == names
    batch = client.sample({"user": ["u003"]}, [1], original_ids=True)
    assert batch["user"].n_id[:1].tolist() == [3]
    for call, message in (
        (lambda: client.find_nodes(["u003"]), "type is None, expected one of"),
        (lambda: client.find_nodes(["m1"], type="movie"), "no original ids of type 'movie'"),
        (lambda: client.original_ids([1], type="film"), "'film', expected one of"),
    ):
        with pytest.raises(gz.InvalidRequest, match=message):
            call()
    with pytest.raises(gz.InvalidRequest, match="u999"):
        client.find_nodes(["u999"], type="user")


def test_no_seeds_give_an_empty_batch(client: gz.Client) -> None:
    for seeds in ({"user": []}, {}, {"user": [], "movie": []}):
        batch = client.sample(seeds, FANOUT)
        assert [batch[name].num_nodes for name in batch.node_types] == [0, 0, 0]
        assert batch["user"].x.shape == (0, 8)


def test_a_seed_in_the_future_of_nothing(client: gz.Client) -> None:
    batch = client.sample({"movie": [5]}, FANOUT, time=-(2**62), seed=1)
    assert batch[RATES].num_edges == 0
    assert batch["movie"].n_id.tolist() == [5]  # the seed itself is exempt
