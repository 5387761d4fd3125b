"""The engine in this process, the same work: `python ours_embedded.py DATA SECONDS CALLERS`.

With two callers, two batches are made at a time on one thread each, into arrays that are reused, as
the daemon does it.
"""

import os
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from measure import BATCH, FANOUT, run


class Maker:
    """Makes batches into buffers that it owns."""

    def __init__(self, data: Path, threads: int | None) -> None:
        self._graph = gz.Graph(data)
        self._x = gz.FeatureStore(data / "x.gd")
        self._y = gz.FeatureStore(data / "y.gd")
        self._threads = threads
        self._rows = np.empty((0, self._x.feature_dim), np.float32)
        self._labels = np.empty(0, np.int64)

    def make(self, seeds: Any, seed: int) -> list[Any]:
        drawn = self._graph.sample(seeds, FANOUT, seed=seed, threads=self._threads)
        count = len(drawn.n_id)
        if count > len(self._rows):
            self._rows = np.empty((count * 9 // 8, self._x.feature_dim), np.float32)
            self._labels = np.empty(count * 9 // 8, np.int64)
        x, y = self._rows[:count], self._labels[:count]
        self._x.gather(drawn.n_id, out=x, threads=self._threads)
        self._y.gather(drawn.n_id, out=y, threads=self._threads)
        return [drawn.n_id, drawn.edge_index, x, y]


def seed_lists(data: Path) -> Iterator[Any]:
    train = np.array(gz.FeatureStore(data / "train.gd").get_tensor())
    rng = np.random.default_rng(0)
    while True:
        order = rng.permutation(train)
        for first in range(0, len(order) - BATCH, BATCH):
            yield order[first : first + BATCH]


def alone(data: Path) -> Iterator[list[Any]]:
    maker = Maker(data, None)
    for number, seeds in enumerate(seed_lists(data)):
        yield maker.make(seeds, number)


def side_by_side(data: Path, callers: int) -> Iterator[list[Any]]:
    """Each caller waits until its last batch was read before it overwrites it."""
    lists = seed_lists(data)
    lock = threading.Lock()
    ready: queue.Queue[tuple[list[Any], threading.Event]] = queue.Queue()

    def work() -> None:
        makers = [Maker(data, 1), Maker(data, 1)]
        read = [threading.Event(), threading.Event()]
        for number in range(1 << 30):
            slot = number % 2
            if number > 1:
                read[slot].wait()
            read[slot] = threading.Event()
            with lock:
                seeds = next(lists)
            ready.put((makers[slot].make(seeds, number), read[slot]))

    for _ in range(callers):
        threading.Thread(target=work, daemon=True).start()
    while True:
        arrays, read = ready.get()
        yield arrays
        read.set()


def main() -> None:
    data, seconds, callers = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    run(alone(data) if callers == 1 else side_by_side(data, callers), seconds, warm_up=8)
    os._exit(0)  # the callers are in the middle of a batch


main()
