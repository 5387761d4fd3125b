"""Blocks in the daemon's own memory, for results that travel in messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

# Results of all sessions that wait to be sent, where memory allows as much.
_MOST_BYTES = 256 << 20


class InlineBlock:
    """A result's bytes until they are sent."""

    in_new_region = False

    def __init__(self, block_id: int, size: int) -> None:
        self.id = block_id
        self.size = size
        self.bytes = np.empty(size, np.uint8)
        self.request_id = 0

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
        self.sessions: set[InlineMemory] = set()

    def held(self) -> int:
        return sum(session.held()[0] for session in list(self.sessions))


class InlineMemory:
    """Stands in for the engine's SessionMemory. A session may always have one result."""

    def __init__(self, budget: InlineBudget) -> None:
        self._budget = budget
        self._held: dict[int, int] = {}
        self._next_id = 1
        budget.sessions.add(self)

    def try_allocate(self, size: int) -> InlineBlock | None:
        if self._held and self._budget.held() + size > self._budget.limit:
            return None
        block = InlineBlock(self._next_id, size)
        self._next_id += 1
        self._held[block.id] = size
        return block

    def release(self, block_ids: list[int]) -> None:
        for block_id in block_ids:
            self._held.pop(block_id, None)

    def held(self) -> tuple[int, int]:
        """Bytes, and in how many blocks."""
        sizes = list(self._held.values())
        return sum(sizes), len(sizes)

    def close(self) -> None:
        self._held.clear()
        self._budget.sessions.discard(self)
