"""Threads of one process that call the same objects at once; their results must be right."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import graphzero as gz
import numpy as np
import numpy.typing as npt

NODES, EDGES, FEATURES = 20_000, 300_000, 64
SECONDS = float(os.environ.get("GRAPHZERO_CALLERS_S", "20"))

Work = Callable[[np.random.Generator], None]


def write_dataset(directory: Path) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, NODES, (2, EDGES))
    gz.write_graph(directory / "graph.gl", ends[0], ends[1], num_nodes=NODES)
    values = rng.random((NODES, FEATURES), dtype=np.float32)
    gz.write_features(directory / "x.gd", values)
    return values


def gathers(store: gz.FeatureStore, values: npt.NDArray[np.float32]) -> Work:
    def work(rng: np.random.Generator) -> None:
        ids = (np.minimum(rng.zipf(1.3, 800), NODES) * 7919) % NODES
        np.testing.assert_array_equal(store.gather(ids, threads=1), values[ids])

    return work


def samples(graph: gz.Graph, reference: gz.Graph) -> Work:
    def work(rng: np.random.Generator) -> None:
        nodes, seed = rng.integers(0, NODES, 32), int(rng.integers(0, 1000))
        drawn = graph.sample(nodes, [5, 4], seed=seed, threads=1)
        expected = reference.sample(nodes, [5, 4], seed=seed, threads=1)
        np.testing.assert_array_equal(drawn.edge_index, expected.edge_index)
        walks = graph.random_walk(nodes, 5, seed=seed, threads=1)
        expected_walks = reference.random_walk(nodes, 5, seed=seed, threads=1)
        np.testing.assert_array_equal(walks.nodes, expected_walks.nodes)

    return work


def warms(store: gz.FeatureStore, path: Path) -> Work:
    def work(_: np.random.Generator) -> None:
        store.warm()
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    return work


def main() -> None:
    failures: list[BaseException] = []
    end = time.monotonic() + SECONDS

    def repeat(work: Work, number: int) -> None:
        rng = np.random.default_rng(number)
        try:
            while time.monotonic() < end and not failures:
                work(rng)
        except BaseException as failure:
            failures.append(failure)

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        values = write_dataset(path)
        features = path / "x.gd"
        # A cache that has to evict.
        direct = gz.FeatureStore(features, io="direct", row_cache=NODES * FEATURES // 2)
        cached, auto = (gz.FeatureStore(features, io=io) for io in ("cached", "auto"))
        mapped, staged = (gz.Graph(path / "graph.gl", io=io) for io in ("mapped", "staged"))
        work = [gathers(store, values) for store in (direct, direct, direct, cached, auto)]
        work += [samples(graph, mapped) for graph in (staged, staged, mapped)]
        work += [warms(auto, features)]
        threads = [
            threading.Thread(target=repeat, args=pair) for pair in zip(work, itertools.count())
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


main()
