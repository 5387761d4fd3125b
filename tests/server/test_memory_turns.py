"""Requests of a session get memory for their results in the order in which a trainer needs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import numpy as np
import pytest
from graphzero import _engine
from graphzero.proto.graphzero_pb2 import GetStatsRequest
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from graphzero.server.memory.results import ResultMemory
from graphzero.server.memory.turns import MemoryTurns
from waiting import DEADLINE_S, wait_until


def write_dataset(folder: Path, nodes: int, *, width: int) -> None:
    rng = np.random.default_rng(1)
    gz.write_graph(folder / "graph.gl", *rng.integers(0, nodes, (2, 20_000)), num_nodes=nodes)
    gz.write_features(folder / "x.gd", rng.random((nodes, width), np.float32))


# Every second request draws for a quarter of a second longer than those that come after it.
SLOW = """
import time
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
from graphzero.server.sessions.result_maker import ResultMaker

draw = ResultMaker.draw
calls = []

def slow(self):
    calls.append(self)
    if self.drawn is None and len(calls) % 2:
        time.sleep(0.25)
    return draw(self)

ResultMaker.draw = slow
"""


def test_a_loader_goes_on_where_memory_holds_fewer_batches_than_it_prefetches(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    """Younger batches that were drawn sooner must not take the memory that the next one needs."""
    nodes = 9000
    write_dataset(tmp_path, nodes, width=512)
    daemon = start_daemon(
        tmp_path, "--shm-limit", "36M", "--threads", "2", "--feature-io", "direct", setup=SLOW
    )
    with gz.connect(daemon.address) as client:
        loader = client.loader(np.arange(nodes), [0], 3000, prefetch=4, timeout=20.0)
        batches = [len(batch.n_id) for _ in range(3) for batch in loader]
    assert batches == [3000] * 9


def test_a_loader_goes_on_after_a_pause_in_which_requests_found_no_memory(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    """Batches that are asked for again come after others in the daemon's order, and before them in
    the loader's."""
    nodes = 45_000
    write_dataset(tmp_path, nodes, width=512)
    daemon = start_daemon(
        tmp_path, "--shm-limit", "36M", "--threads", "2", "--feature-io", "direct"
    )
    with (
        gz.connect(daemon.address) as client,
        grpc.insecure_channel(daemon.address) as channel,
    ):
        ask = SamplerServiceStub(channel).GetStats

        def all_are_answered() -> bool:
            stats = ask(GetStatsRequest(), timeout=DEADLINE_S)
            return stats.failed_requests > 0 and not any(one.in_flight for one in stats.sessions)

        loader = client.loader(np.arange(nodes), [0], 3000, timeout=2.0)
        seeds = []
        for batch in loader:
            seeds.append(batch.n_id.tolist())
            if len(seeds) == 1:
                wait_until(all_are_answered, lambda: "requests are in flight")
    assert seeds == np.arange(nodes).reshape(-1, 3000).tolist()


# The first batch is refused working memory when its block is half filled. The event loop is busy
# for a while after it has taken the block back, and in that time the last batch has been drawn.
REFUSED = """
import time
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
import numpy as np
from graphzero.base.errors import NeedsMemory
from graphzero.server.memory.results import SharedMemory
from graphzero.server.sessions.result_maker import ResultMaker

draw, fill, give_back = ResultMaker.draw, ResultMaker._fill, SharedMemory.give_back
refused, given_back = [], []

def first_seed(maker):
    return maker._ids.array()[0]

def slow_draw(self):
    if first_seed(self) == 6000 and self.drawn is None:
        time.sleep(1.5)
    return draw(self)

def refused_fill(self, computation, block, tell):
    if first_seed(self) == 0 and not refused:
        refused.append(self)
        time.sleep(0.75)
        raise NeedsMemory("a test")
    fill(self, computation, block, tell)

def slow_give_back(self, block):
    give_back(self, block)
    if not given_back:
        given_back.append(self)
        time.sleep(1.5)

ResultMaker.draw, ResultMaker._fill = slow_draw, refused_fill
SharedMemory.give_back = slow_give_back
"""


