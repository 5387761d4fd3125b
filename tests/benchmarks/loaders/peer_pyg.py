"""PyG's NeighborLoader: `peer_pyg.py ARRAYS SECONDS WORKERS THREADS worker|main loaded|mapped`.

Rows are gathered in its workers or in the main process (filter_per_worker). Its sampler makes edge
ids in any case; there is no switch for it.
"""

from collections.abc import Iterator

import torch
from common.contender import BATCH, FANOUT, Taken, run
from peer_arrays import PeerArguments
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader


def batches(arguments: PeerArguments) -> Iterator[Taken]:
    load = arguments.load
    indptr, source = load("indptr"), load("indices")
    # Edges come sorted by target, as is_sorted says: nothing is sorted or permuted here.
    target = torch.repeat_interleave(torch.arange(len(indptr) - 1), indptr.diff())
    data = Data(x=load("x"), y=load("y"), edge_index=torch.stack([source, target]))
    del indptr, source, target
    loader = NeighborLoader(
        data,
        FANOUT,
        load("train"),
        batch_size=BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=arguments.workers,
        persistent_workers=arguments.workers > 0,
        filter_per_worker=arguments.ids == "worker",
        is_sorted=True,
    )
    while True:
        for batch in loader:
            tensors = (batch.n_id, batch.edge_index, batch.x, batch.y)
            yield Taken(
                len(batch.n_id), batch.edge_index.shape[1], [tensor.numpy() for tensor in tensors]
            )


def main() -> None:
    arguments = PeerArguments.read()
    torch.set_num_threads(arguments.threads)
    run(batches(arguments), arguments.seconds, warm_up=8)


if __name__ == "__main__":
    main()
