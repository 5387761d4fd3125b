"""A trainer of small batches: `python small_trainer.py ADDRESS SECONDS`."""

import sys
from collections.abc import Iterator

import graphzero as gz
from common.contender import Taken, run


def batches(address: str) -> Iterator[Taken]:
    with gz.connect(address) as client:
        while True:
            for batch in client.loader("train", [10, 5], 256, shuffle=True):
                arrays = [batch[name].numpy() for name in batch]
                yield Taken(len(batch.n_id), batch.edge_index.shape[1], arrays)


if __name__ == "__main__":
    run(batches(sys.argv[1]), float(sys.argv[2]), warm_up=2)
