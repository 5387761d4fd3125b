"""A trainer of papers.py: `papers_trainer.py ADDRESS SAMPLER BATCHES WALKERS PREFETCH`.

SAMPLER is neighbour, labor or drift. Says as JSON what a first batch, the others and the walks
took, and waits for a line after each.
"""

import json
import sys
import time
from typing import Any

import graphzero as gz
import numpy as np

BATCH = 1024
FANOUT = [15, 10, 5]
STEPS = 10


def main() -> None:
    address, sampler, count, walkers, prefetch = sys.argv[1:]
    with gz.connect(address) as client:
        options: dict[str, Any] = {}  # an older version of the package has no samplers to choose
        if sampler == "labor":
            options["sampler"] = "labor"
        elif sampler == "drift":
            options["sampler"] = gz.Labor(batch_dependency=64)
        if prefetch != "default":
            options["prefetch"] = int(prefetch)
        loader = client.loader("train", FANOUT, BATCH, shuffle=True, seed=1, timeout=600, **options)
        batches = iter(loader)
        began = time.perf_counter()
        len(next(batches).n_id)  # its tensors import torch, which is read from the same disk
        say(seconds=time.perf_counter() - began)
        began = time.perf_counter()
        nodes = sum(len(next(batches).n_id) for _ in range(int(count)))
        say(seconds=time.perf_counter() - began, nodes=nodes)
        batches.close()  # type: ignore[attr-defined]
        starts = np.random.default_rng(1).integers(0, client.info().dataset.num_nodes, int(walkers))
        began = time.perf_counter()
        walks = client.random_walk(starts, STEPS, seed=1, timeout=600)
        steps = int(np.asarray(walks.lengths).sum())
        say(seconds=time.perf_counter() - began, steps=steps)


def say(**found: float) -> None:
    print(json.dumps(found), flush=True)
    input()


if __name__ == "__main__":
    main()
