"""What storing features in one byte brings and costs, beside float32.

    python tests/benchmarks/out_of_core/quantised.py [--nodes 400000] [--edges 4000000]

reads     disk reads a batch of the same samples of a power-law graph, around the page cache, with a
          row cache of the same size
gathers   seconds and processor time of warm gathers from a mapped column

Ways take turns, ratios are taken within a turn. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import graphzero as gz
import numpy as np

TYPES = ("float32", "float16", "q8", "q8[float16]")
FANOUT = [10, 5]
SEEDS = 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=400_000)
    parser.add_argument("--edges", type=int, default=4_000_000)
    parser.add_argument("--cache", type=float, default=1 / 8, help="of the float32 column")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-quantised-") as temporary:
        place = Path(temporary)
        gz.generate(place / "data", nodes=args.nodes, edges=args.edges)
        values = gz.FeatureStore(place / "data/x.gd").get_tensor()
        for name in TYPES:
            gz.write_features(place / f"{name}.gd", values, dtype=name)
        graph = gz.Graph(place / "data")
        rng = np.random.default_rng(0)
        batches = [
            graph.sample(rng.integers(0, args.nodes, SEEDS), FANOUT, seed=i).n_id for i in range(60)
        ]
        reads(place, batches, int(values.nbytes * args.cache))
        gathers(place, batches)


def reads(place: Path, batches: list[np.ndarray], cache: int) -> None:
    nodes = np.mean([len(ids) for ids in batches])
    print(f"reads a batch of {nodes:,.0f} nodes, row cache {cache / 2**20:.0f} MiB")
    found: dict[str, list[float]] = {}
    for name in TYPES:
        store = gz.FeatureStore(place / f"{name}.gd", io="direct", row_cache=cache)
        counts = []
        for ids in batches:
            store.gather(ids)
            counts.append(store._file.reader.stats().reads)
        found[name] = np.diff(counts[len(counts) // 2 :]).tolist()  # once the cache is full
    for name in TYPES:
        ratios = np.array(found[name]) / np.array(found["float32"])
        print(f"  {name:<12}{np.median(found[name]):>9,.0f}, by float32's {_spread(ratios)}")


def gathers(place: Path, batches: list[np.ndarray]) -> None:
    stores = {name: gz.FeatureStore(place / f"{name}.gd", io="mapped") for name in TYPES}
    for store in stores.values():
        store.warm()
    most = min(len(ids) for ids in batches)
    outs = {name: np.empty((most, *s.shape[1:]), s.dtype.label) for name, s in stores.items()}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in TYPES}
    for turn, ids in enumerate(batches):
        for name in TYPES if turn % 2 else reversed(TYPES):
            began, cpu = time.perf_counter(), time.process_time()
            stores[name].gather(ids[:most], out=outs[name], threads=1)
            spent[name].append((time.perf_counter() - began, time.process_time() - cpu))
    print(f"warm gathers of {most:,} rows, one thread")
    for name in TYPES:
        pairs = list(zip(spent[name], spent["float32"], strict=True))[5:]
        times, cpus = (np.array([own[i] / plain[i] for own, plain in pairs]) for i in range(2))
        print(f"  {name:<12}by float32's time {_spread(times)}, processor time {_spread(cpus)}")


def _spread(values: np.ndarray) -> str:
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{median:.2f} (quartiles {low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
