"""How much of each file lies in memory, asked of the kernel on a thread of its own.

Asking takes about 10 ms for a GB that is cached. So the thread asks only while somebody reads the
statistics, spends at most a hundredth of the time on it, and the answer may be a few seconds old.
"""

from __future__ import annotations

import logging
import mmap
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb

log = logging.getLogger("graphzero.server")

_PARTS = 64
_PAGE = mmap.PAGESIZE
_LEAST_PAUSE_S = 2.0
_SHARE_OF_TIME = 0.01


@dataclass(frozen=True)
class _Answer:
    files: list[pb.FileStats]
    when: float
    datasets: list[weakref.ref[Dataset]]
    """Weak: who reads the statistics must not keep the files of a dataset open that was replaced or
    removed, because the disk has their space back only when nobody has them open."""

    def is_of(self, datasets: list[Dataset]) -> bool:
        return len(self.datasets) == len(datasets) and all(
            own() is other for own, other in zip(self.datasets, datasets, strict=True)
        )


class PageCache:
    """Belongs to the event loop's thread, except for _look(), which runs on a thread of its own."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Asks about at most `most` files."""
        self._most = most
        self._clock = clock
        self._answer = _Answer([], 0.0, [])
        self._next = 0.0
        self._thread: threading.Thread | None = None

    def files(self, datasets: Sequence[Dataset]) -> list[pb.FileStats]:
        """Returns the last answer, and starts the thread for the next one if it is time."""
        datasets = list(datasets)
        self._ask(datasets)
        answer = self._answer
        if not answer.is_of(datasets):  # before the first answer, or after a reload
            return [file for file, _ in self._all(datasets)]
        age_ms = int(1000 * (self._clock() - answer.when))
        for file in answer.files:
            file.age_ms = age_ms
        return answer.files

    def join(self, timeout_s: float) -> bool:
        """Waits for the thread; True if it has ended."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _ask(self, datasets: list[Dataset]) -> None:
        busy = self._thread is not None and self._thread.is_alive()
        new = not self._answer.is_of(datasets)
        if busy or (self._clock() < self._next and not new):
            return
        self._thread = threading.Thread(
            target=self._look, args=(datasets,), name="page-cache", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError:  # the system refuses a thread: the next call tries again
            self._thread = None

    def _look(self, datasets: list[Dataset]) -> None:
        began = self._clock()
        files = []
        try:
            for file, opened in self._all(datasets):
                pages = -(-file.byte_size // _PAGE)
                parts = opened.resident_parts(min(_PARTS, pages))
                file.resident_byte_size = sum(parts)
                file.resident_percent.extend(_percent(parts, file.byte_size))
                files.append(file)
        except Exception:  # a bug here must neither stop the statistics nor stay hidden
            log.exception("cannot ask how much of the files lies in memory")
        now = self._clock()
        self._next = now + max(_LEAST_PAUSE_S, (now - began) / _SHARE_OF_TIME)
        self._answer = _Answer(files, now, [weakref.ref(dataset) for dataset in datasets])

    def _all(self, datasets: list[Dataset]) -> Iterator[tuple[pb.FileStats, Any]]:
        left = self._most
        for dataset in datasets:
            graph = (dataset.graph.path.name, dataset.graph.topology, dataset.graph.byte_size)
            columns = ((name, c.matrix, c.byte_size) for name, c in dataset.columns.items())
            for name, opened, size in (graph, *columns):
                if left == 0:
                    return
                left -= 1
                yield pb.FileStats(dataset=dataset.name, file=name, byte_size=size), opened


def _percent(parts: list[int], size: int) -> Iterator[int]:
    """How many percent of each part are resident. The parts of the file, which has `size` bytes,
    are about equal and consist of whole pages."""
    pages = -(-size // _PAGE)
    for number, resident in enumerate(parts):
        begin = pages * number // len(parts) * _PAGE
        end = min(pages * (number + 1) // len(parts) * _PAGE, size)
        yield round(100 * resident / (end - begin))
