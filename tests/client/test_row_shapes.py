"""Columns of several dimensions and weights of any type, from PyG through a daemon to PyG."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import (
    FeatureStore,
    GraphZeroSampler,
    LinkNeighborLoader,
    NeighborLoader,
    ServedData,
)
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader

NODES, EDGES = 40, 200


@pytest.fixture(scope="module")
def data() -> Data:
    generator = torch.Generator().manual_seed(1)
    return Data(
        edge_index=torch.randint(NODES, (2, EDGES), generator=generator),
        num_nodes=NODES,
        history=torch.rand(NODES, 3, 4, generator=generator),
        image=torch.randint(99, (NODES, 2, 2, 2), generator=generator, dtype=torch.int16),
        half=torch.rand(NODES, 2, 2, generator=generator).bfloat16(),
        path=torch.rand(EDGES, 5, 2, generator=generator),
        edge_weight=torch.arange(EDGES) + 16777217,
        distance=torch.rand(EDGES, generator=generator),
    )


@pytest.fixture(scope="module")
def dataset(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shapes") / "ds"
    gz.import_pyg(data, place, weight_attr="distance")
    return place


@pytest.fixture(params=["shared_memory", "inline"])
def client(
    request: pytest.FixtureRequest, dataset: Path, daemon_of: Callable[[Path], Any]
) -> Iterator[gz.Client]:
    with gz.connect(daemon_of(dataset).address, transport=request.param) as connected:
        yield connected


def same(batch: Any, data: Data) -> None:
    for name in ("history", "image", "half"):
        assert torch.equal(batch[name], data[name][batch.n_id]), name
    for name in ("path", "edge_weight", "distance"):
        assert batch[name].dtype == data[name].dtype
        assert torch.equal(batch[name], data[name][batch.e_id]), name


def test_batches_of_a_client(client: gz.Client, data: Data) -> None:
    columns = ["history", "image", "half", "path", "edge_weight", "distance"]
    batch = client.sample([3, 7], fanout=[4, 3], columns=columns)
    same(batch, data)
    same(batch.clone(), data)
    same(pickle.loads(pickle.dumps(batch)), data)
    same(batch.to_pyg(), data)
    assert "history=[" in repr(batch)
    for one in client.loader(None, fanout=[2], batch_size=16, columns=columns):
        same(one, data)
    seeds = client.sample([3, 7], fanout=[4], columns=[], seed_columns=["image"])
    assert torch.equal(seeds.image, data.image[[3, 7]])
    # Without the column of that name, weights are those that the graph draws by.
    assert torch.equal(seeds.edge_weight, data.distance[seeds.e_id])


def test_single_columns(client: gz.Client, data: Data) -> None:
    info = client.info().dataset
    assert info.columns["image"].shape == (NODES, 2, 2, 2)
    assert info.weight_name == "distance"
    assert torch.equal(client.gather("image", [5, 5, 0]), data.image[[5, 5, 0]])
    assert torch.equal(client.column("history"), data.history)
    store = FeatureStore(client)
    assert store.get_tensor_size(None, "history", None) == (NODES, 3, 4)
    assert torch.equal(store.get_tensor(None, "history", torch.tensor([9])), data.history[[9]])


def test_half_precision_is_widened_in_its_shape(dataset: Path, daemon_of: Any, data: Data) -> None:
    with gz.connect(daemon_of(dataset).address, upcast=True) as client:
        batch = client.sample([1], fanout=[2], columns=["half"])
        assert torch.equal(batch.half, data.half[batch.n_id].float())


@pytest.mark.parametrize("weight_attr", [None, "distance"])
def test_loaders_of_pyg(client: gz.Client, data: Data, weight_attr: str | None) -> None:
    for batch in NeighborLoader(client, [3, 2], batch_size=16, weight_attr=weight_attr):
        same(batch, data)
        assert set(data.keys()) <= set(batch.keys())
    links = LinkNeighborLoader(client, [3], data.edge_index[:, :9], batch_size=3)
    for batch in links:
        same(batch, data)
    same(links.filter_fn(links.link_sampler.sample_from_edges(links.input_data[[0, 1]])), data)
    served = ServedData(client)
    for name in data.keys():  # noqa: SIM118
        same_value = torch.equal if torch.is_tensor(data[name]) else lambda a, b: a == b
        assert same_value(served[name], data[name]), name


def test_weights_of_another_name_are_no_edge_weight(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    nodes = torch.arange(6)
    data = Data(
        edge_index=torch.stack([nodes.roll(1), nodes]).repeat(1, 2),
        num_nodes=6,
        cost=torch.cat([torch.zeros(6), torch.ones(6)]),
    )
    gz.import_pyg(data, tmp_path / "ds", weight_attr="cost")
    with gz.connect(start_daemon(tmp_path / "ds").address) as client:
        loader = NeighborLoader(
            client, [2], batch_size=6, weight_attr="cost", filter_per_worker=False
        )
        for batch in (next(iter(loader)), loader.filter_fn(loader.collate_fn(range(6)))):
            assert "edge_weight" not in batch
            assert batch.e_id.tolist() == [6, 7, 8, 9, 10, 11]  # none of weight 0
            assert batch.cost.tolist() == [1.0] * 6
        assert "edge_weight" not in ServedData(client)
        sampler = GraphZeroSampler(client, [2], weight_attr="cost")
        batch = next(iter(NodeLoader(data, sampler, batch_size=6)))
        assert batch.cost.tolist() == [1.0] * 6
        with pytest.raises(ValueError, match="weight_attr is 'edge_weight', expected 'cost'"):
            NeighborLoader(client, [2], weight_attr="edge_weight")


def test_embedded_stores_of_a_dataset(dataset: Path, data: Data) -> None:
    store = gz.FeatureStore(dataset / "history.gd")
    np.testing.assert_array_equal(store.gather([4, 2]), data.history[[4, 2]])
    path = gz.FeatureStore(dataset / "path.gd")
    assert (path.role, path.shape) == ("edge", (EDGES, 5, 2))
