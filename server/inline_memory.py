"""Blocks in the daemon's own memory, for results that travel in messages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

# Results of all sessions that wait to be sent, where memory allows as much.
_MOST_BYTES = 256 << 20


class InlineBlock:
    """A result's bytes until they are sent."""

    def __init__(self, block_id: int, size: int) -> None:
        self.id = block_id
        self.size = size
        self.bytes = np.empty(size, np.uint8)
        self.request_id = 0

    def damage(self) -> str:
        """Nobody else can reach this memory."""
        return ""

    def array(self, offset: int, shape: list[int], dtype: str) -> npt.NDArray[Any]:
        storage = np.dtype("int16" if dtype == "bfloat16" else dtype)
        end = offset + math.prod(shape) * storage.itemsize
        return self.bytes[offset:end].view(storage).reshape(shape)


class InlineBudget:
    """What the results of all sessions may hold together.

    Used by several threads; sizes are only hints, so that a race costs nothing but a little memory.
    """

    def __init__(self, limit: int) -> None:
        self.limit = min(limit, _MOST_BYTES)
        self.sessions: dict[int, InlineMemory] = {}
        self.on_release: Callable[[], None] = lambda: None
        """Called when take_ready() may have something to tell."""
        self._numbers = itertools.count(1)

    def open_session(self) -> InlineMemory:
        session = InlineMemory(self, next(self._numbers))
        self.sessions[session.number] = session
        return session

    def held(self) -> int:
        return sum(session.held()[0] for session in list(self.sessions.values()))

    def take_ready(self) -> list[int]:
        return [number for number, session in self.sessions.items() if session.take_ready()]


class InlineMemory:
    """Stands in for the engine's SessionMemory. A session may always have one result."""

    def __init__(self, budget: InlineBudget, number: int) -> None:
        self._budget = budget
        self.number = number
        self._held: dict[int, int] = {}
        self._next_id = 1
        self._waits_for = 0  # bytes that it failed to get

    def try_allocate(self, size: int) -> InlineBlock | None:
        if not self._has_room(size):
            self._waits_for = size
            if not self._has_room(size):  # again: a release before that line called nobody
                return None
        block = InlineBlock(self._next_id, size)
        self._next_id += 1
        self._held[block.id] = size
        return block

    def _has_room(self, size: int) -> bool:
        return not self._held or self._budget.held() + size <= self._budget.limit

    def has_warm(self, size: int) -> bool:
        """Whether a block that small takes no time to get."""
        return True

    def take_ready(self) -> bool:
        """Whether what it failed to get would be there now; says so once."""
        if not self._waits_for or not self._has_room(self._waits_for):
            return False
        self._waits_for = 0
        return True

    def release(self, block_ids: list[int]) -> None:
        for block_id in block_ids:
            self._held.pop(block_id, None)
        self._budget.on_release()

    def held(self) -> tuple[int, int]:
        """Bytes, and in how many blocks."""
        sizes = list(self._held.values())
        return sum(sizes), len(sizes)

    def close(self) -> None:
        self._held.clear()
        self._waits_for = 0
        self._budget.sessions.pop(self.number, None)
        self._budget.on_release()
