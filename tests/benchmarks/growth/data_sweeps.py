"""Sweeps of the data and of what is asked for, with the engine in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import graphzero as gz
import numpy as np
from common.datasets import generated_dataset
from graphzero import _engine
from growth.points import milliseconds, swept
from report.document import Sweep

if TYPE_CHECKING:
    from growth.subject import Growth

FANOUT = [10, 5]
SEEDS = 1024
MANY_THREADS = (1, 2, 4, 8)
COLUMN_BYTES = 256 << 20
CACHES = (
    "A node costs the same steps; in larger data fewer of them find what they need in the "
    "processor's caches and its table of pages, which ends when none do."
)


def nodes(growth: Growth) -> list[Sweep]:
    counts = [int(n * growth.scale) for n in (50_000, 200_000, 800_000, 3_200_000)]
    places = {n: generated_dataset(growth.directory, n, 10 * n, 64) for n in counts}
    points = {float(n): _node_us(place, growth.seconds) for n, place in places.items()}
    what = ("nodes", "nodes (20 edges each)", "us for a node of a batch of 1024 x [10, 5]")
    return [swept(*what, points, growth.repeats, linear=0.0, why=CACHES)]


def edges(growth: Growth) -> list[Sweep]:
    count = int(200_000 * growth.scale)
    factors = (5, 20, 80)
    places = {f: generated_dataset(growth.directory, count, f * count, 64) for f in factors}
    points = {2.0 * f * count: _node_us(place, growth.seconds) for f, place in places.items()}
    what = ("edges", f"edges of {count:,} nodes", "us for a node of a batch of 1024 x [10, 5]")
    return [swept(*what, points, growth.repeats, linear=0.0, why=CACHES)]


def width(growth: Growth) -> list[Sweep]:
    """Of columns of the same size, so that none fits better into a cache than another."""
    size = int(COLUMN_BYTES * growth.scale)
    points = {}
    for dim in (16, 64, 256, 1024):
        count = size // (4 * dim)
        path = growth.directory / f"width-{size}-{dim}.gd"
        if not path.exists():
            values = np.random.default_rng(0).random((count, dim), np.float32)
            gz.write_features(path, values)
        store = gz.FeatureStore(path, io="mapped")
        rows = np.random.default_rng(1).integers(0, count, 10_000)
        out = np.empty((len(rows), dim), np.float32)
        points[float(dim)] = _timed(
            lambda _, store=store, rows=rows, out=out: store.gather(rows, out=out, threads=1),
            growth.seconds,
        )
    return [swept("width", "features of a row", "ms for 10,000 rows", points, growth.repeats)]


def batch(growth: Growth) -> list[Sweep]:
    place = _usual(growth)
    sizes = (64, 256, 1024, 4096, 16384)
    points = {float(n): _batch_ms(place, growth.seconds, size=n) for n in sizes}
    return [swept("batch", "seeds of a batch x [10, 5]", "ms a batch", points, growth.repeats)]


def fanout(growth: Growth) -> list[Sweep]:
    """By the edges that a fanout draws."""
    place = _usual(growth)
    graph = gz.Graph(place)
    points = {}
    for hops in ([5], [10, 5], [15, 10, 5], [20, 15, 10]):
        drawn = graph.sample(_seeds(graph, SEEDS, 0), hops, seed=0).edge_index.shape[1]
        points[float(drawn)] = _batch_ms(place, growth.seconds, fanout=hops)
    what = ("fanout", "edges of a batch ([5] to [20, 15, 10])", "ms a batch")
    return [swept(*what, points, growth.repeats)]


def threads(growth: Growth) -> list[Sweep]:
    """More threads than processors, too: the cost must not rise."""
    graph = gz.Graph(_usual(growth), io="mapped")
    graph.warm()
    _engine.set_thread_limit(max(MANY_THREADS))
    points = {}
    for count in MANY_THREADS:
        seeds = _seeds(graph, 8 * SEEDS, 1)
        points[float(count)] = _timed(
            lambda n, count=count, seeds=seeds: graph.sample(
                seeds, [15, 10, 5], seed=n, threads=count
            ),
            growth.seconds,
        )
    what = ("threads", "threads inside a call", "ms for 8192 x [15, 10, 5]")
    return [swept(*what, points, growth.repeats, linear=0.0)]


def _usual(growth: Growth) -> Path:
    count = int(800_000 * growth.scale)
    return generated_dataset(growth.directory, count, 10 * count, 64)


def _batch_ms(
    place: Path, seconds: float, *, size: int = SEEDS, fanout: list[int] = FANOUT
) -> Callable[[], float]:
    """Samples and gathers with one thread, from files that lie in memory."""
    os.sync()  # a dataset that was just generated may still be on its way to the disk
    graph = gz.Graph(place, io="mapped")
    store = gz.FeatureStore(place / "x.gd", io="mapped")
    graph.warm()
    store.warm()

    def make(number: int) -> None:
        sample = graph.sample(_seeds(graph, size, number), fanout, seed=number, threads=1)
        store.gather(sample.n_id, threads=1)

    return _timed(make, seconds)


def _node_us(place: Path, seconds: float) -> Callable[[], float]:
    """A batch's time divided by its nodes: in larger graphs, fewer of them are drawn twice."""
    graph = gz.Graph(place)
    drawn = np.mean(
        [len(graph.sample(_seeds(graph, SEEDS, n), FANOUT, seed=n).n_id) for n in range(5)]
    )
    whole = _batch_ms(place, seconds)
    return lambda: 1000 * whole() / float(drawn)


def _timed(call: Callable[[int], object], seconds: float) -> Callable[[], float]:
    return lambda: milliseconds(call, seconds)


def _seeds(graph: gz.Graph, size: int, number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, graph.num_nodes, size)
