"""What every contender of end_to_end.py does with its batches. Needs NumPy only."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

BATCH = 1024
PEER_BATCH = 128  # of those that page fault by page fault would need minutes for a batch
FANOUT = [10, 5]
PAGE = 4096


def touch(arrays: Sequence[Any]) -> float:
    """Reads one value of each page: what a trainer's first kernel would wait for."""
    total = 0.0
    for array in arrays:
        flat = array.reshape(-1)
        total += float(flat[:: max(1, PAGE // flat.itemsize)].astype("float64").sum())
    return total


def run(batches: Iterable[Sequence[Any]], warm_up_seconds: float, seconds: float) -> None:
    """Takes batches for so long and prints how many came, as JSON.

    Says "warm" when the clock starts and "done" when it stops, each followed by a line from
    whoever wants to look at something meanwhile.
    """
    source = iter(batches)
    if warm_up_seconds > 0:
        _take(source, warm_up_seconds)
    print("warm", flush=True)
    input()
    started = time.perf_counter()
    count, nodes = _take(source, seconds)
    taken = time.perf_counter() - started
    print("done", flush=True)
    input()
    print(json.dumps({"batches_per_second": count / taken, "nodes": nodes / count}), flush=True)


def _take(source: Any, seconds: float) -> tuple[int, int]:
    started = time.perf_counter()
    count = nodes = 0
    while count == 0 or time.perf_counter() - started < seconds:
        arrays = next(source)
        touch(arrays)
        count, nodes = count + 1, nodes + len(arrays[0])
        del arrays
    return count, nodes
