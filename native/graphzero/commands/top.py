"""`graphzero top [ADDRESS]`: what a daemon is doing, live in a terminal, or once for scripts."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from contextlib import ExitStack
from typing import Any

from graphzero.base.errors import GraphZeroError, InputError
from graphzero.base.text import line_text
from graphzero.commands.arguments import add_daemon, daemon_calls
from graphzero.commands.keys import Keys, keys
from graphzero.commands.messages import message_fields

_LONGEST_LINE = 500
# Seconds between checks of the keyboard and of the terminal's size.
_STEP_S = 0.25


def configure(parser: argparse.ArgumentParser) -> None:
    add_daemon(parser)
    parser.add_argument(
        "--interval",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds between updates (default 1)",
    )
    parser.add_argument("--once", action="store_true", help="print once, after one interval")
    parser.add_argument("--json", action="store_true", help="print JSON once")


def run(args: argparse.Namespace) -> int:
    if args.interval <= 0:
        raise InputError(f"--interval: found {args.interval}, expected a positive number")
    dumb = os.environ.get("TERM", "") in ("", "dumb", "unknown")
    if args.json or args.once or dumb or not sys.stdout.isatty():
        _print_once(args)
    else:
        _Live(args).run()
    return 0


def _print_once(args: argparse.Namespace) -> None:
    with daemon_calls(args) as daemon:
        before = daemon.stats()
        if args.json:
            print(json.dumps(message_fields(before), indent=2))
            return
        time.sleep(args.interval)
        stats = daemon.stats()
    from graphzero.commands.top_page import page_lines

    columns = shutil.get_terminal_size().columns
    longest = columns if sys.stdout.isatty() else _LONGEST_LINE
    print("\n".join(line_text(line, longest) for line in page_lines(stats, before, columns)))


class _Live:
    """Shows the screen until q is pressed. If the daemon goes away, waits for it."""

    def __init__(self, args: argparse.Namespace) -> None:
        from rich.console import Console

        from graphzero.commands.top_numbers import History

        self._args = args
        self._console = Console(highlight=False)
        self._history = History()
        self._channel = ExitStack()
        self._calls: Any = None
        self._address = args.address or os.environ.get("GRAPHZERO_ADDRESS") or "the user's socket"
        self._sort = "rate"
        self._paused = False
        self._scrolled = 0
        self._problem = ""
        self._problem_since = 0.0

    def run(self) -> None:
        from rich.live import Live

        self._ask()  # at the start, a wrong address or a missing daemon is an error
        if self._problem:
            raise InputError(self._problem)
        with (
            self._channel,
            keys() as typed,
            Live(console=self._console, screen=True, auto_refresh=False) as live,
        ):
            due = time.monotonic() + self._args.interval
            while True:
                live.update(self._renderable(), refresh=True)
                if self._act_on(typed, min(_STEP_S, max(0.0, due - time.monotonic()))):
                    return
                if time.monotonic() >= due:
                    due = time.monotonic() + self._args.interval
                    if not self._paused:
                        self._ask()

    def _ask(self) -> None:
        """Asks the daemon for its numbers; opens a channel if there is none."""
        try:
            if self._calls is None:
                self._calls = self._channel.enter_context(daemon_calls(self._args))
            self._history.add(self._calls.stats())
            self._problem = ""
        except (GraphZeroError, OSError) as error:
            self._channel.close()
            self._calls = None
            if not self._problem:
                self._problem_since = time.monotonic()
            self._problem = str(error)

    def _act_on(self, typed: Keys, seconds: float) -> bool:
        """Waits for keys and acts on them. True if the user quits."""
        from graphzero.commands.top_screen import SORTS

        for key in typed.read(seconds):
            if key in "qQ":
                return True
            if key == "s":
                names = list(SORTS)
                self._sort = names[(names.index(self._sort) + 1) % len(names)]
            elif key in "p ":
                self._paused = not self._paused
            elif key in "jB":  # B and A are the last letters of the arrow keys' sequences
                self._scrolled = min(self._scrolled + 1, self._most_scrolled())
            elif key in "kA":
                self._scrolled = max(0, self._scrolled - 1)
        return False

    def _most_scrolled(self) -> int:
        now = self._history.now
        return 0 if now is None else max(0, len(now.trainers) - 1)

    def _renderable(self) -> Any:
        from rich.console import Group

        from graphzero.commands.top_screen import View, screen

        size = self._console.size
        view = View(
            address=self._address,
            columns=size.width,
            lines=size.height,
            numbers=self._history.now,
            lately=self._history.lately,
            problem=self._problem,
            problem_s=time.monotonic() - self._problem_since,
            sort=self._sort,
            paused=self._paused,
            scrolled=self._scrolled,
            ascii=not self._console.encoding.lower().startswith("utf"),
        )
        return Group(*screen(view))
