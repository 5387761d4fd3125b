"""Keys pressed while a command shows something."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The most bytes that one read takes from the terminal.
_MOST_BYTES = 1024


class Keys:
    """Keys that are typed at the terminal, if there is one."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def read(self, seconds: float) -> str:
        """Waits up to `seconds` for keys; returns as soon as some were typed."""
        if self._descriptor is None:
            time.sleep(seconds)
            return ""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return ""
        typed = os.read(self._descriptor, _MOST_BYTES)
        if not typed:  # the terminal is gone: no key will come
            self._descriptor = None
        return typed.decode(errors="ignore")


@contextmanager
def keys() -> Iterator[Keys]:
    """Makes the terminal deliver each key at once, without echo; restores it at the end."""
    descriptor = _terminal()
    if descriptor is None:
        yield Keys(None)
        return
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSANOW)  # Ctrl-C still interrupts
    try:
        yield Keys(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)


def _terminal() -> int | None:
    """The terminal of this process; None in the background, where using it would stop the
    process."""
    try:
        descriptor = sys.stdin.fileno()
        in_front = os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()
    except (OSError, ValueError, AttributeError):  # closed, or no file at all
        return None
    return descriptor if in_front else None
