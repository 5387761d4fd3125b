"""Batches as layers, for any framework and for DGL."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from dgl_interpreter import run_with_dgl

SEEDS = [7, 11, 7, 1999, 0]
FANOUT = [4, 3, 2]
SCRIPT = Path(__file__).with_name("dgl_blocks_of_file.py")


def test_layers_are_nested_and_destinations_come_first(client: gz.Client) -> None:
    batch = client.sample(SEEDS, FANOUT)
    layers = batch.layers()
    assert len(layers) == 3
    assert layers[0].num_src == len(batch.n_id)
    assert torch.equal(layers[0].edge_index, batch.edge_index)
    assert layers[-1].num_dst == batch.batch_size
    assert [layer.edge_index.shape[1] for layer in layers] == [
        sum(batch.num_sampled_edges[:hops]) for hops in (3, 2, 1)
    ]
    for earlier, later in itertools.pairwise(layers):
        assert earlier.num_dst == later.num_src
    for layer in layers:
        assert torch.equal(layer.n_id, batch.n_id[: layer.num_src])
        assert torch.equal(layer.e_id, batch.e_id[: layer.edge_index.shape[1]])
        assert torch.equal(layer.edge_weight, batch.edge_weight[: len(layer.e_id)])
        assert int(layer.edge_index[0].max()) < layer.num_src
        assert int(layer.edge_index[1].max()) < layer.num_dst
        assert layer.edge_index.data_ptr() == batch.edge_index.data_ptr()  # a view


def test_layers_with_all_neighbours_compute_what_the_whole_graph_does(
    client: gz.Client, graph: gz.Graph
) -> None:
    every = graph.sample(range(graph.num_nodes), [-1])
    weights = [torch.randn(16, 16, generator=torch.Generator().manual_seed(i)) for i in range(2)]

    def mean(x: torch.Tensor, edge_index: Any, num_dst: int) -> torch.Tensor:
        source, target = torch.as_tensor(edge_index)
        total = torch.zeros(num_dst, x.shape[1]).index_add(0, target, x[source])
        return x[:num_dst] + total / target.bincount(minlength=num_dst).clamp(min=1).unsqueeze(1)

    x = client.column("x")
    for weight in weights:
        x = (mean(x, every.edge_index, len(x)) @ weight).relu()
    batch = client.sample(SEEDS, [-1, -1])
    hidden = batch.x
    for layer, weight in zip(batch.layers(), weights, strict=True):
        hidden = (mean(hidden, layer.edge_index, layer.num_dst) @ weight).relu()
    assert torch.allclose(hidden, x[SEEDS], atol=1e-4)


def test_hops_without_edges_are_layers_too(client: gz.Client) -> None:
    layers = client.sample(SEEDS, [2, 0, 0]).layers()
    assert len(layers) == 3
    assert layers[0].num_src == layers[0].num_dst == layers[1].num_src
    assert client.sample(SEEDS, []).layers() == []
    assert len(client.sample([], [3]).layers()) == 1


def test_batches_without_hops_have_no_layers(client: gz.Client) -> None:
    with pytest.raises(ValueError, match='subgraph="directional"'):
        client.sample(SEEDS, FANOUT, subgraph="induced").layers()
    with pytest.raises(ValueError, match='direction="in"'):
        client.sample(SEEDS, FANOUT, direction="out").layers()


def test_numpy_batches_have_layers(client: gz.Client) -> None:
    layers = client.sample(SEEDS, FANOUT).numpy().layers()
    assert isinstance(layers[0].edge_index, np.ndarray)


def test_dgl_blocks_without_dgl_name_the_extra(client: gz.Client) -> None:
    if importlib.util.find_spec("dgl") is not None:
        pytest.skip("DGL is installed")
    with pytest.raises(ImportError, match=r"graphzero-server\[dgl\]"):
        client.sample(SEEDS, FANOUT).to_dgl_blocks()


def test_dgl_accepts_the_blocks(client: gz.Client, tmp_path: Path) -> None:
    batch = client.sample(SEEDS, FANOUT).numpy()
    names = ("n_id", "edge_index", "e_id", "edge_weight", "x")
    sizes = {
        "num_sampled_nodes": np.array(batch.num_sampled_nodes),
        "num_sampled_edges": np.array(batch.num_sampled_edges),
    }
    np.savez(tmp_path / "batch.npz", **{name: batch[name] for name in names}, **sizes)
    output = run_with_dgl(SCRIPT, tmp_path / "batch.npz", folder=tmp_path)
    assert output.strip().endswith("blocks are right")
