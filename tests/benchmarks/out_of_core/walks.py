"""Walks and negatives on a graph that is three times as large as memory.

    python tests/benchmarks/out_of_core/walks.py [--nodes 8M] [--edges 110M] [--seconds 8]

As root (control groups, drop_caches). Walks of ten steps from random nodes, and negatives by degree
that are checked against the graph: staged reads against page faults with 32 threads and with two.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from limits import run_limited

HERE = Path(__file__).parent
OPERATIONS = {"walk": "steps", "node2vec": "steps", "negatives": "negatives"}
WAYS = {
    "staged": ("staged", 2, 8192),
    "32 faulting threads": ("mapped", 32, 64),
    "2 faulting threads": ("mapped", 2, 64),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="8M")
    parser.add_argument("--edges", default="110M", help="undirected; stored in both directions")
    parser.add_argument("--seconds", type=float, default=8.0, help="per run")
    parser.add_argument("--repeat", type=int, default=3, help="rounds of all ways")
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-walks-") as temporary:
        data = args.directory or Path(temporary) / "topology"
        if not data.exists():
            generate = [sys.executable, "-m", "graphzero", "generate", str(data), "--dim", "1"]
            subprocess.run([*generate, "--nodes", args.nodes, "--edges", args.edges], check=True)
        for operation, unit in OPERATIONS.items():
            measure(data / "graph.gl", operation, unit, args.seconds, args.repeat)


def measure(graph: Path, operation: str, unit: str, seconds: float, repeat: int) -> None:
    size = graph.stat().st_size
    print(f"{operation}, memory 1/3 of {size / 2**30:.2f} GiB", flush=True)
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(repeat):
        for name, (io, callers, batch) in WAYS.items():
            arguments = [str(graph), f"--operation={operation}", f"--io={io}"]
            arguments += [f"--callers={callers}", f"--batch={batch}", f"--seconds={seconds}"]
            result = run_limited(HERE / "walk_nodes.py", arguments, size // 3)
            rates[name].append(result.pop("per_second"))
            rest = ", ".join(f"{key} {value:.2f}" for key, value in result.items())
            print(f"  {name:<22}{rates[name][-1]:>10,.0f} {unit}/s  {rest}", flush=True)
    middle = {name: statistics.median(found) for name, found in rates.items()}
    for name in list(WAYS)[1:]:
        print(f"  staged is {middle['staged'] / middle[name]:.1f} x {name} (medians)", flush=True)


if __name__ == "__main__":
    main()
