"""Loaders alone: batches a second, and memory of all processes, beside GraphBolt and PyG.

Everyone makes batches of 1024 seeds x [15, 10, 5] with 128 float32 features and a label of every
node, from data that is warm in memory, on all processors of the machine (a daemon's included), and
reads one value of each page of every array. Peers first run once with every setting of workers,
threads and the like; the two best settings of each take part in all rounds, and the better median
counts. The daemon is started anew for every turn of its trainers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.contender import BATCH, FANOUT
from common.contest import BENCHMARKS, Daemon, turn
from common.datasets import as_arrays, rmat_dataset
from common.graphs import SHAPES
from common.pages import use_small_pages
from common.rounds import Turn, best, medians, take_turns
from common.settings import Settings
from report.document import Column, Ratio, Subject

HERE = BENCHMARKS / "loaders"
DGL, PYG, OURS = "GraphBolt", "PyG", "graphzero"
ONE = f"{OURS}, 1 trainer"
SMALL_PAGES = f"{OURS}, 1 trainer, no huge pages"
SAME_TORCH = f"{OURS}, 1 trainer, DGL's torch"
COLUMNS = [
    Column("batches_s", "batches/s"),
    Column("nodes_s", "nodes/s", ",.0f"),
    Column("edges_s", "edges/s", ",.0f"),
    Column("cpu_ms", "CPU ms a batch", ".0f"),
    Column("anonymous_mb", "anonymous MB", ",.0f"),
    Column("shared_mb", "shared MB", ",.0f"),
    Column("files_mb", "mapped files MB", ",.0f"),
    Column("total_mb", "all memory MB", ",.0f"),
]
Contenders = dict[str, Callable[[], Turn]]


def measure(settings: Settings) -> Subject:
    shape = SHAPES[settings.shape]
    data = rmat_dataset(settings.directory, settings.shape)
    arrays = as_arrays(data) if settings.peers.dgl or settings.peers.pyg_env is not None else data
    subject = Subject("loaders", "Loaders", __doc__.partition("\n\n")[2], COLUMNS)
    subject.facts = {
        "graph": shape.name,
        "nodes": 1 << shape.scale,
        "batch": BATCH,
        "fanout": FANOUT,
        "rounds": settings.rounds,
        "seconds": settings.seconds,
        "pyg_sampler": settings.peers.pyg_sampler,
    }
    ours = _ours(data, settings)
    peers = _peers(arrays, settings)
    tried = take_turns(peers, 1, subject.skipped)
    subject.facts["settings_tried"] = {name: turns[0]["batches_s"] for name, turns in tried.items()}
    chosen = [
        name
        for peer in (DGL, PYG)
        for name in best(tried, [n for n in tried if n.startswith(peer)], "batches_s", 2)
    ]
    contenders = ours | {name: peers[name] for name in chosen}
    subject.turns = take_turns(contenders, settings.rounds, subject.skipped)
    subject.facts["best"] = {
        peer: best(subject.turns, [n for n in chosen if n.startswith(peer)], "batches_s")
        for peer in (DGL, PYG)
    }
    _compare(subject)
    once = "; ".join(f"{name} {turns[0]['batches_s']:.1f}" for name, turns in tried.items())
    if once:
        subject.notes.append(f"Batches/s of every setting of the peers, tried once: {once}.")
    return subject


def headline(subject: Subject, peer: str) -> Ratio | None:
    """The least favourable of the ratios by batches, nodes and edges."""
    ways = tuple(f"{OURS} / {peer}, by {by}" for by in ("batches", "nodes", "edges"))
    found = [ratio for ratio in subject.ratios if ratio.what in ways]
    return min(found, key=lambda ratio: ratio.spread.median, default=None)


def _compare(subject: Subject) -> None:
    for peer in (DGL, PYG):
        for other in subject.facts["best"][peer]:
            subject.facts[f"{peer} setting"] = other
            # Under the same torch, where ours was measured there.
            same = peer == DGL and SAME_TORCH in subject.turns
            name = SAME_TORCH if same else ONE
            for key, by in (("batches_s", "batches"), ("nodes_s", "nodes"), ("edges_s", "edges")):
                what = f"{OURS} / {peer}, by {by}"
                subject.ratios.append(Ratio.of(subject.turns, what, name, other, key))
    embedded = best(subject.turns, [n for n in subject.turns if "embedded" in n], "batches_s")
    pairs = [(ONE, embedded[0]), (f"{OURS}, 4 trainers", ONE), (ONE, SMALL_PAGES)]
    for name, other in pairs:
        if name in subject.turns and other in subject.turns:
            subject.ratios.append(
                Ratio.of(subject.turns, f"{name} / {other}", name, other, "batches_s")
            )
    one = subject.turns[ONE]
    rates = medians(one, "batches_s")
    subject.notes.append(
        f"What to expect: with a daemon started anew for each turn, one trainer got between "
        f"{rates.least / rates.median:.0%} and {rates.most / rates.median:.0%} of the median. "
        f"Meanwhile the host took {medians(one, 'stolen').text('.1%')} of the processors for "
        f"others, and {medians(one, 'huge_mb').text(',.0f')} MB of the files were mapped by huge "
        "pages; what these bring is the ratio to the daemon without them."
    )


def _ours(data: Path, settings: Settings) -> Contenders:
    found = embedded(data, settings)
    for trainers in (1, 4):
        name = f"{OURS}, {trainers} trainer{'s' * (trainers > 1)}"
        found[name] = served(data, settings, trainers)
    found[SMALL_PAGES] = served(data, settings, 1, preexec_fn=use_small_pages)
    if settings.peers.dgl_has_ours and settings.peers.dgl:
        found[SAME_TORCH] = served(data, settings, 1, settings.peers.dgl)
    return found


def embedded(data: Path, settings: Settings) -> Contenders:
    """The same batches without a daemon: one at a time on all processors, or as many as these."""
    found: Contenders = {}
    for callers in sorted({1, settings.processors}):
        command = [sys.executable, str(HERE / "ours_embedded.py"), str(data)]
        command += [str(settings.seconds), str(callers)]
        found[f"{OURS}, embedded, {callers} at a time"] = lambda command=command: turn([command])
    return found


def served(
    data: Path, settings: Settings, trainers: int, python: str = sys.executable, **popen: Any
) -> Callable[[], Turn]:
    """Turns of so many trainers of a daemon that is started for each turn."""

    def take_turn() -> Turn:
        with Daemon(data, **popen).wait_until_warm() as daemon:
            script = [python, str(HERE / "ours_served.py"), daemon.address, str(settings.seconds)]
            ranks = [[*script, str(rank), str(trainers)] for rank in range(trainers)]
            return turn(ranks, daemon)

    return take_turn


def _peers(arrays: Path, settings: Settings) -> Contenders:
    """One contender for each setting that a user would try on this machine; of a quick run, the one
    that won before."""
    cores = settings.processors
    found: Contenders = {}
    if settings.peers.dgl:
        tried = {(cores, 1, "32")}
        if not settings.quick:
            pairs = {(0, cores), (1, 1), (1, cores), (cores, 1)}
            tried = {(*pair, ids) for pair in pairs for ids in ("32", "64")}
        for workers, threads, ids in sorted(tried):
            name = f"{DGL}, workers {workers}, threads {threads}, {ids}-bit ids"
            found[name] = dgl(arrays, settings, workers, threads, ids)
    if settings.peers.pyg_env is not None:
        tried = {(cores, 1, "worker")}
        if not settings.quick:
            tried |= {(0, cores, "main"), (1, 1, "worker"), (cores, 1, "main")}
        for workers, threads, where in sorted(tried):
            name = f"{PYG}, workers {workers}, threads {threads}, rows in the {where}"
            found[name] = pyg(arrays, settings, workers, threads, where)
    return found


def dgl(
    arrays: Path,
    settings: Settings,
    workers: int,
    threads: int,
    ids: str,
    how: str = "loaded",
    trainers: int = 1,
) -> Callable[[], Turn]:
    arguments = [str(arrays), str(settings.seconds), str(workers), str(threads), ids, how]
    command = [str(settings.peers.dgl), str(HERE / "peer_dgl.py"), *arguments]
    env = {"DGLBACKEND": "pytorch"}
    return lambda: turn([command] * trainers, env=env)


def pyg(
    arrays: Path,
    settings: Settings,
    workers: int,
    threads: int,
    where: str,
    how: str = "loaded",
    trainers: int = 1,
) -> Callable[[], Turn]:
    arguments = [str(arrays), str(settings.seconds), str(workers), str(threads), where, how]
    command = [sys.executable, str(HERE / "peer_pyg.py"), *arguments]
    return lambda: turn([command] * trainers, env=settings.peers.pyg_env)
