"""Draws batches from a dataset on disk and prints the reads of one, as JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import graphzero as gz
import numpy as np
from limits import DiskGroup

SEEDS, FANOUT = 128, [15, 10, 5]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", type=Path)
    parser.add_argument("group", type=Path, help="the control group of this process")
    parser.add_argument("--batches", type=int, required=True, help="counted; as many go before")
    args = parser.parse_args()
    graph = gz.Graph(args.dataset / "graph.gl", io="staged")
    size = (args.dataset / "x.gd").stat().st_size
    store = gz.FeatureStore(args.dataset / "x.gd", io="direct", row_cache=size // 5)
    # The split has the same nodes in the same places whatever their numbers are.
    train = gz.FeatureStore(args.dataset / "train.gd").get_tensor()
    places = np.random.default_rng(1).permutation(len(train))
    nodes = 0

    def draw(first: int) -> None:
        nonlocal nodes
        for number in range(first, first + args.batches):
            seeds = train[places[number * SEEDS : (number + 1) * SEEDS]]
            sample = graph.sample(seeds, FANOUT, seed=number)
            store.gather(sample.n_id)
            nodes += len(sample.n_id)

    def counts() -> tuple[int, int, int]:
        assert graph._file.disk is not None
        topology, rows = graph._file.disk.stats().reads, store._file.reader.stats().reads
        return topology, rows, DiskGroup(args.group).reads[0]

    draw(0)
    nodes, before = 0, counts()
    draw(args.batches)
    topology, rows, kernel = (b - a for a, b in zip(before, counts(), strict=True))
    result = {"nodes": nodes, "reads": topology + rows, "topology_reads": topology}
    result["kernel_reads"] = kernel
    print(json.dumps({name: value / args.batches for name, value in result.items()}))


if __name__ == "__main__":
    main()
