"""What a long job may use: memory, threads, a place for what does not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
    """Bytes that can be used without swapping: of the machine, or of a control group if less."""
    available = _meminfo("MemAvailable")
    for group, limit_file, used_key in _memory_groups():
        try:
            limit = int((group / limit_file).read_text())
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # not there, or no limit ("max")
            continue
        # The page cache is given back when memory is needed: only the rest counts as used.
        available = min(available, max(limit - int(stat[used_key]), 0))
    return available


def _memory_groups() -> Iterator[tuple[Path, str, str]]:
    """The control groups that limit this process, with the names of their limit and of the memory
    in use: every ancestor may have a limit of its own."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, name = line.split(":", 2)
        if not controllers:
            root, limit_file, used_key = Path("/sys/fs/cgroup"), "memory.max", "anon"
        elif "memory" in controllers.split(","):
            root = Path("/sys/fs/cgroup/memory")
            limit_file, used_key = "memory.limit_in_bytes", "total_rss"
        else:
            continue
        group = root / name.lstrip("/")
        while group != root:
            yield group, limit_file, used_key
            group = group.parent
        yield root, limit_file, used_key  # in a container, the group that it is in


def _meminfo(name: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) << 10
    raise RuntimeError(f"/proc/meminfo has no {name}")
