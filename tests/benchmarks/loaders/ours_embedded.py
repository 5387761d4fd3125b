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
from common.contender import BATCH, FANOUT, TYPED_FANOUT, Taken, run


class Maker:
    """Makes batches into buffers that it owns."""

    def __init__(self, data: Path, threads: int | None) -> None:
        self._graph = gz.Graph(data)
        self._threads = threads
        self._typed = is_typed(data)
        owners = self._graph.types if self._typed else [""]
        self._columns = {
            owner: [
                gz.FeatureStore(file)
                for file in sorted((data / owner).glob("*.gd"))
                if file.stem in ("x", "y")
            ]
            for owner in owners
        }
        self._buffers: dict[Any, Any] = {}

    def make(self, seeds: Any, seed: int) -> Taken:
        if self._typed:
            drawn = self._graph.sample(
                {"user": seeds}, TYPED_FANOUT, seed=seed, threads=self._threads
            )
            nodes = {name: drawn[name].n_id for name in drawn.node_types}
            edges = list(drawn.edge_index_dict.values())
        else:
            flat = self._graph.sample(seeds, FANOUT, seed=seed, threads=self._threads)
            nodes = {"": flat.n_id}
            edges = [flat.edge_index]
        arrays = [*nodes.values(), *edges]
        for owner, n_id in nodes.items():
            for column in self._columns[owner]:
                rows = self._buffer(column, len(n_id))
                column.gather(n_id, out=rows, threads=self._threads)
                arrays.append(rows)
        return Taken(sum(map(len, nodes.values())), sum(e.shape[1] for e in edges), arrays)

    def _buffer(self, column: gz.FeatureStore, count: int) -> Any:
        """Room for that many rows of a column, the same memory as before if it suffices."""
        held = self._buffers.get(column)
        if held is None or len(held) < count:
            shape = (count * 9 // 8, *column.shape[1:])
            held = self._buffers[column] = np.empty(shape, column.get_tensor().dtype)
        return held[:count]


def is_typed(data: Path) -> bool:
    return list(gz.Graph(data).types) != [""]


def seed_lists(data: Path) -> Iterator[Any]:
    split = data / ("user/train.gd" if is_typed(data) else "train.gd")
    train = np.array(gz.FeatureStore(split).get_tensor())
    rng = np.random.default_rng(0)
    while True:
        order = rng.permutation(train)
        for first in range(0, len(order) - BATCH, BATCH):
            yield order[first : first + BATCH]


def alone(data: Path) -> Iterator[Taken]:
    maker = Maker(data, None)
    for number, seeds in enumerate(seed_lists(data)):
        yield maker.make(seeds, number)


def side_by_side(data: Path, callers: int) -> Iterator[Taken]:
    """Each caller waits until its last batch was read before it overwrites it."""
    lists = seed_lists(data)
    lock = threading.Lock()
    ready: queue.Queue[tuple[Taken, threading.Event]] = queue.Queue()

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
        taken, read = ready.get()
        yield taken
        read.set()


def main() -> None:
    data, seconds, callers = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    run(alone(data) if callers == 1 else side_by_side(data, callers), seconds, warm_up=8)
    os._exit(0)  # the callers are in the middle of a batch


main()
