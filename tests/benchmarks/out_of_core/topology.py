"""Sampling from a graph that is three times as large as memory.

    python tests/benchmarks/out_of_core/topology.py [--nodes 8M] [--edges 110M] [--seconds 8]
        [--repeat 3]

As root (control groups, drop_caches). Ten neighbours of nodes that are drawn in proportion to their
degree: staged reads against page faults with 32 threads and with two. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import graphzero as gz
import numpy as np
from limits import run_limited

sys.path.append(str(Path(__file__).parents[1]))
from common.rounds import Spread

HERE = Path(__file__).parent
WAYS = {
    "staged": ("staged", 2, 4096),
    "32 faulting threads": ("mapped", 32, 512),
    "2 faulting threads": ("mapped", 2, 512),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="8M")
    parser.add_argument("--edges", default="110M", help="undirected; stored in both directions")
    parser.add_argument("--seconds", type=float, default=8.0, help="per run")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-topology-") as temporary:
        data = args.directory or Path(temporary) / "topology"
        if not data.exists():
            generate = [sys.executable, "-m", "graphzero", "generate", str(data), "--dim", "1"]
            subprocess.run([*generate, "--nodes", args.nodes, "--edges", args.edges], check=True)
        nodes = Path(temporary) / "nodes.npy"
        np.save(nodes, degree_biased(data / "graph.gl"))
        measure(data / "graph.gl", nodes, args.seconds, args.repeat)


def spread(values: list[float], form: str = ".2f") -> str:
    return Spread.of(values).text(form)


def degree_biased(path: Path) -> np.ndarray:
    """One end of each of two million random edges."""
    graph = gz.Graph(path, io="mapped")
    graph.warm()
    ends = graph.sample(np.random.default_rng(1).integers(0, graph.num_nodes, 400_000), [5], seed=1)
    # A neighbour of a random node: biased towards high degrees as ends of edges are.
    return ends.n_id[ends.edge_index[0]].astype(np.int32)


def measure(graph: Path, nodes: Path, seconds: float, repeat: int) -> None:
    size = graph.stat().st_size
    print(f"10 neighbours of degree-biased nodes, memory 1/3 of {size / 2**30:.1f} GiB")
    print(f"load at the start {os.getloadavg()[0]:.1f}", flush=True)
    repeats = [_repetition(graph, nodes, seconds) for _ in range(repeat)]
    for name in WAYS:
        runs = [runs[name] for runs in repeats]
        print(f"  {name:<22}{spread([run['nodes_per_second'] for run in runs], ',.0f')} nodes/s")
        for key in runs[0].keys() - {"nodes_per_second"}:
            print(f"    {key:<20}{spread([run[key] for run in runs])}")
    for name in list(WAYS)[1:]:
        gains = [
            runs["staged"]["nodes_per_second"] / runs[name]["nodes_per_second"] for runs in repeats
        ]
        print(f"  staged x {name:<22}{spread(gains, '.1f')}")


def _repetition(graph: Path, nodes: Path, seconds: float) -> dict[str, dict[str, float]]:
    runs = {}
    for name, (io, callers, batch) in WAYS.items():
        arguments = [str(graph), f"--nodes={nodes}", f"--io={io}", f"--callers={callers}"]
        arguments += [f"--batch={batch}", f"--seconds={seconds}"]
        runs[name] = run_limited(HERE / "sample_nodes.py", arguments, graph.stat().st_size // 3)
    return runs


if __name__ == "__main__":
    main()
