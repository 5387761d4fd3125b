"""Texts that peers send for people to read: their names, and reasons for what they do."""

from graphzero.base.text import line_text

MOST_BYTES = 200


def foreign_text(text: str) -> str:
    """The text in one line of bounded length."""
    # Cut before escaping: the limit is one of bytes as they were sent.
    kept = text.encode()[:MOST_BYTES].decode(errors="ignore")
    return line_text(kept, MOST_BYTES)
