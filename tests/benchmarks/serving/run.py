"""Serving against its peers and against the engine without a daemon.

    python tests/benchmarks/serving/run.py [--dgl-python PYTHON] [--pyg-python PYTHON]

First, loaders alone: everyone makes batches of 1024 seeds x [15, 10, 5] with 128 float32 features
and a label for every node of the batch, from data that is warm in memory, on the cores of this
machine (the daemon's included), and reads one value of each page of every array. Then ours do so
with the same graph in two types and four relations, 1024 seeds x [8, 5, 3] for each relation. Then
batches of a graph without types train a GraphSAGE. Contenders take turns, one at a time. Nothing is
asserted.

dgl 2.1.0 needs an interpreter of its own with torch 2.2.1; PyG needs pyg_lib or torch-sparse.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from datasets import as_arrays, planted_dataset, rmat_dataset, typed_dataset

HERE = Path(__file__).parent
THREADS = 2
WORKERS = ("0", "2")
Row = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contender")
    parser.add_argument("--seconds", type=float, default=6.0, help="of one turn")
    parser.add_argument("--directory", type=Path, help="where to keep the data (default: nowhere)")
    parser.add_argument("--dgl-python", help="an interpreter with dgl 2.1")
    parser.add_argument("--pyg-python", help="an interpreter with torch_geometric and a sampler")
    parser.add_argument("--no-train", action="store_true", help="loaders alone")
    parser.add_argument("--only-typed", action="store_true", help="the graph with types alone")
    args = parser.parse_args()
    directory = args.directory or Path(tempfile.mkdtemp(prefix="gz-serving-"))
    directory.mkdir(exist_ok=True)
    peers = {"dgl": args.dgl_python, "pyg": args.pyg_python}
    peers = {name: python for name, python in peers.items() if python}
    try:
        print_conditions()
        if not args.only_typed:
            loaders_alone(directory, peers, args.rounds, args.seconds)
        typed_loaders(directory, args.rounds, args.seconds)
        if not args.no_train and not args.only_typed:
            training(directory, peers, args.rounds)
    finally:
        if args.directory is None:
            shutil.rmtree(directory)


def print_conditions() -> None:
    model = next(
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"cpu      {model}, {os.cpu_count()} cores, Linux {platform.release()}, load {load}")
    print(f"daemon   {THREADS} threads; data warm in memory; batches of 1024 seeds")


def print_data(data: Path) -> None:
    graph = gz.Graph(data)
    size = sum(file.stat().st_size for file in data.rglob("*.g[ld]")) / 2**30
    print(f"\ndata     {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {size:.1f} GiB")


class Daemon:
    """Ready when it has read its files into memory."""

    def __init__(self, data: Path) -> None:
        self.address = str(data.parent / "run" / "s.sock")
        command = [sys.executable, "-m", "graphzero.server", "--data", str(data)]
        command += ["--socket", self.address, "--threads", str(THREADS)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if "warm start read" in line:
                break

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def anonymous(self) -> int:
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(text.partition("Pss_Anon:")[2].split()[0]) << 10


# --- loaders alone ---


def loaders_alone(directory: Path, peers: dict[str, str], rounds: int, seconds: float) -> None:
    data = rmat_dataset(directory)
    print_data(data)
    arrays = as_arrays(data) if peers else data
    rows: dict[str, list[Row]] = {}
    small: list[Row] = []
    with Daemon(data) as daemon:
        contenders = our_contenders(data, daemon, str(seconds))
        for name, python in peers.items():
            for workers in WORKERS:
                script = (f"peer_{name}.py", str(arrays), str(seconds), workers)
                contenders[f"{name}, {workers} workers"] = turn_of(python, [script])
        for _ in range(rounds):
            for name, take_turn in contenders.items():
                rows.setdefault(name, []).append(take_turn())
            command = [sys.executable, str(HERE / "small_requests.py"), daemon.address, "2000"]
            small.append(json.loads(subprocess.check_output(command, text=True)))
    print("         x [15, 10, 5], x float32[128] and y for all nodes")
    print_loaders(rows, "0.90")
    p50, p99 = (sorted(turn[key] for turn in small) for key in ("p50_ms", "p99_ms"))
    print(
        f"small request (1 seed x [5], all columns): p50 {np.median(p50):.2f} ms "
        f"({p50[0]:.2f}-{p50[-1]:.2f})   (to reach: 1), p99 {np.median(p99):.2f} ms"
    )


def typed_loaders(directory: Path, rounds: int, seconds: float) -> None:
    data = typed_dataset(directory)
    print_data(data)
    rows: dict[str, list[Row]] = {}
    with Daemon(data) as daemon:
        contenders = our_contenders(data, daemon, str(seconds))
        for _ in range(rounds):
            for name, take_turn in contenders.items():
                rows.setdefault(name, []).append(take_turn())
    print(
        "         2 types, 4 relations, x [8, 5, 3] each, x float32[128] for all nodes, y of users"
    )
    print_loaders(rows, "0.95")


def our_contenders(data: Path, daemon: Daemon, seconds: str) -> dict[str, Callable[[], Row]]:
    contenders: dict[str, Callable[[], Row]] = {}
    for callers in ("1", "2"):
        script = ("ours_embedded.py", str(data), seconds, callers)
        contenders[f"embedded, {callers} at a time"] = turn_of(sys.executable, [script])
    for trainers in (1, 4):
        scripts = [
            ("ours_served.py", daemon.address, seconds, str(rank), str(trainers))
            for rank in range(trainers)
        ]
        name = f"served, {trainers} trainer{'s' * (trainers > 1)}"
        contenders[name] = turn_of(sys.executable, scripts, daemon)
    return contenders


def turn_of(
    python: str, scripts: Sequence[Sequence[str]], daemon: Daemon | None = None
) -> Callable[[], Row]:
    def take_turn() -> Row:
        before = daemon.cpu_seconds() if daemon else 0.0
        seen = contend(python, scripts)
        served = daemon.cpu_seconds() - before if daemon else 0.0
        batches = sum(one["batches"] for one in seen)
        return {
            "rate": sum(one["batches"] / one["seconds"] for one in seen),
            "mib": sum(one["bytes"] for one in seen) / batches / 2**20,
            "cpu_ms": 1000 * sum(one["cpu"] for one in seen) / batches,
            "server_ms": 1000 * served / batches,
            "anonymous": max(one["pss_anonymous"] for one in seen) / 1e6,
            "server_anonymous": daemon.anonymous() / 1e6 if daemon else 0.0,
        }

    return take_turn


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


def print_loaders(rows: dict[str, list[Row]], to_reach: str) -> None:
    print("         CPU and memory: trainer + daemon\n")
    print(
        f"{'contender':<24} {'batches/s':>9} {'spread':>13} {'MiB':>5} {'CPU ms/batch':>13} "
        f"{'anonymous MB':>13}"
    )
    medians: dict[str, float] = {}
    for name, turns in rows.items():
        rates = sorted(turn["rate"] for turn in turns)
        middle = medians[name] = float(np.median(rates))
        last = turns[-1]
        cpu, memory = f"{last['cpu_ms']:.0f}", f"{last['anonymous']:.0f}"
        if last["server_anonymous"]:
            cpu += f" + {last['server_ms']:.0f}"
            memory += f" + {last['server_anonymous']:.0f}"
        print(
            f"{name:<24} {middle:>9.1f} {rates[0]:>6.1f}-{rates[-1]:<6.1f} {last['mib']:>5.0f} "
            f"{cpu:>13} {memory:>13}"
        )
    print()
    one = "served, 1 trainer"
    print_ratio("served / embedded (best)", rows, one, best_of("embedded", medians), to_reach)
    print_ratio("4 trainers / 1 trainer", rows, "served, 4 trainers", one, "0.95")
    for peer in ("dgl", "pyg"):
        if any(name.startswith(peer) for name in medians):
            print_ratio(f"served / {peer} (best)", rows, one, best_of(peer, medians), "5")


def best_of(kind: str, medians: dict[str, float]) -> str:
    return max((name for name in medians if name.startswith(kind)), key=lambda name: medians[name])


def print_ratio(
    what: str, rows: dict[str, list[Row]], name: str, other: str, to_reach: str
) -> None:
    """Round by round, because the machine is faster in some than in others."""
    ratios = sorted(a["rate"] / b["rate"] for a, b in zip(rows[name], rows[other], strict=True))
    print(
        f"{what:<26} {np.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})   "
        f"(to reach: {to_reach})"
    )


# --- training ---


def training(directory: Path, peers: dict[str, str], rounds: int) -> None:
    data = planted_dataset(directory)
    print_data(data)
    arrays = as_arrays(data) if peers else data
    rows: dict[str, list[dict[str, Any]]] = {}
    with Daemon(data) as daemon:
        contenders = {"served": (sys.executable, "ours", daemon.address, "0")}
        for name, python in peers.items():
            for workers in WORKERS:
                contenders[f"{name}, {workers} workers"] = (python, name, str(arrays), workers)
        for _ in range(rounds):
            for name, (python, *arguments) in contenders.items():
                command = [python, str(HERE / "train_step.py"), *arguments]
                answer = json.loads(subprocess.check_output(command, text=True))
                rows.setdefault(name, []).append(answer)
    print("         a GraphSAGE of three layers, 64 wide: 30 batches an epoch\n")
    print(f"{'contender':<24} {'epoch s':>8} {'spread':>11} {'waiting':>8} {'accuracy':>9}  torch")
    for name, turns in rows.items():
        seconds = sorted(turn["epoch_s"] for turn in turns)
        waiting, accuracy = (
            float(np.median([turn[key] for turn in turns])) for key in ("waiting", "accuracy")
        )
        print(
            f"{name:<24} {np.median(seconds):>8.2f} {seconds[0]:>5.2f}-{seconds[-1]:<5.2f} "
            f"{waiting:>8.0%} {accuracy:>9.1%}  {turns[0]['torch']}"
        )


main()
