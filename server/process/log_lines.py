"""The daemon's log: every record is one line of bounded length, and no kind of line can fill it.

Much of what is logged was said by a trainer: its name, why it cannot map memory. So every record is
escaped and cut, also those of gRPC. Records that come from the same place in the code are of one
kind, and each kind has a limit: the log gets 100 of them at once and one more every second. The
others are only counted, and a line in the log tells the count every ten seconds.

Records may have fields beside their text: log.info("...", extra=fields(session=3)). They are for
programs, which read them in JSON; the text says the same to people.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

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


class JsonFormatter(logging.Formatter):
    """An object in one line: time, level, message, the record's fields, and `traceback` if there
    is one. Valid JSON whatever the texts are, in ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, timezone.utc)
        document: dict[str, Any] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": line_text(record.getMessage(), _LONGEST_LINE),
        }
        for name, value in getattr(record, _FIELDS, {}).items():
            document[name] = line_text(value, _LONGEST_LINE) if isinstance(value, str) else value
        if record.exc_info:
            trace = self.formatException(record.exc_info).splitlines()[-_LONGEST_TRACEBACK:]
            document["traceback"] = [line_text(line, _LONGEST_LINE) for line in trace]
        return json.dumps(document, default=str)


_FIELDS = "graphzero_fields"


def fields(**values: Any) -> dict[str, Any]:
    """For `extra=` of a log call: the fields that programs read in the record."""
    return {_FIELDS: values}


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
        """Lines that say how many records of each kind were left out since the last such line."""
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


_FORMATTERS = {"text": LineFormatter, "json": JsonFormatter}


def set_up_log(level: str = "info", form: str = "text") -> None:
    """Sets up logging to stderr for this process. A second call replaces the first one's setup."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMATTERS[form]())
    handler.addFilter(_limit)
    # Other libraries, gRPC and asyncio for instance, log nothing below INFO, which is for their own
    # developers.
    usual = max(logging.INFO, logging.getLevelName(level.upper()))
    logging.basicConfig(level=usual, handlers=[handler], force=True)
    logging.getLogger("graphzero").setLevel(level.upper())


def tell_omitted(log: logging.Logger) -> None:
    """Logs how many lines were left out. To be called now and then."""
    for line in _limit.omitted():
        log.warning("%s", line)
