"""Checks values of a description. Messages say what was found, where, and what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from graphzero.base.errors import InputError


class Place(NamedTuple):
    """Where a value stands in a description: "flights.toml: tables.flights.time"."""

    name: str  # of the description
    keys: tuple[str, ...] = ()

    def at(self, *keys: str) -> Place:
        return Place(self.name, (*self.keys, *keys))

    def __str__(self) -> str:
        return f"{self.name}: {'.'.join(self.keys)}" if self.keys else self.name

    def unlike(self, value: Any, expected: str) -> InputError:
        return InputError(f"{self}: found {_short(value)}, expected {expected}")

    def mapping(
        self,
        value: Any,
        known: Sequence[str] | None = None,
        expected: str = "a table of keys and values",
    ) -> dict[str, Any]:
        """A table of TOML. With `known`, other keys are errors that name the nearest one."""
        if not isinstance(value, Mapping):
            raise self.unlike(value, expected)
        for key in value:
            if not isinstance(key, str):
                raise self.unlike(key, "a text as key")
            if known is not None and key not in known:
                raise InputError(
                    f"{self}: found key {key!r}, expected one of {', '.join(known)}"
                    f"{_nearest(key, known)}"
                )
        return dict(value)

    def text(self, value: Any, what: str) -> str:
        if not isinstance(value, str) or not value:
            raise self.unlike(value, what)
        return value

    def sequence(self, value: Any) -> list[Any]:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise self.unlike(value, "a list")
        return list(value)

    def texts(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise self.unlike(value, "a list of texts")
        if not all(isinstance(item, str) for item in value):
            raise self.unlike(value, "a list of texts")
        repeated = next((item for at, item in enumerate(value) if item in value[:at]), None)
        if repeated is not None:
            raise InputError(f"{self}: found {repeated!r} twice, expected it once")
        return tuple(value)

    def boolean(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.unlike(value, "true or false")
        return value

    def missing(self, value: Any) -> bool:
        """Whether rows and edges that lack something are dropped."""
        return one_of(self, value, ("error", "drop")) == "drop"

    def reverse(self, value: Any) -> bool | str:
        if isinstance(value, bool) or (isinstance(value, str) and value):
            return value
        raise self.unlike(value, "true, false, or a name for the reverse relation")

    def direction(self, value: Any) -> Literal["in", "out", "both"]:
        return cast('Literal["in", "out", "both"]', one_of(self, value, ("in", "out", "both")))


def one_of(place: Place, value: Any, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        hint = _nearest(value, allowed) if isinstance(value, str) else ""
        raise place.unlike(value, f"one of {', '.join(allowed)}{hint}")
    return value


def _nearest(value: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(value, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else type(value).__name__
