"""The daemon's division of shared memory, without a daemon."""

from __future__ import annotations

import gc
import os
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from graphzero import _engine
from graphzero._errors import InputError

MIB = 1 << 20
SMALL = 1 * MIB  # lies in a region of 4 MiB
LARGE = 20 * MIB  # in one of 24


class Shared:
    """A budget of 256 MiB whose regions can be told from those of others."""

    def __init__(self) -> None:
        self.prefix = f"graphzero-test-{uuid.uuid4().hex}"
        self.budget = _engine.MemoryBudget(256 * MIB, self.prefix)

    def names(self) -> set[str]:
        found = Path("/dev/shm").glob(f"{self.prefix}-*")
        return {f"/{path.name}" for path in found}


@pytest.fixture
def shared() -> Iterator[Shared]:
    shared = Shared()
    yield shared
    gc.collect()
    assert shared.names() == set()


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
    memory.trim(timedelta(seconds=-1))
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
    memory.trim(timedelta(seconds=-1))
    memory.release([right.id])
    memory.trim(timedelta(seconds=-1))
    both = memory.try_allocate(2 * MIB)
    assert (both.region_id, both.offset) == (left.region_id, left.offset)
    assert rest.region_id == both.region_id
    memory.close()


def test_block_outlives_its_session_for_whoever_writes_to_it(shared: Shared) -> None:
    memory = shared.budget.open_session(2)
    block = memory.try_allocate(SMALL)
    memory.close()
    assert shared.budget.used == 0
    block.array(0, [SMALL], "uint8")[:] = 1  # a worker that has not heard of it yet
    memory.release([block.id])
    with pytest.raises(InputError, match="has ended"):
        memory.try_allocate(SMALL)


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


def test_guarantees_never_add_up_to_more_than_the_limit(shared: Shared) -> None:
    first, second = (shared.budget.open_session(4) for _ in range(2))
    assert first.try_allocate(40 * MIB) is not None  # promised four of 46 MiB
    with pytest.raises(InputError, match="raise --shm-limit"):
        second.try_allocate(40 * MIB)
    assert second.try_allocate(SMALL) is not None
    first.close()
    assert second.try_allocate(40 * MIB) is not None
    second.close()


def test_descriptors_go_with_their_regions(shared: Shared) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    memory = shared.budget.open_session(4)
    blocks = [memory.try_allocate(3 * MIB) for _ in range(4)]
    assert len(os.listdir("/proc/self/fd")) == before + 4  # noqa: PTH208
    memory.close()
    del blocks
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
