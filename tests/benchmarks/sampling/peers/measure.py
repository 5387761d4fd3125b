"""What every peer does: run its workloads, print one JSON line for each.

A peer is a script that runs in an interpreter of its own and imports nothing of the others. It is
called with a folder of graphs.py, threads and callers, and the seconds to spend on each workload.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))
from common.contender import BATCH, FANOUT, TIME_SPAN, TYPED_FANOUT, TYPES  # noqa: F401 - shared
from common.memory import cpu_seconds, with_descendants

ONE_HOP_SEEDS, ONE_HOP = 100_000, 15
WALKERS, LENGTH = 100_000, 20
NODE2VEC = {"p": 1.0, "q": 0.5}
LEAST = 2  # results per caller
# A warm-up that takes this many times the given seconds, and this many seconds, is the measurement.
SLOW, SLOW_S = 4, 6.0


@dataclass(frozen=True)
class Arguments:
    directory: Path
    threads: int  # inside a call
    callers: int  # calls at a time
    seconds: float

    @classmethod
    def read(cls) -> "Arguments":
        directory, threads, callers, seconds = sys.argv[1:5]
        return cls(Path(directory), int(threads), int(callers), float(seconds))

    def load(self, name: str) -> np.ndarray:
        return np.load(self.directory / f"{name}.npy")


# Called with the number of the call; returns sampled edges (or steps) and unique nodes.
Workload = Callable[[int], tuple[int, int]]


@dataclass(frozen=True)
class Timing:
    seconds: list[float]  # from one result to the next, whoever of the callers made it
    cpu_seconds: float  # of all threads and workers, for each result
    edges: list[int]
    nodes: list[int]


def timed(call: Workload, arguments: Arguments) -> Timing:
    ends: list[float] = []
    edges: list[int] = []
    nodes: list[int] = []
    lock = threading.Lock()
    numbers = iter(range(10**9))
    begin, cpu_begin = time.perf_counter(), cpu_time()
    while time.perf_counter() - begin < arguments.seconds / 4:  # warm up, at least once
        counted = call(next(numbers))
    warm_up = time.perf_counter() - begin
    if warm_up > max(SLOW * arguments.seconds, SLOW_S):
        return Timing([warm_up], cpu_time() - cpu_begin, [counted[0]], [counted[1]])
    cpu_start, start = cpu_time(), time.perf_counter()

    def run() -> None:
        while True:
            with lock:
                now = time.perf_counter() - start
                if now > arguments.seconds and len(ends) >= LEAST * arguments.callers:
                    return
                number = next(numbers)
            counted = call(number)
            with lock:
                ends.append(time.perf_counter() - start)
                edges.append(counted[0])
                nodes.append(counted[1])

    callers = [threading.Thread(target=run) for _ in range(arguments.callers)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    cpu = cpu_time() - cpu_start
    # Several callers end in bursts; a window of one result each is one measurement.
    window = arguments.callers
    marks = [0.0, *sorted(ends)[window - 1 :: window]]
    seconds = [(b - a) / window for a, b in pairwise(marks)]
    return Timing(seconds, cpu / len(ends), edges, nodes)


def cpu_time() -> float:
    """Of this process and of those that work for it."""
    workers = with_descendants([os.getpid()]) - {os.getpid()}
    return time.process_time() + sum(map(cpu_seconds, workers))


def report(name: str, call: Workload, arguments: Arguments) -> None:
    timing = timed(call, arguments)
    result = {
        "workload": name,
        "threads": arguments.threads,
        "callers": arguments.callers,
        "calls": len(timing.edges),
        "seconds": np.percentile(timing.seconds, [10, 50, 90]).tolist(),
        "cpu_seconds": timing.cpu_seconds,
        "edges": float(np.mean(timing.edges)),
        "nodes": float(np.mean(timing.nodes)),
    }
    print(json.dumps(result), flush=True)


def serve(workloads: dict[str, AbstractContextManager[Workload]], arguments: Arguments) -> None:
    """Reports on one workload for each line that comes in: its name and seconds. Outside of its
    context a workload must do nothing: others have their turn."""
    begun: set[str] = set()
    print("warm", flush=True)
    for line in sys.stdin:
        name, seconds = line.split()
        with workloads[name] as call:
            if name not in begun:  # what is done once does not count
                call(0)
                begun.add(name)
            report(name, call, replace(arguments, seconds=float(seconds)))


def batch(seeds: np.ndarray, number: int, size: int = BATCH) -> np.ndarray:
    begin = number * size % (len(seeds) - size)
    return seeds[begin : begin + size]


def typed_batch(seeds: np.ndarray, number: int, size: int = BATCH) -> dict[str, np.ndarray]:
    """The same batch by type: users have even ids, items odd ones."""
    chosen = batch(seeds, number, size)
    return {name: chosen[chosen % 2 == place] // 2 for place, name in enumerate(TYPES)}


class SeedTimes:
    """A random time for every node, as a table has it. Made once, because it is not what is
    measured."""

    def __init__(self, seeds: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        nodes = int(seeds.max()) // 2 + 1
        self._times = {name: rng.integers(0, TIME_SPAN, nodes) for name in TYPES}

    def of(self, chosen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: self._times[name][ids] for name, ids in chosen.items()}
