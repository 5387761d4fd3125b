"""Samples neighbours of degree-biased nodes for some seconds in one way; prints JSON."""

from __future__ import annotations

import argparse
import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor

import graphzero as gz
import numpy as np
from graphzero import _engine


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("graph")
    parser.add_argument("--nodes", required=True, help=".npy: a node as often as it has edges")
    parser.add_argument("--io", required=True, choices=["mapped", "staged"])
    parser.add_argument("--callers", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    args = parser.parse_args()
    graph = gz.Graph(args.graph, io=args.io)
    graph._file.topology.expect_random_access()
    _engine.set_thread_limit(args.callers)
    nodes = np.load(args.nodes)
    numbers = itertools.count()
    started = time.perf_counter()

    def work(_: int) -> int:
        count = 0
        while time.perf_counter() - started < args.seconds:
            number = next(numbers)
            seeds = np.random.default_rng(number).choice(nodes, args.batch)
            graph.sample(seeds, [10], seed=number, threads=1)
            count += args.batch
        return count

    with ThreadPoolExecutor(args.callers) as pool:
        count = sum(pool.map(work, range(args.callers)))
    seconds = time.perf_counter() - started
    result = {"nodes_per_second": count / seconds}
    if graph._file.disk is not None:
        stats = graph._file.disk.stats()
        result["reads_per_node"] = stats.reads / count
        result["latency_us"] = stats.read_nanoseconds / max(stats.reads, 1) / 1000
    print(json.dumps(result))


if __name__ == "__main__":
    main()
