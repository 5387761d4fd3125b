"""Runs contenders (common/contender.py) as processes: a turn is start, warm-up, some seconds."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from common.memory import cpu_seconds, mapped_huge, system_memory
from common.rounds import ContenderFailed, Turn

BENCHMARKS = Path(__file__).parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")
_DEADLINE_S = 240.0


class Daemon:
    """`graphzero-server` on a dataset, ready when it has read its files into memory."""

    def __init__(
        self, data: Path, *options: str, python: str = sys.executable, **popen: Any
    ) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="gz-bench-")
        self.address = str(Path(self._place.name) / "s.sock")
        self._log = Path(self._place.name) / "log"
        command = [python, "-m", "graphzero.server", "--data", str(data), "--socket", self.address]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen([*command, *options], stdout=log, stderr=log, **popen)
        self.pid = self.process.pid
        self.wait_for("connect with")

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self._place.cleanup()

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, *texts: str) -> None:
        """Until it has said one of these."""
        deadline = time.monotonic() + _DEADLINE_S
        while not any(text in self.log() for text in texts):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ContenderFailed(f"the daemon did not say {texts[0]!r}: {self.log()[-500:]}")
            time.sleep(0.05)

    def wait_until_warm(self) -> Daemon:
        self.wait_for("warm start read", "no warm start")
        return self

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def bytes_from_disk(self) -> int:
        lines = Path(f"/proc/{self.pid}/io").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("read_bytes")).split()[1])


@contextmanager
def started(
    commands: Sequence[Sequence[str]],
    env: dict[str, str] | None = None,
    deadline_s: float = _DEADLINE_S,
    **popen: Any,
) -> Iterator[list[subprocess.Popen[str]]]:
    """The processes, warm. They are killed at the end if they have not ended by themselves."""
    with ExitStack() as stack:
        errors = stack.enter_context(tempfile.TemporaryFile("w+"))
        paths = f"{BENCHMARKS}{os.pathsep}{(env or {}).get('PYTHONPATH', '')}".strip(os.pathsep)
        everything = {**os.environ, **(env or {}), "PYTHONPATH": paths}
        processes = []
        for command in commands:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=everything,
                **popen,
            )
            stack.callback(_end, process)
            processes.append(process)
        # A contender that hangs is one that failed.
        watchdog = threading.Timer(deadline_s, lambda: [p.kill() for p in processes])
        watchdog.start()
        stack.callback(watchdog.cancel)
        try:
            for process in processes:
                if _line(process) != "warm":
                    raise ContenderFailed("it did not say that it is warm")
            yield processes
        except (BrokenPipeError, EOFError, ContenderFailed) as error:
            for process in processes:
                _end(process)
            errors.seek(0)
            why = _reason(errors.read(), [process.returncode for process in processes])
            raise ContenderFailed(why or str(error)) from None


def _reason(told: str, codes: Sequence[int]) -> str:
    """The last error that processes told, or how they ended."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    found = [line for line in lines if "Error" in line or "Exhausted" in line]
    if found:
        return found[-1]
    if -signal.SIGKILL in codes:
        return f"killed: it needed more memory than it may have, or more than {_DEADLINE_S:g} s"
    return lines[-1] if lines else "it ended early"


def measure(processes: Sequence[subprocess.Popen[str]]) -> list[dict[str, float]]:
    """Lets warm contenders begin together; returns what each says when its time is over."""
    for process in processes:
        go(process)
    return [json.loads(_line(process)) for process in processes]


def go(process: subprocess.Popen[str], line: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def ask(process: subprocess.Popen[str], line: str) -> str:
    """Its answer to a line; EOFError or BrokenPipeError if it has ended."""
    go(process, line)
    return _line(process)


def turn(
    commands: Sequence[Sequence[str]],
    daemon: Daemon | None = None,
    env: dict[str, str] | None = None,
) -> Turn:
    """One turn: rates of all trainers together, processor time, memory of all processes."""
    with started(commands, env) as processes:
        cpu = daemon.cpu_seconds() if daemon else 0.0
        stolen, began = stolen_seconds(), time.perf_counter()
        seen = measure(processes)
        taken = time.perf_counter() - began
        stolen = (stolen_seconds() - stolen) / (taken * (os.cpu_count() or 1))
        served = daemon.cpu_seconds() - cpu if daemon else 0.0
        pids = [process.pid for process in processes] + ([daemon.pid] if daemon else [])
        memory = _median_memory(pids)
        huge = mapped_huge(daemon.pid) if daemon else 0.0
        for process in processes:
            go(process)
        for process in processes:
            process.wait()
    batches = sum(one["batches"] for one in seen)
    return {
        "batches_s": sum(one["batches"] / one["seconds"] for one in seen),
        "nodes_s": sum(one["nodes"] / one["seconds"] for one in seen),
        "edges_s": sum(one["edges"] / one["seconds"] for one in seen),
        "batch_mib": sum(one["bytes"] for one in seen) / batches / 2**20,
        "batch_nodes": sum(one["nodes"] for one in seen) / batches,
        "batch_edges": sum(one["edges"] for one in seen) / batches,
        "cpu_ms": 1000 * (served + sum(one["cpu"] for one in seen)) / batches,
        "waiting": sum(one["waited"] for one in seen) / sum(one["seconds"] for one in seen),
        **{f"{kind}_mb": size for kind, size in memory.items()},
        "huge_mb": huge,
        "stolen": stolen,
    }


def _median_memory(pids: Sequence[int]) -> dict[str, float]:
    """Of three looks: workers may be in the middle of a batch."""
    looks = []
    for _ in range(3):
        looks.append(system_memory(pids))
        time.sleep(0.1)
    return {kind: statistics.median(look[kind] for look in looks) for kind in looks[0]}


def stolen_seconds() -> float:
    """What a hypervisor has given of this machine's processors to others."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) / _TICKS


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise EOFError
    return line.strip()


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
