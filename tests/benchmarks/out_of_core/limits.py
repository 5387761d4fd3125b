"""Running a command with little memory and a cold page cache."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_VERSION_1 = Path("/sys/fs/cgroup/memory")
_VERSION_2 = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """A control group of at most `limit` bytes; the file to write process ids to."""
    first = _VERSION_1.exists()
    group = (_VERSION_1 if first else _VERSION_2) / f"graphzero-bench-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
        yield group / ("tasks" if first else "cgroup.procs")
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


def drop_caches() -> None:
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def enter(group: Path) -> Any:
    """For Popen's preexec_fn: the child and all that it starts are limited."""
    return lambda: group.write_text(str(os.getpid()))


def run_limited(script: Path, arguments: Sequence[str], limit: int) -> dict[str, Any]:
    """The JSON object that a script of this folder prints, from a cold start within `limit`."""
    with memory_group(limit) as group:
        drop_caches()
        done = subprocess.run(
            [sys.executable, str(script), *arguments],
            preexec_fn=enter(group),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
