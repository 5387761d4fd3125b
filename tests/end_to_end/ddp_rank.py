"""One rank of test_ddp.py. Run as: python ddp_rank.py RANK ADDRESS DIRECTORY

For each number of seeds it trains two epochs, and writes the seeds of its batches to DIRECTORY. A
rank with a batch more than another would wait for it in backward() for ever.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import Any

import graphzero as gz
import numpy as np
import torch
import torch.distributed as dist

RANKS, BATCH = 2, 8
STEP = RANKS * BATCH
# With and without seeds left over, and with hardly any.
COUNTS = [5 * STEP, 5 * STEP + 1, 6 * STEP - 1, STEP + 1, RANKS]


def seeds_for(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).permutation(2000)[:count]


def train(rank: int, address: str, directory: str) -> None:
    dist.init_process_group(
        "gloo",
        init_method=f"file://{directory}/rendezvous",
        rank=rank,
        world_size=RANKS,
        timeout=timedelta(seconds=120),
    )
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gz.connect(address) as client:
        for count in COUNTS:
            loader = client.loader(
                seeds_for(count), [3], BATCH, shuffle=True, rank=rank, world_size=RANKS
            )
            for epoch in range(2):
                seen = [train_on(batch, model, optimizer) for batch in loader]
                assert len(seen) == len(loader)
                np.savez(f"{directory}/{count}-{epoch}-{rank}.npz", *seen)
    weights = model.module.weight.detach()
    everyones = [torch.zeros_like(weights) for _ in range(RANKS)]
    dist.all_gather(everyones, weights)
    assert all(torch.equal(other, weights) for other in everyones)
    dist.destroy_process_group()


def train_on(batch: Any, model: Any, optimizer: Any) -> np.ndarray[Any, Any]:
    """A step; its seeds."""
    out = model(batch.x[: batch.batch_size])
    loss = torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size])
    optimizer.zero_grad()
    loss.backward()  # waits for the other rank
    optimizer.step()
    return batch.n_id[: batch.batch_size].numpy().copy()


if __name__ == "__main__":
    train(int(sys.argv[1]), sys.argv[2], sys.argv[3])
    # torch's gloo threads outlive destroy_process_group(). One that still has to drop a tensor when
    # the interpreter ends aborts the process: 1 of 272 ranks on a busy machine, torch 2.13.
    os._exit(0)
