"""Progress of a long job on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, TypeAlias

from graphzero.base.text import short_count_text, size_text

# Seconds between lines in a log: often enough to see life, seldom enough to read.
LOG_EVERY_S = 10.0
# A phase that takes less than this many seconds shows no bar.
QUIET_S = 0.5
# If the name of a phase ends with one of these, the phase counts them.
_NOUNS = ("edges", "ids", "nodes", "rows")
_PERCENT_BAR = "{l_bar}{bar}| [{elapsed}<{remaining}, {rate_noinv_fmt}]"


# A long job calls this now and then with a phase, how much of the phase is done, and its total.
Report: TypeAlias = Callable[[str, int, int], None]
# Shows the progress of one file: takes a label, returns a context manager whose value is a Report.
ShowProgress: TypeAlias = Callable[[str], AbstractContextManager[Report | None]]


def no_progress(label: str) -> nullcontext[None]:
    """A ShowProgress that shows nothing."""
    return nullcontext()


class JobProgress:
    """A Report, callable with (phase, done, total), and a context manager.

    `label` names what the job works on. `unit` is "B" for bytes. Otherwise the last word of a phase
    names what it counts, as in "writing rows"; if it does not, progress is shown in percent.
    """

    def __init__(self, label: str, *, unit: str = "") -> None:
        self._label = label
        self._unit = unit
        self._bar: Any = None
        self._phase = ""
        self._phase_start = self._last_line = time.monotonic()

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase != self._phase:
            self._close()
            self._phase, self._phase_start = phase, time.monotonic()
        if time.monotonic() - self._phase_start < QUIET_S:
            return
        if sys.stderr.isatty():
            self._draw(done, total)
        elif time.monotonic() - self._last_line >= LOG_EVERY_S:
            self._last_line = time.monotonic()
            print(self._line(done, total), file=sys.stderr, flush=True)

    def _draw(self, done: int, total: int) -> None:
        in_percent = total > 0 and not self._counted()
        if in_percent:
            done, total = 100 * done // total, 100
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=total,
                desc=f"{self._phase} {self._label}",
                unit=self._counted() or " %",
                unit_scale=True,
                unit_divisor=1024 if self._unit == "B" else 1000,
                bar_format=_PERCENT_BAR if in_percent else None,
                leave=False,
                smoothing=0,  # mean rate, or work done before the bar appeared looks like a burst
                delay=QUIET_S,  # no first draw at zero: the phase began earlier
            )
            self._bar.start_t -= time.monotonic() - self._phase_start
            self._bar.n = done
            self._bar.refresh()
        self._bar.update(done - self._bar.n)

    def _line(self, done: int, total: int) -> str:
        elapsed = time.monotonic() - self._phase_start
        if not total:  # the total is not known, or nothing is counted
            return f"{self._phase} {self._label}"
        rate = done / elapsed if elapsed > 0 else 0.0
        left = f", {(total - done) / rate:.0f} s left" if rate > 0 else ""
        share = f"{self._phase} {self._label}: {100 * done / max(total, 1):.0f} %"
        if self._unit == "B":
            return f"{share} of {size_text(total)}, {size_text(rate)}/s{left}"
        if unit := self._counted():
            speed = f"{short_count_text(rate)}{unit}/s"
            return f"{share} of {short_count_text(total)}{unit}, {speed}{left}"
        return f"{share}, {100 * rate / total:.1f} %/s{left}"

    def _counted(self) -> str:
        """ "B", " rows", or nothing if the phase does not tell."""
        noun = self._phase.split(" ")[-1]
        # A phase that reads counts bytes of a file or items of an array, not the noun in its name.
        known = noun in _NOUNS and not self._phase.startswith("reading ")
        return self._unit or (f" {noun}" if known else "")

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> JobProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()
