"""What the adapters cost: the same epoch through client.loader, PyG's loaders and a torch dataset.

    python tests/benchmarks/adapters.py --nodes 1M --edges 20M

Generates a dataset, serves it, and takes many short turns: one contender, then the next, so that
other work on the machine slows all of them. Prints batches/s, the ratio to client.loader, and the
processor time that a batch costs the trainer's process. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import graphzero as gz
import torch
from graphzero.pyg import GraphZeroSampler, NeighborLoader
from graphzero.torch import BatchDataset
from torch.utils.data import DataLoader
from torch_geometric.loader import NodeLoader


def endless(loader: Any) -> Iterator[Any]:
    return itertools.chain.from_iterable(itertools.repeat(loader))


def contenders(
    client: gz.Client, batch_size: int, fanout: list[int]
) -> dict[str, Callable[[], Iterator[Any]]]:
    options: dict[str, Any] = {"batch_size": batch_size, "shuffle": True}

    def pyg_loader_with_our_sampler() -> Iterator[Any]:
        from graphzero.pyg import FeatureStore, GraphStore

        stores = FeatureStore(client), GraphStore(client)
        sampler = GraphZeroSampler(client, fanout)
        return endless(NodeLoader(stores, sampler, client.column("train"), **options))

    return {
        "client.loader": lambda: endless(client.loader("train", fanout, **options)),
        "pyg.NeighborLoader": lambda: endless(NeighborLoader(client, fanout, "train", **options)),
        "torch.BatchDataset": lambda: endless(
            DataLoader(BatchDataset(client, "train", fanout, **options), batch_size=None)
        ),
        "PyG NodeLoader, GraphZeroSampler": pyg_loader_with_our_sampler,
    }


@dataclass(frozen=True)
class Turn:
    batches_per_s: float
    cpu_ms: float
    """Of this process, for a batch."""


def take_turn(batches: Iterator[Any], seconds: float) -> Turn:
    for _ in range(3):  # those that were prepared while others had their turn
        next(batches)
    count, cpu, started = 0, time.process_time(), time.perf_counter()
    while time.perf_counter() - started < seconds:
        batch = next(batches)
        assert batch.x is not None
        count += 1
    passed = time.perf_counter() - started
    return Turn(count / passed, 1000 * (time.process_time() - cpu) / count)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", default="1M")
    parser.add_argument("--edges", default="20M")
    parser.add_argument("--seconds", type=float, default=1.0, help="of one turn")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--only", nargs="*", help="names of contenders, beside client.loader")
    parser.add_argument("--fanout", type=int, nargs="*", default=[15, 10, 5])
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="gz-") as directory:
        data = Path(directory) / "data"
        sizes = ["--nodes", options.nodes, "--edges", options.edges]
        generate = [sys.executable, "-m", "graphzero", "generate", str(data), *sizes]
        subprocess.run(generate, check=True)
        found: dict[str, list[Turn]] = {}
        with gz.connect(data=data) as client:
            made = contenders(client, options.batch, options.fanout)
            chosen = made if options.only is None else ["client.loader", *options.only]
            running = {name: made[name]() for name in chosen}
            for _ in range(options.turns):
                for name, batches in running.items():
                    found.setdefault(name, []).append(take_turn(batches, options.seconds))
            del running
    base = [turn.batches_per_s for turn in found["client.loader"]]
    for name, turns in found.items():
        speeds = [turn.batches_per_s for turn in turns]
        ratios = [speed / other for speed, other in zip(speeds, base, strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        print(
            f"{name:34} {median(speeds):7.1f} batches/s, {median(t.cpu_ms for t in turns):6.2f} ms "
            f"cpu, {middle:5.2f} of client.loader (quartiles {low:.2f} to {high:.2f})"
        )


if __name__ == "__main__":
    main()
