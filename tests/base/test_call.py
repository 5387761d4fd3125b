"""Calls that are told to end, calls that may not have all memory, and who gets the next thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.base.errors import CallStopped, NeedsMemory
from hypothesis import given
from hypothesis import strategies as st
from waiting import DEADLINE_S, wait_until

NODES = 3000


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every node has edges to most others, with weights: rejections go on for long."""
    path = tmp_path_factory.mktemp("dense") / "graph.gl"
    rng = np.random.default_rng(1)
    sources, targets = np.nonzero(rng.random((NODES, NODES)) < 0.5)
    gz.write_graph(
        path, sources, targets, weights=np.ones(len(sources), np.float32), num_nodes=NODES
    )
    return path


@pytest.fixture
def limit() -> Iterator[Callable[[int], None]]:
    """limit(bytes): of working memory, beside what this process uses now."""

    def set_limit(more: int) -> None:
        now = _engine.work_memory()
        _engine.set_work_limit(now.used - now.idle + more)

    yield set_limit
    _engine.set_work_limit(2**64 - 1)
    _engine.set_work_claim(0)


@pytest.fixture
def one_thread(limit_threads: Callable[[int], None]) -> None:
    limit_threads(1)


class Running:
    """A call on a thread of its own."""

    def __init__(self, work: Callable[[], Any], share: _engine.Share | None = None) -> None:
        self._share = share or _engine.Share()
        self.call = _engine.Call(self._share)
        self.error: BaseException | None = None
        self._entered = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,))
        self._thread.start()
        assert self._entered.wait(DEADLINE_S)

    def _run(self, work: Callable[[], Any]) -> None:
        with self.call:
            self._entered.set()
            try:
                work()
            except BaseException as error:
                self.error = error

    def wait_for_work(self, seconds: float) -> None:
        """Until its thread has used this much of a processor, or has ended.

        The share would tell too late: it is counted when a loop of the engine ends.
        """
        wait_until(lambda: self.ended or self._processor_seconds() > seconds, "work under way")

    def _processor_seconds(self) -> float:
        try:
            text = Path(f"/proc/self/task/{self._thread.native_id}/stat").read_text()
        except FileNotFoundError:  # it has ended
            return 0.0
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> BaseException | None:
        self.call.stop()
        self._thread.join(DEADLINE_S)
        assert self.ended, "a stopped call goes on"
        return self.error


def everything(count: int) -> Any:
    return np.arange(count) % NODES


LONG_WORK: dict[str, Callable[[gz.Graph], Any]] = {
    "draws with replacement": lambda graph: graph.sample([1], [2**27], replace=True),
    "weighted draws": lambda graph: graph.sample(
        everything(100), [2**22], replace=True, weighted=True, max_edges=2**31 - 1
    ),
    "an induced subgraph": lambda graph: graph.sample(
        everything(10**6), [0], subgraph="induced", max_edges=2**31 - 1
    ),
    "negatives": lambda graph: graph.sample_links(
        everything(NODES),
        everything(NODES),
        [0],
        negatives=gz.Negatives("targets", 5000, weights="degree", reject=True),
    ),
    "uniform walks": lambda graph: graph.random_walk(everything(64), 10**7),
    "second-order walks": lambda graph: graph.random_walk(everything(64), 10**6, p=0.01, q=100.0),
    "walks that always restart": lambda graph: graph.random_walk(
        everything(64), 2 * 10**6, p=2.0, restart=1.0
    ),
    "weighted walks": lambda graph: graph.random_walk(everything(64), 10**6, weighted=True),
}


