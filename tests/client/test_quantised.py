"""A quantised column through a daemon is the float32 column that its values make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

import torch
from graphzero.pyg import FeatureStore, NeighborLoader

NODES, EDGES = 400, 3000


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same values stored as codes and as floats."""
    folder = tmp_path_factory.mktemp("quantised")
    rng = np.random.default_rng(0)
    gz.write_features(folder / "x.gd", rng.normal(size=(NODES, 33)), dtype="q8")
    gz.write_features(folder / "half.gd", rng.normal(size=(NODES, 2, 3)), dtype="q8[float16]")
    gz.write_features(folder / "one.gd", rng.normal(size=NODES), dtype="q8")
    gz.write_features(folder / "weight.gd", rng.random((EDGES, 3)), dtype="q8", role="edge")
    names = ("x", "half", "one", "weight")
    for name in names:
        np.save(folder / f"{name}.npy", gz.FeatureStore(folder / f"{name}.gd").get_tensor())
    np.save(folder / "edges.npy", rng.integers(0, NODES, (2, EDGES)))
    for kind, suffix in (("codes", "gd"), ("floats", "npy")):
        gz.import_files(
            folder / "edges.npy",
            folder / kind,
            columns={name: folder / f"{name}.{suffix}" for name in names[:3]},
            edge_columns={"weight": folder / f"weight.{suffix}"},
        )
    return {kind: folder / kind for kind in ("codes", "floats")}


@pytest.fixture(params=["shared_memory", "inline"])
def clients(
    request: pytest.FixtureRequest, datasets: dict[str, Path], daemon_of: Callable[[Path], Any]
) -> Iterator[tuple[gz.Client, gz.Client]]:
    addresses = [daemon_of(path).address for path in datasets.values()]
    codes, floats = (gz.connect(address, transport=request.param) for address in addresses)
    with codes, floats:
        yield codes, floats


COLUMNS = ["x", "half", "one", "weight"]


def test_the_files_are_a_quarter_and_the_types_the_same(
    datasets: dict[str, Path], clients: tuple[gz.Client, gz.Client]
) -> None:
    for name in COLUMNS:
        stores = [gz.FeatureStore(path / f"{name}.gd") for path in datasets.values()]
        assert [store.quantisation is not None for store in stores] == [True, False]
    described = [client.info().dataset.columns for client in clients]
    for name in COLUMNS:
        codes, floats = (found[name] for found in described)
        assert (codes.dtype, codes.shape, codes.role) == (floats.dtype, floats.shape, floats.role)
        assert codes.quantised == ("q8[float16]" if name == "half" else "q8")
        assert floats.quantised is None


def test_batches_and_gathers(clients: tuple[gz.Client, gz.Client]) -> None:
    batches = [
        client.sample([3, 7, 3], fanout=[5, 5], columns=COLUMNS, seed=1) for client in clients
    ]
    for name in COLUMNS:
        codes, floats = (batch[name] for batch in batches)
        assert codes.dtype == floats.dtype
        assert torch.equal(codes, floats), name
    ids = np.random.default_rng(1).integers(0, NODES, 1000)
    for name in COLUMNS[:3]:
        codes, floats = (client.gather(name, ids) for client in clients)
        assert torch.equal(codes, floats), name


def test_whole_columns_are_made_in_memory(clients: tuple[gz.Client, gz.Client]) -> None:
    for name in COLUMNS:
        codes, floats = (client.column(name) for client in clients)
        assert codes.dtype == floats.dtype
        assert torch.equal(codes, floats), name


def test_loaders_and_stores_of_pyg(clients: tuple[gz.Client, gz.Client]) -> None:
    def batches(client: gz.Client) -> list[Any]:
        loader = client.loader(np.arange(NODES), fanout=[4], batch_size=100, columns=COLUMNS)
        return [(batch.x.clone(), batch.half.clone(), batch.one.clone()) for batch in loader]

    for codes, floats in zip(*map(batches, clients), strict=True):
        assert all(map(torch.equal, codes, floats))
    stores = [FeatureStore(client) for client in clients]
    for index in (None, torch.tensor([5, 1, 5])):
        codes, floats = (
            store.get_tensor(group_name=None, attr_name="x", index=index) for store in stores
        )
        assert torch.equal(codes, floats)

    def pyg_batches(client: gz.Client) -> list[Any]:
        torch.manual_seed(0)
        nodes = torch.arange(NODES)
        return list(NeighborLoader(client, num_neighbors=[3], batch_size=50, input_nodes=nodes))

    for codes, floats in zip(*map(pyg_batches, clients), strict=True):
        assert torch.equal(codes.x, floats.x)
        assert torch.equal(codes.half, floats.half)


def test_upcast_widens_halves(datasets: dict[str, Path], daemon_of: Callable[[Path], Any]) -> None:
    with gz.connect(daemon_of(datasets["codes"]).address, upcast=True) as client:
        found = client.gather("half", [1, 2])
    expected = gz.FeatureStore(datasets["floats"] / "half.gd").gather([1, 2], upcast=True)
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found.numpy(), expected)
