"""The data, samplers and stores of datasets with types, and loaders that go on elsewhere."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import (
    FeatureStore,
    GraphStore,
    GraphZeroSampler,
    LinkNeighborLoader,
    NeighborLoader,
    ServedData,
    ServedHeteroData,
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
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.sampler.base import DataType

USERS = torch.tensor([5, 17, 3, 5, 8, 40])
LINKS = torch.stack([USERS, torch.tensor([39, 2, 2, 11, 0, 7])])
TYPES, TRIPLES = list(COUNTS), list(RELATIONS)


def test_served_data_is_the_graph_and_reads_what_is_looked_at(
    film_client: gz.Client, films: HeteroData, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ServedHeteroData(film_client)
    with monkeypatch.context() as forbidden:

        def never(*_: Any) -> Any:
            raise AssertionError("this reads the films topology")

        forbidden.setattr("graphzero.client.pyg.served_fields.edges_by_id", never)
        assert data.metadata() == films.metadata()
        assert (data.num_nodes, data.num_edges) == (107, 1090)
        assert data["user"].num_nodes == 60
        assert data[RATES].num_edges == 400
        assert "(user, rates, movie)={ edge_index=[2, 400], rating=[400, 2] }" in repr(data)
        assert not data.is_cuda
        assert data["user"].is_node_attr("x")
        assert data[RATES].is_edge_attr("rating")
        next(iter(NeighborLoader(data, [2], "user", batch_size=10)))
    for name in TYPES:
        for field in films[name].keys():  # noqa: SIM118
            assert torch.equal(
                torch.as_tensor(data[name][field]), torch.as_tensor(films[name][field])
            )
    for triple in TRIPLES:
        for field in films[triple].keys():  # noqa: SIM118
            assert torch.equal(data[triple][field], films[triple][field])
    with pytest.raises(TypeError, match=r"has types.*ServedHeteroData"):
        ServedData(film_client)


def test_what_scripts_do_to_the_data_of_a_loader_shows_in_its_batches(
    film_client: gz.Client, films: HeteroData
) -> None:
    loader = NeighborLoader(film_client, [3, 2], ("user", USERS), batch_size=6)
    data = loader.data
    data["user"].node_id = torch.arange(60)
    data["user"].y = films["user"].y + 100
    data["movie"].x.mul_(2)
    data["tag"].x = torch.rand(7, 2)
    del data["user"].train_mask
    data[RATES].number = torch.arange(400)
    data[HAS].edge_attr = torch.rand(90, 3)
    del data[FOLLOWS].since
    data.name = "films"
    data["user"].note = "of the type"
    (batch,) = loader
    assert torch.equal(batch["user"].node_id, batch["user"].n_id)
    assert torch.equal(batch["user"].y, films["user"].y[batch["user"].n_id] + 100)
    assert torch.equal(batch["movie"].x, 2 * films["movie"].x[batch["movie"].n_id])
    assert torch.equal(batch["tag"].x, data["tag"].x[batch["tag"].n_id])
    assert "train_mask" not in batch["user"]
    assert torch.equal(batch[RATES].number, batch[RATES].e_id)
    assert torch.equal(batch[HAS].edge_attr, data[HAS].edge_attr[batch[HAS].e_id])
    assert "since" not in batch[FOLLOWS]
    assert (batch.name, batch["user"].note) == ("films", "of the type")
    (other,) = NeighborLoader(film_client, [3, 2], ("user", USERS), batch_size=6)
    assert torch.equal(other["movie"].x, films["movie"].x[other["movie"].n_id])


def test_types_and_relations_are_those_of_the_dataset(film_client: gz.Client) -> None:
    data = ServedHeteroData(film_client)
    data["actor"].x = torch.rand(3, 1)
    with pytest.raises(NotImplementedError, match=r"data\['actor'\] was added.*import_pyg"):
        next(iter(NeighborLoader(data, [2], "user")))
    data = ServedHeteroData(film_client)
    del data[HAS]
    with pytest.raises(NotImplementedError, match=r"was deleted.*num_neighbors of 0"):
        next(iter(NeighborLoader(data, [2], "user")))
    data = ServedHeteroData(film_client)
    data[RATES].edge_index = data[RATES].edge_index[:, :10]
    with pytest.raises(
        NotImplementedError, match=r"data\['user', 'rates', 'movie'\].edge_index has"
    ):
        next(iter(NeighborLoader(data, [2], "user")))


# ---- samplers and stores for PyG's own loaders ----


def test_times_that_a_script_changed_are_not_ignored(film_clients: dict[str, gz.Client]) -> None:
    """The daemon draws by the times of the dataset, whatever a script makes of the field."""
    options: dict[str, Any] = {"input_nodes": ("user", USERS), "input_time": 60, "batch_size": 3}
    message = r"time_attr is 'time', but data\['user', 'rates', 'movie'\].time was changed"

    data = ServedHeteroData(film_clients["edge"])
    data[RATES].time = data[RATES].time.clone()  # the same times
    loader = NeighborLoader(data, [5], time_attr="time", **options)
    assert len(list(loader)) == len(list(loader)) == 2
    data[RATES].time += 1000
    with pytest.raises(NotImplementedError, match=message):
        iter(loader)
    with pytest.raises(NotImplementedError, match=r"import_pyg\(data, DIRECTORY, time='time'\)"):
        NeighborLoader(data, [5], time_attr="time", **options)
    pickled = pickle.loads(pickle.dumps(loader))
    with pytest.raises(NotImplementedError, match=message):
        next(iter(pickled))
    del options["input_time"]
    assert (next(iter(NeighborLoader(data, [5], **options)))[RATES].time >= 900).all()

    added = ServedHeteroData(film_clients["edge"])
    added["movie"].time = torch.zeros(COUNTS["movie"], dtype=torch.int64)
    with pytest.raises(NotImplementedError, match=r"data\['movie'\].time was added"):
        GraphZeroSampler(added, [5], time_attr="time")


@pytest.mark.parametrize("name", ["edge_weight", "cost"])
def test_weights_that_a_script_changed_are_not_ignored(
    tmp_path: Path, daemon_of: Callable[[Path], Any], name: str
) -> None:
    ring = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)
    ring[name] = torch.tensor([1.0, 2.0, 3.0])
    gz.import_pyg(ring, tmp_path / "ring", weight_attr=name)
    data = ServedData(daemon_of(tmp_path / "ring").address)
    loader = NeighborLoader(data, [1], weight_attr=name, batch_size=3)
    data[name] = data[name] * 1.0
    assert len(list(loader)) == 1
    data[name] = data[name] * 2.0
    with pytest.raises(NotImplementedError, match=f"weight_attr is '{name}', but data.{name} was"):
        next(iter(loader))
    plain = NeighborLoader(data, [1], batch_size=3)
    assert sorted(next(iter(plain))[name].tolist()) == [2, 4, 6]


def test_pyg_s_loaders_take_the_sampler(film_client: gz.Client, films: HeteroData) -> None:
    sampler = GraphZeroSampler(film_client, [-1, -1])
    assert (sampler.data_type, sampler.is_hetero) == (DataType.heterogeneous, True)
    assert (sampler.node_types, sampler.edge_types) == (TYPES, TRIPLES)
    assert sampler.num_nodes == COUNTS
    nodes = torch.tensor([5, 17, 3])
    for data in (films, ServedHeteroData(film_client)):
        (batch,) = NodeLoader(data, sampler, ("user", nodes), batch_size=3)
        assert_full(batch, films, {"user": nodes}, 2)
        (links,) = LinkLoader(data, sampler, (RATES, LINKS), batch_size=6, neg_sampling="binary")
        assert torch.equal(ends_of(links, RATES, links[RATES].edge_label_index[:, :6]), LINKS)
        assert_columns(links, films)


def test_both_ways_to_a_batch_give_the_same_fields(film_client: gz.Client) -> None:
    def same(out: Any) -> Any:
        return out

    for options in ({}, {"disjoint": True}):
        kinds: list[tuple[Any, dict[str, Any]]] = [
            (NeighborLoader, {"input_nodes": ("user", USERS[:3])}),
            (LinkNeighborLoader, {"edge_label_index": (RATES, LINKS)}),
            (LinkNeighborLoader, {"edge_label_index": (RATES, LINKS), "neg_sampling": "binary"}),
            (LinkNeighborLoader, {"edge_label_index": (RATES, LINKS), "neg_sampling": "triplet"}),
        ]
        for kind, given in kinds:
            (ours,) = kind(film_client, [-1], batch_size=6, **given, **options)
            (theirs,) = kind(
                film_client, [-1], batch_size=6, transform_sampler_output=same, **given, **options
            )
            for key in (*TYPES, *TRIPLES):
                assert set(ours[key].keys()) == set(theirs[key].keys())
                if "neg_sampling" in given:
                    continue  # which each draws for itself
                for name in ours[key].keys():  # noqa: SIM118
                    assert_equal(ours[key][name], theirs[key][name])


def assert_equal(ours: Any, theirs: Any) -> None:
    if torch.is_tensor(ours):
        assert torch.equal(ours, theirs)
    else:
        assert ours == theirs


def test_the_stores_have_types_and_relations(film_client: gz.Client, films: HeteroData) -> None:
    features, graph = FeatureStore(film_client), GraphStore(film_client)
    attrs = [(attr.group_name, attr.attr_name) for attr in features.get_all_tensor_attrs()]
    assert set(attrs) == {
        ("user", "x"), ("user", "y"), ("user", "train_mask"), ("movie", "x"),
        (RATES, "rating"), (FOLLOWS, "since"),
    }  # fmt: skip
    assert torch.equal(features.get_tensor("movie", "x", None), films["movie"].x)
    assert torch.equal(features.get_tensor("user", "y", USERS), films["user"].y[USERS])
    assert torch.equal(features.get_tensor(RATES, "rating", USERS), films[RATES].rating[USERS])
    assert features.get_tensor_size("movie", "x", None) == (40, 3)
    for group, name in (("film", "x"), ("movie", "y")):
        with pytest.raises(gz.NotFound, match=name if group == "movie" else group):
            features.get_tensor(group, name, None)
    sizes = {attr.edge_type: attr.size for attr in graph.get_all_edge_attrs()}
    assert sizes == {triple: (COUNTS[triple[0]], COUNTS[triple[2]]) for triple in TRIPLES}
    rows, cols, ids = graph.coo()
    for triple in TRIPLES:
        assert torch.equal(torch.stack([rows[triple], cols[triple]]), films[triple].edge_index)
        assert ids[triple].tolist() == list(range(RELATIONS[triple]))
    sources, first, ids = graph.csc()
    for triple in TRIPLES:
        edges = torch.stack([sources[triple], torch.repeat_interleave(first[triple].diff())])
        assert torch.equal(edges, films[triple].edge_index[:, ids[triple]])
    first, targets, ids = graph.csr([HAS])
    assert list(first) == [HAS]
    assert first[HAS].diff().tolist() == films[HAS].edge_index[0].bincount(minlength=40).tolist()
    assert torch.equal(targets[HAS], films[HAS].edge_index[1][ids[HAS]])
    (batch,) = NodeLoader(
        (features, graph), GraphZeroSampler(film_client, [-1]), ("user", USERS[:3]), batch_size=3
    )
    assert torch.equal(batch["movie"].x, films["movie"].x[batch["movie"].n_id])


def test_backward_sampling_follows_out_edges(film_client: gz.Client, films: HeteroData) -> None:
    sampler = GraphZeroSampler(film_client, [-1], sample_direction="backward")
    (batch,) = NodeLoader(films, sampler, ("movie", torch.tensor([3, 11])), batch_size=2)
    for triple in TRIPLES:
        sources = films[triple].edge_index[0]
        mine = torch.isin(sources, torch.tensor([3, 11])) if triple[0] == "movie" else sources < 0
        assert sorted(batch[triple].e_id.tolist()) == mine.nonzero().view(-1).tolist()
    assert_columns(batch, films)


# ---- the same batches again ----


def facts(batch: HeteroData) -> list[Any]:
    return [
        value.tolist() if torch.is_tensor(value) else value
        for store in batch.stores
        for _, value in sorted(store.items())
    ]


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "nodes": (NeighborLoader, {"input_nodes": ("user", "train")}),
    "types": (NeighborLoader, {"input_nodes": {"user": None, "movie": range(10)}}),
    "links": (LinkNeighborLoader, {"edge_label_index": RATES, "neg_sampling": "triplet"}),
}


def make(kind: str, film_client: Any, **options: Any) -> Any:
    loader, own = KINDS[kind]
    return loader(film_client, num_neighbors=[3, 2], batch_size=8, shuffle=True, **own, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_goes_on_where_it_was(film_client: gz.Client, kind: str) -> None:
    torch.manual_seed(5)
    loader = make(kind, film_client)
    batches = iter(loader)
    next(batches)
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    expected = [facts(batch) for batch in batches]
    resumed = make(kind, film_client)
    resumed.load_state_dict(state)
    assert [facts(batch) for batch in resumed] == expected
    assert len(expected) == len(loader) - 1
    others = {"nodes": ("movie", None), "types": {"user": None}, "links": REV_RATES}
    name = "edge_label_index" if kind == "links" else "input_nodes"
    other, own = KINDS[kind]
    different = other(film_client, num_neighbors=[3, 2], batch_size=8, shuffle=True,
                      **{**own, name: others[kind]})  # fmt: skip
    with pytest.raises(ValueError, match="other"):
        different.load_state_dict(state)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickled_loader_gives_the_same_batches(film_client: gz.Client, kind: str) -> None:
    loader = make(kind, film_client)
    copied = pickle.loads(pickle.dumps(loader))
    torch.manual_seed(2)
    expected = [facts(batch) for batch in loader]
    torch.manual_seed(2)
    assert [facts(batch) for batch in copied] == expected


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_workers_make_batches_of_types(
    film_client: gz.Client, films: HeteroData, context: str
) -> None:
    loader = NeighborLoader(
        film_client, [-1], ("user", "train"), batch_size=5, num_workers=2,
        multiprocessing_context=context,
    )  # fmt: skip
    for batch, first in zip(loader, itertools.count(0, 15), strict=False):
        assert_full(batch, films, {"user": range(first, first + 15, 3)}, 1)


def test_batches_are_those_of_the_client_s_loader(film_client: gz.Client) -> None:
    """For the same seeds in the same order, of a loader with the same seed."""
    loader = NeighborLoader(film_client, [3, 2], ("user", USERS), batch_size=2)
    torch.manual_seed(4)
    ours = list(loader)
    torch.manual_seed(4)
    seed = int(torch.empty((), dtype=torch.int64).random_())
    theirs = film_client.loader(("user", USERS), [3, 2], batch_size=2, seed=seed)
    for a, b in zip(ours, theirs, strict=True):
        for name in TYPES:
            assert torch.equal(a[name].n_id, b[name].n_id)
        for triple in TRIPLES:
            assert torch.equal(a[triple].edge_index, b[triple].edge_index)
            assert torch.equal(a[triple].e_id, b[triple].e_id)


def test_a_copied_data_object_is_of_its_own(film_client: gz.Client) -> None:
    data = ServedHeteroData(film_client)
    other = copy.copy(data)
    del other["user"].x
    assert "x" in data["user"]
    assert "x" not in pickle.loads(pickle.dumps(other))["user"]
    assert torch.equal(pickle.loads(pickle.dumps(data))["user"].x, data["user"].x)
