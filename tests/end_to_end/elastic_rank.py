"""One rank of test_torchrun.py, as a user would write it: trains, and goes on from its checkpoint.

    torchrun ... elastic_rank.py SHARED_FOLDER

The node that torchrun runs on has a daemon of its own (GRAPHZERO_ADDRESS). Each rank appends to
SHARED_FOLDER/RANK.log what it trained on: one line a batch. SHARED_FOLDER/kill, a file with
"rank ADDRESS EPOCH STEP", kills the rank of the node with this daemon in the middle of this batch,
once; with "node" instead of "rank", torchrun too, as when the power fails.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import graphzero as gz
import torch
import torch.distributed as dist

EPOCHS = 3
SAVE_EVERY = 2
LOADER: dict[str, Any] = {"fanout": [3, 2], "batch_size": 16, "shuffle": True, "seed": 5}


def digest(batch: Any) -> str:
    """Of its bytes: nodes, edges and rows."""
    found = hashlib.blake2b(digest_size=8)
    for name in ("n_id", "edge_index", "x", "y"):
        found.update(batch[name].numpy().tobytes())
    return found.hexdigest()


def train(shared: Path) -> None:
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    loader = gz.connect(retry=True).loader(range(200), rank="auto", **LOADER)
    checkpoint = shared / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"], on_resize="next_epoch")
    for epoch in range(loader.state_dict()["epoch"], EPOCHS):
        for batch in loader:
            step = loader.state_dict()["batches"]
            die_if_told(shared, epoch, step)
            out = model(batch.x[: batch.batch_size])
            loss = torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size])
            optimizer.zero_grad()
            loss.backward()  # waits for the other ranks
            optimizer.step()
            note(shared, epoch, step, digest(batch), loss.item())
            if step % SAVE_EVERY == 0:
                save(checkpoint, model=model, optimizer=optimizer, loader=loader)
        save(checkpoint, model=model, optimizer=optimizer, loader=loader)
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), shared / "trained.pt")


def die_if_told(shared: Path, epoch: int, step: int) -> None:
    order = shared / "kill"
    what, _, when = order.read_text().partition(" ") if order.exists() else ("", "", "")
    if when == f"{os.environ['GRAPHZERO_ADDRESS']} {epoch} {step}":
        order.rename(shared / "killed")
        if what == "node":
            os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def note(shared: Path, epoch: int, step: int, found: str, loss: float) -> None:
    line = {"epoch": epoch, "step": step, "batch": found, "loss": loss}
    with (shared / f"{dist.get_rank()}.log").open("a") as log:
        log.write(json.dumps({**line, "world_size": dist.get_world_size()}) + "\n")
    with (shared / "addresses").open("a") as addresses:
        addresses.write(os.environ["GRAPHZERO_ADDRESS"] + "\n")


def save(checkpoint: Path, **parts: Any) -> None:
    """By rank 0, whole or not at all; the loader's state serves every rank."""
    if dist.get_rank() == 0:
        draft = checkpoint.with_suffix(".draft")
        torch.save({name: part.state_dict() for name, part in parts.items()}, draft)
        draft.rename(checkpoint)
    dist.barrier()


if __name__ == "__main__":
    train(Path(sys.argv[1]))
    # torch's gloo threads may abort a process that ends as usual, see ddp_rank.py.
    os._exit(0)
