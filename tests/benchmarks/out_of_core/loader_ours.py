"""A trainer of the daemon at ADDRESS: `python loader_ours.py ADDRESS WARM_UP SECONDS`."""

import sys
from collections.abc import Iterator

import graphzero as gz
from common.contender import BATCH, Taken, run

FANOUT = [10, 5]


def batches(address: str) -> Iterator[Taken]:
    loader = gz.connect(address).loader("train", FANOUT, BATCH, shuffle=True, prefetch=4)
    while True:
        for batch in loader:
            arrays = [batch[name].numpy() for name in ("n_id", "edge_index", "x", "y")]
            yield Taken(len(arrays[0]), arrays[1].shape[1], arrays)


if __name__ == "__main__":
    run(batches(sys.argv[1]), float(sys.argv[3]), warm_up=1, warm_up_s=float(sys.argv[2]))
