"""A trainer that only takes batches: `python -m graphzero.bench.trainer ADDRESS ORDER`.

ORDER is a JSON object (see served.py). The trainer prints "ready". For every line of its standard
input, a number of seconds, it takes batches for that time and prints its counts as a line of JSON.
It reads one value of each page of a batch, as the first kernel of a model would. It ends with its
standard input.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from graphzero.client.connect import connect

_PAGE = 4096
_LEAST_PREFETCH = 4


def _batches(address: str, order: dict[str, Any]) -> Iterator[Any]:
    seeds = {order["type"]: order["split"]} if order["type"] else order["split"]
    with connect(address) as client:
        loader = client.loader(
            seeds,
            order["fanout"],
            order["batch_size"],
            shuffle=True,
            seed=order["number"],
            prefetch=max(_LEAST_PREFETCH, client.info().suggested_prefetch),
        )
        while True:
            yield from loader


def _arrays(batch: Any) -> Iterator[Any]:
    parts = [batch]
    if hasattr(batch, "node_types"):
        parts = [batch[owner] for owner in (*batch.node_types, *batch.edge_types)]
    for part in parts:
        for name in part:
            yield part[name]


def _touch(batch: Any) -> None:
    for array in _arrays(batch):
        flat = array.reshape(-1)
        flat[:: max(1, _PAGE * len(flat) // max(1, array.nbytes))].sum()


def _take(source: Iterator[Any], seconds: float) -> dict[str, float]:
    batches, waited = 0, 0.0
    cpu = time.process_time()
    began = now = time.perf_counter()
    while batches == 0 or now - began < seconds:
        batch = next(source)
        waited += time.perf_counter() - now
        _touch(batch)
        del batch
        batches += 1
        now = time.perf_counter()
    return {
        "batches": batches,
        "seconds": now - began,
        "waited": waited,
        "cpu": time.process_time() - cpu,
    }


def main() -> None:
    source = _batches(sys.argv[1], json.loads(sys.argv[2]))
    _touch(next(source))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(_take(source, float(line))), flush=True)


if __name__ == "__main__":
    main()
