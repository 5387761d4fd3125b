"""Beyond memory: batches of a dataset that is larger than the memory that daemon and trainer have.

Batches of 1024 seeds x [10, 5] with 128 float32 features and a label of every node; the trainer
reads one value of each page. A control group bounds daemon and trainer together, and each turn
starts from an empty page cache and is warmed up; the graph is read into memory first, for np.memmap
too, which is told that access is random and whose loader has as many workers as are best. What the
disk allows is fio's reads, of a row or of blocks as large as our reads were, one for each row that
was not in the row cache: reads of the graph, and rows that take two reads, are our own loss.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
from common.contest import BENCHMARKS, Daemon, go, started
from common.contest import measure as run_contenders
from common.datasets import generated_dataset
from common.machine import fio_reads
from common.rounds import Turn, Turns, best, take_turns
from common.settings import Settings
from graphzero import _engine
from graphzero.client.daemon.daemon_calls import daemon_stats
from report.document import Column, Ratio, Subject

sys.path.append(str(BENCHMARKS.parent / "helpers"))
from control_groups import MemoryGroup, memory_group

HERE = BENCHMARKS / "out_of_core"
COLUMNS = [
    Column("batches_s", "batches/s", ".2f"),
    Column("nodes_s", "nodes/s", ",.0f"),
    Column("read_mb", "MB from the disk a batch", ",.1f"),
]
OURS, IN_MEMORY, MEMMAP = "graphzero", "graphzero, all in memory", "np.memmap"
LEAST_LIMIT = 600 << 20  # for torch in a trainer and its workers, and their batches
WORKERS = (2, 8, 16)


class NeedsRoot(Exception):
    """Control groups and dropping caches are for root."""


def measure(settings: Settings) -> Subject:
    if os.geteuid() != 0:
        raise NeedsRoot("control groups and drop_caches need root")
    subject = Subject("beyond memory", "Beyond memory", __doc__.partition("\n\n")[2], COLUMNS)
    sizes = (max(2_000_000, int(4_000_000 * settings.scale)), int(40_000_000 * settings.scale))
    data = generated_dataset(settings.directory, *sizes)
    size = sum(file.stat().st_size for file in data.iterdir())
    bench = _Bench(
        data, max(size // 4, LEAST_LIMIT), 3.0 if settings.quick else 8.0, settings.seconds
    )
    subject.facts = {"bytes": size, "limit": bench.limit}
    with memory_group(bench.limit):
        pass  # says at once if none can be made: NoControlGroup
    tried = take_turns(
        {
            f"{MEMMAP}, {w} workers": lambda w=w: bench.memmap(w)
            for w in (WORKERS[1:2] if settings.quick else WORKERS)
        },
        1,
        subject.skipped,
    )
    contenders: dict[str, Callable[[], Turn]] = {IN_MEMORY: bench.in_memory, OURS: bench.limited}
    for name in best(tried, list(tried), "batches_s"):
        workers = int(name.split()[1])
        contenders[name] = lambda workers=workers: bench.memmap(workers)
    turns = take_turns(contenders, 1 if settings.quick else 2, subject.skipped)
    subject.turns = turns
    _compare(subject, turns)
    return subject


def _compare(subject: Subject, turns: Turns) -> None:
    peer = next((name for name in turns if name.startswith(MEMMAP)), None)
    if peer is not None and OURS in turns:
        subject.ratios.append(Ratio.of(turns, f"{OURS} / {peer}, by nodes", OURS, peer, "nodes_s"))
    if OURS in turns and IN_MEMORY in turns:
        what = f"{OURS} beyond memory / all in memory"
        subject.ratios.append(Ratio.of(turns, what, OURS, IN_MEMORY, "batches_s"))
        shares = [
            turn["batches_s"] / min(turn["fio_batches_s"], memory["batches_s"])
            for turn, memory in zip(turns[OURS], turns[IN_MEMORY], strict=True)
            if turn["fio_batches_s"]
        ]
        if shares:
            what = f"{OURS} / what fio's reads of the rows alone, or memory, would allow"
            subject.ratios.append(Ratio(what, shares))
        else:
            subject.notes.append("fio is not installed: what the disk allows was not measured.")


class _Bench:
    def __init__(self, data: Path, limit: int, warm_up: float, seconds: float) -> None:
        self._data = data
        self.limit = limit
        self._times = (str(warm_up), str(seconds))

    def in_memory(self) -> Turn:
        for file in self._data.iterdir():
            with file.open("rb", buffering=0) as opened:
                while opened.read(16 << 20):
                    pass
        with Daemon(self._data).wait_until_warm() as daemon:
            return self._served(daemon, None)

    def limited(self) -> Turn:
        with self._group() as group, Daemon(self._data, preexec_fn=group.join) as daemon:
            daemon.wait_for("warm start read", "no warm start")
            if "row cache of" in daemon.log():
                daemon.wait_for("rows into the row cache")
            turn = self._served(daemon, group)
        turn["fio_batches_s"] = 0.0
        if shutil.which("fio") and turn["missed"]:
            reads = self._fio_reads(turn["read_bytes"] / max(turn["reads"], 1))
            turn |= {"fio_reads_s": reads, "fio_batches_s": reads / turn["missed"]}
        return turn

    def _fio_reads(self, read_bytes: float) -> float:
        """Reads a second of blocks as large as a row, or as our reads were: whatever is faster, by
        one thread or by one on each processor."""
        row = gz.FeatureStore(self._data / "x.gd").row_bytes
        blocks = {max(512, round(size / 512) * 512) for size in (row, read_bytes)}
        threads = {1, len(os.sched_getaffinity(0))}
        return max(
            fio_reads(self._data / "x.gd", block, count, seconds=2.0)["reads_s"]
            for block in blocks
            for count in threads
        )

    def memmap(self, workers: int) -> Turn:
        with self._group() as group, tempfile.TemporaryDirectory() as place:
            places = Path(place) / "arrays.json"
            places.write_text(json.dumps(_arrays(self._data)))
            command = [sys.executable, str(HERE / "loader_memmap.py"), str(places)]
            command += [*self._times, str(workers)]
            with started([command], preexec_fn=group.join) as processes:
                before = _disk_bytes()
                seen = run_contenders(processes)[0]
                read = _disk_bytes() - before
                go(processes[0])
        return _rates(seen) | {"read_mb": read / seen["batches"] / 1e6}

    def _served(self, daemon: Daemon, group: MemoryGroup | None) -> Turn:
        command = [sys.executable, str(HERE / "loader_ours.py"), daemon.address, *self._times]
        with started([command], preexec_fn=group.join if group else None) as processes:
            before = _counts(daemon)
            seen = run_contenders(processes)[0]
            spent = {name: value - before[name] for name, value in _counts(daemon).items()}
            go(processes[0])
        made = max(1.0, spent.pop("made"))  # also those that the trainer has not taken yet
        each = {name: value / made for name, value in spent.items()}
        return _rates(seen) | {"read_mb": each["from_disk"] / 1e6} | each

    @contextlib.contextmanager
    def _group(self) -> Iterator[MemoryGroup]:
        with memory_group(self.limit) as group:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
            yield group


def _rates(seen: dict[str, float]) -> Turn:
    return {f"{name}_s": seen[name] / seen["seconds"] for name in ("batches", "nodes", "edges")}


def _counts(daemon: Daemon) -> dict[str, float]:
    stats = daemon_stats(daemon.address)
    direct = [c for c in stats.columns if c.path == "direct" and c.column != "graph.gl"]
    return {
        "made": float(next(c.gathers for c in stats.columns if c.column == "x")),
        "missed": float(sum(c.rows - c.cache_hits - c.mapped_rows for c in direct)),
        "hits": float(sum(c.cache_hits for c in direct)),
        "reads": float(sum(c.reads for c in direct)),
        "read_bytes": float(sum(c.read_byte_size for c in direct)),
        "from_disk": float(daemon.bytes_from_disk()),
    }


def _disk_bytes() -> int:
    """What the kernel has read from all disks; workers' own counters end with them."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        if line.startswith("pgpgin "):
            return int(line.split()[1]) * 1024
    return 0


def _arrays(data: Path) -> dict[str, Any]:
    """Where the arrays lie in our files, which plain NumPy can map."""
    found = {}
    for name in ("indptr", "indices"):
        found[name] = _section(data / "graph.gl", f"out.{name}", _engine.Topology)
    for name in ("x", "y", "train"):
        found[name] = _section(data / f"{name}.gd", "rows", _engine.Matrix)
        found[name]["shape"] = gz.FeatureStore(data / f"{name}.gd").shape
    return found


def _section(path: Path, name: str, kind: Any) -> dict[str, Any]:
    section = next(s for s in kind.open(os.fspath(path)).sections if s.name == name)
    return {
        "file": str(path),
        "dtype": section.dtype,
        "offset": section.offset,
        "shape": (section.count,),
    }
