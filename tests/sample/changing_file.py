"""Reads a graph whose file changes all the time: changing_file.py KIND ROUNDS IO DIRECTORY.

Prints how many calls gave a result and how many an error that names the file. Any other error, and
a signal, end the process.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import graphzero as gz
import numpy as np
from graphzero import _engine

NODES = 20_000
HUB_EDGES = 2_000_000
PAIRS = (np.arange(50), np.arange(50))  # that a sample must not have; those of the hub among them


def write_hub(path: Path, *, weighted: bool = False) -> None:
    """Node 0 has most of the edges, and the others five each."""
    rng = np.random.default_rng(0)
    src = np.concatenate([np.zeros(HUB_EDGES, np.int64), rng.integers(1, NODES, 5 * NODES)])
    dst = rng.integers(0, NODES, len(src))
    weights = np.ones(len(src), np.float32) if weighted else None
    gz.write_graph(path, src, dst, weights=weights, num_nodes=NODES, direction="out")


def write_weighted_hub(path: Path) -> None:
    write_hub(path, weighted=True)


def write_star(path: Path) -> None:
    """Node 0 has an edge to every other one but two."""
    targets = np.arange(1, NODES - 2)
    gz.write_graph(path, np.zeros_like(targets), targets, num_nodes=NODES, direction="out")


def sample(graph: gz.Graph, seeds: Any, fanout: int, **options: Any) -> Any:
    return graph.sample(seeds, [fanout], direction="out", max_edges=2**30, **options)


def sample_negatives(graph: gz.Graph, seeds: Any) -> Any:
    """Of node 0, which has so few that all nodes are looked at for them, twice."""
    negatives = gz.Negatives("targets", 8, reject=True)
    ends = np.zeros(8, int), np.ones(8, int)
    return graph.sample_links(*ends, [1], negatives=negatives, direction="out")


def read_edges(graph: gz.Graph, seeds: Any) -> None:
    reader = _engine.EdgeReader(graph._file.topology)
    while (edges := reader.next()) is not None:
        if max(int(edges[0].max()), int(edges[1].max())) >= NODES:
            raise AssertionError("an edge between nodes that are not there")


class Kind(NamedTuple):
    """One way to read."""

    write: Callable[[Path], None]
    changed: tuple[int, int]  # a place of indptr, and what it has now and then
    calls: int  # enough to meet most faults in one round
    call: Callable[[gz.Graph, Any], Any]


HUB = (0, HUB_EDGES - 1)  # the hub has one edge
LAST = (NODES, 0)  # the last node has fewer than none
KINDS = {
    "excluded": Kind(write_hub, HUB, 40, lambda g, s: sample(g, s, 5, exclude=PAIRS)),
    "excluded-weighted": Kind(
        write_weighted_hub, HUB, 12, lambda g, s: sample(g, s, -1, exclude=PAIRS, weighted=True)
    ),
    "weighted": Kind(write_weighted_hub, HUB, 4, lambda g, s: sample(g, s, -1, weighted=True)),
    "induced": Kind(write_hub, HUB, 4, lambda g, s: sample(g, s, 1, subgraph="induced")),
    "negatives": Kind(write_star, (0, NODES // 2), 60, sample_negatives),
    "walk": Kind(write_hub, HUB, 10, lambda g, s: g.random_walk(s, 10)),
    "node2vec": Kind(write_hub, HUB, 4, lambda g, s: g.random_walk(s[:2_000], 10, p=0.1, q=9)),
    "fanout": Kind(write_hub, HUB, 10, lambda g, s: g.batch_random_fanout(s, 20)),
    "edges": Kind(write_hub, LAST, 20, read_edges),
    "verify": Kind(write_hub, LAST, 5, lambda g, s: _engine.verify(g._file.topology, threads=2)),
}


def main(kind: str, rounds: int, io: str, directory: Path) -> None:
    write, (place, value), calls, call = KINDS[kind]
    path = directory / "g.gl"
    write(path)
    sections = {section.name: section for section in _engine.Topology.open(str(path)).sections}
    offset = sections["out.indptr"].offset
    indptr = np.memmap(path, np.uint64, "r+", offset, (NODES + 1,))
    sound = indptr[place]
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for _ in range(100):
                indptr[place] = value
                indptr[place] = sound

    sys.setswitchinterval(1e-5)
    changer = threading.Thread(target=change)
    changer.start()
    graph = gz.Graph(path, io=io)
    seeds = np.arange(NODES)
    results = errors = 0
    try:
        for _ in range(rounds * calls):
            try:
                call(graph, seeds)
                results += 1
            except gz.FormatError as error:
                if str(path) not in str(error):
                    raise
                errors += 1
    finally:
        stop.set()
        changer.join()
    print(results, errors)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
