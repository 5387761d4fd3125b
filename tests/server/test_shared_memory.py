"""The daemon's division of shared memory, without a daemon."""

from __future__ import annotations

import gc
import itertools
import os
import resource
import select
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forking import in_child
from graphzero import _engine
from graphzero.base.errors import FormatError, InputError
from waiting import wait_until

pytestmark = pytest.mark.slow

MIB = 1 << 20
SMALL = 1 * MIB  # lies in a region of 4 MiB
LARGE = 20 * MIB  # in one of 24
THREE = 3 * MIB  # alone in a region of 4 MiB
LIMIT = 256 * MIB
AT_ONCE, NEVER = timedelta(seconds=-1), timedelta(days=1)


class Shared:
    """A budget of 256 MiB whose regions can be told from those of others."""

    def __init__(self) -> None:
        self.prefix = f"graphzero-test-{uuid.uuid4().hex}"
        self.budget = _engine.MemoryBudget(LIMIT, self.prefix)

    def names(self) -> set[str]:
        found = Path("/dev/shm").glob(f"{self.prefix}-*")
        return {f"/{path.name}" for path in found}

    def give_back_idle(self) -> None:
        self.budget.trim(idle=AT_ONCE, forget=NEVER)

    def wait_for_use_of(self, expected: int) -> None:
        """Regions of a session that has ended are taken apart on another thread."""
        wait_until(lambda: self.budget.used == expected, lambda: f"{self.budget.used} bytes used")


def allocate_all(memory: _engine.SessionMemory, size: int) -> list[Any]:
    """Blocks until the session gets no more."""
    return list(iter(lambda: memory.try_allocate(size), None))


def counted(budget: _engine.MemoryBudget) -> dict[str, int]:
    counters = budget.counters()
    names = ("regions_made", "regions_dropped", "reclaims", "reclaimed_bytes")
    return {name: getattr(counters, name) for name in names} | {"used": budget.used}


@pytest.fixture
def shared() -> Iterator[Shared]:
    shared = Shared()
    yield shared
    gc.collect()
    wait_until(lambda: not shared.names(), lambda: f"left: {shared.names()}")


