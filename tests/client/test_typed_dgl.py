"""Blocks of a heterograph from typed batches, as DGL sees them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from dgl_interpreter import run_with_dgl

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from hetero_graphs import RATES, hetero_graph

SCRIPT = Path(__file__).with_name("dgl_typed_blocks_of_file.py")


def test_dgl_accepts_the_blocks(
    tmp_path: Path, daemon_of: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = hetero_graph()
    data["tag"].x = data["movie"].x[:7, :1]
    data[RATES].edge_weight = data[RATES].rating[:, 0].contiguous()
    place = tmp_path_factory.mktemp("dgl") / "films"
    gz.import_pyg(data, place, weight_attr="edge_weight")
    with gz.connect(daemon_of(place).address) as client:
        batch = client.sample({"user": [5, 17, 5], "movie": [3]}, [4, 3, 2]).numpy()
    arrays = {f"{name}/n_id": batch[name].n_id for name in batch.node_types}
    arrays |= {f"{name}/x": batch[name].x[:, :1] for name in batch.node_types}
    for triple in batch.edge_types:
        for name in ("edge_index", "e_id", "edge_weight"):
            if name in batch[triple]:
                arrays[f"{'.'.join(triple)}/{name}"] = batch[triple][name]
    assert f"{'.'.join(RATES)}/edge_weight" in arrays
    np.savez(tmp_path / "batch.npz", **arrays)
    counts = {
        "hops": 3,
        "types": {
            name: {
                "num_sampled_nodes": batch[name].num_sampled_nodes,
                "batch_size": batch[name].batch_size,
            }
            for name in batch.node_types
        },
        "relations": {
            ".".join(triple): {"num_sampled_edges": batch[triple].num_sampled_edges}
            for triple in batch.edge_types
        },
    }
    (tmp_path / "counts.json").write_text(json.dumps(counts))
    output = run_with_dgl(SCRIPT, tmp_path / "batch.npz", tmp_path / "counts.json", folder=tmp_path)
    assert output.strip().endswith("blocks are right")
