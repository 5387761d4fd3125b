"""Memory and processor time of a system: sums over all its processes.

Memory is the proportional set size, which divides a page among the processes that map it, so that
sums count every page once. Its kinds are anonymous pages (arrays, heaps), shared memory (/dev/shm
and what workers share), and pages of mapped files (datasets and libraries; the kernel takes these
back when memory is short).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
KINDS = {"anonymous": "Pss_Anon", "shared": "Pss_Shmem", "files": "Pss_File"}


def system_memory(pids: Iterable[int]) -> dict[str, float]:
    """Megabytes of these processes and all their descendants, by kind and in all."""
    total = dict.fromkeys(KINDS, 0.0)
    for pid in with_descendants(pids):
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:  # it has ended
            continue
        fields = dict(line.split(":", 1) for line in text.splitlines()[1:])
        for kind, name in KINDS.items():
            total[kind] += int(fields[name].split()[0]) * 1024 / 1e6
    return {**total, "total": sum(total.values())}


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads that a process has or had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def with_descendants(pids: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(entry.name))
    found: set[int] = set()
    left = list(pids)
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            left += children.get(pid, [])
    return found


def mapped_huge(pid: int) -> float:
    """Megabytes of mapped files that this process sees through huge pages."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = text.partition("FilePmdMapped:")[2].split()
    return int(found[0]) * 1024 / 1e6 if found else 0.0
