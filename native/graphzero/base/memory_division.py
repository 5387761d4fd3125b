"""How the daemon divides the available memory, so that all its parts fit together.

The page cache gets no share: it uses the memory that is left, and gives it back on demand. The
shares here cannot be given back: if they are too large, the kernel kills the daemon, or a trainer
beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphzero.base.errors import InputError
from graphzero.base.resources import available_memory, memory_limit_text
from graphzero.base.text import size_text

# Largest shares of the available memory. The rest is left to files in the page cache.
_BATCHES_SHARE = 0.25
_ROW_CACHE_SHARE = 0.25
_TRAINERS_SHARE = 0.25
_WORK_SHARE = 0.15
# Memory of a process that imports torch and holds a small model.
_TRAINER_BYTES = 192 << 20
# Memory of one worker: reads under way, the rows that it samples from, and the nodes and edges of a
# batch of usual size.
_WORKER_BYTES = 24 << 20
# Workers for each thread, if requests wait for the disk.
_WORKERS_PER_THREAD = 8
# Share of the working memory for the ids and texts of requests that are not answered yet.
_IDS_SHARE = 1 / 8
# The index of the row cache comes on top of its rows: a tenth of their size for rows of 512 bytes,
# a quarter for rows of 128 bytes.
_ROW_INDEX_SHARE = 0.25
# Room for the promises to two sessions.
_LEAST_BATCHES = 64 << 20
_LEAST_ROW_CACHE = 8 << 20
# The smallest sizes that a user may set. One session is promised at least two regions of 4 MiB
# (native/shm/promise.h), and a request needs some working memory: with less, nothing could ever be
# served.
_SMALLEST = {"shm-limit": 8 << 20, "work-memory": 1 << 20}


@dataclass(frozen=True)
class MemoryDivision:
    """Sizes are in bytes. A size that the user gave is kept as given."""

    available: int
    batches: int
    """--shm-limit: the blocks of all trainers."""
    row_cache: int
    """--row-cache: hot rows, if a column does not fit into memory."""
    work: int
    """--work-memory: requests, from their first id until their result lies in its block."""
    workers: int
    """Number of worker threads, if requests wait for the disk."""
    trainers: int
    """Left to trainers that run in the same control group or on the same machine."""
    batches_given: bool
    row_cache_given: bool
    work_given: bool

    @property
    def daemon(self) -> int:
        """The most that the daemon may hold, with the index of the row cache."""
        return self.batches + int(self.row_cache * (1 + _ROW_INDEX_SHARE)) + self.work

    def row_cache_beside(self, row_starts: int) -> int:
        """Size of the row cache if graphs that are read from disk keep `row_starts` bytes of row
        starts in memory. If the user gave its size, it stays, and row starts come on top."""
        if self.row_cache_given:
            return self.row_cache
        left = self.row_cache - int(row_starts / (1 + _ROW_INDEX_SHARE))
        return max(left, min(self.row_cache, _LEAST_ROW_CACHE))

    @property
    def ids(self) -> int:
        """The part of `work` for ids and texts."""
        return int(self.work * _IDS_SHARE)

    @property
    def draws(self) -> int:
        """The part of `work` for drawing samples and walks."""
        return self.work - self.ids

    def describe(self, *, reads_files: bool) -> str:
        """A line for the banner. `reads_files`: whether requests wait for the disk."""
        parts = [f"{size_text(self.batches)} of shared memory for batches"]
        if reads_files:
            parts.append(f"{size_text(self.row_cache)} for hot rows")
        parts.append(f"{size_text(self.work)} for requests at work")
        left = "the rest" if self.daemon < self.available else "nothing"
        return (
            f"{size_text(self.available)} of memory available{memory_limit_text()}: up to "
            f"{', '.join(parts)}; {left} is left to files and trainers"
        )

    def warnings(self) -> Iterator[str]:
        """What to change if the parts do not fit together."""
        if self.daemon + self.trainers <= self.available:
            return
        over = self.daemon + self.trainers - self.available
        found = (
            f"{size_text(self.available)} of memory is available{memory_limit_text()}, but "
            f"--shm-limit {size_text(self.batches)}, --row-cache {size_text(self.row_cache)} and "
            f"{size_text(self.work)} for requests at work leave less than "
            f"{size_text(self.trainers)} for trainers: one of them may be killed"
        )
        given = {"--shm-limit": self.batches} if self.batches_given else {}
        if self.row_cache_given:
            given["--row-cache"] = int(self.row_cache * (1 + _ROW_INDEX_SHARE))
        if self.work_given:
            given["--work-memory"] = self.work
        left = sum(given.values()) - over  # for all parts that the user chose together
        if left < _LEAST_BATCHES:
            yield f"{found}; use --threads 1, or raise the memory limit by {size_text(over)}"
            return
        less = {name: int(left * size / sum(given.values())) for name, size in given.items()}
        if "--row-cache" in less:
            less["--row-cache"] = int(less["--row-cache"] / (1 + _ROW_INDEX_SHARE))
        yield f"{found}; use {' and '.join(f'{name} {size >> 20}M' for name, size in less.items())}"


def divide_available_memory(
    threads: int, shm_limit: int | None, row_cache: int | None, work: int | None
) -> MemoryDivision:
    """The division for the user's limits; None is a share of the memory that is available now.

    Raises InputError for limits under which nothing could be served.
    """
    for name, size in (("shm-limit", shm_limit), ("work-memory", work)):
        if size is not None and size < _SMALLEST[name]:
            raise InputError(
                f"--{name}: found {size_text(size)}, expected at least {_SMALLEST[name] >> 20}M; "
                "a size is in bytes unless a unit follows, such as 512M or 4G"
            )
    info = os.statvfs("/dev/shm")
    shared_memory = info.f_frsize * info.f_blocks
    return divide_memory(available_memory(), shared_memory, threads, shm_limit, row_cache, work)


def divide_memory(
    available: int,
    shared_memory: int,
    threads: int,
    shm_limit: int | None,
    row_cache: int | None,
    work: int | None = None,
) -> MemoryDivision:
    """The division of `available` bytes of memory, with a /dev/shm of `shared_memory` bytes.

    If the shares leave too little to workers and trainers, the row cache shrinks first, then the
    batches: without the row cache rows are read more often, without batches nothing works.
    """
    trainers = min(max(int(available * _TRAINERS_SHARE), _TRAINER_BYTES), available // 2)
    # A worker that waits for the disk uses no processor: others sample meanwhile, and wait for the
    # same sweep over a file (native/io/sweep.h).
    least_work = threads * _WORKER_BYTES
    work_given = work is not None
    work = max(int(available * _WORK_SHARE), least_work) if work is None else work
    parts = MemoryDivision(
        available=available,
        batches=max(min(int(available * _BATCHES_SHARE), shared_memory // 2), _LEAST_BATCHES)
        if shm_limit is None
        else shm_limit,
        row_cache=int(available * _ROW_CACHE_SHARE) if row_cache is None else row_cache,
        work=work,
        workers=min(max(work // _WORKER_BYTES, threads), _WORKERS_PER_THREAD * threads),
        trainers=trainers,
        batches_given=shm_limit is not None,
        row_cache_given=row_cache is not None,
        work_given=work_given,
    )
    over = parts.daemon + trainers - available
    if row_cache is None and over > 0:
        less = parts.row_cache - int(over / (1 + _ROW_INDEX_SHARE)) - 1
        parts = replace(parts, row_cache=max(less, min(parts.row_cache, _LEAST_ROW_CACHE)))
    over = parts.daemon + trainers - available
    if shm_limit is None and over > 0:
        parts = replace(parts, batches=max(parts.batches - over, _LEAST_BATCHES))
    return parts
