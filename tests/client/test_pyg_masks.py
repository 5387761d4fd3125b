"""Masks of a PyG graph, after its import: seeds by name, and fields of batches as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch
from graphzero.pyg import NeighborLoader
from torch_geometric.data import Data


def test_a_script_finds_its_masks(tmp_path: Path, start_daemon: Callable[..., Any]) -> None:
    nodes = torch.arange(12)
    ring = torch.stack([nodes, nodes.roll(-1)])
    data = Data(
        x=nodes.float().reshape(-1, 1),
        edge_index=ring,
        train_mask=nodes % 3 == 0,
        val_mask=nodes % 3 == 1,
        test_mask=nodes % 3 == 2,
        many_mask=torch.stack([nodes > 5, nodes < 2], 1),  # several splits in one
    )
    gz.import_pyg(data, tmp_path / "ds")
    with gz.connect(start_daemon(tmp_path / "ds").address) as client:
        for input_nodes in ("train", "train_mask", data.train_mask):
            loader = NeighborLoader(
                client, num_neighbors=[-1], input_nodes=input_nodes, batch_size=4
            )
            batch = next(iter(loader))
            assert batch.n_id[: batch.batch_size].tolist() == [0, 3, 6, 9]
            assert torch.equal(batch.train_mask, data.train_mask[batch.n_id])
            assert torch.equal(batch.many_mask, data.many_mask[batch.n_id])
        # A full-graph evaluation, as scripts write it.
        whole = next(iter(NeighborLoader(client, num_neighbors=[-1], batch_size=12)))
        assert whole.x[whole.val_mask].flatten().tolist() == [1, 4, 7, 10]
        with pytest.raises(gz.NotFound, match=r"it has .*test, test_mask"):
            NeighborLoader(client, num_neighbors=[-1], input_nodes="validation")
