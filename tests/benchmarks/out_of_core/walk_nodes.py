"""Walks, or negatives, for some seconds in one way; prints JSON."""

from __future__ import annotations

import argparse
import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor

import graphzero as gz
import numpy as np
from graphzero import _engine

LENGTH = 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("graph")
    parser.add_argument("--operation", required=True, choices=["walk", "node2vec", "negatives"])
    parser.add_argument("--io", required=True, choices=["mapped", "staged"])
    parser.add_argument("--callers", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    args = parser.parse_args()
    graph = gz.Graph(args.graph, io=args.io)
    graph._file.topology.expect_random_access()
    _engine.set_thread_limit(args.callers)
    numbers = itertools.count()
    started = time.perf_counter()

    def work(_: int) -> int:
        count = 0
        while time.perf_counter() - started < args.seconds:
            count += perform(graph, args.operation, args.batch, next(numbers))
        return count

    with ThreadPoolExecutor(args.callers) as pool:
        count = sum(pool.map(work, range(args.callers)))
    seconds = time.perf_counter() - started
    result = {"per_second": count / seconds}
    if graph._file.disk is not None:
        stats = graph._file.disk.stats()
        result["reads_each"] = stats.reads / count
        result["latency_us"] = stats.read_nanoseconds / max(stats.reads, 1) / 1000
    print(json.dumps(result))


def perform(graph: gz.Graph, operation: str, batch: int, number: int) -> int:
    """Returns how many steps, or negatives, it took."""
    nodes = np.random.default_rng(number).integers(0, graph.num_nodes, batch)
    if operation == "negatives":
        negatives = gz.Negatives("targets", 1, "degree", reject=True)
        graph.sample_links(nodes, nodes, [], negatives=negatives, seed=number, threads=1)
        return batch
    p, q = (0.5, 2.0) if operation == "node2vec" else (1.0, 1.0)
    walks = graph.random_walk(nodes, LENGTH, p=p, q=q, seed=number, threads=1)
    return int(walks.lengths.sum())


if __name__ == "__main__":
    main()
