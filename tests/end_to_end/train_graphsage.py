"""Trains a GraphSAGE on a dataset that a daemon serves, in plain torch.

    graphzero-server --data products &
    python train_graphsage.py

Several processes train one model together, each with its share of every epoch, when RANK,
WORLD_SIZE, MASTER_ADDR and MASTER_PORT say so, as torchrun sets them:

    torchrun --nproc-per-node 2 train_graphsage.py

The dataset needs node columns x (floats) and y (class numbers), and the splits train and test.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import graphzero as gz
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding_bag
from tqdm import tqdm

INFERENCE_BATCH = 16_384


class SageLayer(nn.Module):
    """own(x) + neighbours(mean of x over the in-edges)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        # Without a bias it commutes with the mean, which full_neighbour_inference relies on.
        self.neighbours = nn.Linear(inputs, outputs, bias=False)

    def forward(self, x: Tensor, edge_index: Tensor, num_targets: int) -> Tensor:
        mean = neighbour_mean(x, edge_index[0], edge_index[1], num_targets)
        return self.own(x[:num_targets]) + self.neighbours(mean)


def neighbour_mean(x: Tensor, source: Tensor, target: Tensor, num_targets: int) -> Tensor:
    """The mean of x[source] for each target; zeros for a target without edges.

    Targets come in ascending order, so each has its sources in one run: a bag of embeddings, which
    are added up without writing x[source] down first.
    """
    degree = torch.bincount(target, minlength=num_targets)
    return embedding_bag(source, x, degree.cumsum(0) - degree, mode="mean")


class GraphSage(nn.Module):
    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(SageLayer(*pair) for pair in pairwise(sizes))

    def forward(self, batch: gz.Batch) -> Tensor:
        """Class scores of the seeds.

        Nodes and edges lie hop by hop, so each layer can leave out the outermost hop that is left:
        its nodes are sources only, nobody asks for their next value.
        """
        x, edge_index = batch.x, batch.edge_index
        for layer, hops in zip(self.layers, range(len(self.layers), 0, -1), strict=True):
            num_edges = sum(batch.num_sampled_edges[:hops])
            num_targets = sum(batch.num_sampled_nodes[:hops])
            x = layer(x, edge_index[:, :num_edges], num_targets)
            if hops > 1:
                x = x.relu()
        return x


class Waiting:
    """Goes through a loader and adds up the seconds spent waiting for its batches."""

    def __init__(self, loader: gz.Loader) -> None:
        self._loader = loader
        self.seconds = 0.0

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[gz.Batch]:
        batches = iter(self._loader)
        while True:
            started = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - started
            if batch is None:
                return
            yield batch


