"""How fast rows of a column come from its disk and from memory: two seconds of real reads.

The engine reads as for the daemon: random rows, hundreds at a time.
"""

from __future__ import annotations

import mmap
import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.resources import available_memory
from graphzero.files.column_file import ColumnFile

_FIRST_ROWS = 64  # take half a second on a rotating disk
_MOST_ROWS = 8192
_MOST_BYTES = 32 << 20
_SECONDS = 1.0
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class RowRates:
    column: str
    from_disk: float
    """Rows per second."""
    bytes_from_disk: float
    """Bytes per second that were read for these rows."""
    from_memory: float
    """Rows per second, of rows that were read just before."""
    fallback: str
    """Why the disk was not read around the page cache; "" if it was. With a fallback, `from_disk`
    may be the rate of the page cache."""


class NoAnswer(Exception):
    """Reading from the disk failed, or did not end in time."""


def probe_rows(name: str, column: ColumnFile) -> RowRates | None:
    """None if there is nothing to read. Takes about two seconds.

    Raises NoAnswer, and whatever else the reads raise, which is not the disk's fault. A read that
    hangs cannot be cancelled: its thread is left behind.
    """
    if not column.matrix.rows or not column.row_bytes:
        return None
    answers: SimpleQueue[RowRates | Exception] = SimpleQueue()

    def work() -> None:
        try:
            answers.put(_probe(name, column))
        except Exception as error:  # without an answer, the caller would take it for a hang
            answers.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        answer = answers.get(timeout=_PATIENCE_S)
    except Empty:
        raise NoAnswer(f"reading it took more than {_PATIENCE_S:g} s") from None
    if isinstance(answer, OSError):
        raise NoAnswer(str(answer))
    if isinstance(answer, Exception):
        raise answer
    return answer


def _probe(name: str, column: ColumnFile) -> RowRates:
    direct = _engine.Column.open(column.matrix, _engine.ColumnPath.DIRECT, None, "probe")
    random = np.random.default_rng(0)
    most = max(1, min(_MOST_ROWS, _MOST_BYTES // column.row_bytes))
    count = min(_FIRST_ROWS, most)
    spent = 0.0
    steps: list[npt.NDArray[np.int64]] = []
    while spent < _SECONDS:
        # Rows of the file: of a column that is dealt to parts, it has fewer than the column.
        steps.append(random.integers(0, column.matrix.rows, count))
        step = _seconds(direct, column, steps[-1])
        spent += step
        # The next step then takes about a quarter of _SECONDS.
        count = max(1, min(most, int(count / max(step, 1e-6) * _SECONDS / 4)))
    rows = np.concatenate(steps)
    # As many rows as possible, because few would lie in the processor's caches instead of memory;
    # but only as many as have room for their pages, or pages would evict each other for minutes.
    room = available_memory() // 4 // (column.row_bytes + 2 * mmap.PAGESIZE)
    again = rows[-max(1, min(_MOST_BYTES // column.row_bytes, room)) :]
    for path in (_engine.ColumnPath.CACHED, _engine.ColumnPath.MAPPED):
        reader = _engine.Column.open(column.matrix, path, None, "probe")
        warm = _seconds(reader, column, again)  # the first path brings rows into the page cache
    warm = min(warm, _seconds(reader, column, again))
    return RowRates(
        name,
        from_disk=len(rows) / spent,
        bytes_from_disk=direct.stats().read_bytes / spent,
        from_memory=len(again) / max(warm, 1e-9),
        fallback=direct.fallback,
    )


def _seconds(reader: _engine.Column, column: ColumnFile, rows: npt.NDArray[np.int64]) -> float:
    out = np.empty(len(rows) * column.row_bytes, np.uint8)
    began = time.perf_counter()
    reader.gather(rows, out)
    return time.perf_counter() - began
