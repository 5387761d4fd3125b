"""The last minutes, second by second: a page that is opened shows them at once."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from graphzero.server.metrics.requests import OK, RequestMetrics

_SECONDS = 600


class History:
    """Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._points: deque[dict[str, Any]] = deque(maxlen=_SECONDS)

    def add(self, metrics: RequestMetrics, shm_used: int) -> None:
        """Adds sums since the start, of which readers take differences, even across gaps."""
        self._points.append(
            {
                "unix_ms": int(1000 * time.time()),
                "results": sum(n for (_, code), n in metrics.ended.items() if code == OK),
                "failed_requests": metrics.failed,
                "result_byte_size": metrics.result_bytes,
                "waited_us": metrics.waited_us,
                "shm_used_byte_size": shm_used,
                "latency": _all_latencies(metrics),
            }
        )

    def points(self) -> list[dict[str, Any]]:
        """The oldest first."""
        return list(self._points)


def _all_latencies(metrics: RequestMetrics) -> list[int]:
    """The latency histogram of requests of all kinds, each from its last id to its answer."""
    totals = [times.total.entries for times in metrics.times.values()]
    return [sum(entries) for entries in zip(*totals, strict=True)]
