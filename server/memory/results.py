"""Memory for the results of one session: one interface for both ways in which results travel.

SharedMemory keeps them in regions that the trainer maps. InlineMemory (inline.py) keeps them in the
daemon's own memory until they are sent in messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from graphzero import _engine
from graphzero.base.fail_points import fail_point
from graphzero.base.text import size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.memory.gate import MemoryGate
from graphzero.server.network.outbox import Outbox


class ResultBlock(Protocol):
    """Memory for one result."""

    @property
    def id(self) -> int: ...

    @property
    def size(self) -> int: ...

    def array(self, offset: int, shape: list[int], dtype: str) -> Any:
        """A writable NumPy array in it."""

    def damage(self) -> str:
        """What the trainer has done to this memory that makes it useless; "" for nothing."""


class ResultMemory(ABC):
    """try_allocate(), has_warm(), has_room_for() and may_hold() may be called on any thread, all
    else on the event loop's."""

    def __init__(self, number: int, gate: MemoryGate) -> None:
        """`number` identifies the session in the budget that `gate` watches."""
        self._number = number
        self._gate = gate

    @abstractmethod
    def try_allocate(self, size: int) -> Any:
        """A ResultBlock, or None if there is no memory for it now: call_when_room() says when.

        Raises InputError if the session can never have that much, OSError if the system has none.
        """

    @abstractmethod
    def has_warm(self, size: int) -> bool:
        """Whether a block of `size` bytes can be had without a system call."""

    def has_room_for(self, size: int, more: int) -> bool:
        """Whether the session can have `size` bytes, and `more` blocks like its largest, whatever
        other sessions take, before its client releases any."""
        return True

    def may_hold(self, results: int) -> bool:
        """Whether there is room for so many `results` like the session's largest, beside those that
        it holds, if other sessions take no more."""
        return True

    @abstractmethod
    def give_back(self, block: ResultBlock) -> None:
        """Frees a block that was not handed over."""

    @abstractmethod
    def release(self, block_ids: Collection[int]) -> None:
        """The trainer needs these blocks no more. Ids of blocks that were not handed over to it are
        ignored: a worker may still write to such a block."""

    @abstractmethod
    def region_mapped(self, region_id: int) -> None:
        """The trainer has mapped a region that it was offered."""

    @abstractmethod
    def hand_over(
        self,
        block: ResultBlock,
        answer: pb.SessionResponse,
        outbox: Outbox,
        when_sent: Callable[[], None],
    ) -> None:
        """Sends `answer`, whose result lies in the block, and whatever must come before it."""

    @abstractmethod
    def describe(self, stats: pb.SessionStats) -> None:
        """Adds the shared memory that the session holds to `stats`."""

    def held_by_age(self) -> Sequence[int]:
        """Bytes of shared memory in blocks that the session holds, see SharedMemoryStats."""
        return ()

    @abstractmethod
    def holders_text(self) -> str:
        """Who keeps the session from getting more, and what to do; "" if it holds nothing."""

    def call_when_room(self, retry: Callable[[], None]) -> None:
        """Calls `retry`, once, when there is room for what try_allocate() last failed to get."""
        self._gate.wait(self._number, retry)

    def expect_no_call(self) -> None:
        """Nobody waits for room any more."""
        self._gate.leave(self._number)

    @abstractmethod
    def close(self) -> None:
        """Frees everything."""


class SharedMemory(ResultMemory):
    """Regions in /dev/shm, each mapped by the daemon and by the trainer."""

    def __init__(self, memory: _engine.SessionMemory, gate: MemoryGate) -> None:
        super().__init__(memory.number, gate)
        self._memory = memory
        self._handed_over: set[int] = set()

    def try_allocate(self, size: int) -> Any:
        block = self._memory.try_allocate(size)
        fail_point("region.made")
        return block

    def has_warm(self, size: int) -> bool:
        return self._memory.has_warm(size)

    def has_room_for(self, size: int, more: int) -> bool:
        return self._memory.has_promised(size, more)

    def may_hold(self, results: int) -> bool:
        return self._memory.may_hold(results)

    def give_back(self, block: ResultBlock) -> None:
        self._memory.release([block.id])

    def release(self, block_ids: Collection[int]) -> None:
        known = self._handed_over.intersection(block_ids)
        if known:
            self._handed_over -= known
            self._memory.release(list(known))

    def region_mapped(self, region_id: int) -> None:
        fail_point("region.mapped")
        self._memory.mapped(region_id)

    def hand_over(
        self,
        block: Any,
        answer: pb.SessionResponse,
        outbox: Outbox,
        when_sent: Callable[[], None],
    ) -> None:
        fail_point("result.filled")
        self._tell_of_regions(outbox)
        self._handed_over.add(block.id)
        where = answer.result.block
        where.block_id = block.id
        where.region_id = block.region_id
        where.offset = block.offset
        where.byte_size = block.size
        outbox.put(answer, when_sent)

    def _tell_of_regions(self, outbox: Outbox) -> None:
        news = self._memory.take_news()
        for offer in news.offers:
            offered = pb.RegionOffer(
                region_id=offer.region_id, name=offer.name, byte_size=offer.size
            )
            outbox.put(pb.SessionResponse(region_offer=offered))
        for region_id in news.drops:
            outbox.put(pb.SessionResponse(region_drop=pb.RegionDrop(region_id=region_id)))

    def describe(self, stats: pb.SessionStats) -> None:
        usage = self._memory.usage()
        stats.regions, stats.blocks = usage.regions, usage.blocks
        stats.region_byte_size, stats.block_byte_size = usage.region_bytes, usage.block_bytes
        stats.guarantee_byte_size = usage.guarantee_bytes
        stats.oldest_block_ms = usage.oldest_block_ms

    def held_by_age(self) -> Sequence[int]:
        return self._memory.usage().held_by_age

    def holders_text(self) -> str:
        usage = self._memory.usage()
        if not usage.blocks:
            return ""
        return (
            "no shared memory for another batch: this session holds "
            f"{size_text(usage.block_bytes)} in {usage.blocks} blocks, the oldest for "
            f"{usage.oldest_block_ms / 1000:.1f} s, and is guaranteed "
            f"{size_text(usage.guarantee_bytes)}; drop batches you no longer need (or .clone() "
            "what you keep), use a smaller prefetch, or raise --shm-limit"
        )

    def close(self) -> None:
        self._memory.close()
        self._gate.forget(self._number)
