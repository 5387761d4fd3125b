"""One trainer of the daemon at ADDRESS: `python ours_served.py ADDRESS SECONDS RANK WORLD`."""

import sys
from collections.abc import Iterator
from typing import Any

import graphzero as gz
from measure import BATCH, FANOUT, run


def batches(address: str, rank: int, world: int) -> Iterator[list[Any]]:
    client = gz.connect(address)
    loader = client.loader(
        "train",
        FANOUT,
        BATCH,
        shuffle=True,
        drop_last=True,
        rank=rank,
        world_size=world,
        prefetch=4,
    )
    while True:
        for batch in loader:
            tensors = (batch.n_id, batch.edge_index, batch.x, batch.y)
            yield [tensor.numpy() for tensor in tensors]


def main() -> None:
    address, seconds, rank, world = sys.argv[1:5]
    run(batches(address, int(rank), int(world)), float(seconds), warm_up=8)


main()
