"""What a long job may use: memory, threads, a directory for data that does not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import index
from pathlib import Path

from graphzero import _engine
from graphzero.base.quantities import parse_size
from graphzero.base.text import size_text


def make_resources(
    memory: int | str | None, threads: int | None, temp_dir: Path
) -> _engine.Resources:
    """`memory` is in bytes, or a text such as "1G"; None is a quarter of the available memory.
    `threads` None is one per processor."""
    return _engine.Resources.make(
        memory=default_memory() if memory is None else _in_bytes(memory),
        threads=len(os.sched_getaffinity(0)) if threads is None else threads,
        temp_dir=str(temp_dir),
    )


def _in_bytes(memory: int | str) -> int:
    expected = "expected a whole number of bytes or a text such as '1G'"
    try:
        found = parse_size(memory) if isinstance(memory, str) else index(memory)
    except ValueError as error:
        raise ValueError(f"memory: {error}") from None
    except TypeError:
        raise TypeError(f"memory: found {memory!r}, {expected}") from None
    if not 0 <= found < 2**64:
        raise ValueError(f"memory: found {memory}, {expected}, less than 2**64 bytes")
    return found


def default_memory() -> int:
    least = 64 << 20
    return max(least, available_memory() // 4)


def available_memory() -> int:
    """Bytes that can be used without swapping, on the machine or in a control group if it has
    less."""
    return min([_meminfo("MemAvailable"), *(left for left, _ in _limits())])


def memory_limit_text() -> str:
    """A remark for a message if a control group allows less than the machine has; else ""."""
    left, limit = min(_limits(), default=(0, 0))
    if not limit or left >= _meminfo("MemAvailable"):
        return ""
    return f" (a control group allows {size_text(limit)})"


def _limits() -> Iterator[tuple[int, int]]:
    """(bytes left, limit) of each control group that limits this process."""
    for group, limit_files, used_keys in _memory_groups():
        try:
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # not there
            continue
        # The page cache is given back when memory is needed: only the rest counts as used.
        used = sum(int(stat.get(key, 0)) for key in used_keys)
        for name in limit_files:
            try:
                limit = int((group / name).read_text())
            except (OSError, ValueError):  # not there, or no limit ("max")
                continue
            yield max(limit - used, 0), limit


# By version: the files with limits, and the entries of memory.stat that cannot be given back. Pages
# of /dev/shm are among them, although the kernel counts them as cache. memory.high is no hard
# limit, but above it a process slows down to a crawl.
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_Names = tuple[tuple[str, ...], tuple[str, ...]]
_VERSION_1: _Names = (("memory.limit_in_bytes",), ("total_rss", "total_shmem"))
_VERSION_2: _Names = (
    ("memory.max", "memory.high"),
    ("anon", "shmem", "slab_unreclaimable", "kernel_stack", "pagetables", "sock"),
)


def _memory_groups() -> Iterator[tuple[Path, tuple[str, ...], tuple[str, ...]]]:
    """The control groups of this process and all their ancestors, because each may have a limit of
    its own; with the names of the files with limits and of the entries for used memory."""
    for line in _OWN_GROUPS.read_text().splitlines():
        _, controllers, name = line.split(":", 2)
        if not controllers:
            root, names = _GROUPS, _VERSION_2
        elif "memory" in controllers.split(","):
            root, names = _GROUPS / "memory", _VERSION_1
        else:
            continue
        group = root / name.lstrip("/")
        while group != root:
            yield group, *names
            group = group.parent
        yield root, *names  # in a container, the container's own group


def _meminfo(name: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) << 10
    raise RuntimeError(f"/proc/meminfo has no {name}")
