"""What the workers of test_ray.py do: they train, and go on from Ray's last checkpoint.

Each rank appends to FOLDER/RANK.log what it trained on: one line a batch. FOLDER/kill, a file with
"EPOCH STEP", kills the worker that is rank 1 in the middle of this batch, once; with "node EPOCH
STEP" it waits there, and FOLDER/node names its node, until the test has killed that.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

EPOCHS = 2
SAVE_EVERY = 2
LOADER: dict[str, Any] = {"fanout": [3, 2], "batch_size": 8, "shuffle": True, "seed": 5}


def digest(batch: Any) -> str:
    """Of its bytes: nodes, edges and rows."""
    found = hashlib.blake2b(digest_size=8)
    for name in ("n_id", "edge_index", "x", "y"):
        found.update(batch[name].numpy().tobytes())
    return found.hexdigest()


def train(config: dict[str, Any]) -> None:
    import ray.train
    import torch
    from ray.train.torch import prepare_model

    folder = Path(config["folder"])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    client = config["daemons"].connect()
    loader = client.loader(range(200), rank="auto", **LOADER)
    model = prepare_model(torch.nn.Linear(16, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    parts = {"model": model, "optimizer": optimizer}
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as saved_to:
            saved = torch.load(Path(saved_to) / "state.pt")
        loader.load_state_dict(saved.pop("loader"), on_resize="next_epoch")
        for name, state in saved.items():
            parts[name].load_state_dict(state)
    for epoch in range(loader.state_dict()["epoch"], EPOCHS):
        for batch in loader:
            step = loader.state_dict()["batches"]
            die_if_told(folder, epoch, step)
            out = model(batch.x[: batch.batch_size])
            loss = torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size])
            optimizer.zero_grad()
            loss.backward()  # waits for the other ranks
            optimizer.step()
            note(folder, epoch, step, batch, loss.item())
            if step % SAVE_EVERY == 0:
                report({**parts, "loader": loader})
        report({**parts, "loader": loader})


def die_if_told(folder: Path, epoch: int, step: int) -> None:
    import ray.train

    order = folder / "kill"
    if ray.train.get_context().get_world_rank() != 1 or not order.exists():
        return
    told = order.read_text()
    if told.removeprefix("node ") == f"{epoch} {step}":
        wait_for_checkpoints(folder / "results/test")
    if told == f"{epoch} {step}":
        order.rename(folder / "killed")
        os.kill(os.getpid(), signal.SIGKILL)
    if told == f"node {epoch} {step}":
        (folder / "draft").write_text(ray.get_runtime_context().get_node_id())
        order.unlink()
        (folder / "draft").rename(folder / "node")
        while True:
            time.sleep(1.0)  # until the test has killed this node


def wait_for_checkpoints(results: Path) -> None:
    """Until Ray knows all that were reported: it learns of them some seconds later, and goes back
    to the one before if a worker dies first."""
    known = results / "checkpoint_manager_snapshot.json"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        names = [path.name for path in results.glob("checkpoint_2*")]
        if names and known.exists() and all(name in known.read_text() for name in names):
            return
        time.sleep(0.05)
    raise AssertionError(f"Ray does not know its checkpoints: {names}")


def note(folder: Path, epoch: int, step: int, batch: Any, loss: float) -> None:
    import ray.train

    context = ray.train.get_context()
    line = {"epoch": epoch, "step": step, "batch": digest(batch), "loss": loss}
    line["world_size"] = context.get_world_size()
    with (folder / f"{context.get_world_rank()}.log").open("a") as log:
        log.write(json.dumps(line) + "\n")
    with (folder / "nodes").open("a") as nodes:
        nodes.write(ray.get_runtime_context().get_node_id() + "\n")


def report(parts: dict[str, Any]) -> None:
    import ray.train
    import torch

    if ray.train.get_context().get_world_rank() != 0:
        ray.train.report({})
        return
    with tempfile.TemporaryDirectory() as folder:
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save(state, Path(folder) / "state.pt")
        ray.train.report({}, checkpoint=ray.train.Checkpoint.from_directory(folder))
