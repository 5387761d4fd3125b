"""Measured through a daemon that is started for the measurement: batches of one and two trainers,
and the latency of a small request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphzero.base.errors import GraphZeroError
from graphzero.bench.local import processors
from graphzero.bench.numbers import Latency, Rounds, Served
from graphzero.bench.workload import Workload
from graphzero.client.connect import connect
from graphzero.client.daemon.daemon_calls import open_calls
from graphzero.client.daemon.launch import server_command

_START_S = 60.0
_WARM = "warm start read"
_NO_WARM = "no warm start"
_TICKS = os.sysconf("SC_CLK_TCK")
_FIRST_REQUESTS = 100  # not counted


class BenchFailed(GraphZeroError):
    """A process that the measurement needs has ended."""


@dataclass(frozen=True)
class BenchDaemon:
    address: str
    pid: int
    warm: bool


@contextmanager
def bench_daemon(data: Path, warm_seconds: float) -> Iterator[BenchDaemon]:
    """Starts a daemon for the dataset, with default options. Waits until its warm start has read
    the files, but at most `warm_seconds`."""
    with tempfile.TemporaryDirectory(prefix="graphzero-bench-") as temporary, ExitStack() as stack:
        socket, log = Path(temporary) / "s.sock", Path(temporary) / "log"
        output = stack.enter_context(log.open("wb"))
        command = [*server_command(), "--data", str(data), "--socket", str(socket)]
        process = stack.enter_context(
            _ended(subprocess.Popen(command, stdout=output, stderr=output))
        )
        deadline = time.monotonic() + _START_S
        while "connect with" not in (told := log.read_text(errors="replace")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BenchFailed(f"the daemon for {data} did not start:\n{told[-2000:]}")
            time.sleep(0.02)
        deadline = time.monotonic() + warm_seconds
        while not (warm := _WARM in (told := log.read_text(errors="replace"))):
            if time.monotonic() > deadline or _NO_WARM in told:
                break
            time.sleep(0.05)
        yield BenchDaemon(f"unix:{socket}", process.pid, warm)


@contextmanager
def _ended(process: subprocess.Popen[Any]) -> Iterator[subprocess.Popen[Any]]:
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


class Trainers:
    """Processes that take batches on command; run() chooses how many of them."""

    def __init__(self, daemon: BenchDaemon, workload: Workload, count: int) -> None:
        self._daemon = daemon
        self._stack = ExitStack()
        self._processes = []
        order = {
            "type": workload.type,
            "split": workload.split,
            "fanout": workload.fanout,
            "batch_size": workload.batch_size,
        }
        for number in range(count):
            command = [sys.executable, "-m", "graphzero.bench.trainer", daemon.address]
            process = subprocess.Popen(
                [*command, json.dumps({**order, "number": number})],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._processes.append(self._stack.enter_context(_ended(process)))
        self._rounds: dict[int, list[_Round]] = {}

    def __enter__(self) -> Trainers:
        try:
            for process in self._processes:
                self._line(process)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, count: int, seconds: float) -> None:
        """Runs one round: the first `count` trainers take batches for `seconds`."""
        chosen = self._processes[:count]
        before = _Counts.now(self._daemon)
        for process in chosen:
            assert process.stdin is not None
            print(seconds, file=process.stdin, flush=True)
        seen = [json.loads(self._line(process)) for process in chosen]
        self._rounds.setdefault(count, []).append(_Round(seen, before, _Counts.now(self._daemon)))

    def results(self) -> tuple[Served, ...]:
        return tuple(_summary(count, rounds) for count, rounds in self._rounds.items())

    @staticmethod
    def _line(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise BenchFailed(f"a trainer ended with status {process.wait()}; see above")
        return line


@dataclass(frozen=True)
class _Counts:
    """What the daemon and the machine have done and spent so far."""

    seconds: float
    daemon_cpu: float
    machine_cpu: float
    made: int
    """Batches that the daemon has made, also those that no trainer has taken yet."""
    stages: dict[str, float] = field(repr=False)
    """Seconds spent in each stage of a request."""
    rows_read: int

    @classmethod
    def now(cls, daemon: BenchDaemon) -> _Counts:
        with open_calls(daemon.address) as calls:
            stats = calls.stats()
        stages: dict[str, float] = {}
        for stage in stats.stages:
            stages[stage.stage] = stages.get(stage.stage, 0.0) + stage.sum_us / 1e6
        return cls(
            time.perf_counter(),
            _process_cpu(daemon.pid),
            _machine_cpu(),
            sum(stage.count for stage in stats.stages if stage.stage == "total"),
            stages,
            sum(column.reads for column in stats.columns if column.path in ("direct", "staged")),
        )


@dataclass(frozen=True)
class _Round:
    seen: Sequence[dict[str, float]]
    before: _Counts
    after: _Counts


def _summary(count: int, rounds: Sequence[_Round]) -> Served:
    def spent(name: str) -> float:
        return float(sum(getattr(one.after, name) - getattr(one.before, name) for one in rounds))

    def stage_ms(name: str) -> float:
        seconds = sum(
            one.after.stages.get(name, 0.0) - one.before.stages.get(name, 0.0) for one in rounds
        )
        return 1000 * seconds / made

    def seen(name: str) -> float:
        return sum(trainer[name] for one in rounds for trainer in one.seen)

    made = max(1.0, spent("made"))
    time_of_all = spent("seconds") * processors()
    own_cpu = spent("daemon_cpu") + seen("cpu")
    return Served(
        trainers=count,
        batches=Rounds(tuple(sum(t["batches"] / t["seconds"] for t in one.seen) for one in rounds)),
        sampling_ms=stage_ms("sampling"),
        gathering_ms=stage_ms("gathering"),
        memory_wait_ms=stage_ms("memory"),
        daemon_cpu_ms=1000 * spent("daemon_cpu") / made,
        trainer_cpu_ms=1000 * seen("cpu") / seen("batches"),
        waiting=seen("waited") / seen("seconds"),
        busy=min(1.0, own_cpu / time_of_all),
        others=min(1.0, max(0.0, (spent("machine_cpu") - own_cpu) / time_of_all)),
        rows_read=spent("rows_read") / made,
    )


def small_requests(daemon: BenchDaemon, workload: Workload, seconds: float) -> Latency:
    """Requests for one seed and five of its neighbours with their rows, one after the other."""
    taken: list[float] = []
    with connect(daemon.address) as client, open_calls(daemon.address) as calls:
        ended = time.perf_counter() + seconds
        while time.perf_counter() < ended or len(taken) <= _FIRST_REQUESTS:
            seeds = workload.seeds[len(taken) % len(workload.seeds)][None]
            began = time.perf_counter()
            client.sample(workload.seeds_of_call(seeds), [5])
            taken.append(time.perf_counter() - began)
        grpc: list[float] = []
        ended = time.perf_counter() + seconds / 2
        while time.perf_counter() < ended or len(grpc) <= _FIRST_REQUESTS:
            began = time.perf_counter()
            calls.require_serving()
            grpc.append(time.perf_counter() - began)
    counted = np.array(taken[_FIRST_REQUESTS:]) * 1000
    return Latency(
        float(np.median(counted)),
        float(np.percentile(counted, 99)),
        float(np.median(grpc[_FIRST_REQUESTS:])) * 1000,
    )


def _process_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _machine_cpu() -> float:
    """Seconds that all processors have worked: user, nice, system, interrupts, and stolen time."""
    values = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(values[:3] + values[5:8]) / _TICKS
