"""Serving against its peers and against the engine without a daemon.

    python tests/benchmarks/serving/run.py [--dgl-python PYTHON] [--pyg-python PYTHON]

Everyone makes batches of 1024 seeds x [15, 10, 5] with 128 float32 features and a label for every
node of the batch, from data that is warm in memory, on the cores of this machine (the daemon's
included), and reads one value of each page of every array. Contenders run one after the other.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np

HERE = Path(__file__).parent
RUNS = 3
SEEDS = 200_000

sys.path.append(str(HERE.parent / "sampling"))
import graphs  # noqa: E402 the graph of the sampling benchmark


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0, help="per run")
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    parser.add_argument("--dgl-python", help="an interpreter with dgl 2.1")
    parser.add_argument("--pyg-python", help="an interpreter with torch_geometric and pyg_lib")
    args = parser.parse_args()
    directory = args.directory or Path(tempfile.mkdtemp(prefix="gz-serving-"))
    try:
        data = make_data(directory)
        print_conditions(data)
        rows = measure_ours(data, directory, args.seconds)
        peers = {"dgl": args.dgl_python, "pyg": args.pyg_python}
        rows |= measure_peers(data, directory, peers, args.seconds)
        print_table(rows)
    finally:
        if args.directory is None:
            shutil.rmtree(directory)


def make_data(directory: Path) -> Path:
    """An R-MAT graph of 2.1 M nodes with random features: written once, not yet in memory."""
    data = directory / "data"
    if data.exists():
        return data
    draft = directory / "draft"
    draft.mkdir(parents=True)
    shape = graphs.SHAPES["small"]
    nodes = 1 << shape.scale
    source, target = graphs.rmat_edges(shape)
    gz.write_graph(draft / "graph.gl", source, target, num_nodes=nodes, undirected=True)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((nodes, 128), np.float32)
    gz.write_features(draft / "x.gd", x)
    gz.write_features(draft / "y.gd", rng.integers(0, 16, nodes))
    connected = np.flatnonzero(np.bincount(source, minlength=nodes))
    gz.write_features(draft / "train.gd", rng.permutation(connected)[:SEEDS], role="ids")
    draft.rename(data)
    return data


def print_conditions(data: Path) -> None:
    model = next(
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    graph = gz.Graph(data)
    size = sum(file.stat().st_size for file in data.iterdir()) / 2**30
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"cpu      {model}, {os.cpu_count()} cores, Linux {platform.release()}, load {load}")
    print(f"data     {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {size:.1f} GiB, warm")
    print("batch    1024 seeds x [15, 10, 5], x float32[128] and y for all nodes, 2 threads")


class Daemon:
    def __init__(self, data: Path, directory: Path) -> None:
        self.address = str(directory / "run" / "s.sock")
        command = [sys.executable, "-m", "graphzero.server", "--data", str(data)]
        command += ["--socket", self.address, "--threads", "2"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "warm start read" in line:
                print(f"daemon   {line.strip()}")
                break

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def anonymous(self) -> int:
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(text.partition("Pss_Anon:")[2].split()[0]) << 10

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def contend(python: str, scripts: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Starts the scripts, lets them begin together when all are warm, and returns what they say."""
    started = [
        subprocess.Popen(
            [python, str(HERE / script[0]), *script[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for script in scripts
    ]
    for process in started:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "warm\n", line
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [json.loads(process.communicate()[0]) for process in started]


def measure_ours(data: Path, directory: Path, seconds: float) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    duration = str(seconds)
    daemon = Daemon(data, directory)
    try:
        for _ in range(RUNS):
            for callers in ("1", "2"):
                script = ("ours_embedded.py", str(data), duration, callers)
                add(rows, f"embedded, {callers} at a time", contend(sys.executable, [script]))
            for trainers in (1, 4):
                before = daemon.cpu_seconds()
                scripts = [
                    ("ours_served.py", daemon.address, duration, str(rank), str(trainers))
                    for rank in range(trainers)
                ]
                seen = contend(sys.executable, scripts)
                used = daemon.cpu_seconds() - before
                batches = sum(one["batches"] for one in seen)
                for one in seen:
                    one["server_cpu"] = used * one["batches"] / batches
                    one["server_anonymous"] = daemon.anonymous()
                add(rows, f"served, {trainers} trainer{'s' * (trainers > 1)}", seen)
        command = [sys.executable, str(HERE / "small_requests.py"), daemon.address, "2000"]
        small = subprocess.run(command, check=True, capture_output=True, text=True)
        answer = json.loads(small.stdout)
        print(
            f"small    1 seed x [5], all columns: p50 {answer['p50_ms']:.2f} ms, "
            f"p99 {answer['p99_ms']:.2f} ms"
        )
    finally:
        daemon.stop()
    return rows


def measure_peers(
    data: Path, directory: Path, peers: dict[str, str | None], seconds: float
) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    chosen = {name: python for name, python in peers.items() if python}
    if not chosen:
        print("peers    none: give --dgl-python or --pyg-python")
        return rows
    arrays = export_arrays(data, directory / "arrays")
    for name, python in chosen.items():
        for _ in range(RUNS):
            for workers in ("0", "2"):
                script = (f"peer_{name}.py", str(arrays), str(seconds), workers)
                add(rows, f"{name}, {workers} workers", contend(python, [script]))
    return rows


def export_arrays(data: Path, target: Path) -> Path:
    """The dataset as plain .npy files: in-edges of each node, one after the other."""
    target.mkdir(exist_ok=True)
    graph = gz.Graph(data)
    degrees = np.fromiter(
        (graph.get_degree(node, direction="in") for node in range(graph.num_nodes)), np.int64
    )
    np.save(target / "indptr.npy", np.concatenate([[0], np.cumsum(degrees)]))
    views = [graph.get_neighbours(node, direction="in") for node in range(graph.num_nodes)]
    np.save(target / "indices.npy", np.concatenate(views).astype(np.int64))
    for name in ("x", "y", "train"):
        np.save(target / f"{name}.npy", gz.FeatureStore(data / f"{name}.gd").get_tensor())
    return target


def add(rows: dict[str, list[dict[str, Any]]], name: str, seen: list[dict[str, Any]]) -> None:
    """One run of a contender: rates of its trainers add up."""
    rows.setdefault(name, []).append(
        {
            "rate": sum(one["batches"] / one["seconds"] for one in seen),
            "mib": sum(one["bytes"] for one in seen) / sum(one["batches"] for one in seen) / 2**20,
            "cpu_ms": 1000 * sum(one["cpu"] for one in seen) / sum(one["batches"] for one in seen),
            "server_ms": 1000
            * sum(one.get("server_cpu", 0.0) for one in seen)
            / sum(one["batches"] for one in seen),
            "anonymous": max(one["pss_anonymous"] for one in seen) / 1e6,
            "server_anonymous": max(one.get("server_anonymous", 0) for one in seen) / 1e6,
        }
    )


def print_table(rows: dict[str, list[dict[str, Any]]]) -> None:
    print(
        f"\n{'contender':<26} {'batches/s':>9} {'spread':>13} {'MiB':>6} {'CPU ms/batch':>13} "
        f"{'anon MB':>8}"
    )
    medians = {}
    for name, runs in rows.items():
        rates = sorted(run["rate"] for run in runs)
        middle = medians[name] = float(np.median(rates))
        last = runs[-1]
        cpu = f"{last['cpu_ms']:.0f}+{last['server_ms']:.0f}"
        memory = f"{last['anonymous']:.0f}" + (
            f"+{last['server_anonymous']:.0f}" if last["server_anonymous"] else ""
        )
        print(
            f"{name:<26} {middle:>9.1f} {rates[0]:>6.1f}-{rates[-1]:<6.1f} {last['mib']:>6.0f} "
            f"{cpu:>13} {memory:>8}"
        )
    embedded = max(rate for name, rate in medians.items() if name.startswith("embedded"))
    one, four = medians["served, 1 trainer"], medians["served, 4 trainers"]
    print(f"\nserved / embedded (best)   {one / embedded:.2f}   (to reach: 0.90)")
    print(f"4 trainers / 1 trainer     {four / one:.2f}   (to reach: 0.95)")
    for peer in ("dgl", "pyg"):
        best = max((rate for name, rate in medians.items() if name.startswith(peer)), default=None)
        if best:
            print(f"served / {peer} (best)         {one / best:.1f}x  (to reach: 5x)")


main()
