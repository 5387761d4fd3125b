"""Numbers and tables for people."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(count: float) -> str:
    """1536 -> "1.5 KiB"."""
    unit = 0
    while count >= 1024 and unit + 1 < len(_UNITS):
        count /= 1024
        unit += 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"


def count_text(count: int) -> str:
    """1234567 -> "1,234,567"."""
    return f"{count:,}"


def short_count_text(count: float) -> str:
    """1234567 -> "1.2 M"."""
    units = ("", " k", " M", " G")
    unit = 0
    while count >= 1000 and unit + 1 < len(units):
        count /= 1000
        unit += 1
    return f"{count:.1f}{units[unit]}"


def table_text(rows: Sequence[tuple[str, str]], indent: str = "  ") -> str:
    """Lines of "name  value" with the values in one column."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{indent}{name:<{width}}  {value}" for name, value in rows)
