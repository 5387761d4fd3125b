"""The machine: memory and its limits, /dev/shm, huge pages, io_uring, open files."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterator
from pathlib import Path

from graphzero import _engine
from graphzero.base import descriptors
from graphzero.base.memory_division import MemoryDivision
from graphzero.base.resources import memory_limit_text
from graphzero.base.text import size_text
from graphzero.diagnosis.finding import Finding
from graphzero.files.column_io import ENGINE_VARIABLE

# Docker's default /dev/shm of a container: not even one large batch fits.
_TINY_SHM = 64 << 20
_LITTLE_MEMORY = 1 << 30
_SESSIONS = 64  # the default of --max-sessions
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")
_NEVER_OVERCOMMIT = "2"


def machine_findings(memory: MemoryDivision, files: int) -> Iterator[Finding]:
    """Findings for a daemon that divides the memory in this way and opens `files` data files."""
    yield _memory(memory)
    yield _shared_memory(memory)
    yield from _overcommit()
    yield _huge_pages()
    yield _reads()
    yield _open_files(files)


def _memory(memory: MemoryDivision) -> Finding:
    found = f"{size_text(memory.available)} available{memory_limit_text()}"
    if memory.available >= _LITTLE_MEMORY:
        return Finding("ok", "memory", found)
    return Finding(
        "advice",
        "memory",
        found,
        "raise the limit of the control group (docker: --memory, systemd: MemoryMax=), or use a "
        "machine with more",
        "room for more trainers, and for files in memory",
        factor=2.0,
    )


def _shared_memory(memory: MemoryDivision) -> Finding:
    info = os.statvfs("/dev/shm")
    size, free = info.f_frsize * info.f_blocks, info.f_frsize * info.f_bavail
    found = f"/dev/shm has {size_text(size)}, {size_text(free)} free"
    wanted = memory.available // 4  # the daemon's share for batches, if /dev/shm allows it
    if free >= memory.batches and size >= 2 * wanted:
        return Finding("ok", "shared memory", f"{found}; {size_text(memory.batches)} for batches")
    mebibytes = -(-2 * wanted >> 20)
    return Finding(
        "problem" if min(size, free) <= _TINY_SHM else "advice",
        "shared memory",
        f"{found}; a quarter of the memory, {size_text(wanted)}, is wanted for batches, and no "
        "more than half of /dev/shm is used by default",
        f"mount -o remount,size={mebibytes}M /dev/shm  (docker: --shm-size={mebibytes}m or "
        "--ipc=host)",
        f"up to {size_text(wanted)} of batches instead of {size_text(min(memory.batches, free))}",
        factor=wanted / max(1, min(memory.batches, free)),
    )


def _overcommit() -> Iterator[Finding]:
    if _read(_OVERCOMMIT) == _NEVER_OVERCOMMIT:
        yield Finding(
            "problem",
            "overcommit",
            "vm.overcommit_memory is 2: files larger than the memory cannot be mapped",
            "sysctl vm.overcommit_memory=0",
            "datasets larger than memory can be opened",
            factor=100.0,
        )


def _huge_pages() -> Finding:
    """Huge pages are for files in memory; batches in /dev/shm are always on small pages."""
    enabled = _chosen(_HUGE_PAGES / "enabled")
    if enabled in ("always", "madvise"):
        return Finding("ok", "huge pages", f"{enabled}; Linux {platform.release()}")
    return Finding(
        "advice",
        "huge pages",
        f"{_HUGE_PAGES / 'enabled'} is {enabled or 'not there'}",
        f"echo madvise > {_HUGE_PAGES / 'enabled'}",
        "graphs that lie in memory are sampled faster, where the file system has huge pages (xfs, "
        "btrfs, newer ext4)",
        factor=1.5,
    )


def _reads() -> Finding:
    engine = _engine.io_engine()
    if engine.name == "io_uring":
        return Finding("ok", "reads", "io_uring is permitted")
    if ENGINE_VARIABLE in os.environ:
        return Finding("ok", "reads", f"by {engine.name}, as {ENGINE_VARIABLE} asks for")
    return Finding(
        "advice",
        "reads",
        f"io_uring is not permitted ({engine.reason}): a pool of threads reads instead",
        "allow io_uring_setup, io_uring_enter and io_uring_register (containers: seccomp profile; "
        "hosts: sysctl kernel.io_uring_disabled=0)",
        "rows that do not lie in memory come about 3 times as fast",
        factor=3.0,
    )


def _open_files(files: int) -> Finding:
    needed = descriptors.needed(files, _SESSIONS)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= needed:
        limit = "without limit" if hard == resource.RLIM_INFINITY else f"up to {hard}"
        return Finding("ok", "open files", f"{limit}; {needed} are enough")
    return Finding(
        "problem" if hard < files + descriptors.FEWEST_OTHERS else "advice",
        "open files",
        f"at most {hard}; {files} data files and {_SESSIONS} sessions may need {needed}",
        descriptors.advice(needed),
        "all files and sessions can be opened",
        factor=2.0,
    )


def _chosen(path: Path) -> str:
    """The word in brackets: "always [madvise] never" -> "madvise"."""
    return _read(path).partition("[")[2].partition("]")[0]


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
