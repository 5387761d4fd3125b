"""PyG's NeighborLoader on the same arrays: `python peer_pyg.py ARRAYS SECONDS WORKERS`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import BATCH, FANOUT, run
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader


def batches(arrays: Path, workers: int) -> Iterator[list[Any]]:
    def load(name: str) -> torch.Tensor:
        return torch.from_numpy(np.load(arrays / f"{name}.npy"))

    indptr, source = load("indptr"), load("indices")
    target = torch.repeat_interleave(torch.arange(len(indptr) - 1), indptr.diff())
    data = Data(x=load("x"), y=load("y"), edge_index=torch.stack([source, target]))
    loader = NeighborLoader(
        data,
        FANOUT,
        load("train"),
        batch_size=BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        is_sorted=True,
    )
    while True:
        for batch in loader:
            tensors = (batch.n_id, batch.edge_index, batch.x, batch.y)
            yield [tensor.numpy() for tensor in tensors]


def main() -> None:
    arrays, seconds, workers = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(2 if workers == 0 else 1)
    run(batches(arrays, workers), seconds, warm_up=4)


main()
