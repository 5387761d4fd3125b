"""A training step: one GraphSAGE of three layers in the same torch, from each loader's batches.

Seconds for some batches, and the share of them that the step waited for data. Where data is only a
part of a step, a faster loader gains only that part.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from common.contest import BENCHMARKS, Daemon
from common.datasets import as_arrays, generated_dataset
from common.rounds import ContenderFailed, Turn, best, take_turns
from common.settings import Settings
from report.document import Column, Ratio, Subject

COLUMNS = [
    Column("batch_ms", "ms a batch", ",.0f"),
    Column("waiting", "of it waiting for data", ".0%"),
]
DEADLINE_S = 240


def measure(settings: Settings) -> Subject:
    subject = Subject("training", "A training step", __doc__.partition("\n\n")[2], COLUMNS)
    sizes = (int(500_000 * settings.scale), int(10_000_000 * settings.scale))
    data = generated_dataset(settings.directory, *sizes)
    arrays = str(as_arrays(data))
    peers = settings.peers
    cores = settings.processors
    contenders: dict[str, Callable[[], Turn]] = {}
    ours = {"graphzero": sys.executable}
    if peers.dgl and peers.dgl_has_ours:
        ours["graphzero, DGL's torch"] = peers.dgl
    for name, python in ours.items():
        contenders[name] = lambda python=python: _served(python, data)
    for workers, threads in ((0, cores), (cores, cores))[: 1 if settings.quick else 2]:
        how = f"workers {workers}, threads {threads}"
        if peers.dgl:
            command = _command(peers.dgl, "dgl", arrays, workers, threads)
            contenders[f"GraphBolt, {how}"] = lambda command=command: _run(
                command, {"DGLBACKEND": "pytorch"}
            )
        if peers.pyg_env is not None:
            command = _command(sys.executable, "pyg", arrays, workers, threads)
            contenders[f"PyG, {how}"] = lambda command=command: _run(command, peers.pyg_env)
    subject.facts = {"nodes": sizes[0], "stored_edges": 2 * sizes[1]}
    subject.turns = take_turns(contenders, 1 if settings.quick else 2, subject.skipped)
    for peer, name in (("GraphBolt", list(ours)[-1]), ("PyG", "graphzero")):
        known = [other for other in subject.turns if other.startswith(peer)]
        for other in best(subject.turns, known, "batches_s"):
            what = f"{name} / {other}, by batches"
            subject.ratios.append(Ratio.of(subject.turns, what, name, other, "batches_s"))
    return subject


def _command(python: str, kind: str, source: str, workers: int, threads: int) -> list[str]:
    script = str(BENCHMARKS / "loaders/train_step.py")
    return [python, script, kind, source, str(workers), str(threads)]


def _served(python: str, data: Any) -> Turn:
    with Daemon(data).wait_until_warm() as daemon:
        return _run(_command(python, "ours", daemon.address, 0, 1), None)


def _run(command: Sequence[str], env: dict[str, str] | None) -> Turn:
    paths = f"{BENCHMARKS}{os.pathsep}{(env or {}).get('PYTHONPATH', '')}".strip(os.pathsep)
    everything = {**os.environ, **(env or {}), "PYTHONPATH": paths}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=DEADLINE_S, env=everything
    )
    if done.returncode:
        raise ContenderFailed((done.stderr.strip().splitlines() or ["it ended early"])[-1])
    found: Turn = json.loads(done.stdout.splitlines()[-1])
    return found
