"""Ids, texts and other parts of requests that the daemon keeps until they are answered."""

from __future__ import annotations


class IdBudget:
    """One limit for all sessions. Belongs to the event loop's thread.

    A session may hold as much as is free for the others: one that sends ids without end leaves half
    of the limit to the rest, two leave a third, and so on.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def take(self, byte_size: int, *, held: int) -> bool:
        """Counts more bytes of a session that has `held` of them; False if it may not have them."""
        if held + byte_size > self.limit - self.used:
            return False
        self.used += byte_size
        return True

    def give(self, byte_size: int) -> None:
        self.used -= byte_size