def test_region_that_the_client_never_heard_of_goes_silently(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    first = memory.try_allocate(SMALL)
    memory.release([first.id])  # its request was cancelled
    second = memory.try_allocate(LARGE)
    del first
    news = memory.take_news()
    assert [offer.region_id for offer in news.offers] == [second.region_id]
    assert list(news.drops) == []
    assert shared.names() == {news.offers[0].name}
    memory.close()


def test_region_keeps_its_name_until_the_client_has_opened_it(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    first = memory.try_allocate(SMALL)
    offered = memory.take_news().offers[0]
    memory.release([first.id])
    second = memory.try_allocate(LARGE)
    assert list(memory.take_news().drops) == []
    assert offered.name in shared.names()
    assert shared.budget.used == 24 * MIB  # but not its memory
    view = _engine.RegionView.open(offered.name, offered.size)
    memory.mapped(offered.region_id)
    assert offered.name not in shared.names()
    memory.release([second.id])
    memory.try_allocate(2 * LARGE)
    # The second was offered, but nobody has opened it yet.
    assert list(memory.take_news().drops) == [offered.region_id]
    del view
    memory.close()


def test_memory_that_was_given_back_is_filled_again_before_use(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    first = memory.try_allocate(3 * MIB)
    first.array(0, [3 * MIB], "uint8")[:] = 7
    memory.release([first.id])
    shared.give_back_idle()
    assert shared.budget.used == 0
    again = memory.try_allocate(3 * MIB)
    assert (again.region_id, again.offset) == (first.region_id, first.offset)
    assert shared.budget.used == 3 * MIB
    assert not again.array(0, [3 * MIB], "uint8").any()
    memory.close()


def test_pieces_given_back_at_different_times_are_one_again(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    left, right, rest = (memory.try_allocate(MIB) for _ in range(3))
    memory.release([left.id])
    shared.give_back_idle()
    memory.release([right.id])
    shared.give_back_idle()
    both = memory.try_allocate(2 * MIB)
    assert (both.region_id, both.offset) == (left.region_id, left.offset)
    assert rest.region_id == both.region_id
    memory.close()


def test_block_outlives_its_session_for_whoever_writes_to_it(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    block = memory.try_allocate(SMALL)
    memory.close()
    assert shared.names() == set()
    block.array(0, [SMALL], "uint8")[:] = 1  # a worker that has not heard of it yet
    memory.release([block.id])
    with pytest.raises(InputError, match="has ended"):
        memory.try_allocate(SMALL)
    del block
    shared.wait_for_use_of(0)


def test_one_share_stays_free_for_the_next_session(shared: Shared) -> None:
    greedy = shared.budget.open_session(2)
    blocks = []
    while (block := greedy.try_allocate(3 * MIB)) is not None:
        blocks.append(block)
    modest = shared.budget.open_session(2)
    assert modest.try_allocate(3 * MIB) is not None
    assert modest.try_allocate(3 * MIB) is not None
    greedy.close()
    modest.close()


def test_promises_never_add_up_to_more_than_the_limit(shared: Shared) -> None:
    first, second, third = (shared.budget.open_session(4) for _ in range(3))
    assert (
        first.try_allocate(40 * MIB) is not None
    )  # four of 46 MiB are more than half of the limit
    assert first.usage().guarantee_bytes == LIMIT // 2
    assert second.try_allocate(40 * MIB) is not None  # what is left
    assert second.usage().guarantee_bytes == LIMIT // 2 - 16 * MIB
    with pytest.raises(InputError, match=r"needs 92 MiB.* 16 MiB of 256 MiB .*raise --shm-limit"):
        third.try_allocate(40 * MIB)
    assert third.try_allocate(SMALL) is not None
    with pytest.raises(InputError, match="no shared memory left for another session"):
        shared.budget.open_session(2)
    first.close()
    shared.wait_for_use_of(46 * MIB + 4 * MIB)
    assert third.try_allocate(40 * MIB) is not None
    second.close()
    third.close()


def test_one_session_cannot_be_promised_everything(shared: Shared) -> None:
    greedy = shared.budget.open_session(64)
    assert greedy.usage().guarantee_bytes == LIMIT // 2
    modest = shared.budget.open_session(3)
    for _ in range(3):
        assert modest.try_allocate(LARGE) is not None
    assert modest.usage().guarantee_bytes == 3 * 24 * MIB
    greedy.close()
    modest.close()


def test_promise_shrinks_again_after_one_huge_batch(shared: Shared) -> None:
    memory = shared.budget.open_session(3)
    opened_with = memory.usage().guarantee_bytes
    huge = memory.try_allocate(30 * MIB)
    assert memory.usage().guarantee_bytes == 3 * 34 * MIB
    kept = memory.usage().guarantee_bytes
    for _ in range(300):
        memory.release([memory.try_allocate(SMALL).id])
    assert memory.usage().guarantee_bytes == kept  # as long as it is held
    memory.release([huge.id])
    results = 0
    while memory.usage().guarantee_bytes > opened_with:
        memory.release([memory.try_allocate(SMALL).id])
        results += 1
        assert results <= 256
    memory.close()


def test_promise_forgets_what_was_long_ago_also_without_results(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    opened_with = memory.usage().guarantee_bytes
    memory.release([memory.try_allocate(30 * MIB).id])
    shared.budget.trim(idle=NEVER, forget=AT_ONCE)
    assert memory.usage().guarantee_bytes == 2 * 34 * MIB
    shared.budget.trim(idle=NEVER, forget=AT_ONCE)
    assert memory.usage().guarantee_bytes == opened_with
    memory.close()


# --- attempts that fail ---


def test_failed_attempts_of_a_session_at_its_share_change_nothing(shared: Shared) -> None:
    other = shared.budget.open_session(2)
    other.release([block.id for block in allocate_all(other, THREE)])  # free, warm, beyond promise
    hungry = shared.budget.open_session(2)
    held = allocate_all(hungry, LARGE)
    hungry.take_news()
    other_used = other.usage().region_bytes
    before, failed = counted(shared.budget), shared.budget.counters().failed_attempts
    for _ in range(60):
        assert hungry.try_allocate(LARGE) is None
    assert counted(shared.budget) == before
    assert shared.budget.counters().failed_attempts == failed + 60
    assert other.usage().region_bytes == other_used
    assert list(hungry.take_news().drops) == []
    assert held
    hungry.close()
    other.close()


def test_failed_attempt_keeps_the_free_regions_of_its_session(shared: Shared) -> None:
    other = shared.budget.open_session(64)
    memory = shared.budget.open_session(2)
    blocks = allocate_all(memory, 2 * LARGE)
    small = memory.try_allocate(LARGE // 2)
    memory.release([small.id])  # a region that is free, and too small for the next
    before = counted(shared.budget)
    assert memory.try_allocate(2 * LARGE) is None
    assert counted(shared.budget) == before
    again = memory.try_allocate(LARGE // 2)
    assert again.region_id == small.region_id
    assert blocks
    memory.close()
    other.close()


def test_only_missing_bytes_are_reclaimed_and_what_lay_free_longest_goes_first(
    shared: Shared,
) -> None:
    lender = shared.budget.open_session(2)
    blocks = allocate_all(lender, THREE)
    files = {offer.region_id: f"/dev/shm{offer.name}" for offer in lender.take_news().offers}
    for block in blocks:
        block.array(0, [THREE], "uint8")[:] = 7
    for block in blocks:
        lender.release([block.id])
    lent = lender.usage().region_bytes
    assert lent == 8 * MIB + (LIMIT - 8 * MIB) // 2
    borrower = shared.budget.open_session(2)
    assert borrower.try_allocate(72 * MIB) is not None
    assert shared.budget.counters().reclaims == 0
    assert borrower.try_allocate(72 * MIB) is not None
    # Two regions of 82 MiB, but for 10 in the first that its block does not use.
    missing = lent + 2 * 82 * MIB - 10 * MIB - LIMIT
    assert shared.budget.counters().reclaimed_bytes == missing == 30 * MIB
    assert lender.usage().region_bytes == lent - missing
    assert shared.budget.used == LIMIT
    sums = [
        int(np.fromfile(files[b.region_id], np.uint8, THREE, offset=b.offset).sum()) for b in blocks
    ]
    whole = 7 * THREE
    gone = sums.count(0)
    assert gone == missing // THREE - 1 or gone == missing // THREE
    assert sums[:gone] == [0] * gone
    assert sums[gone + 1 :] == [whole] * (len(blocks) - gone - 1)
    borrower.close()
    lender.close()


def test_what_was_promised_to_a_session_is_not_reclaimed_from_it(shared: Shared) -> None:
    careful = shared.budget.open_session(4)
    blocks = [careful.try_allocate(LARGE) for _ in range(4)]
    careful.release([block.id for block in blocks])
    greedy = shared.budget.open_session(4)
    assert allocate_all(greedy, LARGE)
    assert shared.budget.counters().reclaims == 0
    assert careful.usage().region_bytes == 4 * 24 * MIB
    for _ in range(4):
        assert careful.try_allocate(LARGE) is not None
    careful.close()
    greedy.close()


def test_range_that_lost_a_part_of_its_memory_gets_only_that_back(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    first, second = memory.try_allocate(MIB), memory.try_allocate(MIB)
    memory.release([first.id])
    shared.give_back_idle()  # the rest of the region too
    memory.release([second.id])
    assert shared.budget.used == MIB
    both = memory.try_allocate(THREE)
    assert (both.region_id, both.offset) == (first.region_id, first.offset)
    assert shared.budget.used == THREE
    assert shared.budget.counters().regions_made == 1
    memory.close()


# --- waiting ---


def ready(budget: _engine.MemoryBudget) -> list[int]:
    """Sessions that are to try again; empty if the descriptor says nothing."""
    readable, _, _ = select.select([budget.ready_descriptor], [], [], 0)
    found = budget.take_ready()
    assert bool(readable) == bool(found)
    return list(found)


def test_release_calls_only_those_who_could_use_it(shared: Shared) -> None:
    first, second = (shared.budget.open_session(2) for _ in range(2))
    of_first, of_second = [first.try_allocate(LARGE)], [second.try_allocate(LARGE)]
    of_first += allocate_all(first, LARGE)
    of_second += allocate_all(second, LARGE)
    assert ready(shared.budget) == []
    second.release([of_second.pop().id])  # it waits itself, for its own share; the first one too
    assert ready(shared.budget) == [second.number]
    second.release([of_second.pop().id])
    assert ready(shared.budget) == []  # it has been called, and has not tried again
    first.release([of_first.pop().id])
    assert ready(shared.budget) == [first.number]
    assert first.try_allocate(LARGE) is not None
    first.close()
    second.close()


def test_release_too_small_for_what_waits_calls_nobody(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    small = memory.try_allocate(SMALL)
    blocks = allocate_all(memory, LARGE)
    memory.release([small.id])
    assert ready(shared.budget) == []
    memory.release([blocks[0].id])
    assert ready(shared.budget) == [memory.number]
    memory.close()


def test_what_is_lent_is_divided_among_the_sessions(shared: Shared) -> None:
    first, *others = (shared.budget.open_session(2) for _ in range(4))
    blocks = allocate_all(first, THREE)
    promise, promised = 8 * MIB, 4 * 8 * MIB
    assert first.usage().region_bytes <= promise + (LIMIT - promised) // 2 // 4
    assert first.usage().region_bytes > promise
    del blocks
    for memory in (first, *others):
        memory.close()


def test_a_forked_child_gives_no_block_of_its_parent_back(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    block = memory.try_allocate(SMALL)
    offer = memory.take_news().offers[0]
    view, queue = _engine.RegionView.open(offer.name, offer.size), _engine.ReleaseQueue()
    place = {"block_id": block.id, "offset": block.offset, "size": block.size}
    leases = [_engine.BlockLease.make(view, queue, **place)]

    def drop() -> list[int]:
        leases.clear()
        return list(queue.take())

    def drop_in_child() -> None:
        assert drop() == []

    in_child(drop_in_child)
    assert drop() == [block.id]
    memory.mapped(offer.region_id)
    del block
    memory.close()


def test_release_of_lent_memory_calls_those_for_whom_only_the_total_is_used_up(
    shared: Shared,
) -> None:
    lender = shared.budget.open_session(2)
    lent = allocate_all(lender, THREE)
    ready(shared.budget)
    owner = shared.budget.open_session(2)
    assert owner.try_allocate(72 * MIB) is not None
    assert owner.try_allocate(72 * MIB) is None  # 30 MiB are missing
    idle = lender.usage().region_bytes - lender.usage().block_bytes
    enough = -(-(30 * MIB - idle) // THREE)
    for block in lent[: enough - 1]:
        lender.release([block.id])
        assert ready(shared.budget) == []
    # It was promised, so it is not lent again.
    assert lender.try_allocate(SMALL) is None
    lender.release([lent[enough - 1].id])
    assert ready(shared.budget) == [owner.number]
    assert owner.try_allocate(72 * MIB) is not None
    assert shared.budget.used <= LIMIT
    owner.close()
    lender.close()


def test_a_session_that_waits_for_its_own_range_while_it_is_given_back_is_called() -> None:
    """Memory on its way back to the kernel is neither free nor held: who asks then must wait, and
    nobody else will call them."""
    budget = _engine.MemoryBudget(192 * MIB, f"graphzero-test-{uuid.uuid4().hex}")
    session = budget.open_session(2)
    refused = 0
    with ThreadPoolExecutor(1) as other:
        for attempt in range(200):
            blocks = [session.try_allocate(56 * MIB) for _ in range(2)]
            for offer in session.take_news().offers:
                session.mapped(offer.region_id)
            session.release([block.id for block in blocks if block is not None])
            budget.take_ready()
            trimming = other.submit(budget.trim, idle=AT_ONCE, forget=NEVER)
            time.sleep(0.0005 * (attempt % 8))
            blocks = [session.try_allocate(56 * MIB) for _ in range(2)]
            trimming.result()
            if None in blocks:
                refused += 1
                assert budget.take_ready() == [session.number]
                blocks.append(session.try_allocate(56 * MIB))
            assert sum(block is not None for block in blocks) == 2
            session.release([block.id for block in blocks if block is not None])
            budget.take_ready()
            if refused == 3:
                break
    if not refused:
        pytest.skip("memory was never asked for at that moment")


def test_end_of_a_session_calls_those_who_wait_for_the_total(shared: Shared) -> None:
    first, second = (shared.budget.open_session(2) for _ in range(2))
    held = allocate_all(first, LARGE)
    more = allocate_all(second, LARGE)
    ready(shared.budget)
    del held
    first.close()
    called: list[int] = []

    def is_called() -> bool:
        called.extend(ready(shared.budget))
        return second.number in called

    wait_until(is_called, lambda: f"called: {called}")
    assert second.try_allocate(LARGE) is not None
    assert more
    second.close()


# --- descriptors ---


def test_regions_grow_with_what_a_session_has(shared: Shared) -> None:
    budget = _engine.MemoryBudget(2 * LIMIT, shared.prefix)
    memory = budget.open_session(2)
    blocks = allocate_all(memory, THREE)
    assert memory.usage().regions < 0.6 * len(blocks)
    memory.close()


def test_regions_that_nobody_confirms_leave_descriptors_to_others(shared: Shared) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        budget = _engine.MemoryBudget(8 << 30, shared.prefix)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    hostile, modest = budget.open_session(2), budget.open_session(2)
    sizes = itertools.count(THREE, 2 * MIB)
    # Each is too large for those before, whose names must stay because they were offered.
    while (block := hostile.try_allocate(next(sizes))) is not None:
        hostile.take_news()
        hostile.release([block.id])
    assert hostile.usage().regions == 256 // 2 // 2 // 2
    assert modest.try_allocate(THREE) is not None
    hostile.close()
    modest.close()


# --- trainers that keep what they had ---


def test_memory_counts_until_the_trainer_has_unmapped_it(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    block = memory.try_allocate(THREE)
    block.array(0, [THREE], "uint8")[:] = 7
    offer = memory.take_news().offers[0]
    view = _engine.RegionView.open(offer.name, offer.size)
    memory.mapped(offer.region_id)
    del block
    memory.close()
    shared.wait_for_use_of(THREE)  # what was free is not kept
    lease = _engine.BlockLease.make(view, _engine.ReleaseQueue(), block_id=1, offset=0, size=THREE)
    assert (lease.array(0, [THREE], "uint8") == 7).all()
    del lease, view
    shared.wait_for_use_of(0)


def test_trainers_that_leave_and_keep_all_they_had_cannot_exceed_the_limit(
    shared: Shared,
) -> None:
    steady = shared.budget.open_session(2)
    of_steady = [steady.try_allocate(LARGE), steady.try_allocate(LARGE)]
    views: list[_engine.RegionView] = []

    def leave_with_all_there_is() -> None:
        memory = shared.budget.open_session(2)
        allocate_all(memory, THREE)
        offers = memory.take_news().offers
        views.extend(_engine.RegionView.open(offer.name, offer.size) for offer in offers)
        memory.close()
        assert shared.budget.used <= LIMIT

    def come_again() -> None:
        for _ in range(100):
            leave_with_all_there_is()

    with pytest.raises(InputError, match=r"held by the trainers of \d+ that have ended"):
        come_again()
    for block in of_steady:  # its promise holds
        steady.release([block.id])
        assert steady.try_allocate(LARGE) is not None
    assert shared.budget.room_may_come
    views.clear()
    shared.wait_for_use_of(steady.usage().region_bytes)
    shared.budget.open_session(2).close()
    steady.close()


def test_who_needs_what_ended_sessions_hold_waits_for_it(shared: Shared) -> None:
    views = []
    for _ in range(2):
        memory = shared.budget.open_session(2)
        held = [memory.try_allocate(50 * MIB) for _ in range(2)]
        offers = memory.take_news().offers
        views += [_engine.RegionView.open(offer.name, offer.size) for offer in offers]
        del held
        memory.close()
    shared.wait_for_use_of(200 * MIB)  # but for the ends of their regions
    assert not shared.budget.room_may_come
    memory = shared.budget.open_session(2)
    assert memory.try_allocate(40 * MIB) is None  # no error: they may let go
    assert ready(shared.budget) == []
    views.clear()
    wait_until(lambda: ready(shared.budget) == [memory.number], "a call")
    assert memory.try_allocate(40 * MIB) is not None
    memory.close()


def test_dropped_region_gives_its_memory_back_also_if_the_trainer_keeps_it(
    shared: Shared,
) -> None:
    memory = shared.budget.open_session(2)
    first = memory.try_allocate(THREE)
    first.array(0, [THREE], "uint8")[:] = 7
    offer = memory.take_news().offers[0]
    path = Path("/dev/shm" + offer.name)
    with path.open("rb") as kept:
        memory.mapped(offer.region_id)
        memory.release([first.id])
        assert memory.try_allocate(LARGE) is not None
        assert list(memory.take_news().drops) == [offer.region_id]
        assert os.fstat(kept.fileno()).st_blocks == 0
    memory.close()


def test_descriptors_go_with_their_regions(shared: Shared) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    memory = shared.budget.open_session(4)
    blocks = [memory.try_allocate(3 * MIB) for _ in range(4)]
    assert len(os.listdir("/proc/self/fd")) == before + 4  # noqa: PTH208
    memory.close()
    del blocks

    def left() -> int:
        return len(os.listdir("/proc/self/fd")) - before  # noqa: PTH208

    wait_until(lambda: left() == 0, lambda: f"{left()} more descriptors")


# --- all of it at once ---


class Crowd:
    """Threads that take, fill, check and release blocks of sessions that come and go."""

    def __init__(self, budget: _engine.MemoryBudget) -> None:
        self._budget = budget
        self.most_used = 0
        self.taken = 0

    def run_session(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        wait_until(lambda: not self._budget.room_may_come, "the end of those before")
        memory = self._budget.open_session(2)
        held: dict[int, Any] = {}
        for step in range(150):
            large = step >= 100  # then it is promised more
            size = 12 * MIB if large else int(random.choice([SMALL, THREE]))
            size -= int(random.integers(0, 9000))
            block = memory.try_allocate(size)
            if block is not None:
                values = block.array(0, [size], "uint8")
                values[:: 64 << 10] = seed  # in each range of pages
                held[block.id] = values
                self.taken += 1
            self.most_used = max(self.most_used, self._budget.used)
            if held and (block is None or random.random() < (0.6 if large else 0.4)):
                oldest, values = next(iter(held.items()))
                assert (values[:: 64 << 10] == seed).all()
                del held[oldest], values
                memory.release([oldest])
            if step % 10 == 0:
                for offer in memory.take_news().offers:
                    memory.mapped(offer.region_id)
            if step % 50 == 0:
                self._budget.trim(idle=AT_ONCE, forget=NEVER)
        for values in held.values():
            assert (values[:: 64 << 10] == seed).all()
        memory.close()


def test_threads_never_exceed_the_limit_or_share_a_block(shared: Shared) -> None:
    crowd = Crowd(shared.budget)
    with ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(crowd.run_session, seed) for seed in range(1, 19)]:
            done.result()
    assert crowd.taken > 500
    assert 0 < crowd.most_used <= LIMIT
    shared.wait_for_use_of(0)


# --- what comes from a peer that is not trusted ---


@pytest.mark.parametrize(
    "shape",
    [
        [2**33, 2**33],
        [2**32, 2**32],
        [2**63],
        [2**64 - 1],
        [0, 2**64 - 1],
        [2**64 - 1, 0],
        [2**40, 0, 2**40],
        [MIB // 8 + 1],
        [2**16] * 5,
        [3] * 32,
        [1] * 33,
        [1] * 10_000,
    ],
    ids=lambda shape: f"{len(shape)}d-{max(shape)}",
)
def test_array_of_a_hostile_shape_is_refused(shared: Shared, shape: list[int]) -> None:
    memory = shared.budget.open_session(2)
    block = memory.try_allocate(MIB)
    with pytest.raises(IndexError, match=r"does not fit|dimensions"):
        block.array(0, shape, "int64")
    memory.close()


def test_arrays_that_fit_are_given(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    block = memory.try_allocate(MIB)
    for shape in ([MIB // 8], [0, 100_000_000], [], [1] * 32, [2, MIB // 16]):
        assert block.array(0, shape, "int64").shape == tuple(shape)
    memory.close()


@pytest.mark.parametrize(
    "name", ["", "x", "/", "/..", "/../etc/passwd", "/a/b/c", "//a", "/a/", "/a/../b", "/a\0b"]
)
def test_name_that_no_daemon_gives_is_not_opened(name: str) -> None:
    with pytest.raises(FormatError, match="shared memory: name: found"):
        _engine.RegionView.open(name, 4096)


def test_region_that_is_cut_is_noticed_and_harms_nothing_else(shared: Shared) -> None:
    memory, other = (shared.budget.open_session(2) for _ in range(2))
    block, beside = memory.try_allocate(THREE), other.try_allocate(THREE)
    beside.array(0, [THREE], "uint8")[:] = 3
    offer = memory.take_news().offers[0]
    assert block.damage() == ""
    values = block.array(0, [THREE], "uint8")
    values[:] = 1
    os.truncate("/dev/shm" + offer.name, MIB)
    values[:] = 2  # SIGBUS without the guard
    assert f"/dev/shm{offer.name} was cut to {MIB} bytes, expected {4 * MIB}" in block.damage()
    os.truncate("/dev/shm" + offer.name, 4 * MIB)
    assert "was cut" in block.damage()  # what was written did not arrive
    values[:] = 3
    assert beside.damage() == ""
    assert (beside.array(0, [THREE], "uint8") == 3).all()
    memory.close()
    other.close()
