"""Plain NumPy and torch over memory-mapped arrays: `... ARRAYS.json WARM_UP SECONDS`.

What people write when a dataset does not fit: np.memmap for edges and features, a vectorised
sampler, torch's indexing for the rows.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from batches import FANOUT, PEER_BATCH, run


def mapped(name: str, arrays: dict[str, Any]) -> np.ndarray:
    entry = arrays[name]
    return np.memmap(
        entry["file"], entry["dtype"], "r", offset=entry["offset"], shape=tuple(entry["shape"])
    )


def batches(arrays: dict[str, Any]) -> Iterator[list[Any]]:
    indptr, indices = mapped("indptr", arrays), mapped("indices", arrays)
    x = torch.from_numpy(mapped("x", arrays))
    y = torch.from_numpy(mapped("y", arrays))
    train = mapped("train", arrays)
    rng = np.random.default_rng(1)
    while True:
        n_id = np.unique(rng.choice(train, PEER_BATCH))
        edges = []
        frontier = n_id
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
        yield [n_id, np.concatenate(edges, axis=1), x[rows].numpy(), y[rows].numpy()]


run(batches(json.loads(Path(sys.argv[1]).read_text())), float(sys.argv[2]), float(sys.argv[3]))
