"""A trainer of scale.py: `scale_trainer.py ADDRESS KIND SECONDS WALKERS`.

KIND is untyped or typed. For each line that it reads it takes a step and says as JSON what that
took: a first batch, batches for so many seconds, batches for as many more, walks.
"""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import graphzero as gz
import numpy as np

BATCH = 1024
STEPS = 10
# As many as ogbn-papers100M has. The split that `generate` makes has half of all nodes, whose list
# would take 0.5 GB of each trainer.
SEEDS = 1_200_000
TIMEOUT_S = 600


def main() -> None:
    address, kind, seconds, walkers = sys.argv[1:]
    typed = kind == "typed"
    with contextlib.suppress(EOFError), gz.connect(address) as client:
        input()
        began = time.perf_counter()
        batches = iter(endless(client, typed))
        touch(next(batches), typed)
        say(seconds=time.perf_counter() - began)
        for _ in ("cold", "warm"):
            began, count = time.perf_counter(), 0
            while time.perf_counter() - began < float(seconds):
                touch(next(batches), typed)
                count += 1
            say(seconds=time.perf_counter() - began, batches=count)
        steps, began = 0, time.perf_counter()
        if not typed:
            nodes = client.info().dataset.num_nodes
            starts = np.random.default_rng(1).integers(0, nodes, int(walkers))
            walks = client.random_walk(starts, STEPS, seed=1, timeout=TIMEOUT_S)
            steps = int(np.asarray(walks.lengths).sum())
        say(seconds=time.perf_counter() - began, steps=steps)


def endless(client: gz.Client, typed: bool) -> Iterator[Any]:
    if typed:
        loader = client.loader(
            ("review", "train"), [8, 5, 3], BATCH, shuffle=True, time="own", timeout=TIMEOUT_S
        )
    else:
        nodes = client.info().dataset.num_nodes
        seeds = np.random.default_rng(0).integers(0, nodes, min(SEEDS, nodes))
        loader = client.loader(seeds, [15, 10, 5], BATCH, shuffle=True, timeout=TIMEOUT_S)
    while True:
        yield from loader


def touch(batch: Any, typed: bool) -> None:
    stores = [batch[name] for name in batch.node_types] if typed else [batch]
    for store in stores:
        if "x" in store:
            float(store.x[:: max(1, len(store.x) // 1000)].sum())


def say(**found: float) -> None:
    print(json.dumps(found), flush=True)
    input()


if __name__ == "__main__":
    main()
