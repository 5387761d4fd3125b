"""Results that travel in messages: they lie in the daemon's own memory until they are sent."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.text import size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.memory.gate import MemoryGate
from graphzero.server.memory.results import ResultBlock, ResultMemory
from graphzero.server.network.outbox import Outbox

_CHUNK_BYTES = 1 << 20


class InlineBlock:
    """A result's bytes until they are sent."""

    def __init__(self, block_id: int, size: int) -> None:
        self.id = block_id
        self.size = size
        self.bytes = np.empty(size, np.uint8)

    def damage(self) -> str:
        """Always "": nobody else can reach this memory."""
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
        """`shared` is the budget of the regions, against which the results count as well."""
        self._shared = shared
        self.limit = shared.limit // 2
        self.gate = MemoryGate(self)
        self.sessions: dict[int, InlineMemory] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._held = 0

    @property
    def largest(self) -> int:
        """Bytes of a result that a session can have while nobody else holds any."""
        return self.limit // 2

    def open_session(self) -> InlineMemory:
        number = next(self._numbers)
        self.sessions[number] = InlineMemory(self, number)
        return self.sessions[number]

    def has_room(self, size: int, *, held: int) -> bool:
        """Whether a session that holds `held` bytes may have `size` more."""
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


class InlineMemory(ResultMemory):
    def __init__(self, budget: InlineBudget, number: int) -> None:
        super().__init__(number, budget.gate)
        self._budget = budget
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
            except BaseException:  # the system has no memory although the budget allows it
                self._budget.give(size)
                raise
            self._next_id += 1
            self._held[block.id] = size
            return block

    def has_warm(self, size: int) -> bool:
        return True

    def take_ready(self) -> bool:
        """Whether there is room now for the allocation that last failed. True only once."""
        with self._lock:
            size = self._waits_for
            if not size or not self._budget.has_room(size, held=sum(self._held.values())):
                return False
            self._waits_for = 0
            return True

    def give_back(self, block: ResultBlock) -> None:
        with self._lock:
            freed = self._held.pop(block.id, 0)
        self._give(freed)

    def release(self, block_ids: Collection[int]) -> None:
        """Does nothing: a result that was sent is not kept."""

    def region_mapped(self, region_id: int) -> None:
        """Does nothing: there are no regions."""

    def hand_over(
        self,
        block: Any,
        answer: pb.SessionResponse,
        outbox: Outbox,
        when_sent: Callable[[], None],
    ) -> None:
        outbox.put_stream(_chunks(block, answer.request_id), lambda: self.give_back(block))
        outbox.put(answer, when_sent)

    def describe(self, stats: pb.SessionStats) -> None:
        """Adds nothing: the statistics count only regions and the blocks in them."""

    def holders_text(self) -> str:
        with self._lock:
            held, blocks = sum(self._held.values()), len(self._held)
        if not blocks:
            return ""
        return (
            f"no room for another result: {size_text(held)} in {blocks} results wait until the "
            "client has read them"
        )

    def close(self) -> None:
        with self._lock:
            freed = sum(self._held.values())
            self._held.clear()
            self._waits_for = 0
        self._budget.sessions.pop(self._number, None)
        self._give(freed)
        self._gate.forget(self._number)

    def _give(self, size: int) -> None:
        if size:
            self._budget.give(size)
        self._gate.call_ready()


def _chunks(block: InlineBlock, request_id: int) -> Iterator[pb.SessionResponse]:
    for at in range(0, block.size, _CHUNK_BYTES):
        chunk = pb.InlineChunk(data=block.bytes[at : at + _CHUNK_BYTES].tobytes())
        yield pb.SessionResponse(request_id=request_id, chunk=chunk)
