"""Sampling against its peers, on graphs that are generated here.

    python tests/benchmarks/sampling/run.py --graph small --dgl-python /path/to/dgl/bin/python

Peers run in interpreters of their own, one after the other, on the same arrays in memory and the
same seeds. With 2 threads every peer is run twice, two threads inside a call and two calls at a
time, and its faster figure counts. A ratio is given in calls/s and in sampled edges/s, because
peers do not all sample the same number of edges; the lower one counts. Nothing is asserted.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from graphs import HERE, SHAPES, Shape, build_library, generate, warm

WORKLOADS = {
    "multi_hop": "1024 seeds x [15, 10, 5]",
    "one_hop": "100k seeds x 15",
    "walk": "100k walks x 20",
    "node2vec": "100k walks x 20, p=1, q=0.5",
}
# What the project wants to reach with 2 threads: (peers, times as fast).
TARGETS = {
    "multi_hop": (("dgl21", "pyg"), 4.0),
    "one_hop": (("dgl21",), 1.5),
    "walk": (("dgl21", "pyg", "graphzero02"), 6.0),
    "node2vec": (("dgl21",), 6.0),
}
FLOOR_TARGET = 6.0
PEERS = ("floor", "dgl21", "pyg", "graphzero02")


@dataclass(frozen=True)
class Result:
    peer: str
    workload: str
    threads: int
    callers: int
    calls: int
    seconds: tuple[float, float, float]  # 10th percentile, median, 90th
    cpu_seconds: float  # of all threads, for one call
    edges: float
    nodes: float

    @property
    def total_threads(self) -> int:
        return self.threads * self.callers

    @property
    def calls_per_s(self) -> float:
        return 1 / self.seconds[1]

    @property
    def edges_per_s(self) -> float:
        return self.edges / self.seconds[1]


def print_conditions() -> None:
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"cpu      {cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}")
    print(f"load     {load} when started: other work on the machine slows everyone, not equally")


def run_peer(
    name: str, python: str, folder: Path, threads: int, callers: int, seconds: float, *extra: str
) -> list[Result]:
    """Results of a peer; none, with a message, if it cannot run."""
    # Exact, so that each peer gets the threads it is measured with and no more.
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "DGLBACKEND": "pytorch"}
    command = [python, str(HERE / "peers" / f"{name}.py"), str(folder)]
    command += [str(threads), str(callers), str(seconds), *extra]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    results = []
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            fields = json.loads(line)
            fields["seconds"] = tuple(fields["seconds"])
            results.append(Result(name, **fields))
            median = 1000 * results[-1].seconds[1]
            print(
                f"  {name} {threads} x {callers} {fields['workload']}: {median:.2f} ms",
                file=sys.stderr,
            )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"  {name}, {threads} x {callers}: stopped early: {reason}")
    return results


def print_results(results: list[Result]) -> None:
    header = f"  {'peer':12} {'threads':>8} {'ms a call: median [p10, p90]':>32}"
    print(f"{header} {'cpu ms':>8} {'calls/s':>9} {'M edges/s':>10} {'edges':>9} {'nodes':>9}")
    for workload, what in WORKLOADS.items():
        print(f" {workload}: {what}")
        for r in (r for r in results if r.workload == workload):
            low, median, high = (1000 * s for s in r.seconds)
            spread = f"{median:10.2f} [{low:.2f}, {high:.2f}]"
            cpu = 1000 * r.cpu_seconds
            rates = f"{r.calls_per_s:>9.1f} {r.edges_per_s / 1e6:>10.2f}"
            print(
                f"  {r.peer:12} {r.threads:>4} x {r.callers} {spread:>32} {cpu:>8.1f} {rates} "
                f"{r.edges:>9.0f} {r.nodes:>9.0f}"
            )


def best(results: list[Result], peer: str, workload: str, threads: int) -> Result | None:
    found = [
        r for r in results if (r.peer, r.workload, r.total_threads) == (peer, workload, threads)
    ]
    return max(found, key=lambda r: r.calls_per_s, default=None)


def print_ratios(results: list[Result], threads: int) -> None:
    print(
        f" times as fast as the peer, {threads} thread(s); the lower of calls/s and edges/s counts"
    )
    for workload in WORKLOADS:
        ours = best(results, "ours", workload, threads)
        if ours is None:
            continue
        ratios = {}
        for peer in PEERS:
            theirs = best(results, peer, workload, threads)
            if theirs is not None:
                calls = ours.calls_per_s / theirs.calls_per_s
                ratios[peer] = min(calls, ours.edges_per_s / theirs.edges_per_s)
        shown = "  ".join(f"{peer} {ratio:.1f}x" for peer, ratio in ratios.items())
        print(f"  {workload:10} {shown}{verdict(workload, ratios) if threads == 2 else ''}")


def print_cpu_ratios(results: list[Result]) -> None:
    """One thread, in CPU time per sampled edge: what is left of a ratio on a busy machine."""
    print(" times as fast as the peer in CPU time, 1 thread, lower of calls and edges")
    for workload in WORKLOADS:
        ours = best(results, "ours", workload, 1)
        shown = []
        for peer in PEERS:
            theirs = best(results, peer, workload, 1)
            if ours is not None and theirs is not None:
                calls = theirs.cpu_seconds / ours.cpu_seconds
                shown.append(f"{peer} {min(calls, calls * ours.edges / theirs.edges):.1f}x")
        print(f"  {workload:10} {'  '.join(shown)}")


def verdict(workload: str, ratios: dict[str, float]) -> str:
    peers, wanted = TARGETS[workload]
    present = [ratios[peer] for peer in peers if peer in ratios]
    reached = min(present) if present else ratios.get("floor")
    if reached is None:
        return ""
    wanted = wanted if present else FLOOR_TARGET
    return f"   wanted {wanted}x: {'reached' if reached >= wanted else 'MISSED'}"


def benchmark(shape: Shape, folder: Path, arguments: argparse.Namespace) -> None:
    generate(shape, folder, legacy=arguments.graphzero02_python is not None)
    huge = warm(folder / "graph.gl")
    size = (folder / "graph.gl").stat().st_size
    print(f"\ngraph    {shape.name}: {size / 1e6:.0f} MB, warm, {huge / size:.0%} on huge pages")
    peers = {
        "ours": sys.executable,
        "floor": sys.executable,
        "dgl21": arguments.dgl_python,
        "pyg": arguments.pyg_python,
        "graphzero02": arguments.graphzero02_python,
    }
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as directory:
        library = str(build_library("floor.cpp", Path(directory)))
        for name, python in peers.items():
            if python is None:
                print(f"  {name}: skipped, no interpreter given")
                continue
            for threads, callers in ((1, 1), (2, 1), (1, 2)):
                extra = (library,) if name == "floor" else ()
                print(f"  running {name}, {threads} x {callers}", file=sys.stderr)
                results += run_peer(
                    name, python, folder, threads, callers, arguments.seconds, *extra
                )
    print_results(results)
    for threads in (1, 2):
        print_ratios(results, threads)
    print_cpu_ratios(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--graph", action="append", choices=SHAPES, help="default: small, large")
    parser.add_argument("--directory", type=Path, help="where graphs are kept; default: nowhere")
    parser.add_argument("--seconds", type=float, default=8, help="for each workload and peer")
    parser.add_argument("--graphzero02-python", help="interpreter that has graphzero==0.2.0")
    parser.add_argument("--dgl-python", help="interpreter that has dgl==2.1.0 and torch==2.2.1")
    parser.add_argument("--pyg-python", help="interpreter that has pyg_lib")
    arguments = parser.parse_args()
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="sampling-"))
    print_conditions()
    try:
        for name in arguments.graph or ["small", "large"]:
            benchmark(SHAPES[name], directory / name, arguments)
            if arguments.directory is None:
                shutil.rmtree(directory / name)
    finally:
        if arguments.directory is None:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
