"""What every contender measures about itself, and how it reads a batch. Needs NumPy only."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

BATCH = 1024
FANOUT = [15, 10, 5]
# For each relation of the graph with types.
TYPED_FANOUT = [8, 5, 3]
PAGE = 4096


def touch(arrays: Sequence[Any]) -> float:
    """Reads one value of each page: what a trainer's first kernel would wait for."""
    total = 0.0
    for array in arrays:
        flat = array.reshape(-1)
        step = max(1, PAGE // flat.itemsize)
        total += float(flat[::step].astype("float64").sum())
    return total


def memory() -> dict[str, int]:
    """Bytes of this process: anonymous pages are its own, the others live elsewhere."""
    fields = {}
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]:
        name, _, value = line.partition(":")
        fields[name] = int(value.split()[0]) << 10
    return {"pss": fields["Pss"], "pss_anonymous": fields["Pss_Anon"]}


def run(batches: Iterable[Sequence[Any]], seconds: float, warm_up: int) -> None:
    """Takes batches for so long and prints what was seen as JSON."""
    source = iter(batches)
    for _ in range(warm_up):
        touch(next(source))
    print("warm", flush=True)
    input()  # all contenders of a run begin together
    count, size, waited = 0, 0, 0.0
    cpu = time.process_time()
    started = now = time.perf_counter()
    while now - started < seconds:
        arrays = next(source)
        waited += time.perf_counter() - now
        touch(arrays)
        size += sum(array.nbytes for array in arrays)
        count += 1
        del arrays
        now = time.perf_counter()
    print(
        json.dumps(
            {
                "batches": count,
                "seconds": now - started,
                "bytes": size,
                "waited": waited,
                "cpu": time.process_time() - cpu,
                "pid": os.getpid(),
                **memory(),
            }
        ),
        flush=True,
    )
