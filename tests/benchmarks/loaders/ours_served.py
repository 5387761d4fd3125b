"""One trainer of the daemon at ADDRESS: `python ours_served.py ADDRESS SECONDS RANK WORLD`."""

import sys
from collections.abc import Iterator
from typing import Any

import graphzero as gz
from common.contender import BATCH, FANOUT, TYPED_FANOUT, Taken, run


def batches(address: str, rank: int, world: int) -> Iterator[Taken]:
    client = gz.connect(address)
    typed = bool(client.info().dataset.types)
    loader = client.loader(
        ("user", "train") if typed else "train",
        TYPED_FANOUT if typed else FANOUT,
        BATCH,
        shuffle=True,
        drop_last=True,
        rank=rank,
        world_size=world,
        prefetch=4,
    )
    while True:
        for batch in loader:
            stores: list[Any] = [batch]
            nodes, edges = [batch], [batch]
            if typed:
                nodes = [batch[owner] for owner in batch.node_types]
                edges = [batch[owner] for owner in batch.edge_types]
                stores = nodes + edges
            yield Taken(
                sum(len(store.n_id) for store in nodes),
                sum(store.edge_index.shape[1] for store in edges),
                [store[name].numpy() for store in stores for name in store],
            )


def main() -> None:
    address, seconds, rank, world = sys.argv[1:5]
    run(batches(address, int(rank), int(world)), float(seconds), warm_up=8)


main()
