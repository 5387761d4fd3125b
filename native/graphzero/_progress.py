"""Progress of a long job on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from graphzero._text import size_text

# Seconds between lines in a log: often enough to see life, seldom enough to read.
LOG_EVERY_S = 10.0


class ByteProgress:
    """Callable as the engine reports: (phase, bytes done, bytes in all). A context manager.

    `label` names what is worked on, before the phase if there is more than one.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._bar: Any = None
        self._phase = ""
        self._phase_start = self._last_line = time.monotonic()

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase != self._phase:
            self._close()
            self._phase, self._phase_start = phase, time.monotonic()
        if sys.stderr.isatty():
            self._draw(done, total)
        elif time.monotonic() - self._last_line >= LOG_EVERY_S:
            self._last_line = time.monotonic()
            print(self._line(done, total), file=sys.stderr, flush=True)

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=total,
                desc=f"{self._phase} {self._label}",
                unit="B",
                unit_scale=True,
                unit_divisor=1024,
                leave=False,
            )
        self._bar.update(done - self._bar.n)

    def _line(self, done: int, total: int) -> str:
        elapsed = time.monotonic() - self._phase_start
        rate = done / elapsed if elapsed > 0 else 0.0
        left = f", {(total - done) / rate:.0f} s left" if rate > 0 else ""
        return (
            f"{self._phase} {self._label}: {100 * done / max(total, 1):.0f} % of "
            f"{size_text(total)}, {size_text(rate)}/s{left}"
        )

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> ByteProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
