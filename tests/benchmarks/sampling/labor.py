"""LABOR against independent draws, on the R-MAT graph of run.py: different nodes, and batches/s.

    python tests/benchmarks/sampling/labor.py --data /tmp/graphs

Batches are 1024 seeds x [15, 10, 5], with and without their rows of 128 float32 in memory. The two
samplers take turns, batch by batch, so that what else the machine does hits both. Whole rows are
looked at, which takes time; fewer rows are gathered, which gives it back where rows are long or far
away. Nothing is asserted.
"""

import argparse
import statistics
import time
from pathlib import Path

import graphzero as gz
import numpy as np
from graphs import SHAPES, generate

FANOUT = [15, 10, 5]
SAMPLERS = {
    "neighbour": "neighbour",
    "labor": "labor",
    "labor, one number for all hops": gz.Labor(layer_dependency=True),
}


def measure(
    graph: gz.Graph, features: gz.FeatureStore, seeds: np.ndarray, batches: int, threads: int
) -> dict[str, dict[str, float]]:
    """Medians of each sampler: nodes and edges of a batch, seconds and CPU seconds of it."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in SAMPLERS}
    for batch in range(batches):
        own = seeds[1024 * batch : 1024 * (batch + 1)]
        for name, sampler in SAMPLERS.items():
            start, cpu = time.perf_counter(), time.process_time()
            sample = graph.sample(own, FANOUT, seed=batch, sampler=sampler, threads=threads)
            drawn, drawn_cpu = time.perf_counter(), time.process_time()
            features.gather(sample.n_id)
            end, end_cpu = time.perf_counter(), time.process_time()
            nodes, edges = len(np.unique(sample.n_id)), sample.edge_index.shape[1]
            found[name].append(
                (nodes, edges, drawn - start, end - start, drawn_cpu - cpu, end_cpu - cpu)
            )
    names = ("nodes", "edges", "sample_s", "batch_s", "sample_cpu_s", "batch_cpu_s")
    return {
        sampler: {
            name: statistics.median(values)
            for name, values in zip(names, zip(*rows, strict=True), strict=True)
        }
        for sampler, rows in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder for graphs, kept")
    parser.add_argument("--graph", choices=SHAPES, default="small")
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    shape = SHAPES[args.graph]
    folder = args.data / args.graph
    generate(shape, folder, legacy=False)
    if not (folder / "x.gd").exists():
        rows = np.random.default_rng(0).random((1 << shape.scale, 128), np.float32)
        gz.write_features(folder / "x.gd", rows)
    graph = gz.Graph(folder / "graph.gl", io="mapped")
    features = gz.FeatureStore(folder / "x.gd", io="mapped")
    graph.warm()
    features.get_tensor().sum()  # reads all rows into memory
    seeds = np.load(folder / "seeds.npy")
    measured = measure(graph, features, seeds, args.batches, args.threads)
    usual = measured["neighbour"]
    print(f"{shape.name}, 1024 x {FANOUT}, {args.threads} thread(s), medians of {args.batches}")
    for sampler, values in measured.items():
        print(
            f"{sampler}: {values['nodes']:,.0f} different nodes "
            f"({values['nodes'] / usual['nodes']:.2f}), {values['edges']:,.0f} edges; "
            f"sample {1e3 * values['sample_s']:.1f} ms ({1e3 * values['sample_cpu_s']:.1f} CPU), "
            f"with features {1e3 * values['batch_s']:.1f} ms "
            f"({1e3 * values['batch_cpu_s']:.1f} CPU), "
            f"batches/s {usual['batch_s'] / values['batch_s']:.2f} of neighbour sampling"
        )


if __name__ == "__main__":
    main()
