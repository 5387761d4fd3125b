"""A command in a terminal of its own, and what a person would see there."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from typing import Any

import pyte
from waiting import wait_until

# Makes the terminal that of the process, so that keys and changes of its size reach it.
_START = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'graphzero', *sys.argv[1:]])"
)


class Terminal:
    """`graphzero ARGUMENTS` in a terminal of that size."""

    def __init__(
        self, *arguments: str, columns: int, lines: int, env: Mapping[str, str] | None = None
    ) -> None:
        self._ours, self.its = pty.openpty()
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        """All that was written to it."""
        self._set_size(columns, lines)
        self.settings = termios.tcgetattr(self.its)
        inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *arguments],
            stdin=self.its,
            stdout=self.its,
            stderr=self.its,
            env={**inherited, "TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})},
        )

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self.its)

    def lines(self) -> list[str]:
        """What is on the screen now."""
        while select.select([self._ours], [], [], 0)[0]:
            read = os.read(self._ours, 65536)
            self.raw += read
            self._stream.feed(read)
        return list(self._screen.display)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines())

    def wait_for(self, wanted: str | Callable[[str], Any]) -> str:
        """What is on the screen when it shows that."""
        is_there = wanted if callable(wanted) else lambda text: wanted in text
        wait_until(lambda: is_there(self.text()), lambda: f"{wanted} on\n{self.text()}")
        return self.text()

    def press(self, typed: str) -> None:
        os.write(self._ours, typed.encode())

    def resize(self, columns: int, lines: int) -> None:
        self.lines()
        self._screen.resize(lines, columns)
        self._set_size(columns, lines)
        self.process.send_signal(signal.SIGWINCH)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.its, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
