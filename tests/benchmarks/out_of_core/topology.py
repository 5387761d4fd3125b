"""Sampling from a graph that is three times as large as memory.

    python tests/benchmarks/out_of_core/topology.py [--nodes 8M] [--edges 110M] [--seconds 8]

As root (control groups, drop_caches). Ten neighbours of nodes that are drawn in proportion to their
degree: staged reads against page faults with 32 threads and with two. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import graphzero as gz
import numpy as np
from limits import run_limited

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
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-topology-") as temporary:
        data = args.directory or Path(temporary) / "topology"
        if not data.exists():
            generate = [sys.executable, "-m", "graphzero", "generate", str(data), "--dim", "1"]
            subprocess.run([*generate, "--nodes", args.nodes, "--edges", args.edges], check=True)
        nodes = Path(temporary) / "nodes.npy"
        np.save(nodes, degree_biased(data / "graph.gl"))
        measure(data / "graph.gl", nodes, args.seconds)


def degree_biased(path: Path) -> np.ndarray:
    """One end of each of two million random edges."""
    graph = gz.Graph(path, io="mapped")
    graph.warm()
    ends = graph.sample(np.random.default_rng(1).integers(0, graph.num_nodes, 400_000), [5], seed=1)
    # A neighbour of a random node: biased towards high degrees as ends of edges are.
    return ends.n_id[ends.edge_index[0]].astype(np.int32)


def measure(graph: Path, nodes: Path, seconds: float) -> None:
    size = graph.stat().st_size
    print(f"10 neighbours of degree-biased nodes, memory 1/3 of {size / 2**30:.1f} GiB")
    rates = {}
    for name, (io, callers, batch) in WAYS.items():
        arguments = [str(graph), f"--nodes={nodes}", f"--io={io}", f"--callers={callers}"]
        arguments += [f"--batch={batch}", f"--seconds={seconds}"]
        result = run_limited(HERE / "sample_nodes.py", arguments, size // 3)
        rates[name] = result.pop("nodes_per_second")
        rest = ", ".join(f"{key} {value:.2f}" for key, value in result.items())
        print(f"  {name:<22}{rates[name]:>10,.0f} nodes/s  {rest}")
    for name in list(WAYS)[1:]:
        print(f"  staged is {rates['staged'] / rates[name]:.1f} x {name}")


if __name__ == "__main__":
    main()
