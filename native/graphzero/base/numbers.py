"""Arguments that a caller gives: numbers, and choices among texts; errors name the argument."""

from __future__ import annotations

import math
import operator
from typing import Any


def whole_number(value: Any, name: str, *, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, expected a whole number") from None
    if number < least:
        raise ValueError(f"{name} is {number}, expected at least {least}")
    return number


def seconds(value: Any, name: str) -> float:
    """A time limit, not negative."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, str) or math.isnan(number):
        raise TypeError(f"{name} is {value!r}, expected seconds")
    if number < 0:
        raise ValueError(f"{name} is {value}, expected seconds, not negative")
    return number


def one_of(value: str, name: str, known: tuple[Any, ...]) -> Any:
    """Returns `value` if it is one of `known`; the caller knows their type."""
    if value not in known:
        expected = ", ".join(map(repr, known))
        raise ValueError(f"{name} is {value!r}, expected one of {expected}")
    return value
