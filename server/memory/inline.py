"""Blocks in the daemon's own memory, for results that travel in messages."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero._errors import InputError
from graphzero._text import size_text


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
    """What the results of all sessions may hold together: a part of --shm-limit. Thread-safe.

    A session may hold as much as stays free for the others: one that does not read its results
    leaves half of the limit to the rest, two leave a third, and so on.
    """

    def __init__(self, shared: _engine.MemoryBudget) -> None:
        """`shared` is that of the regions, which the results count against as well."""
        self._shared = shared
        self.limit = shared.limit // 2
        self.sessions: dict[int, InlineMemory] = {}
        self.on_release: Callable[[], None] = lambda: None
        """Called when take_ready() may have something to tell."""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._held = 0

    @property
    def largest(self) -> int:
        """Bytes of a result that a session can have while nobody else holds any."""
        return self.limit // 2

    def open_session(self) -> InlineMemory:
        session = InlineMemory(self, next(self._numbers))
        self.sessions[session.number] = session
        return session

    def has_room(self, size: int, *, held: int) -> bool:
        """Whether a session that holds so much may have `size` more."""
        return held + 2 * size <= self.limit - self._held

    def take(self, size: int, *, held: int) -> bool:
        with self._lock:
            if not self.has_room(size, held=held):
                return False
            if not self._shared.set_outside(self._held + size):
                return False
            self._held += size
            return True

    def give(self, size: int) -> None:
        with self._lock:
            self._held -= size
            self._shared.set_outside(self._held)

    def take_ready(self) -> list[int]:
        return [number for number, session in self.sessions.items() if session.take_ready()]


class InlineMemory:
    """Stands in for the engine's SessionMemory."""

    def __init__(self, budget: InlineBudget, number: int) -> None:
        self._budget = budget
        self.number = number
        self._held: dict[int, int] = {}
        self._next_id = 1
        self._waits_for = 0  # bytes that it failed to get
        self._lock = threading.Lock()

    def try_allocate(self, size: int) -> InlineBlock | None:
        if size > self._budget.largest:
            raise InputError(
                f"the result has {size_text(size)}, and one that travels inline may have "
                f"{size_text(self._budget.largest)}, a quarter of --shm-limit; ask for less at a "
                "time, or raise --shm-limit"
            )
        with self._lock:
            self._waits_for = size
            if not self._budget.take(size, held=sum(self._held.values())):
                return None
            self._waits_for = 0
            try:
                block = InlineBlock(self._next_id, size)
            except BaseException:  # the system has no memory, whatever the plan says
                self._budget.give(size)
                raise
            self._next_id += 1
            self._held[block.id] = size
            return block

    def has_warm(self, size: int) -> bool:
        """Whether a block that small takes no time to get."""
        return True

    def take_ready(self) -> bool:
        """Whether what it failed to get may be there now; says so once."""
        with self._lock:
            size = self._waits_for
            if not size or not self._budget.has_room(size, held=sum(self._held.values())):
                return False
            self._waits_for = 0
            return True

    def release(self, block_ids: list[int]) -> None:
        with self._lock:
            freed = sum(self._held.pop(block_id, 0) for block_id in block_ids)
        self._give(freed)

    def held(self) -> tuple[int, int]:
        """Bytes, and in how many blocks."""
        with self._lock:
            return sum(self._held.values()), len(self._held)

    def close(self) -> None:
        with self._lock:
            freed = sum(self._held.values())
            self._held.clear()
            self._waits_for = 0
        self._budget.sessions.pop(self.number, None)
        self._give(freed)

    def _give(self, size: int) -> None:
        if size:
            self._budget.give(size)
        self._budget.on_release()
