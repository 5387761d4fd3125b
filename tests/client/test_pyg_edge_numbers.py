"""e_id of batches indexes the edges of served data, also where edge ids are no positions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import LinkNeighborLoader, NeighborLoader, ServedData, ServedHeteroData

RATES, BACK, KNOWS = (
    ("user", "rates", "movie"),
    ("movie", "rev_rates", "user"),
    ("user", "k", "user"),
)
TRIPLES = [RATES, BACK, KNOWS]


@pytest.fixture
def people(tmp_path: Path, start_daemon: Callable[..., Any]) -> Iterator[gz.Client]:
    """A relation with gaps among its edge ids, its view, and an undirected one with loops."""
    draw = np.random.default_rng(0)
    user, movie = ({"column": name, "table": name} for name in ("user", "movie"))
    columns = {"user": draw.integers(25, size=120), "movie": draw.integers(9, size=120)}
    knows = {"user": draw.integers(20, size=60), "other": draw.integers(20, size=60)}
    tables = {
        "user": {"data": {"id": np.arange(20)}, "key": "id"},
        "movie": {},
        "rates": {
            "data": {**columns, "k": np.arange(120.0), "w": draw.random(120)},
            "edges": {"source": user, "target": movie},
            "features": {"k": "k"},
            "weight": "w",
            "missing": "drop",  # of users from 20 on
        },
        "k": {
            "data": {**knows, "k": np.arange(60.0)},
            "edges": {"source": user, "target": {"column": "other", "table": "user"}},
            "features": {"k": "k"},
            "undirected": True,
        },
    }
    report = gz.import_tables(tables, tmp_path / "people")
    assert 0 < report.relations[RATES].dangling < 120
    with gz.connect(start_daemon(tmp_path / "people").address) as client:
        yield client


def assert_indexes(data: Any, batch: Any, triples: list[Any]) -> None:
    for triple in triples:
        own, store = data[triple], batch[triple]
        ids = torch.stack(
            [batch[name].n_id[end] for name, end in zip(triple[::2], store.edge_index, strict=True)]
        )
        assert store.num_edges
        assert torch.equal(own.edge_index[:, store.e_id], ids)
        assert torch.equal(own.k[store.e_id], store.k)
        if "edge_weight" in store:
            assert torch.equal(own.edge_weight[store.e_id], store.edge_weight)


@pytest.mark.parametrize("own_code", [False, True])
def test_e_id_indexes_edges_with_gaps_views_and_undirected_ones(
    people: gz.Client, own_code: bool
) -> None:
    data = ServedHeteroData(people)
    more: dict[str, Any] = {"transform_sampler_output": lambda out: out} if own_code else {}
    nodes = NeighborLoader(data, [4, 4], ("user", None), batch_size=7, **more)
    links = LinkNeighborLoader(data, [4, 4], RATES, batch_size=9, **more)
    for loader in (nodes, links):
        for batch in loader:
            assert_indexes(data, batch, TRIPLES)
    data[KNOWS].number = torch.arange(data[KNOWS].num_edges)
    batch = next(iter(nodes))
    assert torch.equal(batch[KNOWS].number, batch[KNOWS].e_id)


def test_weights_of_edges_that_other_code_chose_are_theirs(people: gz.Client) -> None:
    def without_first(out: Any) -> Any:
        for name in ("row", "col", "edge"):
            ends = getattr(out, name)
            ends[RATES] = ends[RATES][1:]
        return out

    data = ServedHeteroData(people)
    loader = NeighborLoader(
        data, [-1], ("movie", None), batch_size=9, transform_sampler_output=without_first
    )
    assert_indexes(data, next(iter(loader)), [RATES])


def test_a_loader_of_a_place_keeps_edge_ids_and_says_so(people: gz.Client) -> None:
    loader = NeighborLoader(people, [-1], ("movie", None), batch_size=9)
    batch = next(iter(loader))
    own = people.sample({"movie": range(9)}, [-1])[RATES]
    assert sorted(batch[RATES].e_id.tolist()) == sorted(own.e_id.tolist())
    with pytest.warns(UserWarning, match=r"rates.*\.k has a row for each edge, but e_id of this"):
        _ = loader.data[RATES].k


def test_edges_without_gaps_are_not_read_for_that(
    tmp_path: Path, start_daemon: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("this reads the whole topology")

    gz.write_graph(tmp_path / "graph.gl", [0, 2, 1, 0], [1, 0, 2, 2], num_nodes=3, edge_ids=True)
    monkeypatch.setattr("graphzero.client.pyg.served_fields.edges_by_id", never)
    with gz.connect(start_daemon(tmp_path).address) as client, warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (ServedData(client), client):
            batch = next(iter(NeighborLoader(data, [-1], batch_size=3)))
            assert sorted(batch.e_id.tolist()) == [0, 1, 2, 3]
        monkeypatch.undo()
        assert NeighborLoader(client, [-1]).data.edge_index.shape == (2, 4)


def test_e_id_indexes_edges_of_a_graph_without_types(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    gz.write_graph(
        tmp_path / "graph.gl",
        [0, 2, 0, 1, 0, 1],
        [1, 0, 1, 2, 2, 1],
        num_nodes=3,
        edge_ids=True,
        dedup=True,
    )
    with gz.connect(start_daemon(tmp_path).address) as client:
        data = ServedData(client)
        batch = next(iter(NeighborLoader(data, [-1], batch_size=3)))
        assert batch.num_edges == data.num_edges == 5
        assert torch.equal(data.edge_index[:, batch.e_id], batch.n_id[batch.edge_index])


def test_edges_that_are_too_many_for_memory_keep_their_ids(
    people: gz.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr("graphzero.client.pyg.served_fields.edges_by_id", full)
    data = ServedHeteroData(people)
    batch = next(iter(NeighborLoader(data, [-1], ("movie", None), batch_size=9)))
    assert batch[RATES].num_edges
    with pytest.raises(MemoryError):
        _ = data[RATES].k
