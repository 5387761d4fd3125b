"""LABOR against independent draws, on the R-MAT graph of run.py: different nodes, and batches/s.

    python tests/benchmarks/sampling/labor.py --data /tmp/graphs --dgl-python DGL/bin/python

Batches are 1024 seeds x [15, 10, 5], with and without their rows of 128 float32 in memory. The
samplers take turns, batch by batch, so that what else the machine does hits all of them; with
--dgl-python, LABOR of GraphBolt is one of them, in a process of its own. Whole rows are looked at,
which takes time; fewer rows are gathered, which gives it back where rows are long or far away.
Nothing is asserted.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from common.graphs import SHAPES, generate, warm

FANOUT = [15, 10, 5]
SAMPLERS = {
    "neighbour": "neighbour",
    "labor": "labor",
    "labor, one number for all hops": gz.Labor(layer_dependency=True),
}
NAMES = ("nodes", "edges", "sample_s", "batch_s", "sample_cpu_s", "batch_cpu_s")
PEER = "GraphBolt's labor"


class Peer:
    """A process that makes the batches whose numbers it is sent."""

    def __init__(self, python: Path, folder: Path, threads: int) -> None:
        script = Path(__file__).parent / "peers" / "dgl21_labor.py"
        self._process: Any = subprocess.Popen(
            [python, script, folder, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def batch(self, number: int) -> tuple[float, ...]:
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        return tuple(json.loads(self._answer()))

    def _answer(self) -> str:
        line: str = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{PEER} ended with {self._process.wait()}")
        return line

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()


def own_batch(
    graph: gz.Graph,
    features: gz.FeatureStore,
    seeds: np.ndarray,
    number: int,
    sampler: Any,
    threads: int,
) -> tuple[float, ...]:
    start, cpu = time.perf_counter(), time.process_time()
    sample = graph.sample(seeds, FANOUT, seed=number, sampler=sampler, threads=threads)
    drawn, drawn_cpu = time.perf_counter(), time.process_time()
    features.gather(sample.n_id, threads=threads)
    end, end_cpu = time.perf_counter(), time.process_time()
    nodes, edges = len(np.unique(sample.n_id)), sample.edge_index.shape[1]
    return nodes, edges, drawn - start, end - start, drawn_cpu - cpu, end_cpu - cpu


def measure(
    graph: gz.Graph,
    features: gz.FeatureStore,
    seeds: np.ndarray,
    batches: int,
    threads: int,
    peer: Peer | None,
) -> dict[str, dict[str, float]]:
    """Medians of each sampler: nodes and edges of a batch, seconds and CPU seconds of it."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in SAMPLERS}
    for batch in range(-1, batches):  # the first one warms up
        own = seeds[1024 * max(batch, 0) : 1024 * (max(batch, 0) + 1)]
        for name, sampler in SAMPLERS.items():
            row = own_batch(graph, features, own, batch + 1, sampler, threads)
            if batch >= 0:
                found[name].append(row)
        if peer is not None:
            row = peer.batch(max(batch, 0))
            if batch >= 0:
                found.setdefault(PEER, []).append(row)
    return {
        sampler: {
            name: statistics.median(values)
            for name, values in zip(NAMES, zip(*rows, strict=True), strict=True)
        }
        for sampler, rows in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder for graphs, kept")
    parser.add_argument("--graph", choices=SHAPES, default="small")
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dgl-python", type=Path, help="an environment of tests/peers-dgl.txt")
    args = parser.parse_args()
    shape = SHAPES[args.graph]
    folder = args.data / args.graph
    generate(shape, folder)
    if not (folder / "x.gd").exists():
        rows = np.random.default_rng(0).random((1 << shape.scale, 128), np.float32)
        gz.write_features(folder / "x.gd", rows)
    for name in ("graph.gl", "x.gd"):  # into memory, as a daemon does it
        file = folder / name
        print(f"{name}: {warm(file) / file.stat().st_size:.0%} on huge pages")
    graph = gz.Graph(folder / "graph.gl", io="mapped")
    features = gz.FeatureStore(folder / "x.gd", io="mapped")
    graph.warm()
    features.get_tensor().sum()  # this process has mapped all of them
    seeds = np.load(folder / "seeds.npy")
    with ExitStack() as stack:
        peer = None
        if args.dgl_python is not None:
            peer = stack.enter_context(Peer(args.dgl_python, folder, args.threads))
        measured = measure(graph, features, seeds, args.batches, args.threads, peer)
    usual = measured["neighbour"]
    print(f"{shape.name}, 1024 x {FANOUT}, {args.threads} thread(s), medians of {args.batches}")
    for sampler, values in measured.items():
        print(
            f"{sampler}: {values['nodes']:,.0f} different nodes "
            f"({values['nodes'] / usual['nodes']:.2f}), {values['edges']:,.0f} edges; "
            f"sample {1e3 * values['sample_s']:.1f} ms ({1e3 * values['sample_cpu_s']:.1f} CPU), "
            f"with features {1e3 * values['batch_s']:.1f} ms "
            f"({1e3 * values['batch_cpu_s']:.1f} CPU), "
            f"batches/s {usual['batch_s'] / values['batch_s']:.2f} of neighbour sampling, "
            f"{usual['batch_cpu_s'] / values['batch_cpu_s']:.2f} by CPU time"
        )


if __name__ == "__main__":
    main()
