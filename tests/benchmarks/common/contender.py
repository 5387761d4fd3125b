"""What every contender does with its batches, in its own process and interpreter. Needs NumPy only.

A contender is a script. It says "warm" when it has had its first batches, waits for a line, takes
batches for some seconds, prints what it saw as one line of JSON, and waits for another line, so
that its memory can be counted while everything that it needs is there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

BATCH = 1024
FANOUT = [15, 10, 5]
# For each relation of the graph with types, whose edges have times below the span
# (common/datasets.py).
TYPED_FANOUT = [8, 5, 3]
TYPES = ("user", "item")
TIME_SPAN = 10**9
PAGE = 4096


class Taken(NamedTuple):
    """One batch: different nodes, drawn edges, and all arrays that a model would read."""

    nodes: int
    edges: int
    arrays: Sequence[Any]


def touch(arrays: Sequence[Any]) -> float:
    """Reads one value of each page: what a trainer's first kernel would wait for."""
    total = 0.0
    for array in arrays:
        flat = array.reshape(-1)
        step = max(1, PAGE // flat.itemsize)
        total += float(flat[::step].astype("float64").sum())
    return total


def run(batches: Iterable[Taken], seconds: float, *, warm_up: int, warm_up_s: float = 0.0) -> None:
    """Takes at least so many batches, and for so long, before the clock starts."""
    source = iter(batches)
    began = time.perf_counter()
    count = 0
    while count < warm_up or time.perf_counter() - began < warm_up_s:
        touch(next(source).arrays)
        count += 1
    print("warm", flush=True)
    input()  # all contenders of a turn begin together
    print(json.dumps(_take(source, seconds)), flush=True)
    input()


def _take(source: Any, seconds: float) -> dict[str, float]:
    seen = {"batches": 0.0, "nodes": 0.0, "edges": 0.0, "bytes": 0.0, "waited": 0.0}
    cpu = time.process_time()
    started = now = time.perf_counter()
    while not seen["batches"] or now - started < seconds:
        taken = next(source)
        seen["waited"] += time.perf_counter() - now
        touch(taken.arrays)
        seen["batches"] += 1
        seen["nodes"] += taken.nodes
        seen["edges"] += taken.edges
        seen["bytes"] += sum(array.nbytes for array in taken.arrays)
        del taken
        now = time.perf_counter()
    return {**seen, "seconds": now - started, "cpu": time.process_time() - cpu}