@pytest.mark.parametrize("topology_io", ["mapped", "staged"])
@pytest.mark.parametrize("name", LONG_WORK)
def test_work_that_is_told_to_stop_ends_soon(
    dense: Path, name: str, topology_io: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHZERO_TOPOLOGY_IO", topology_io)
    graph = gz.Graph(dense)
    running = Running(lambda: LONG_WORK[name](graph))
    running.wait_for_work(0.05)
    assert not running.ended, running.error
    assert isinstance(running.stop(), CallStopped)


@pytest.mark.parametrize("prefix", ["", "n"])
def test_looking_ids_up_can_be_stopped(tmp_path: Path, prefix: str) -> None:
    lines = "".join(f"{prefix}{10 * i},{prefix}{10 * i + 10}\n" for i in range(1000))
    (tmp_path / "edges.csv").write_text(lines)
    gz.import_files(tmp_path / "edges.csv", tmp_path / "ds", relabel=True)
    ids: Any = [f"n{10 * (i % 1000)}" for i in range(200_000)]
    ids = ids if prefix else 10 * (np.arange(2_000_000) % 1000)
    original = gz.OriginalIds(tmp_path / "ds")

    begun = threading.Event()

    def look_up() -> None:
        while True:
            original.find(ids)
            begun.set()

    running = Running(look_up)
    assert begun.wait(DEADLINE_S)
    assert not running.ended, running.error
    assert isinstance(running.stop(), CallStopped)


def test_a_call_that_was_stopped_before_does_nothing(dense: Path) -> None:
    call = _engine.Call(_engine.Share())
    call.stop()
    with call, pytest.raises(CallStopped):
        gz.Graph(dense).sample([1], [5])
    gz.Graph(dense).sample([1], [5])  # outside of it nothing is stopped


def test_memory_is_refused_before_it_is_used_and_the_call_lets_go(
    dense: Path, limit: Callable[[int], None]
) -> None:
    graph = gz.Graph(dense)
    limit(8 << 20)
    before = _engine.work_memory()
    call = _engine.Call(_engine.Share())
    with call, pytest.raises(NeedsMemory, match="--work-memory"):
        graph.sample(everything(NODES), [-1])
    call.let_go()
    assert call.needed > 8 << 20
    after = _engine.work_memory()
    assert after.used - after.idle <= before.used - before.idle
    graph.sample(everything(NODES), [-1])  # outside of a call memory is counted, never refused


def test_a_call_gets_what_it_reserved_although_others_want_it(
    dense: Path, limit: Callable[[int], None]
) -> None:
    graph = gz.Graph(dense)

    def draw() -> Any:
        return graph.sample(everything(500), [10], seed=1)

    with _engine.Call(_engine.Share()):
        expected = draw()
    limit(4 << 20)
    large = _engine.Call(_engine.Share())
    assert large.reserve(3 << 20)
    greedy = _engine.Call(_engine.Share())
    with greedy, pytest.raises(NeedsMemory):
        _engine.work_ids(1 << 18)
    with large:
        found = draw()
    assert np.array_equal(found.n_id, expected.n_id)
    large.let_go()
    with greedy:
        _engine.work_ids(1 << 17)


@pytest.mark.parametrize("topology_io", ["mapped", "staged"])
@pytest.mark.parametrize("name", ["hops", "trees", "draws with replacement"])
def test_a_call_that_gets_what_it_needs_is_done_after_a_few_attempts(
    tmp_path: Path, limit: Callable[[int], None], name: str, topology_io: str
) -> None:
    """Reading from disk takes and frees memory all the time: that uses up no reservation."""
    rng = np.random.default_rng(2)
    gz.write_graph(tmp_path / "graph.gl", *rng.integers(0, NODES, (2, 20 * NODES)), num_nodes=NODES)
    graph = gz.Graph(tmp_path / "graph.gl", io=topology_io)
    seeds = everything(10_000)
    draw = {
        "hops": lambda: graph.sample(seeds, [10, 10], seed=1),
        "trees": lambda: graph.sample(seeds[:NODES], [5, 5], seed=1, disjoint=True),
        "draws with replacement": lambda: graph.sample(seeds, [20], seed=1, replace=True),
    }[name]
    expected = draw()
    limit(64 << 20)
    others = _engine.Call(_engine.Share())  # leave nothing but what this one reserves
    call = _engine.Call(_engine.Share())
    attempts, needed = 0, 1 << 20
    while True:
        attempts += 1
        assert call.reserve(needed)
        now = _engine.work_memory()
        assert others.reserve(now.limit - now.used + now.idle)
        try:
            with call:
                found = draw()
            break
        except NeedsMemory:
            assert call.needed > needed, f"attempt {attempts} needs no more than it had"
            needed = call.needed
        finally:
            others.let_go()
            call.let_go()
    assert 1 < attempts <= 12
    assert np.array_equal(found.n_id, expected.n_id)


def test_a_claim_keeps_memory_free_for_the_one_who_waits(limit: Callable[[int], None]) -> None:
    limit(8 << 20)
    _engine.set_work_claim(6 << 20)
    other, first = _engine.Call(_engine.Share()), _engine.Call(_engine.Share())
    with other, pytest.raises(NeedsMemory):
        _engine.work_ids(3 << 17)
    assert first.reserve(6 << 20)


def test_one_client_leaves_half_of_the_memory_to_others(limit: Callable[[int], None]) -> None:
    limit(16 << 20)
    share = _engine.Share()
    kept = []
    calls = [_engine.Call(share) for _ in range(16)]
    refused = 0
    for call in calls:
        with call:
            try:
                kept.append(_engine.work_ids(1 << 17))  # 1 MiB
            except NeedsMemory:
                refused += 1
    assert 7 <= len(kept) <= 8
    other = _engine.Call(_engine.Share())
    with other:
        kept.append(_engine.work_ids(1 << 18))
    kept.clear()
    for call in (*calls, other):
        call.let_go()
    with calls[0]:
        _engine.work_ids(1 << 19)


@pytest.mark.usefixtures("one_thread")
def test_a_short_call_of_another_client_does_not_wait_for_a_long_one(dense: Path) -> None:
    graph = gz.Graph(dense)
    long = Running(lambda: graph.random_walk(everything(64), 10**7))
    for _ in range(3):
        short = Running(lambda: graph.sample(everything(200), [5, 5]))
        short._thread.join(DEADLINE_S)
        assert short.ended
        assert short.error is None
    assert not long.ended
    assert isinstance(long.stop(), CallStopped)


@pytest.mark.usefixtures("one_thread")
def test_clients_with_as_much_to_do_get_as_much_time(dense: Path) -> None:
    graph = gz.Graph(dense)
    shares = [_engine.Share() for _ in range(3)]
    # The first has three times as many calls under way.
    owners = [0, 0, 0, 1, 2]
    long = [
        Running(lambda: graph.random_walk(everything(64), 10**7), shares[owner]) for owner in owners
    ]

    def used() -> list[float]:
        return [share.seconds for share in shares]

    # Who holds the thread while others keep the machine busy has used that time: it evens out.
    wait_until(
        lambda: sum(used()) > 1.0 and min(used()) > 0.8 * max(used()),
        lambda: f"about as much for each, found {used()}",
    )
    for running in long:
        running.stop()


ids = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 20), max_size=300)


@given(ids)
def test_ends_are_numbered_as_numpy_would(ends: list[int]) -> None:
    array = np.array(ends, np.int64)
    index = np.empty(len(ends), np.int64)
    seeds = _engine.number_ends(array, index)
    expected, places = np.unique(array, return_inverse=True)
    assert np.array_equal(seeds, expected)
    assert np.array_equal(index, places)


def test_threads_that_enter_one_call_at_the_same_time_leave_it_each() -> None:
    call = _engine.Call(_engine.Share())
    both_in, first_is_out = threading.Barrier(2, timeout=30), threading.Event()
    still_in_it: list[str] = []

    def work(name: str) -> None:
        with call:
            both_in.wait()
            if name == "second":
                assert first_is_out.wait(30)
        if name == "first":
            first_is_out.set()
        call.stop()
        try:
            _engine.check_stopped()  # raises in a thread that works for a stopped call
        except CallStopped:
            still_in_it.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not still_in_it
