"""Control groups that bound memory or threads, of either version, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from waiting import wait_until

_ROOT = Path("/sys/fs/cgroup")
_numbers = itertools.count()


class NoControlGroup(Exception):
    """This process may not make one; the fixtures of conftest.py skip the test then."""


@dataclass(frozen=True)
class ControlGroup:
    directory: Path

    @property
    def enter(self) -> str:
        """Python code that moves the process that runs it into the group."""
        return f"open({str(self.directory / 'cgroup.procs')!r}, 'w').write('0')\n"

    def join(self) -> None:
        """Moves this process into the group: for Popen's preexec_fn."""
        (self.directory / "cgroup.procs").write_text("0")

    def _read(self, version_1: str, version_2: str) -> str:
        is_first = (self.directory / version_1).exists()
        return (self.directory / (version_1 if is_first else version_2)).read_text()


class MemoryGroup(ControlGroup):
    @property
    def killed(self) -> int:
        """Processes that were killed because the group had no memory left."""
        lines = self._read("memory.oom_control", "memory.events").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))

    @property
    def peak(self) -> int:
        """The most bytes that the group has had, page cache included."""
        return int(self._read("memory.max_usage_in_bytes", "memory.peak"))

    def make_child(self) -> ControlGroup:
        """A group inside it, without a limit of its own."""
        child = self.directory / "inside"
        child.mkdir()
        return ControlGroup(child)


class ThreadGroup(ControlGroup):
    """Bounds processes and threads; it begins without a bound."""

    def enter_and_allow(self, more: int) -> str:
        """Python code as `enter`; from then on so many more threads can be started there."""
        maximum, current = (str(self.directory / f"pids.{name}") for name in ("max", "current"))
        allow = f"open({maximum!r}, 'w').write(str(int(open({current!r}).read()) + {more}))\n"
        return self.enter + allow

    def allow(self, threads: int) -> None:
        (self.directory / "pids.max").write_text(str(threads))

    def refuse(self) -> None:
        """Allows the threads that are there, and no more."""
        self.allow(int((self.directory / "pids.current").read_text()))


class DiskGroup(ControlGroup):
    """Counts the reads that its processes make of disks, and may bound them."""

    @property
    def reads(self) -> tuple[int, int]:
        """How many, and of how many bytes, as the kernel counts them."""
        if (self.directory / "io.stat").exists():
            words = (self.directory / "io.stat").read_text().split()
            pairs = [word.split("=") for word in words if "=" in word]
            return tuple(sum(int(n) for key, n in pairs if key == k) for k in ("rios", "rbytes"))  # type: ignore[return-value]
        return tuple(  # type: ignore[return-value]
            sum(int(line.split()[2]) for line in text.splitlines() if " Read " in line)
            for text in (
                (self.directory / f"blkio.throttle.io_{name}").read_text()
                for name in ("serviced", "service_bytes")
            )
        )


@contextlib.contextmanager
def disk_group(disk: str, reads_per_second: int | None = None) -> Iterator[DiskGroup]:
    """A control group that counts reads, with at most so many a second of `disk`, which is
    "MAJOR:MINOR". Raises NoControlGroup."""
    is_first = (_ROOT / "blkio").is_dir()
    bound = "0" if is_first else "max"
    if reads_per_second is not None:
        bound = str(reads_per_second)
    limit = f"{disk} {bound}" if is_first else f"{disk} riops={bound}"
    files = {"blkio": "blkio.throttle.read_iops_device", "": "io.max"}
    with _control_group(files, limit) as directory:
        yield DiskGroup(directory)


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[MemoryGroup]:
    """A control group of at most `limit` bytes. Raises NoControlGroup."""
    files = {"memory": "memory.limit_in_bytes", "": "memory.max"}
    with _control_group(files, str(limit)) as directory:
        yield MemoryGroup(directory)


@contextlib.contextmanager
def thread_group() -> Iterator[ThreadGroup]:
    """A control group that can bound threads. Raises NoControlGroup."""
    with _control_group({"pids": "pids.max", "": "pids.max"}, "max") as directory:
        yield ThreadGroup(directory)


@contextlib.contextmanager
def _control_group(files: dict[str, str], limit: str) -> Iterator[Path]:
    """`files` names the file of the limit by the controller's folder: "" is version 2."""
    problems = []
    for parent, file in _places(files):
        directory = parent / f"graphzero-test-{os.getpid()}-{next(_numbers)}"
        try:
            directory.mkdir()
            (directory / file).write_text(limit)
            break
        except OSError as error:
            problems.append(str(error))
            with contextlib.suppress(OSError):
                directory.rmdir()
    else:
        raise NoControlGroup(f"no control group can be made: {'; '.join(problems) or 'none found'}")
    try:
        yield directory
    finally:
        for group in (directory / "inside", directory):
            wait_until(lambda group=group: _is_removed(group), f"the end of {group}")  # type: ignore[misc]


def _places(files: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """Where a group may be: below version 1's controller, below version 2's root, or around or
    below the group of this process."""
    for controller, file in files.items():
        if controller and (_ROOT / controller).is_dir():
            yield _ROOT / controller, file
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            own = _ROOT / line.removeprefix("0::").lstrip("/")
            for parent in dict.fromkeys((_ROOT, own.parent, own)):
                if parent.is_relative_to(_ROOT):
                    yield parent, files[""]


def _is_removed(group: Path) -> bool:
    """With the processes that a failed test left in it; those that ended may still be leaving."""
    try:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
