"""Typed and timed samples through `Graph`: the forms that users write, and what comes back."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from typed_graphs import TypedEdges, TypedGraph

RATES = ("user", "rates", "movie")
REV_RATES = ("movie", "rev_rates", "user")
FOLLOWS = ("user", "follows", "user")

# Users 0 to 2 rate movies 0 to 3 at times 10, 20, ...; movie 3 comes out at time 35.
MOVIES = TypedGraph(
    [("user", 3, None), ("movie", 4, [0, 0, 5, 35]), ("studio", 2, None)],
    [
        TypedEdges(
            0,
            "rates",
            1,
            src=[0, 0, 1, 1, 2],
            dst=[0, 1, 1, 3, 0],
            weights=[1, 2, 3, 4, 5],
            times=[10, 20, 20, 30, 50],
        ),
        TypedEdges(0, "follows", 0, src=[0, 1], dst=[1, 2]),
    ],
    views=[("rev_rates", 0)],
    time_unit="D",
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> gz.Graph:
    directory = tmp_path_factory.mktemp("movies")
    MOVIES.write(directory / "graph.gl")
    return gz.Graph(directory)


def test_a_graph_names_its_types_and_relations(graph: gz.Graph) -> None:
    assert graph.types == {"user": 3, "movie": 4, "studio": 2}
    assert graph.relations == [RATES, FOLLOWS, REV_RATES]
    assert graph.time_unit == "D"
    assert "9 nodes, 7 edges" in repr(graph)


def test_a_flat_graph_has_one_of_each_without_a_name(tmp_path: Path) -> None:
    gz.write_graph(tmp_path / "g.gl", [0, 1], [1, 2], num_nodes=3)
    graph = gz.Graph(tmp_path / "g.gl")
    assert (graph.types, graph.relations, graph.time_unit) == ({"": 3}, [("", "", "")], "")


def test_a_sample_reads_like_hetero_data(graph: gz.Graph) -> None:
    sample = graph.sample({"movie": [1, 0]}, [-1, -1], seed=3)
    assert isinstance(sample, gz.TypedSample)
    assert isinstance(sample, gz.TypedResult)
    assert (sample.node_types, sample.edge_types) == (["user", "movie", "studio"], graph.relations)
    assert sample["movie"].n_id[:2].tolist() == [1, 0]
    assert sample["movie"].batch_size == 2
    assert sample["movie"].batch is None
    assert sorted(sample["user"].n_id.tolist()) == [0, 1, 2]
    assert sample["studio"].n_id.tolist() == []
    edges = sample[RATES]
    assert edges.edge_index.shape == (2, 4)
    assert edges.e_id.tolist() == [1, 2, 0, 4]
    assert edges.edge_weight.tolist() == [2, 3, 1, 5]
    assert sample["rates"] is sample["user", "movie"] is edges
    assert sample.num_sampled_nodes == {"user": [0, 3, 0], "movie": [2, 0, 1], "studio": [0, 0, 0]}
    assert sample.num_sampled_edges[RATES] == [4, 0]
    assert set(sample.edge_index_dict) == {RATES, REV_RATES, FOLLOWS}
    assert set(sample.n_id_dict) == {"user", "movie", "studio"}
    assert sample.seed_time is None


def test_a_view_has_the_edges_of_its_relation_in_reverse(graph: gz.Graph) -> None:
    sample = graph.sample(("user", [1]), {REV_RATES: [-1], RATES: [0], "follows": [0]})
    assert sample["movie"].n_id[sample["rev_rates"].edge_index[0]].tolist() == [1, 3]
    assert sample["rev_rates"].edge_index[1].tolist() == [0, 0]
    assert sample["rev_rates"].e_id.tolist() == [2, 3]


def test_seeds_of_several_types_are_numbered_in_schema_order(graph: gz.Graph) -> None:
    sample = graph.sample({"movie": [2, 2], "user": [1]}, [0], disjoint=True)
    assert sample["user"].batch.tolist() == [0]
    assert sample["movie"].batch.tolist() == [1, 2]


def test_a_fanout_must_name_every_relation(graph: gz.Graph) -> None:
    with pytest.raises(gz.InputError, match=r"fanout has nothing for .*follows.* and 1 more"):
        graph.sample({"movie": [0]}, {RATES: [2]})
    sample = graph.sample({"movie": [0]}, {RATES: [2]}, default_fanout=[0])
    assert sample[RATES].num_edges == 2
    assert sample[FOLLOWS].num_edges == 0


def test_time_bounds_what_a_seed_sees(graph: gz.Graph) -> None:
    def users(time: Any, **options: Any) -> list[int]:
        sample = graph.sample({"movie": [0, 1]}, [-1], time=time, seed=1, **options)
        assert sample["user"].batch is not None
        return [int(n) for n in sample["user"].n_id]

    assert users([10, 20]) == [0, 0, 1]
    assert users([9, 19]) == []
    assert users([10, 20], time_strict=True) == []
    assert users(50) == [0, 2, 0, 1]
    assert users(50, time_window=40) == [2, 0, 1]
    assert users(50, time_window=41) == [0, 2, 0, 1]
    assert users(np.array(["1970-01-11", "1970-01-21"], "datetime64[D]")) == [0, 0, 1]
    assert users({"movie": [10, 20]}) == [0, 0, 1]
    with pytest.raises(ValueError, match="no whole number of the graph's unit"):
        users(np.array(["1970-01-11T12", "1970-01-21T00"], "datetime64[h]"))


def test_one_array_of_times_is_in_the_order_in_which_the_types_were_given(graph: gz.Graph) -> None:
    # The schema has users first. Movie 0 was rated at 10 and 50, the second time by user 2.
    options: dict[str, Any] = {"fanout": {FOLLOWS: [0]}, "default_fanout": [-1]}
    movie_first = graph.sample({"movie": [0], "user": [2]}, time=[4, 100], **options)
    user_first = graph.sample({"user": [2], "movie": [0]}, time=[100, 4], **options)
    for sample in (movie_first, user_first):
        assert sample.seed_time.tolist() == [100, 4]
        assert sample["user"].n_id.tolist() == [2]
        assert sample["movie"].n_id.tolist() == [0, 0]


def test_neighbours_that_do_not_exist_yet_are_not_found(graph: gz.Graph) -> None:
    # User 1 rated movie 3 at 30, before it came out at 35: its slot has time 35.
    for time, movies in ((30, [1]), (34, [1]), (35, [1, 3])):
        sample = graph.sample({"user": [1]}, [-1], time=[time])
        assert sample["movie"].n_id.tolist() == movies
    assert sample.seed_time.tolist() == [35]


def test_own_times_are_those_of_the_seeds(graph: gz.Graph) -> None:
    sample = graph.sample({"movie": [3, 0]}, [-1], time="own")
    assert sample.seed_time.tolist() == [35, 0]
    assert sample["user"].n_id.tolist() == [1]
    with pytest.raises(ValueError, match="seeds of type user have no times of their own"):
        graph.sample({"user": [0]}, [-1], time="own")
    with pytest.raises(gz.InputError, match="a graph has no columns"):
        graph.sample({"user": [0]}, [-1], time="born")


def test_last_takes_the_latest(graph: gz.Graph) -> None:
    options = {"time": 100, "temporal_strategy": "last"}
    assert graph.sample({"movie": [0]}, [1], **options)[RATES].e_id.tolist() == [4]
    assert graph.sample({"movie": [0]}, [5], **options)[RATES].e_id.tolist() == [0, 4]
    for wrong in ({"replace": True}, {"weighted": True}):
        with pytest.raises(ValueError, match="the last edges by time are taken, not drawn"):
            graph.sample({"movie": [0]}, {RATES: [1]}, default_fanout=[0], **options, **wrong)
    with pytest.raises(ValueError, match="temporal_strategy is 'latest'"):
        graph.sample({"movie": [0]}, [1], time=1, temporal_strategy="latest")


@pytest.mark.parametrize(
    "options", [{"time_strict": True}, {"time_window": 3}, {"temporal_strategy": "last"}]
)
def test_what_belongs_to_times_needs_a_time(graph: gz.Graph, options: dict[str, Any]) -> None:
    with pytest.raises(gz.InputError, match="expected a time too"):
        graph.sample({"movie": [0]}, [1], **options)


def test_relations_without_weights_draw_uniformly_beside_those_with(graph: gz.Graph) -> None:
    seeds, options = {"user": [1], "movie": [0]}, {"weighted": True, "seed": 5}
    both = graph.sample(seeds, {RATES: [1], FOLLOWS: [1]}, default_fanout=[0], **options)
    assert both[RATES].edge_weight is not None
    assert both[FOLLOWS].edge_weight is None
    # Each draws what it draws alone.
    rates = graph.sample(seeds, {RATES: [1]}, default_fanout=[0], **options)
    follows = graph.sample(seeds, {FOLLOWS: [1]}, default_fanout=[0], seed=5)
    assert both[RATES].e_id.tolist() == rates[RATES].e_id.tolist() != []
    assert both[FOLLOWS].e_id.tolist() == follows[FOLLOWS].e_id.tolist() != []


def test_excluded_edges_are_by_relation(graph: gz.Graph) -> None:
    exclude = {"rates": ([0, 1], [0, 1])}
    sample = graph.sample({"movie": [0, 1]}, [-1], exclude=exclude)
    assert sample[RATES].e_id.tolist() == [4, 1]
    with pytest.raises(gz.InputError, match="exclude is of no relation"):
        graph.sample({"movie": [0, 1]}, [-1], exclude=([0], [0]))


def test_bidirectional_samples_use_views_and_need_them(graph: gz.Graph) -> None:
    with pytest.raises(ValueError, match=r"needs \(movie, rev_rates, user\) for the reverses of"):
        graph.sample({"movie": [0]}, {RATES: [-1]}, default_fanout=[0], subgraph="bidirectional")
    fanout = {RATES: [-1, 0], REV_RATES: [1, 0]}
    sample = graph.sample({"movie": [0]}, fanout, default_fanout=[0, 0], subgraph="bidirectional")
    assert sample[REV_RATES].edge_index.tolist() == sample[RATES].edge_index[::-1].tolist()
    assert sample[REV_RATES].e_id.tolist() == sample[RATES].e_id.tolist() == [0, 4]
    assert sample[REV_RATES].edge_weight.tolist() == [1, 5]
    assert sample.num_sampled_edges[RATES] == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: g.sample([0], [1]), gz.InputError, "found ids of no type"),
        (lambda g: g.sample({"author": [0]}, [1]), gz.InputError, "is 'author', expected one of"),
        (lambda g: g.sample({"user": [3]}, [1]), IndexError, "seed of type user 3 at position 0"),
        (lambda g: g.sample({"user": [0]}, {"x": [1]}), gz.InputError, "is 'x', expected one of"),
        (lambda g: g.sample({"user": [0]}, [-2]), ValueError, "expected -1"),
        (lambda g: g.sample({"user": [0]}, [1], time=[1, 2]), ValueError, "expected 1 times"),
        (lambda g: g.sample({"user": [0]}, [1], time=[-(2**63)]), ValueError, "is no time"),
        (lambda g: g.sample({"user": [0]}, [1], time=[0.5]), TypeError, "found float64"),
        (
            lambda g: g.sample({"user": [0]}, {FOLLOWS: [1]}, default_fanout=[0], weighted=True),
            ValueError,
            r"no edge weights of relation \(user, follows, user\)",
        ),
        (
            lambda g: g.sample({"user": [0]}, [1], weighted=True, sampler="labor"),
            ValueError,
            r"no edge weights of relation \(user, follows, user\)",
        ),
        (lambda g: g.sample({"user": [0]}, [2**62] * 2, replace=True), gz.InputError, "max_edges"),
        (lambda g: g.get_neighbours(0), gz.InputError, "relation is None, expected one of"),
        (lambda g: g.get_neighbours(3, relation=RATES), IndexError, "expected 0 to 2"),
        (lambda g: g.get_weights(0, relation=FOLLOWS), ValueError, "has no edge weights"),
        (lambda g: g.get_times(0, relation=FOLLOWS), ValueError, "has no times"),
    ],
)
def test_wrong_arguments_are_named(
    graph: gz.Graph, call: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(graph)


def test_rows_of_a_relation_are_views(graph: gz.Graph) -> None:
    assert graph.get_neighbours(1, relation="rates").tolist() == [1, 3]
    assert graph.get_times(1, relation="rates").tolist() == [20, 35]
    assert graph.get_neighbours(1, relation="rates", direction="in").tolist() == [0, 1]
    assert graph.get_neighbours(1, relation="rev_rates").tolist() == [0, 1]
    assert graph.get_edge_ids(0, relation="rates").tolist() == [0, 1]
    assert graph.get_degree(2, relation=FOLLOWS, direction="in") == 1


def test_a_pickled_graph_draws_the_same(graph: gz.Graph) -> None:
    other = pickle.loads(pickle.dumps(graph))
    one, two = (g.sample({"user": [0, 1]}, [2, 2], seed=5) for g in (graph, other))
    for relation in graph.relations:
        assert one[relation].edge_index.tolist() == two[relation].edge_index.tolist()


def test_a_flat_graph_with_times_is_sampled_by_time(tmp_path: Path) -> None:
    only = TypedEdges(0, "", 0, src=[1, 2, 3], dst=[0, 0, 0], times=[5, 7, 7])
    flat = TypedGraph([("", 4, [0, 6, 0, 0])], [only], flat=True)
    graph = gz.Graph(flat.write(tmp_path / "g.gl"))
    sample = graph.sample([0, 0], [-1], time=[6, 5], seed=1)
    assert isinstance(sample, gz.SampledSubgraph)
    assert sample.n_id.tolist() == [0, 0, 1]
    assert sample.batch is not None
    assert sample.batch.tolist() == [0, 1, 0]
    assert sample.seed_time is not None
    assert sample.seed_time.tolist() == [6, 5]
    assert graph.sample([0], [2], time=7, temporal_strategy="last").e_id.tolist() == [1, 2]
    with pytest.raises(gz.InputError, match="found ids by type"):
        graph.sample({"user": [0]}, [1])


def test_times_in_one_direction_are_none_in_the_other(tmp_path: Path) -> None:
    made_by = TypedEdges(0, "made_by", 1, src=[0, 1], dst=[1, 0])
    TypedGraph([("movie", 2, [3, 4]), ("studio", 2, None)], [made_by]).write(tmp_path / "graph.gl")
    graph = gz.Graph(tmp_path)
    assert graph.get_times(1, relation="made_by", direction="in").tolist() == [3]
    with pytest.raises(ValueError, match="has no times"):
        graph.get_times(0, relation="made_by")


def test_edge_ids_are_asked_of_every_relation(tmp_path: Path) -> None:
    tables: dict[str, Any] = {
        "user": {"data": {"id": [0, 1]}, "key": "id"},
        "visit": {"data": {"user": [1]}, "references": {"user": "user"}},
        "follows": {
            "data": {"a": [0], "b": [1]},
            "edges": {
                "source": {"column": "a", "table": "user"},
                "target": {"column": "b", "table": "user"},
            },
            "edge_ids": True,
        },
    }
    gz.import_tables(tables, tmp_path / "out")
    with pytest.raises(ValueError, match=r"\('visit', 'user', 'user'\) stores no edge ids"):
        gz.Graph(tmp_path / "out").sample({"user": [0]}, [1], edge_ids=True)
