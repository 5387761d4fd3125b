"""SIGHUP before the daemon can act on it.

Without a handler SIGHUP ends a process, and starting takes half a second: a service manager or a
script that reloads all daemons would end those that have just been started. So main() calls
note_hangups() first of all, and the daemon reloads once when it is ready.
"""

from __future__ import annotations

import signal
import threading

_came = threading.Event()


def note_hangups() -> None:
    """From now on SIGHUP is remembered, until the event loop has a handler of its own. It is not
    ignored, because programs that are started meanwhile would inherit that."""
    _came.clear()
    if threading.current_thread() is threading.main_thread():  # others may not set handlers
        signal.signal(signal.SIGHUP, lambda number, frame: _came.set())


def hangup_came() -> bool:
    """Whether there was a SIGHUP meanwhile."""
    return _came.is_set()
