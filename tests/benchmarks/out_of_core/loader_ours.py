"""A trainer of the daemon at ADDRESS: `python loader_ours.py ADDRESS WARM_UP SECONDS`."""

import sys
from collections.abc import Iterator
from typing import Any

import graphzero as gz
from batches import BATCH, FANOUT, run


def batches(address: str) -> Iterator[list[Any]]:
    loader = gz.connect(address).loader("train", FANOUT, BATCH, shuffle=True, prefetch=4)
    while True:
        for batch in loader:
            yield [array.numpy() for array in (batch.n_id, batch.edge_index, batch.x, batch.y)]


run(batches(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
