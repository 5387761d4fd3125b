"""The daemon's log: every record is one line of bounded length, and no kind of line can fill it.

Much of what is logged was said by a trainer: its name, why it cannot map memory. So every record is
escaped and cut, also those of gRPC. Records that come from the same place in the code are of one
kind, and each kind has a limit: the log gets 100 of them at once and one more every second. The
others are only counted, and a line in the log tells the count every ten seconds.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from graphzero.base.text import count_text, line_text

_BURST = 100
_PER_SECOND = 1.0
_TELL_EVERY_S = 10.0

_LONGEST_LINE = 1000
_LONGEST_TRACEBACK = 40  # lines: the last ones, which say what happened

_Kind = tuple[str, int, str, int]


class LineFormatter(logging.Formatter):
    """Time, level and message in one line. A traceback follows in lines that are marked as such, so
    that no text in it passes for a record."""

    def format(self, record: logging.LogRecord) -> str:
        message = line_text(record.getMessage(), _LONGEST_LINE)
        lines = [f"{self.formatTime(record)} {record.levelname} {message}"]
        if record.exc_info:
            trace = self.formatException(record.exc_info).splitlines()[-_LONGEST_TRACEBACK:]
            lines += [f"  | {line_text(line, _LONGEST_LINE)}" for line in trace]
        return "\n".join(lines)


@dataclass
class _Account:
    left: float  # lines that may be written at `since`
    since: float
    omitted: int = 0
    told: float = 0.0
    last: logging.LogRecord | None = None


class LineLimit(logging.Filter):
    """Lets only some records of each kind pass, and counts the others. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._accounts: dict[_Kind, _Account] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = (record.name, record.levelno, record.pathname, record.lineno)
        now = self._clock()
        with self._lock:
            account = self._accounts.setdefault(kind, _Account(_BURST, now))
            account.left = min(_BURST, account.left + (now - account.since) * _PER_SECOND)
            account.since = now
            if account.left >= 1:
                account.left -= 1
                return True
            account.omitted += 1
            account.last = record
            return False

    def omitted(self) -> list[str]:
        """What to tell of records that were left out since it was last told."""
        now = self._clock()
        lines = []
        with self._lock:
            for account in self._accounts.values():
                if account.last is None or now - account.told < _TELL_EVERY_S:
                    continue
                example = line_text(account.last.getMessage())
                lines.append(f"left out {count_text(account.omitted)} more like: {example}")
                account.omitted, account.last, account.told = 0, None, now
        return lines


_limit = LineLimit()


def set_up_log() -> None:
    """To stderr, for this process."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    handler.addFilter(_limit)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def tell_omitted(log: logging.Logger) -> None:
    """Called now and then."""
    for line in _limit.omitted():
        log.warning("%s", line)
