"""Processes that the tests of this folder start, and how they talk to them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

DEADLINE_S = 120.0
_HERE = Path(__file__).parent


def bound(rounds: int) -> str:
    """What so many rounds without a failure say about the next one: the rule of three."""
    return f"no failure in {rounds}: at most {300 / rounds:.3g} % fail, with 95 % confidence"


class _Talker:
    """A Python program whose lines of output are read by a thread as they come."""

    def __init__(self, program: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(_HERE / program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.strip())
        self._lines.put(None)

    def line(self) -> str:
        """The next line; an error when the program ended instead."""
        line = self._lines.get(timeout=DEADLINE_S)
        if line is None:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()}")
        return line

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Victims(_Talker):
    """Forks trainers to be killed; see victims.py. kill() ends them all."""

    def __init__(self, address: str) -> None:
        super().__init__("victims.py", address)

    def start(self, **options: Any) -> int:
        """The pid of a new one."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(options) + "\n")
        self.process.stdin.flush()
        while not (line := self.line()).startswith("started "):
            pass  # of victims that were started before
        return int(line.split()[1])

    def wait_for_batches(self, pid: int, count: int) -> None:
        for _ in range(count):
            while self.line() != f"at {pid}":
                pass


class Trainer(_Talker):
    """A trainer with the real client; see trainer.py."""

    def __init__(self, address: str, name: str, epochs: int = 0, **options: Any) -> None:
        super().__init__("trainer.py", address, name, epochs, json.dumps(options))
        self.name = name
        self.batches: dict[tuple[int, int], str] = {}

    def advance(self, count: int = 1) -> None:
        """Waits for that many more batches."""
        for _ in range(count):
            self._note(self.line())

    def finish(self) -> dict[tuple[int, int], str]:
        """Ends it in good order: every batch it ever got, by epoch and step."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        while (line := self._lines.get(timeout=DEADLINE_S)) is not None:
            self._note(line)
        assert self.process.wait() == 0
        return self.batches

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def _note(self, line: str) -> None:
        epoch, step, digest = line.split()
        key = int(epoch), int(step)
        assert key not in self.batches
        self.batches[key] = digest
