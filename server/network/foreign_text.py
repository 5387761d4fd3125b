"""Texts that peers send for people to read: their names, and reasons for what they do."""

from graphzero.base.text import line_text

MOST_BYTES = 200


def foreign_text(text: str) -> str:
    """In one line of bounded length."""
    # Cut first: its bytes are what counts on the wire.
    kept = text.encode()[:MOST_BYTES].decode(errors="ignore")
    return line_text(kept, MOST_BYTES)
