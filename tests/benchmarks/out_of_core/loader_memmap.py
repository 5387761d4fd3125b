"""NumPy and torch over memory-mapped arrays: `... ARRAYS.json WARM_UP SECONDS WORKERS`.

What one writes when a dataset does not fit, and writes well: np.memmap for edges and features, told
that access is random (madvise), a vectorised sampler, torch's indexing for the rows, and a
DataLoader with many workers, because each of them waits for one page after the other.
"""

import json
import mmap
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common.contender import BATCH, Taken, run

FANOUT = [10, 5]
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


def mapped(name: str, arrays: dict[str, Any]) -> np.ndarray:
    entry = arrays[name]
    array = np.memmap(
        entry["file"], entry["dtype"], "r", offset=entry["offset"], shape=tuple(entry["shape"])
    )
    array._mmap.madvise(mmap.MADV_RANDOM)
    return array


class Batches(torch.utils.data.Dataset):
    """Batch by number. Opened in each worker, when it is first asked."""

    def __init__(self, places: str) -> None:
        self._places = places
        self._arrays: dict[str, Any] | None = None

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, number: int) -> list[torch.Tensor]:
        if self._arrays is None:
            places = json.loads(Path(self._places).read_text())
            self._arrays = {name: mapped(name, places) for name in places}
        indptr, indices, train = (self._arrays[name] for name in ("indptr", "indices", "train"))
        rng = np.random.default_rng(number)
        n_id = frontier = np.unique(rng.choice(train, BATCH))
        edges = []
        for fanout in FANOUT:
            begin = indptr[frontier].astype(np.int64)
            degree = indptr[frontier + 1].astype(np.int64) - begin
            kept = degree > 0
            picks = (rng.random((int(kept.sum()), fanout)) * degree[kept, None]).astype(np.int64)
            found = indices[(begin[kept, None] + picks).reshape(-1)].astype(np.int64)
            edges.append(np.stack([found, np.repeat(frontier[kept], fanout)]))
            frontier = np.setdiff1d(found, n_id)
            n_id = np.concatenate([n_id, frontier])
        rows = torch.from_numpy(n_id)
        x, y = (torch.from_numpy(self._arrays[name])[rows] for name in ("x", "y"))
        return [rows, torch.from_numpy(np.concatenate(edges, axis=1)), x, y]


def read_graph(places: str) -> None:
    """In order, as the daemon does at its start; rows are read when they are asked for."""
    for name in ("indptr", "indices"):
        mapped(name, json.loads(Path(places).read_text()))[:: mmap.PAGESIZE // 8].sum()


def batches(places: str, workers: int) -> Iterator[Taken]:
    read_graph(places)
    # One batch ahead for each worker: they lie in the memory that is limited.
    loader = torch.utils.data.DataLoader(
        Batches(places), batch_size=None, num_workers=workers, prefetch_factor=1
    )
    for tensors in loader:
        arrays = [tensor.numpy() for tensor in tensors]
        yield Taken(len(arrays[0]), arrays[1].shape[1], arrays)


if __name__ == "__main__":
    source = batches(sys.argv[1], int(sys.argv[4]))
    run(source, float(sys.argv[3]), warm_up=1, warm_up_s=float(sys.argv[2]))
