"""GraphZero 0.2.0 over its own files: `... DIRECTORY WARM_UP SECONDS`.

It has no multi-hop sampling, so each hop is a call of its own. Its rows are asked for one by one:
get_tensor() is a copy of the whole file, which does not fit.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero
import numpy as np
from batches import FANOUT, PEER_BATCH, run


def rows(store: Any, ids: Any) -> Any:
    return np.stack([store.get_data(node) for node in ids.tolist()])


def batches(directory: Path) -> Iterator[list[Any]]:
    graph = graphzero.Graph(str(directory / "graph02.gl"))
    x = graphzero.FeatureStore(str(directory / "x02.gd"))
    y = graphzero.FeatureStore(str(directory / "y02.gd"))
    train = np.load(directory / "train.npy")
    rng = np.random.default_rng(1)
    while True:
        n_id = frontier = np.unique(rng.choice(train, PEER_BATCH))
        edges = []
        for fanout in FANOUT:
            found = np.asarray(graph.batch_random_fanout(frontier.tolist(), fanout)).reshape(-1)
            edges.append(np.stack([found, np.repeat(frontier, fanout)]))
            frontier = np.setdiff1d(found, n_id)
            n_id = np.concatenate([n_id, frontier])
        yield [n_id, np.concatenate(edges, axis=1), rows(x, n_id), rows(y, n_id)]


run(batches(Path(sys.argv[1])), float(sys.argv[2]), float(sys.argv[3]))
