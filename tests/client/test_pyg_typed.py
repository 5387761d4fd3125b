"""PyG's loaders over datasets with types: HeteroData with the fields that PyG's loaders set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import (
    NeighborLoader,
)
from hetero_graphs import (
    COUNTS,
    FOLLOWS,
    HAS,
    RATES,
    RELATIONS,
    REV_RATES,
    assert_columns,
    assert_full,
    ends_of,
)
from torch_geometric.data import HeteroData
from torch_geometric.sampler import NumNeighbors

USERS = torch.tensor([5, 17, 3, 5, 8, 40])
LINKS = torch.stack([USERS, torch.tensor([39, 2, 2, 11, 0, 7])])
TYPES, TRIPLES = list(COUNTS), list(RELATIONS)


@pytest.mark.parametrize("nodes", [torch.tensor([5, 17, 3, 8, 40]), torch.tensor([59]), USERS])
def test_all_neighbours_are_those_of_the_graph(
    film_client: gz.Client, films: HeteroData, nodes: torch.Tensor
) -> None:
    loader = NeighborLoader(film_client, [-1, -1], ("user", nodes), batch_size=10)
    (batch,) = loader
    assert isinstance(batch, HeteroData)
    assert batch.metadata() == films.metadata() == (TYPES, TRIPLES)
    assert batch.input_type == "user"
    assert_full(batch, films, {"user": nodes}, 2)
    assert torch.equal(batch["user"].n_id[: batch["user"].batch_size], nodes)
    batch.validate()


def test_batches_have_the_fields_that_pyg_sets(film_client: gz.Client) -> None:
    (batch,) = NeighborLoader(film_client, [3, 2], ("user", USERS), batch_size=6)
    of_user = {"x", "y", "train_mask", "n_id", "num_sampled_nodes", "input_id", "batch_size"}
    assert set(batch["user"].keys()) == of_user
    assert set(batch["movie"].keys()) == {"x", "n_id", "num_sampled_nodes"}
    assert set(batch["tag"].keys()) == {"n_id", "num_nodes", "num_sampled_nodes"}
    of_edges = {"edge_index", "e_id", "num_sampled_edges"}
    assert set(batch[RATES].keys()) == of_edges | {"rating"}
    assert set(batch[FOLLOWS].keys()) == of_edges | {"since"}
    assert set(batch[HAS].keys()) == of_edges
    assert batch["user"].input_id.tolist() == [0, 1, 2, 3, 4, 5]
    for name in TYPES:
        assert len(batch[name].num_sampled_nodes) == 3
        assert sum(batch[name].num_sampled_nodes) == batch[name].num_nodes == len(batch[name].n_id)
    for triple in TRIPLES:
        assert len(batch[triple].num_sampled_edges) == 2
        assert sum(batch[triple].num_sampled_edges) == batch[triple].num_edges


def test_disjoint_batches_tell_the_seed_of_each_node(film_client: gz.Client) -> None:
    (batch,) = NeighborLoader(film_client, [3, 2], ("user", USERS), batch_size=6, disjoint=True)
    assert batch["user"].batch[:6].tolist() == [0, 1, 2, 3, 4, 5]
    for triple in TRIPLES:
        trees = (
            batch[name].batch[ends]
            for name, ends in zip(triple[::2], batch[triple].edge_index, strict=True)
        )
        assert torch.equal(*trees)


def test_neighbours_are_counted_for_each_relation(
    film_client: gz.Client, films: HeteroData
) -> None:
    fanout = {RATES: [-1, -1], REV_RATES: [2, 1], FOLLOWS: [0, 0], HAS: [-1, -1]}
    (batch,) = NeighborLoader(film_client, fanout, ("user", USERS), batch_size=6)
    assert batch[FOLLOWS].num_edges == 0
    degrees = films[REV_RATES].edge_index[1].bincount(minlength=60)[USERS].clamp(max=2)
    assert torch.equal(batch[REV_RATES].edge_index[1].bincount(minlength=6)[:6], degrees)
    assert_columns(batch, films)
    with_default = NumNeighbors({("user", "rates", "movie"): [-1, -1]}, default=[-1, -1])
    (batch,) = NeighborLoader(film_client, with_default, ("user", USERS[:2]), batch_size=2)
    assert_full(batch, films, {"user": USERS[:2]}, 2)
    loader = NeighborLoader(film_client, {("user", "movie"): [1], ("movie", "user"): [1],
                                     ("user", "user"): [2], HAS: [0]}, "user")  # fmt: skip
    assert loader.node_sampler.options()["fanout"] == {
        RATES: [1], REV_RATES: [1], FOLLOWS: [2], HAS: [0]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "nodes"),
    [
        ("user", list(range(60))),
        (("user", None), list(range(60))),
        (("user", [5, 17]), [5, 17]),
        (("user", slice(-2, None)), [58, 59]),
        (("user", torch.arange(60) == 17), [17]),
        (("user", "train"), list(range(0, 60, 3))),
        (("user", "train_mask"), list(range(0, 60, 3))),
        (["user", torch.tensor([7])], [7]),
        (("tag", [6, 0]), [6, 0]),
    ],
    ids=str,
)
def test_input_nodes_may_be_anything_that_names_nodes_of_a_type(
    film_client: gz.Client, given: Any, nodes: list[int]
) -> None:
    loader = NeighborLoader(film_client, [1], given, batch_size=8)
    name = given if isinstance(given, str) else given[0]
    seeds = [n for b in loader for n in b[name].n_id[: b[name].batch_size].tolist()]
    assert seeds == nodes
    ids = torch.cat([batch[name].input_id for batch in loader]).tolist()
    is_mask = isinstance(given, tuple) and (
        given[1] is not None and (given[1] == "train_mask" if isinstance(given[1], str)
        else getattr(given[1], "dtype", None) == torch.bool)
    )  # fmt: skip
    assert ids == (nodes if is_mask else list(range(len(nodes))))


def test_seeds_of_several_types_come_together(film_client: gz.Client, films: HeteroData) -> None:
    given = {"movie": torch.tensor([3, 1]), "user": torch.arange(60) < 4}
    ids = {"movie": torch.tensor([30, 10]), "user": torch.arange(4) + 100}
    loader = NeighborLoader(film_client, [-1], given, batch_size=6)
    assert len(loader) == 1
    (batch,) = loader
    assert (batch["user"].batch_size, batch["movie"].batch_size) == (4, 2)
    assert batch["user"].input_id.tolist() == [0, 1, 2, 3]  # of a mask, the nodes
    assert batch["movie"].input_id.tolist() == [0, 1]
    assert "batch_size" not in batch["tag"]
    assert_full(batch, films, {"user": range(4), "movie": [3, 1]}, 1)
    torch.manual_seed(3)
    mixed = NeighborLoader(film_client, [2], given, batch_size=2, shuffle=True, input_id=ids)
    seen: dict[str, list[int]] = {"user": [], "movie": []}
    for batch in mixed:
        for name, found in seen.items():
            store = batch[name]
            found += store.input_id.tolist()
            nodes = store.n_id[: store.batch_size]
            place = {"user": store.input_id - 100, "movie": (store.input_id - 10) // 20}[name]
            wanted = torch.arange(4) if name == "user" else torch.tensor([1, 3])
            assert torch.equal(nodes, wanted[place])
    assert {name: sorted(found) for name, found in seen.items()} == {
        "user": [100, 101, 102, 103],
        "movie": [10, 30],
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_nodes": None}, "dataset 'films' has types: expected"),
        ({"input_nodes": USERS}, "dataset 'films' has types: expected"),
        ({"input_nodes": ("film", USERS)}, "is 'film', expected one of user, movie, tag"),
        ({"input_nodes": {}}, "input_nodes names no type"),
        ({"input_nodes": ("user", [60])}, "expected 0 to 59.*'user'"),
        ({"input_nodes": ("user", [True])}, r"mask of shape \(1,\)"),
        (
            {"input_nodes": {"user": [1], "movie": [1]}, "input_id": [1, 2]},
            "input_id is not by type",
        ),
        ({"input_nodes": {"user": [1]}, "input_id": {"movie": [1]}}, "expected it for the types"),
        ({"num_neighbors": {RATES: [1]}}, r"none for \('movie', 'rev_rates', 'user'\)"),
        ({"num_neighbors": {("a", "b", "c"): [1]}}, "is 'a', expected one of user, movie, tag"),
        ({"num_neighbors": {("tag", "b", "tag"): [1]}}, "has .*'b'.*expected only"),
        ({"num_neighbors": {"rates": [1]}}, "has 'rates', expected relations as keys"),
        (
            {"num_neighbors": {RATES: [1], REV_RATES: [1, 2], FOLLOWS: [1], HAS: [1]}},
            "hops must be the same across all",
        ),
        ({"num_neighbors": {RATES: [-2], REV_RATES: [1], FOLLOWS: [1], HAS: [1]}}, "hop 0 is -2"),
        ({"weight_attr": "rating"}, "the graph stores no weights"),
        ({"time_attr": "time"}, "dataset 'films' has no times"),
    ],
)
def test_wrong_arguments_are_named(
    film_client: gz.Client, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        NeighborLoader(
            film_client, **{"num_neighbors": [2], "input_nodes": ("user", USERS), **options}
        )


def test_columns_are_chosen_by_type(film_client: gz.Client) -> None:
    def fields(columns: Any) -> dict[Any, set[str]]:
        (batch,) = NeighborLoader(film_client, [2], ("user", USERS), batch_size=6, columns=columns)
        own = {"n_id", "e_id", "edge_index", "num_nodes", "num_sampled_nodes", "num_sampled_edges",
               "input_id", "batch_size"}  # fmt: skip
        every = (*TYPES, *TRIPLES)
        found = {key: set(batch[key].keys()) - own for key in every}
        return {key: names for key, names in found.items() if names}

    assert fields(["x"]) == {"user": {"x"}, "movie": {"x"}}
    assert fields({"user": ["y"], RATES: ["rating"]}) == {"user": {"y"}, RATES: {"rating"}}
    assert fields([]) == {}
    with pytest.raises(gz.NotFound, match="'z'"):
        fields(["z"])
    with pytest.raises(gz.NotFound, match="'y'"):
        fields({"movie": ["y"]})


def test_induced_batches_have_all_edges_between_their_nodes(
    film_client: gz.Client, films: HeteroData
) -> None:
    (batch,) = NeighborLoader(
        film_client, [2], ("user", torch.arange(10)), subgraph_type="induced", batch_size=10
    )
    for triple in TRIPLES:
        sources, targets = films[triple].edge_index
        inside = torch.isin(sources, batch[triple[0]].n_id) & torch.isin(
            targets, batch[triple[2]].n_id
        )
        assert sorted(batch[triple].e_id.tolist()) == inside.nonzero().view(-1).tolist()
    assert "num_sampled_nodes" not in batch["user"]
    assert_columns(batch, films)


@pytest.mark.parametrize("way", ["daemon", "pyg"])
def test_bidirectional_batches_are_those_of_pyg(
    film_client: gz.Client, films: HeteroData, way: str
) -> None:
    """rates and rev_rates are each other's reverse by their names, follows is its own; has has
    none, of which PyG warns."""
    own = {"transform_sampler_output": lambda out: out} if way == "pyg" else {}
    with pytest.warns(UserWarning, match="'has'.*does not seem to have a reverse"):
        (batch,) = NeighborLoader(
            film_client,
            [2],
            ("user", torch.arange(10)),
            subgraph_type="bidirectional",
            batch_size=10,
            **own,
        )
    forth, back = (batch[triple].edge_index for triple in (RATES, REV_RATES))
    pairs = {tuple(pair) for pair in forth.T.tolist()}
    assert pairs == {(b, a) for a, b in back.T.tolist()}
    assert len(pairs) == forth.shape[1] > 0
    mutual = {tuple(pair) for pair in batch[FOLLOWS].edge_index.T.tolist()}
    assert mutual == {(b, a) for a, b in mutual}
    for triple in (RATES, REV_RATES, FOLLOWS):
        assert set(batch[triple].keys()) == {"edge_index"}
    assert "e_id" in batch[HAS]
    assert "num_sampled_nodes" not in batch["user"]
    edges = {tuple(pair) for pair in films[RATES].edge_index.T.tolist()}
    assert {tuple(p) for p in ends_of(batch, RATES, forth).T.tolist()} <= edges


def test_weights_of_some_relations_suffice(
    tmp_path: Path, daemon_of: Callable[[Path], Any]
) -> None:
    data = HeteroData()
    data["user"].x, data["movie"].x = torch.rand(3, 2), torch.rand(2, 2)
    data[RATES].edge_index = torch.tensor([[0, 1, 2], [0, 0, 0]])
    data[RATES].edge_weight = torch.tensor([0.0, 1.0, 0.0])
    data[FOLLOWS].edge_index = torch.tensor([[0, 2], [1, 1]])
    data["movie", "like", "movie"].edge_index = torch.empty(2, 0, dtype=torch.int64)
    gz.import_pyg(data, tmp_path / "films")
    with gz.connect(daemon_of(tmp_path / "films").address) as client:
        options: dict[str, Any] = {"input_nodes": ("movie", [0]), "weight_attr": "edge_weight"}
        (batch,) = NeighborLoader(client, [1, 2], batch_size=1, **options)
        assert batch[RATES].e_id.tolist() == [1]
        assert batch[RATES].edge_weight.tolist() == [1.0]
        assert sorted(batch[FOLLOWS].e_id.tolist()) == [0, 1]
        assert "edge_weight" not in batch[FOLLOWS]
