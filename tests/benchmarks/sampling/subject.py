"""Sampling alone: one graph in memory, the same seeds, samplers of peers and a plain one in C++.

Every sampler is run with all processors inside one call, and with as many calls at a time, and its
faster way counts. The floor is a straightforward sampler in C++ (floor.cpp) that gets the same
compiler and does no more than it must.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.contest import BENCHMARKS
from common.datasets import as_arrays, rmat_dataset
from common.graphs import SHAPES, build_library, warm
from common.pages import use_small_pages
from common.rounds import Turns, best
from common.settings import Settings
from report.document import Column, Ratio, Subject

HERE = BENCHMARKS / "sampling"
WORKLOADS = {
    "multi_hop": "1024 seeds x [15, 10, 5]",
    "one_hop": "100k seeds x 15",
    "walk": "100k walks x 20",
    "node2vec": "100k walks x 20, p=1, q=0.5",
}
SMALL_PAGES = "ours, no huge pages"
NAMES = {
    "ours": "graphzero",
    SMALL_PAGES: "graphzero without huge pages",
    "floor": "plain C++",
    "dgl21": "DGL",
    "pyg": "PyG",
}
COLUMNS = [
    Column("call_ms", "ms a call", ",.1f"),
    Column("edges_s", "edges (or steps)/s", ",.0f"),
    Column("cpu_ms", "CPU ms a call", ",.0f"),
]
DEADLINE_S = 300


def measure(settings: Settings) -> Subject:
    subject = Subject("sampling", "Sampling", __doc__.partition("\n\n")[2], COLUMNS)
    folder = as_arrays(rmat_dataset(settings.directory, settings.shape))
    size = (folder / "graph.gl").stat().st_size
    subject.facts = {"graph": SHAPES[settings.shape].name, "bytes": size}
    subject.notes.append(f"{warm(folder / 'graph.gl') / size:.0%} of the graph on huge pages.")
    peers = {"ours": (sys.executable, None), "floor": (sys.executable, None)}
    peers[SMALL_PAGES] = (sys.executable, None)
    if settings.peers.dgl:
        peers["dgl21"] = (settings.peers.dgl, {"DGLBACKEND": "pytorch"})
    if settings.peers.pyg_env is not None:
        peers["pyg"] = (sys.executable, settings.peers.pyg_env)
    cores = settings.processors
    turns: Turns = {}
    with tempfile.TemporaryDirectory() as place:
        library = str(build_library(HERE / "floor.cpp", Path(place)))
        ways = [(cores, 1)] if settings.quick else sorted({(cores, 1), (1, cores)})
        for number in range(1 if settings.quick else 2):
            for name, (python, env) in list(peers.items()):
                for threads, callers in ways:
                    script = HERE / f"peers/{name.partition(',')[0]}.py"
                    command = [python, str(script), str(folder), str(threads)]
                    command += [str(callers), str(settings.seconds / 3), library]
                    print(f"    round {number + 1}: {name} {threads} x {callers}", file=sys.stderr)
                    try:
                        small = use_small_pages if name == SMALL_PAGES else None
                        found = _run(command, threads, env, small)
                        _add(found, f"{NAMES[name]}, {threads} x {callers}", turns)
                    except (subprocess.SubprocessError, OSError) as error:
                        subject.skipped[NAMES[name]] = _why(error)
                        peers.pop(name, None)
    for workload, what in WORKLOADS.items():
        _choose(subject, turns, workload, what)
    return subject


def _run(
    command: list[str],
    threads: int,
    env: dict[str, str] | None,
    preexec_fn: Callable[[], None] | None,
) -> list[dict[str, Any]]:
    """What one process says of each of its workloads."""
    # Exact, so that each peer gets the threads it is measured with and no more.
    everything = {**os.environ, **(env or {}), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        command,
        env=everything,
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
        preexec_fn=preexec_fn,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _add(found: list[dict[str, Any]], name: str, turns: Turns) -> None:
    """A turn for each workload."""
    for one in found:
        median = one["seconds"][1]
        turns.setdefault(f"{one['workload']}: {name}", []).append(
            {
                "call_ms": 1000 * median,
                "calls_s": 1 / median,
                "edges_s": one["edges"] / median,
                "cpu_ms": 1000 * one["cpu_seconds"],
            }
        )


def _choose(subject: Subject, turns: Turns, workload: str, what: str) -> None:
    """The better way of each sampler; how ours compares by calls and by edges: the lower counts."""
    chosen = {}
    for name in NAMES.values():
        known = [key for key in turns if key.startswith(f"{workload}: {name},")]
        for key in best(turns, known, "calls_s"):
            chosen[name] = f"{name}: {what}"
            subject.turns[chosen[name]] = turns[key]
    ours = chosen.pop("graphzero", None)
    for peer, key in chosen.items() if ours else ():
        both = [
            Ratio.of(subject.turns, f"graphzero / {peer}, {what}", str(ours), key, by)
            for by in ("calls_s", "edges_s")
        ]
        subject.ratios.append(min(both, key=lambda ratio: ratio.spread.median))


def _why(error: Exception) -> str:
    told = str(getattr(error, "stderr", "") or error)
    return told.strip().splitlines()[-1][:200]
