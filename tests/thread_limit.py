"""Processes that get no further threads, for tests."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_VERSION_1 = Path("/sys/fs/cgroup/pids")
_VERSION_2 = Path("/sys/fs/cgroup")
_numbers = itertools.count()


@dataclass(frozen=True)
class ThreadLimit:
    """A control group that bounds processes and threads."""

    directory: Path

    @property
    def enter(self) -> str:
        """Python code that moves the process that runs it into the group."""
        return f"open({str(self.directory / 'cgroup.procs')!r}, 'w').write('0')\n"

    @property
    def enter_and_refuse(self) -> str:
        """The same, and from then on no thread is started there."""
        maximum, current = (str(self.directory / f"pids.{name}") for name in ("max", "current"))
        return self.enter + f"open({maximum!r}, 'w').write(open({current!r}).read())\n"

    def allow(self, threads: int) -> None:
        (self.directory / "pids.max").write_text(str(threads))

    def refuse(self) -> None:
        """Allows what there is, and no more."""
        self.allow(int((self.directory / "pids.current").read_text()))


@contextlib.contextmanager
def thread_limit() -> Iterator[ThreadLimit]:
    """Skips the test where no control group can be made."""
    root = _VERSION_1 if _VERSION_1.is_dir() else _VERSION_2
    directory = root / f"graphzero-test-{os.getpid()}-{next(_numbers)}"
    try:
        directory.mkdir()
        (directory / "pids.max").write_text("max")
    except OSError as error:
        with contextlib.suppress(OSError):
            directory.rmdir()
        pytest.skip(f"no control group can be made: {error}")
    try:
        yield ThreadLimit(directory)
    finally:
        for _ in range(200):  # a process that has ended may still be leaving it
            try:
                directory.rmdir()
                break
            except OSError:
                time.sleep(0.05)
