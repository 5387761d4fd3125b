"""What a long job may use: memory, threads, a place for what does not fit into memory."""

from __future__ import annotations

import os
from pathlib import Path

from graphzero import _engine


def make_resources(memory: int | None, threads: int | None, temp_dir: Path) -> _engine.Resources:
    """None for memory is a quarter of what is available; for threads, one for each processor."""
    return _engine.Resources.make(
        memory=default_memory() if memory is None else memory,
        threads=len(os.sched_getaffinity(0)) if threads is None else threads,
        temp_dir=str(temp_dir),
    )


def default_memory() -> int:
    least = 64 << 20
    return max(least, available_memory() // 4)


def available_memory() -> int:
    """Bytes that can be used without swapping: of the machine, or of the control group if less."""
    available = _meminfo("MemAvailable")
    for limit, usage in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            left = int(Path(limit).read_text()) - int(Path(usage).read_text())
        except (OSError, ValueError):  # no such hierarchy, or no limit ("max")
            continue
        available = min(available, max(left, 0))
    return available


def _meminfo(name: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) << 10
    raise RuntimeError(f"/proc/meminfo has no {name}")
