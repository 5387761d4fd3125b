"""DGL 2.1's GraphBolt loader on the same arrays: `python peer_dgl.py ARRAYS SECONDS WORKERS`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dgl.graphbolt as gb
import numpy as np
import torch
from measure import BATCH, FANOUT, run


def batches(arrays: Path, workers: int) -> Iterator[list[Any]]:
    def load(name: str) -> torch.Tensor:
        return torch.from_numpy(np.load(arrays / f"{name}.npy"))

    graph = gb.fused_csc_sampling_graph(load("indptr"), load("indices"))
    features = gb.BasicFeatureStore(
        {
            ("node", None, "x"): gb.TorchBasedFeature(load("x")),
            ("node", None, "y"): gb.TorchBasedFeature(load("y").view(-1, 1)),
        }
    )
    items = gb.ItemSet(load("train"), names="seed_nodes")
    while True:
        pipe = gb.ItemSampler(items, batch_size=BATCH, shuffle=True, drop_last=True)
        # GraphBolt reads fanouts from the input layer to the seeds.
        pipe = pipe.sample_neighbor(graph, [torch.tensor([k]) for k in reversed(FANOUT)])
        pipe = pipe.fetch_feature(features, node_feature_keys=["x", "y"])
        for batch in gb.DataLoader(pipe, num_workers=workers):
            edges = [block.sampled_csc.indices for block in batch.sampled_subgraphs]
            tensors = [batch.input_nodes, *edges, *batch.node_features.values()]
            yield [tensor.numpy() for tensor in tensors]


def main() -> None:
    arrays, seconds, workers = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(2 if workers == 0 else 1)
    run(batches(arrays, workers), seconds, warm_up=4)


main()
