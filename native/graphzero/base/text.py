"""Numbers, names and tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def counted_text(count: int, noun: str) -> str:
    """1 -> "1 edge", 1234 -> "1,234 edges"."""
    return f"{count_text(count)} {noun}" if count == 1 else f"{count_text(count)} {noun}s"


def rate_text(byte_size: int, seconds: float) -> str:
    """ " (1.5 MiB/s)", or "" below one second, most of which was spent on starting."""
    return f" ({size_text(byte_size / seconds)}/s)" if seconds >= 1 else ""


def table_text(rows: Sequence[tuple[str, str]], indent: str = "  ") -> str:
    """Lines of "name  value" with the values in one column."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{indent}{name:<{width}}  {value}" for name, value in rows)


def line_text(text: str, most: int = 200) -> str:
    """Foreign text, fit to stand in one line of a log, a terminal or an error message.

    Characters that do not print are escaped: line breaks and terminal escapes could forge lines,
    bidirectional controls could reorder them, and lone surrogates (of names that are not UTF-8)
    cannot be encoded.
    The result has at most `most` characters; a longer text is cut. The cost does not depend on the
    length of `text`.
    """
    head = text[: most + 1]
    if not head.isprintable():
        head = "".join(c if c.isprintable() else _escaped(c) for c in head)
    return head if len(head) <= most else f"{head[: most - 1]}…"


def quoted(text: str, most: int = 200) -> str:
    """line_text() in quotes, for names within a sentence."""
    return f"'{line_text(text, most)}'"


def names_text(names: Iterable[str], most: int = 10) -> str:
    """ "'a', 'b' and 12 more": a list of names that stays short however many there are."""
    known = sorted(names)
    shown = ", ".join(quoted(name, 60) for name in known[:most])
    return f"{shown} and {len(known) - most:,} more" if len(known) > most else shown


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    escape = character.encode("unicode_escape")
    return escape.decode()
