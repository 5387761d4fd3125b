"""Control groups with little memory, for tests and for processes that tests start."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_VERSION_1 = Path("/sys/fs/cgroup/memory")
_VERSION_2 = Path("/sys/fs/cgroup")
_numbers = itertools.count()


@dataclass(frozen=True)
class MemoryGroup:
    directory: Path
    version: int

    @property
    def enter(self) -> str:
        """Python code that moves the process that runs it into the group."""
        return f"open({str(self.directory / 'cgroup.procs')!r}, 'w').write('0')"

    @property
    def killed(self) -> int:
        """Processes that were killed because the group had no memory left."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        lines = (self.directory / name).read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))

    def make_child(self) -> Path:
        """A group inside it, without a limit of its own."""
        child = self.directory / "inside"
        child.mkdir()
        return child


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[MemoryGroup]:
    """A control group of at most `limit` bytes; skips the test where none can be made."""
    version = 1 if _VERSION_1.is_dir() else 2
    root = _VERSION_1 if version == 1 else _VERSION_2
    directory = root / f"graphzero-test-{os.getpid()}-{next(_numbers)}"
    limit_file = "memory.limit_in_bytes" if version == 1 else "memory.max"
    try:
        directory.mkdir()
        (directory / limit_file).write_text(str(limit))
    except OSError as error:
        with contextlib.suppress(OSError):
            directory.rmdir()
        pytest.skip(f"no control group can be made: {error}")
    try:
        yield MemoryGroup(directory, version)
    finally:
        for group in (directory / "inside", directory):
            _remove(group)


def _remove(group: Path) -> None:
    """With the processes that a failed test left in it; those that ended may still be leaving."""
    for _ in range(200):
        try:
            for pid in (group / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)
