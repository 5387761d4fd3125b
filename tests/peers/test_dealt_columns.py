"""Columns that are dealt to parts, where a script asks for all rows of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from graphzero.client.requests import dealt_column
from sharded_daemons import deal, start_parts

pytestmark = pytest.mark.slow


@pytest.fixture
def address(start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path) -> str:
    """Of a daemon that has one of two parts, and the other one for a peer."""
    address: str = start_parts(start_daemon, deal(dataset, tmp_path, 2))[0].address
    return address


@pytest.fixture
def client(address: str) -> Iterator[gz.Client]:
    with gz.connect(address) as client:
        yield client


def rows(dataset: Path, name: str) -> Any:
    return torch.from_numpy(np.array(gz.FeatureStore(dataset / f"{name}.gd").get_tensor()))


def test_a_dealt_column_is_whole(
    client: gz.Client, address: str, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("x", "y", "when", "train"):
        assert torch.equal(client.column(name), rows(dataset, name)), name
    monkeypatch.setattr(dealt_column, "_BYTES_PER_DEADLINE", 1000)  # in many pieces
    assert torch.equal(client.column("x"), rows(dataset, "x"))

    async def column() -> Any:
        async with gz.aconnect(address) as other:
            return await other.column("x")

    assert torch.equal(asyncio.run(column()), rows(dataset, "x"))


def test_a_dealt_column_without_room_is_refused_with_what_to_do(
    client: gz.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealt_column, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"dealt to several daemons.*gather\('x', ids\)"):
        client.column("x")


def test_scripts_of_pyg_see_all_of_the_data(client: gz.Client, dataset: Path) -> None:
    pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")
    from graphzero.pyg import FeatureStore, NeighborLoader, ServedData
    from torch_geometric.nn.models import GraphSAGE

    data = ServedData(client)
    model = GraphSAGE(data.num_features, hidden_channels=8, num_layers=2, out_channels=5).eval()
    loader = NeighborLoader(client, num_neighbors=[-1], batch_size=300)
    with torch.no_grad():
        expected = model(rows(dataset, "x"), data.edge_index)
        assert torch.allclose(model.inference(loader), expected, atol=1e-4)
    for found in (data.x, loader.data.x, FeatureStore(client)[None, "x", None]):
        assert torch.equal(found, rows(dataset, "x"))
    assert torch.equal(data.when, rows(dataset, "when"))