def test_a_request_that_gives_its_memory_back_gets_it_again_before_younger_ones(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    nodes = 9000
    gz.write_graph(tmp_path / "graph.gl", [0], [1], num_nodes=nodes)
    gz.write_features(tmp_path / "x.gd", np.zeros((nodes, 512), np.float32))
    daemon = start_daemon(
        tmp_path, "--shm-limit", "36M", "--threads", "2", "--feature-io", "direct", setup=REFUSED
    )
    with gz.connect(daemon.address) as client:
        loader = client.loader(np.arange(nodes), [0], 3000, prefetch=3, timeout=15.0)
        assert [len(batch.n_id) for batch in loader] == [3000] * 3


class _Request:
    def __init__(self, number: int, tried: list[int]) -> None:
        self.number = number
        self.queued = False
        self._tried = tried

    def submit(self, *, first: bool) -> None:
        assert first
        self._tried.append(self.number)


class _Memory:
    def call_when_room(self, retry: Callable[[], None]) -> None:
        pass

    def expect_no_call(self) -> None:
        pass


def make_turns(count: int) -> tuple[MemoryTurns, list[_Request], list[int]]:
    memory: Any = _Memory()
    assert set(vars(_Memory)) >= {"call_when_room", "expect_no_call"} <= set(vars(ResultMemory))
    turns = MemoryTurns(memory)
    tried: list[int] = []
    requests = [_Request(number, tried) for number in range(count)]
    for request in requests:
        turns.begin(request)
    return turns, requests, tried


def test_requests_that_were_held_back_try_again_one_by_one_as_older_ones_get_memory() -> None:
    turns, (_, first, second), tried = make_turns(3)
    assert [turns.older_than(number) for number in range(3)] == [0, 1, 2]
    turns.hold_back(second, 2)
    turns.hold_back(first, 1)
    assert turns.waiting == 2
    assert not turns.nobody_waits
    assert turns.has_memory(0)
    turns.call_next(0)
    assert tried == [1]
    assert turns.has_memory(1)
    turns.call_next(1)
    assert tried == [1, 2]
    assert not turns.has_memory(2)
    assert turns.nobody_waits


def test_a_request_is_not_held_back_for_one_that_got_memory_meanwhile() -> None:
    turns, requests, tried = make_turns(2)
    older = turns.older_than(1)
    assert not turns.has_memory(0)  # nobody has been held back yet, so nobody will be called
    turns.hold_back(requests[1], older)
    assert tried == [1]


def test_a_waiting_request_that_got_memory_lets_the_next_one_try() -> None:
    """Not only when it is answered: filling its memory may take as long as a sweep over a file."""
    turns, requests, tried = make_turns(3)
    for request in requests:
        turns.wait(request, asked=request.number == 0)
    assert turns.oldest == 0
    assert turns.has_memory(0)
    turns.call_next(0)
    assert turns.oldest == 1
    assert tried == [1]


def test_released_memory_calls_those_that_were_held_back() -> None:
    turns, requests, tried = make_turns(2)
    turns.hold_back(requests[1], 1)
    turns.call_held_back()
    assert tried == [1]


def test_released_memory_calls_all_that_were_held_back() -> None:
    turns, requests, tried = make_turns(4)
    for request in requests[1:]:
        turns.hold_back(request, request.number)
    turns.call_all_held_back()
    assert sorted(tried) == [1, 2, 3]
    assert turns.nobody_waits


def test_small_results_that_a_trainer_holds_take_little_of_its_promise() -> None:
    budget = _engine.MemoryBudget(256 << 20, "gz-test-promise")
    session = budget.open_session(4)
    held = [session.try_allocate(6000) for _ in range(3)]
    assert session.has_promised(6000, 1)
    large = session.try_allocate(20 << 20)
    assert session.has_promised(20 << 20, 1)
    assert not session.has_promised(20 << 20, 3)
    session.release([block.id for block in (*held, large)])
    assert session.has_promised(20 << 20, 3)
    session.close()
    assert not session.has_promised(1, 0)


def test_the_last_one_that_is_filled_calls_all_that_were_held_back() -> None:
    turns, requests, tried = make_turns(5)
    assert turns.most_filling() == 0
    for number, ids in ((0, 1024), (1, 10)):
        turns.has_memory(number, ids)
    assert turns.most_filling() == 1024
    for request in requests[2:]:
        turns.hold_back(request, 0)
    turns.leave(requests[0])
    assert tried == [2]
    assert turns.most_filling() == 10
    turns.leave(requests[1])
    assert sorted(tried) == [2, 3, 4]
    assert turns.most_filling() == 0


def test_a_block_that_is_given_back_is_not_filled_any_more() -> None:
    turns, requests, _ = make_turns(1)
    turns.has_memory(0, 1024)
    turns.begin(requests[0])
    assert turns.most_filling() == 0
    assert turns.older_than(1) == 1


def test_a_session_may_hold_what_its_share_has_room_for() -> None:
    budget = _engine.MemoryBudget(256 << 20, "gz-test-share")
    session = budget.open_session(2)
    assert session.may_hold(1000)  # nothing is known of its results
    large = session.try_allocate(20 << 20)
    # Regions of 24 MiB: two are promised, and half of what nobody was promised is lent.
    assert session.may_hold(5)
    assert not session.may_hold(6)
    other = budget.open_session(2)
    block = other.try_allocate(20 << 20)
    assert not session.may_hold(5)
    session.release([large.id])
    assert session.may_hold(3)
    assert not session.may_hold(4)
    other.release([block.id])
    session.close()
    assert not session.may_hold(1)


# Counts draws, and notes the most that were made and not yet filled at the same time.
COUNTED = """
import threading
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
from graphzero.server.sessions.result_maker import ResultMaker

draw, fill = ResultMaker._draw, ResultMaker._fill
lock = threading.Lock()
unfilled, most = 0, 0

def counted_draw(self):
    global unfilled, most
    with lock:
        unfilled += 1
        most = max(most, unfilled)
        with open(MOST_FILE, "w") as file:
            file.write(str(most))
    return draw(self)

def counted_fill(self, *args):
    global unfilled
    with lock:
        unfilled -= 1
    return fill(self, *args)

ResultMaker._draw, ResultMaker._fill = counted_draw, counted_fill
"""


def test_requests_that_read_from_disk_draw_when_there_is_room_for_their_results(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    """A batch has 5.8 MiB, and the session's share is at most 27 MiB."""
    nodes = 45_000
    write_dataset(tmp_path, nodes, width=512)
    most = tmp_path / "most"
    setup = COUNTED.replace("MOST_FILE", repr(str(most)))
    daemon = start_daemon(
        tmp_path, "--shm-limit", "36M", "--threads", "4", "--feature-io", "direct", setup=setup
    )
    with gz.connect(daemon.address) as client:
        # Before the first result nothing is known about its size.
        client.sample(np.arange(3000), [0])
        loader = client.loader(np.arange(nodes), [0], 3000, prefetch=12)
        seeds = [batch.n_id.tolist() for _ in range(3) for batch in loader]
    assert seeds == 3 * np.arange(nodes).reshape(-1, 3000).tolist()
    assert 1 <= int(most.read_text()) <= 5


# Reads are dear on any disk. The first result gets its memory after its request has timed out.
LATE = """
import time
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
from graphzero.server.sessions import request
from graphzero.server.sessions.result_maker import ResultMaker

request._DEAR_GAP = 0
allocate, calls = ResultMaker.allocate, []

def late(self, size):
    calls.append(self)
    if len(calls) == 1:
        time.sleep(1.5)
    return allocate(self, size)

ResultMaker.allocate = late
"""


def test_a_request_that_got_memory_after_its_time_keeps_nobody_from_drawing(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    nodes = 2000
    write_dataset(tmp_path, nodes, width=8)
    daemon = start_daemon(tmp_path, "--topology-io", "staged", setup=LATE)
    with gz.connect(daemon.address) as client:
        with pytest.raises(gz.GraphZeroError):
            client.sample(np.arange(500), [3], timeout=0.5)
        for _ in range(3):
            assert len(client.sample(np.arange(500), [3], timeout=DEADLINE_S).n_id) >= 500


def test_an_answered_request_holds_nobody_back() -> None:
    turns, requests, tried = make_turns(3)
    turns.hold_back(requests[2], 2)
    turns.leave(requests[1])
    assert tried == [2]
    assert turns.older_than(2) == 1
    turns.hold_back(requests[2], 1)
    turns.leave(requests[2])
    turns.leave(requests[0])
    assert tried == [2]
