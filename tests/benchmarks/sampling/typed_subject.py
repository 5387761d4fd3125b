"""Types and times: one graph in two types and four relations, beside its edges without types.

Samples are of 1024 seeds of both types, with fanout [8, 5, 3] for each relation. Plain samples
follow the same edges without types, with twice that fanout: a node of the typed graph draws from
two relations. Samples by time have a random time for each seed, and are disjoint. Every sampler
runs with all processors inside one call and with as many calls at a time; GraphBolt also as its
DataLoader with workers, and with ids of 32 and 64 bits. All its settings are tried once, the two
best take part in all rounds, and the better median counts. Turns of samplers are short, and their
processes stay. Loaders make batches of 1024 users with the rows of 128 float32 of both types, as in
the subject of loaders: embedded, and through a daemon that is started anew for every turn.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path

from common.contender import TYPED_FANOUT
from common.datasets import typed_dataset, typed_graphs
from common.graphs import SHAPES, warm
from common.rounds import ContenderFailed, Turn, Turns, best, take_turns
from common.settings import Settings
from loaders.subject import DGL, ONE, OURS, embedded, served
from report.document import Column, Ratio, Subject
from sampling.processes import Sampler, sampler

COLUMNS = [
    Column("batches_s", "batches/s"),
    Column("nodes_s", "nodes/s", ",.0f"),
    Column("edges_s", "edges/s", ",.0f"),
    Column("cpu_ms", "CPU ms a batch", ",.0f"),
]
# What peers/ours_typed.py and peers/dgl21_typed.py call their workloads.
WORKLOADS = {
    "plain": "without types",
    "typed": "typed",
    "disjoint": "typed and disjoint",
    "timed": "by time",
    "last": "by time, the last",
    "weighted": "typed and disjoint, by weight",
    "weighted_timed": "by time and weight",
}
# Which workload is compared with which, by edges/s.
PAIRS = [
    ("typed", "plain"),
    ("timed", "plain"),
    ("last", "plain"),
    ("weighted_timed", "weighted"),
]
BY = {"batches_s": "batches", "nodes_s": "nodes", "edges_s": "edges"}
WITH_ROWS = "typed, with rows of all types"
Starts = dict[str, Callable[[], AbstractContextManager[Sampler]]]


def measure(settings: Settings) -> Subject:
    subject = Subject("typed", "Types and times", __doc__.partition("\n\n")[2], COLUMNS)
    folder = typed_graphs(settings.directory, settings.shape)
    subject.facts = {"graph": SHAPES[settings.shape].name, "fanout": TYPED_FANOUT}
    _warm(folder, subject)
    _samplers(folder, settings, subject)
    _loaders(typed_dataset(settings.directory, settings.shape), settings, subject)
    return subject


def _warm(folder: Path, subject: Subject) -> None:
    files = sorted(folder.glob("*.gl"))
    shares = [f"{file.stem} {warm(file.resolve()) / file.stat().st_size:.0%}" for file in files]
    subject.notes.append(f"On huge pages: {', '.join(shares)}.")


def _samplers(folder: Path, settings: Settings, subject: Subject) -> None:
    ours, peers = _ours(folder, settings), _peers(folder, settings)
    chosen = {
        workload: best(turns, list(turns), "edges_s", 2)
        for workload, turns in _try_settings(peers, settings, subject).items()
    }
    with ExitStack() as stack:
        running = {
            name: stack.enter_context((ours | peers)[name]())
            for name in dict.fromkeys([*ours, *itertools.chain(*chosen.values())])
        }

        def contest(rounds: int, seconds: float, workloads: dict[str, Iterable[str]]) -> Turns:
            contenders = {
                f"{name}: {WORKLOADS[workload]}": partial(running[name], workload, seconds)
                for workload, names in workloads.items()
                for name in names
            }
            return take_turns(contenders, rounds, subject.skipped)

        # Short turns, and three times as many; weights and GraphBolt's times take longer.
        short, more = settings.seconds / 6, 3 * settings.rounds
        beside_plain = dict.fromkeys(("plain", "typed", "disjoint", "timed", "last"), ours)
        typed = contest(more, short, beside_plain | {"typed": [*ours, *chosen["typed"]]})
        weights = contest(more, short, dict.fromkeys(("weighted", "weighted_timed"), ours))
        longer = {"timed": [*ours, *chosen["timed"]]} if chosen.get("timed") else {}
        timed = contest(settings.rounds, settings.seconds / 2, longer)
    subject.turns = {**typed, **weights}
    subject.turns |= {f"{name}, longer turns": taken for name, taken in timed.items()}
    for name in ours:
        for one, other in PAIRS:
            what = f"{WORKLOADS[one]} / {WORKLOADS[other]}, {name.partition(', ')[2]}"
            pair = (f"{name}: {WORKLOADS[one]}", f"{name}: {WORKLOADS[other]}")
            if all(side in subject.turns for side in pair):
                subject.ratios.append(Ratio.of(subject.turns, what, *pair, "edges_s"))
    _compare(typed, WORKLOADS["typed"], subject)
    _compare(timed, WORKLOADS["timed"], subject)


def _try_settings(peers: Starts, settings: Settings, subject: Subject) -> dict[str, Turns]:
    """One turn of each setting of GraphBolt, for each workload that it has."""
    tried: dict[str, Turns] = {"typed": {}, "timed": {}}
    if settings.quick:  # a batch by time takes GraphBolt seconds, on small graphs too
        del tried["timed"]
    for name, start in peers.items():
        try:
            with start() as process:
                for workload, turns in tried.items():
                    turns[name] = [process(workload, settings.seconds / 2)]
                    rate = turns[name][0]["batches_s"]
                    print(f"    tried: {name}: {workload} {rate:.4g}", file=sys.stderr, flush=True)
        except ContenderFailed as error:
            subject.skipped[name] = str(error)
    for workload, turns in tried.items() if peers else ():
        once = "; ".join(f"{name} {taken[0]['batches_s']:.2f}" for name, taken in turns.items())
        what = WORKLOADS[workload]
        subject.notes.append(f"Batches/s of every setting, {what}, tried once: {once}.")
    return tried


def _compare(turns: Turns, what: str, subject: Subject) -> None:
    """Ours with GraphBolt, each in its better way. The lowest of the ratios is the headline."""
    sides = [
        best(turns, [n for n in turns if n.startswith(who) and n.endswith(f": {what}")], "edges_s")
        for who in (OURS, DGL)
    ]
    if not all(sides):
        return
    ours, peer = sides[0][0], sides[1][0]
    found = [
        Ratio.of(turns, f"{OURS} / {DGL}, {what}, by {by}", ours, peer, key)
        for key, by in BY.items()
    ]
    lowest = min(found, key=lambda ratio: ratio.spread.median)
    subject.notes.append(f"Headline: {lowest.what}: {lowest.spread.text('.2f')}; {peer}.")
    # What other work on the machine changes least.
    what = f"{OURS} / {DGL}, {what}, by edges for each second of a processor"
    subject.ratios += [*found, Ratio.of(turns, what, ours, peer, "edges_cpu_s")]


def _ways(settings: Settings) -> dict[str, tuple[int, int]]:
    """Threads inside a call, and calls at a time."""
    cores = settings.processors
    ways = {f"{cores} threads a call": (cores, 1)}
    if not settings.quick and cores > 1:
        ways[f"{cores} calls at a time"] = (1, cores)
    return ways


def _ours(folder: Path, settings: Settings) -> Starts:
    return {
        f"{OURS}, {name}": partial(sampler, "ours_typed.py", folder, *way)
        for name, way in _ways(settings).items()
    }


def _peers(folder: Path, settings: Settings) -> Starts:
    if not settings.peers.dgl:
        return {}
    cores = settings.processors
    ways = {name: (way, "calls") for name, way in _ways(settings).items()}
    # torch gives each worker one thread.
    for workers in [cores] if settings.quick else sorted({1, cores}):
        ways[f"workers {workers}"] = ((1, workers), "loader")
    return {
        f"{DGL}, {name}, {ids}-bit ids": partial(
            sampler,
            "dgl21_typed.py",
            folder,
            *way,
            how,
            ids,
            python=settings.peers.dgl,
            env={"DGLBACKEND": "pytorch"},
        )
        for name, (way, how) in ways.items()
        for ids in (("32",) if settings.quick else ("32", "64"))
    }


def _loaders(data: Path, settings: Settings, subject: Subject) -> None:
    def warmed(take_turn: Callable[[], Turn]) -> Turn:
        """After all files were read into memory, as a daemon does it at its start."""
        for file in [*data.glob("*.gl"), *data.glob("*/*.gd")]:
            warm(file)
        return take_turn()

    contenders = {name: partial(warmed, one) for name, one in embedded(data, settings).items()}
    contenders[ONE] = partial(warmed, served(data, settings, 1))
    turns = take_turns(contenders, settings.rounds, subject.skipped)
    subject.turns |= {f"{name}: {WITH_ROWS}": taken for name, taken in turns.items()}
    beside = best(turns, [name for name in turns if name != ONE], "batches_s")
    for other in beside if ONE in turns else ():
        what = f"{ONE}, {WITH_ROWS} / {other}"
        subject.ratios.append(Ratio.of(turns, what, ONE, other, "batches_s"))
