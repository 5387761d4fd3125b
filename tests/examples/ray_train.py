"""Ray trains one model on several nodes, each with a daemon and a copy of the dataset of its own.

    pip install "graphzero-server[ray,torch]" scikit-learn
    python ray_train.py                     # two nodes with two workers each, simulated here
    python ray_train.py --address auto      # in the cluster that this machine belongs to

Ray starts a daemon on each node and copies the dataset there. A worker or a node that dies is
replaced, and training goes on from the last checkpoint with the very batches that were left. The
losses are the same however the workers are spread: compare --nodes 1 --workers 4.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Before Ray is imported. It reports its use to its makers otherwise, and lets the nodes of a
# simulated cluster meet at the address that this machine has for others, not at 127.0.0.1.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
if "--address" not in sys.argv:
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import graphzero.ray
import ray.train
import torch
import torch.distributed as dist
from ddp import GraphSage, accuracy
from digits import arguments, make_digits
from ray.train.torch import TorchTrainer, prepare_model
from torch.nn.functional import cross_entropy

EPOCHS = 10


def train(config: dict[str, Any]) -> None:
    """What each worker does."""
    torch.manual_seed(config["seed"])
    torch.set_num_threads(1)
    client = config["daemons"].connect()  # to the daemon of this node
    loader = client.loader("train", [10, 10], 4, shuffle=True, seed=config["seed"], rank="auto")
    model = prepare_model(GraphSage())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    parts = {"model": model, "optimizer": optimizer, "loader": loader}
    losses: list[float] = []
    checkpoint = ray.train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            saved = torch.load(Path(folder) / "state.pt")
        losses = saved.pop("losses")
        for name, state in saved.items():
            parts[name].load_state_dict(state)
    for _ in range(loader.state_dict()["epoch"], EPOCHS):
        total = torch.zeros(2)
        for batch in loader:
            loss = cross_entropy(model(batch), batch.y[: batch.batch_size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(total)
        losses.append(float(total[0] / total[1]))
        report(parts, losses)
    reached = accuracy(
        getattr(model, "module", model), client.loader("test", [-1, -1], 512, rank="auto")
    )
    report(parts, losses, accuracy=reached)


def report(parts: dict[str, Any], losses: list[float], **metrics: float) -> None:
    """To Ray, with a checkpoint of rank 0: the state of its loader is that of all."""
    metrics = {**metrics, "loss": losses[-1], "world_size": dist.get_world_size()}
    if dist.get_rank() != 0:
        ray.train.report(metrics)
        return
    with tempfile.TemporaryDirectory() as folder:
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save({**state, "losses": losses}, Path(folder) / "state.pt")
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(folder))


@contextmanager
def cluster(address: str | None, nodes: int, workers: int) -> Iterator[None]:
    """The one at the address, or nodes that are processes of this machine."""
    if address is not None:
        ray.init(address)
        yield
        ray.shutdown()
        return
    from ray.cluster_utils import Cluster

    size = {"num_cpus": workers, "object_store_memory": 100 << 20}
    head = {**size, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
    made = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(nodes - 1):
        made.add_node(**size)
    ray.init(made.address)
    yield
    ray.shutdown()
    made.shutdown()


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--address", help="of a Ray cluster; without it, one is simulated here")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2, help="on each node")
    options = parser.parse_args()
    make_digits(options.data)
    here = options.data.absolute().parent
    with (
        cluster(options.address, options.nodes, options.workers),
        # Simulated nodes share a disk, so each has a place of its own for its copy.
        graphzero.ray.Daemons(here / options.data.name, here / "copies/{node}") as daemons,
    ):
        result = TorchTrainer(
            train,
            train_loop_config={"daemons": daemons, "seed": options.seed},
            scaling_config=ray.train.ScalingConfig(
                num_workers=options.nodes * options.workers, placement_strategy="SPREAD"
            ),
            run_config=ray.train.RunConfig(
                storage_path=str(here / "ray-results"),
                failure_config=ray.train.FailureConfig(max_failures=3),
            ),
        ).fit()
    with result.checkpoint.as_directory() as folder:
        losses = torch.load(Path(folder) / "state.pt")["losses"]
    print(f"ranks             {result.metrics['world_size']}")
    print(f"losses            {' '.join(f'{loss:.6f}' for loss in losses)}")
    print(f"accuracy          {result.metrics['accuracy']:.3f}")


if __name__ == "__main__":
    main()
