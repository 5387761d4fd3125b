"""Waiting for what another process or thread does: always with a deadline, never for a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

# Only against a hang: a loaded machine may take its time.
DEADLINE_S = 60.0


def wait_until(
    condition: Callable[[], Any], what: str | Callable[[], str], *, deadline_s: float = DEADLINE_S
) -> float:
    """Seconds until the condition held; fails with `what` if it never does."""
    tick = threading.Event()
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > deadline_s:
            raise AssertionError(f"never happened: {what() if callable(what) else what}")
        tick.wait(0.005)
    return time.monotonic() - started