def train_epoch(
    name: str, model: nn.Module, optimizer: torch.optim.Optimizer, loader: gz.Loader, quiet: bool
) -> dict[str, float]:
    """One pass through the loader. Returns batches/s, the share of time waited, the mean loss."""
    model.train()
    waiting = Waiting(loader)
    total_loss, started = 0.0, time.perf_counter()
    bar = tqdm(waiting, desc=name, unit="batch", disable=quiet, file=sys.stdout, mininterval=0.5)
    for step, batch in enumerate(bar, start=1):
        loss = cross_entropy(model(batch), batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        share = waiting.seconds / (time.perf_counter() - started)
        bar.set_postfix_str(f"loss {total_loss / step:.3f}, waiting {share:.0%}", refresh=False)
    seconds = time.perf_counter() - started
    return {
        "batches_per_s": len(loader) / seconds,
        "waiting": waiting.seconds / seconds,
        "loss": total_loss / len(loader),
    }


@torch.no_grad()
def full_neighbour_inference(client: gz.Client, model: GraphSage, ids: Tensor) -> Tensor:
    """Class scores of `ids` from all their neighbours, none sampled away.

    Layer by layer over the whole graph, so that each node is computed once per layer and not once
    for every path that leads to it. The daemon sends the edges alone, and the mean is taken after
    the projection, of fewer numbers than the features have.
    """
    model.eval()
    x = client.column("x")  # mapped, not loaded
    last = len(model.layers) - 1
    for number, layer in enumerate(model.layers):
        wanted = ids if number == last else None  # the last layer is needed for `ids` only
        projected = torch.cat([layer.neighbours(part) for part in x.split(INFERENCE_BATCH)])
        parts = []
        name = f"inference, layer {number + 1}"
        loader = client.loader(wanted, [-1], INFERENCE_BATCH, columns=[])
        for batch in tqdm(loader, desc=name, unit="batch", file=sys.stdout, mininterval=0.5):
            source, target = batch.edge_index
            own = layer.own(x[batch.n_id[: batch.batch_size]])
            mean = neighbour_mean(projected, batch.n_id[source], target, batch.batch_size)
            parts.append(own + mean if number == last else (own + mean).relu())
        x = torch.cat(parts)
    return x


def features_only(client: gz.Client, hidden: int, classes: int, epochs: int) -> nn.Module:
    """The same size of model without the graph: what the node's own features can tell."""
    x, y = client.column("x"), client.column("y")
    model = nn.Sequential(nn.Linear(x.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, classes))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train = client.column("train")
    for _ in range(epochs):
        for ids in train[torch.randperm(len(train))].split(4096):
            optimizer.zero_grad()
            cross_entropy(model(x[ids]), y[ids]).backward()
            optimizer.step()
    return model


def accuracy(scores: Tensor, labels: Tensor) -> float:
    return (scores.argmax(dim=1) == labels).double().mean().item()


def test_accuracies(client: gz.Client, model: GraphSage, args: argparse.Namespace) -> Any:
    """Of the trained model and of what it has to beat."""
    ids, y = client.column("test"), client.column("y")
    classes = int(y.max()) + 1
    majority = torch.bincount(y[client.column("train")], minlength=classes).argmax()
    found = {"majority_class": (y[ids] == majority).double().mean().item()}
    baseline = features_only(client, args.hidden, classes, args.epochs)
    with torch.no_grad():
        found["features_only"] = accuracy(baseline(client.column("x")[ids]), y[ids])
    found["graphsage"] = accuracy(full_neighbour_inference(client, model, ids), y[ids])
    print(
        f"\ntest accuracy: {found['graphsage']:.1%} GraphSAGE (all neighbours), "
        f"{found['features_only']:.1%} features only, {found['majority_class']:.1%} majority class"
    )
    return found


def train(client: gz.Client, args: argparse.Namespace, rank: int, world_size: int) -> Any:
    x, y = client.column("x"), client.column("y")
    hidden = [args.hidden] * (len(args.fanout) - 1)
    model = GraphSage([x.shape[1], *hidden, int(y.max()) + 1])
    learner = nn.parallel.DistributedDataParallel(model) if world_size > 1 else model
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    # Each process gets its share of every epoch and the same number of batches. Every iter() is
    # the next epoch: a new order, new draws. Labels are needed for the seeds alone.
    loader = client.loader(
        client.column("train")[:: args.every],
        args.fanout,
        args.batch_size,
        shuffle=True,
        rank=rank,
        world_size=world_size,
        columns=["x"],
        seed_columns=["y"],
    )
    epochs = []
    for epoch in range(1, args.epochs + 1):
        epochs.append(train_epoch(f"epoch {epoch}", learner, optimizer, loader, quiet=rank > 0))
    accuracies = {} if args.no_test else test_accuracies(client, model, args)
    return {"epochs": epochs, "accuracy": accuracies}


def parse(argv: Iterable[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--fanout", type=int, nargs="+", default=[10, 5])
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--every", type=int, default=1, help="learn from each n-th train node only")
    parser.add_argument("--no-test", action="store_true", help="train only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    return parser.parse_args(None if argv is None else list(argv))


def main() -> None:
    args = parse()
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.manual_seed(0)
    # One processor is the daemon's. torch's threads wait for each other by spinning, so one too
    # many costs more than it brings.
    torch.set_num_threads(max(1, (len(os.sched_getaffinity(0)) - 1) // world_size))
    if world_size > 1:
        dist.init_process_group("gloo")
    with gz.connect() as client:
        results = train(client, args, rank, world_size)
    if args.json is not None:
        args.json.write_text(json.dumps(results))
    if world_size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
