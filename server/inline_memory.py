"""Blocks in the daemon's own memory, for results that travel in messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

# Results that wait to be sent, for one session. A larger one may wait alone.
INLINE_LIMIT = 256 << 20


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


class InlineMemory:
    """Stands in for the engine's SessionMemory. Used by several threads; sizes are only hints, so
    that a race costs nothing but a little memory."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}
        self._next_id = 1

    def try_allocate(self, size: int) -> InlineBlock | None:
        bytes_held, blocks = self.held()
        if blocks and bytes_held + size > INLINE_LIMIT:
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
