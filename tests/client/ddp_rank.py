"""One rank of a distributed run. Arguments: address, rendezvous file, rank, world size, counts.

Trains one epoch for each count of seeds and prints the seeds it saw, a line for each epoch. A rank
with a batch more than another would wait for it in backward() for ever.
"""

import os
import sys
from datetime import timedelta

import graphzero as gz
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

BATCH_SIZE = 4

address, rendezvous = sys.argv[1:3]
rank, world_size, *counts = map(int, sys.argv[3:])
distributed.init_process_group(
    "gloo",
    init_method=f"file://{rendezvous}",
    rank=rank,
    world_size=world_size,
    timeout=timedelta(seconds=60),
)
model = DistributedDataParallel(torch.nn.Linear(16, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with gz.connect(address) as client:
    for count in counts:
        loader = client.loader(
            range(count), [3], BATCH_SIZE, shuffle=True, rank=rank, world_size=world_size
        )
        seen: list[int] = []
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(
                model(batch.x)[: batch.batch_size], batch.y[: batch.batch_size]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += batch.n_id[: batch.batch_size].tolist()
        print(len(loader), *seen, flush=True)
distributed.destroy_process_group()
os._exit(0)  # torch's threads may abort the end of the interpreter, see end_to_end/ddp_rank.py
