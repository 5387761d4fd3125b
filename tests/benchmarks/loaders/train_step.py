"""Training a GraphSAGE from one contender's batches: `train_step.py KIND SOURCE WORKERS THREADS`.

KIND is ours (SOURCE: the daemon's address), dgl or pyg (SOURCE: a folder of .npy files). The model
and its step are the same for all; only where batches come from differs. THREADS are torch's in the
main process. Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common.contender import BATCH, FANOUT
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding_bag

HIDDEN = 64
WARM_UP, COUNTED = 3, 12  # batches


@dataclass
class Hop:
    """For each of num_targets nodes, which come first in x, the sources of its edges."""

    source: Tensor
    offsets: Tensor  # of each target's first source
    num_targets: int


@dataclass
class TrainBatch:
    x: Tensor
    y: Tensor  # of the seeds
    hops: list[Hop]  # outermost first


class Sage(nn.Module):
    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        sizes = [inputs, *[HIDDEN] * (len(FANOUT) - 1), classes]
        self.own = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.others = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairwise(sizes))

    def forward(self, batch: TrainBatch) -> Tensor:
        x = batch.x
        for number, hop in enumerate(batch.hops):
            mean = embedding_bag(hop.source, x, hop.offsets, mode="mean")
            x = self.own[number](x[: hop.num_targets]) + self.others[number](mean)
            if number + 1 < len(batch.hops):
                x = x.relu()
        return x


def nested_hops(
    edge_index: Tensor, nodes: list[int], edges: list[int], trim: bool = True
) -> list[Hop]:
    """Of a subgraph whose nodes and edges lie hop by hop, targets ascending."""
    hops = []
    for depth in range(len(edges), 0, -1):
        num_edges = sum(edges[:depth]) if trim else sum(edges)
        num_targets = sum(nodes[:depth]) if trim else sum(nodes)
        source, target = edge_index[:, :num_edges]
        degree = torch.bincount(target, minlength=num_targets)
        hops.append(Hop(source, degree.cumsum(0) - degree, num_targets))
    return hops


class Ours:
    def __init__(self, address: str, workers: int) -> None:
        import graphzero as gz

        del workers
        self._client = gz.connect(address)

    def batches(self, split: str, count: int) -> Iterator[TrainBatch]:
        seeds = np.asarray(self._client.column(split))[: count * BATCH]
        loader = self._client.loader(
            seeds, FANOUT, BATCH, shuffle=True, columns=["x"], seed_columns=["y"]
        )
        for batch in loader:
            hops = nested_hops(batch.edge_index, batch.num_sampled_nodes, batch.num_sampled_edges)
            yield TrainBatch(batch.x, batch.y, hops)

    def classes(self) -> int:
        return int(self._client.column("y").max()) + 1


class Peer:
    def __init__(self, arrays: str, workers: int) -> None:
        self._arrays = Path(arrays)
        self._workers = workers
        self._x, self._y = self.load("x"), self.load("y")

    def load(self, name: str) -> Tensor:
        return torch.from_numpy(np.load(self._arrays / f"{name}.npy"))

    def classes(self) -> int:
        return int(self._y.max()) + 1


class Dgl(Peer):
    def __init__(self, arrays: str, workers: int) -> None:
        super().__init__(arrays, workers)
        import dgl.graphbolt as gb

        self._gb = gb
        self._graph = gb.fused_csc_sampling_graph(self.load("indptr"), self.load("indices"))
        column = gb.TorchBasedFeature(self._x)
        self._features = gb.BasicFeatureStore({("node", None, "x"): column})

    def batches(self, split: str, count: int) -> Iterator[TrainBatch]:
        gb = self._gb
        seeds = self.load(split)[: count * BATCH]
        items = gb.ItemSet((seeds, self._y[seeds]), names=("seed_nodes", "labels"))
        pipe = gb.ItemSampler(items, batch_size=BATCH, shuffle=True)
        # GraphBolt reads fanouts from the input layer to the seeds.
        pipe = pipe.sample_neighbor(self._graph, [torch.tensor([k]) for k in reversed(FANOUT)])
        pipe = pipe.fetch_feature(self._features, node_feature_keys=["x"])
        for batch in gb.DataLoader(pipe, num_workers=self._workers):
            hops = [
                Hop(block.sampled_csc.indices, block.sampled_csc.indptr[:-1],
                    len(block.sampled_csc.indptr) - 1)
                for block in batch.sampled_subgraphs
            ]  # fmt: skip
            yield TrainBatch(batch.node_features["x"], batch.labels, hops)


class Pyg(Peer):
    def __init__(self, arrays: str, workers: int) -> None:
        super().__init__(arrays, workers)
        from torch_geometric.data import Data

        indptr, source = self.load("indptr"), self.load("indices")
        target = torch.repeat_interleave(torch.arange(len(indptr) - 1), indptr.diff())
        self._data = Data(x=self._x, y=self._y, edge_index=torch.stack([source, target]))

    def batches(self, split: str, count: int) -> Iterator[TrainBatch]:
        from torch_geometric.loader import NeighborLoader

        loader = NeighborLoader(
            self._data,
            FANOUT,
            self.load(split)[: count * BATCH],
            batch_size=BATCH,
            shuffle=True,
            num_workers=self._workers,
            is_sorted=True,
        )
        for batch in loader:
            edge_index = batch.edge_index
            trim = "num_sampled_nodes" in batch  # pyg_lib counts, torch-sparse does not
            if trim:
                nodes, edges = batch.num_sampled_nodes, batch.num_sampled_edges
            else:
                edge_index = edge_index[:, edge_index[1].argsort(stable=True)]
                nodes = [batch.num_nodes]
                edges = [edge_index.shape[1], *[0] * (len(FANOUT) - 1)]
            hops = nested_hops(edge_index, nodes, edges, trim)
            yield TrainBatch(batch.x, batch.y[: batch.batch_size], hops)


def main() -> None:
    kind, source, workers, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    contender: Any = {"ours": Ours, "dgl": Dgl, "pyg": Pyg}[kind](source, workers)
    batches = contender.batches("train", WARM_UP + COUNTED)
    model: Sage | None = None
    started = now = time.perf_counter()
    waited = 0.0
    for number, batch in enumerate(batches):
        waited += time.perf_counter() - now
        if model is None:
            model = Sage(batch.x.shape[1], contender.classes())
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        loss = cross_entropy(model(batch)[: len(batch.y)], batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        now = time.perf_counter()
        if number + 1 == WARM_UP:
            started, waited = now, 0.0
    taken = time.perf_counter() - started
    print(
        json.dumps(
            {
                "batches_s": COUNTED / taken,
                "batch_ms": 1000 * taken / COUNTED,
                "waiting": waited / taken,
            }
        )
    )


main()
