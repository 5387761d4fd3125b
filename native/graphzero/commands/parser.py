"""The parser of `graphzero`, its commands and `graphzero-server`: a mistake takes one line."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any, NoReturn

EXIT_USAGE = 2  # the command line is at fault


class UsageError(Exception):
    """A mistake on the command line that shows only after it was parsed."""


class CommandParser(argparse.ArgumentParser):
    """Reports a mistake without the usage, which lists all options and hides the line that
    matters, and suggests what may have been meant."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"{self.prog}: error: {message} ({self.prog} --help lists all)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it, but nothing may be unknown: argparse would let the parser of
        `graphzero` complain about what its command does not know."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown_text(unknown))
        return found, unknown

    def _unknown_text(self, unknown: list[str]) -> str:
        options = [text for text in unknown if text.startswith("-")]
        if not options:
            return f"unexpected argument {unknown[0]!r}"
        option = options[0].partition("=")[0]
        known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        near = nearest(option.lstrip("-"), known)
        return f"unknown option {option}" + (f"; did you mean --{near}?" if near else "")


def nearest(text: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to the text; None if no name is similar."""
    import difflib  # only errors need it, and it would slow down the start of every command

    return next(iter(difflib.get_close_matches(text, known, n=1)), None)
