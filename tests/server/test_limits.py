"""What one client may ask for: memory is counted before it is paid for, work ends with its request,
and what is too much is refused with the numbers."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from daemon_watch import Watch
from gate import Gate
from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.client.errors import InvalidRequest, ResourceExhausted
from graphzero.conversion.matrix_arrays import MatrixSpec, write_pieces
from graphzero.files.description import ColumnDescription
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.memory.id_budget import IdBudget
from graphzero.server.memory.inline import InlineBudget
from graphzero.server.memory.working_line import WorkingMemoryLine
from waiting import wait_until

pytestmark = pytest.mark.slow

INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, CANCELLED = 3, 4, 8, 1
START = Callable[..., Any]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def expect_idle(pid: int) -> None:
    """The process does nothing any more."""

    def is_idle() -> bool:
        before = cpu_seconds(pid)
        threading.Event().wait(0.3)
        return cpu_seconds(pid) - before < 0.1

    wait_until(is_idle, "an idle daemon")


TOO_MUCH: dict[str, dict[str, Any]] = {
    "edges": {"seeds": range(200), "fanout": [1_000_000], "replace": True},
    "trees": {"seeds": np.arange(2000), "fanout": [-1] * 8, "disjoint": True},
    "hops": {"seeds": [1], "fanout": [1] * 30_000},
    "a long request": {"seeds": [1], "fanout": [1] * 200_000},
    "negatives": {
        "seeds": [1, 2],
        "fanout": [1],
        "links": pb.Links(
            num_sources=1,
            num_links=1,
            negative_kind=pb.NEGATIVE_KIND_PAIRS,
            num_negatives=2**26 - 1,
        ),
    },
    "ids": {"seeds": np.arange(200_000) % 2000, "fanout": [1]},
}


def test_requests_for_too_much_are_refused_and_the_session_goes_on(
    start_daemon: START, raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--work-memory", "16M", "--shm-limit", "64M")
    watch = Watch(daemon)
    session = raw(daemon.address)
    session.sample(2, range(100), [5])
    session.receive()
    before = watch.private_bytes()
    for number, (what, request) in enumerate(TOO_MUCH.items(), start=3):
        session.sample(number, columns=["x"], **request)
        answer = session.receive()
        assert answer.error.code in (INVALID_ARGUMENT, RESOURCE_EXHAUSTED), what
        assert any(word in answer.error.message for word in ("fewer", "at most")), what
        assert len(answer.error.message) < 1000
    session.sample(99, range(100), [5])
    assert session.receive().WhichOneof("body") == "result"
    assert watch.private_bytes() - before < 48 << 20
    watch.close()
    session.close()


def test_only_so_many_requests_of_a_session_are_under_way(
    start_daemon: START, raw: Any, dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(
        dataset, "--threads", "1", "--max-in-flight", "2", "--max-ids", "3", setup=gate.setup
    )
    session = raw(daemon.address, window=4)
    for number in (2, 3, 4):
        session.sample(number, [1], [2])
    refused = session.receive()
    assert (refused.request_id, refused.error.code) == (4, RESOURCE_EXHAUSTED)
    assert "found more than 2 requests in flight" in refused.error.message
    gate.open()
    assert {session.receive().request_id for _ in range(2)} == {2, 3}
    session.sample(5, [1, 2, 3, 4], [2])
    assert "found more than 3 ids in one request (--max-ids)" in session.receive().error.message
    session.close()


def test_ids_that_never_end_leave_room_for_those_of_others(
    start_daemon: START, raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--work-memory", "32M")  # 4 MiB for ids
    piece = bytes(1 << 19)
    greedy = [raw(daemon.address) for _ in range(3)]
    for session in greedy:
        session.send(request_id=2, sample=pb.Sample(seeds=piece, more_seeds=True, fanout=[1]))
        for _ in range(20):
            session.send(request_id=2, ids=pb.IdsChunk(ids=piece))
        answer = session.receive()
        assert answer.error.code == RESOURCE_EXHAUSTED
        assert "--work-memory" in answer.error.message
    modest = raw(daemon.address)
    modest.sample(2, np.arange(20_000) % 2000, [1])
    assert modest.receive().WhichOneof("body") == "result"
    for session in (*greedy, modest):
        session.close()


@pytest.mark.parametrize("end", ["deadline", "cancel", "disconnect"])
@pytest.mark.parametrize("kind", ["walk", "links"])
def test_running_work_ends_with_its_request(
    start_daemon: START, raw: Any, dataset: Path, end: str, kind: str
) -> None:
    daemon = start_daemon(dataset, "--threads", "1", "--shm-limit", "1G", "--work-memory", "2G")
    session = raw(daemon.address, window=2)
    started = cpu_seconds(daemon.pid)
    timeout_ms = 500 if end == "deadline" else 2**31
    for number in (2, 3):
        if kind == "walk":
            walk = pb.Walk(starts=np.arange(64).tobytes(), length=400_000, p=0.01, q=100, seed=1)
            session.send(request_id=number, timeout_ms=timeout_ms, walk=walk)
        else:
            links = pb.Links(
                num_sources=1,
                num_links=1,
                negative_kind=pb.NEGATIVE_KIND_PAIRS,
                # Takes seconds, and not quite all working memory: for more it would be refused.
                num_negatives=15_000_000,
                reject_edges=True,
            )
            session.sample(number, [1, 2], [0], links=links, timeout_ms=timeout_ms)
    if end != "deadline":
        wait_until(lambda: cpu_seconds(daemon.pid) - started > 0.2, "work under way")
    if end == "disconnect":
        session.close()
    else:
        if end == "cancel":
            for number in (2, 3):
                session.send(request_id=number, cancel=pb.Cancel())
        expected = CANCELLED if end == "cancel" else DEADLINE_EXCEEDED
        errors = [session.receive().error for _ in range(2)]
        assert all(error.code == expected for error in errors), errors
    expect_idle(daemon.pid)
    client = gz.connect(daemon.address)
    assert client.sample([1], [2]).batch_size == 1
    client.close()
    session.close()


def test_requests_wait_for_each_others_memory_and_get_the_same_batches(
    start_daemon: START, dataset: Path
) -> None:
    seeds = np.arange(5000) % 2000

    def batches(address: str, first: int) -> list[Any]:
        with gz.connect(address, timeout=300) as client:
            asked = {"columns": [], "disjoint": True}
            drawn = (client.sample(seeds, [10, 10], seed=first + i, **asked) for i in range(4))
            return [batch.n_id.numpy().copy() for batch in drawn]

    roomy = start_daemon(dataset, "--shm-limit", "1G")
    # One request takes 33 MiB of the 63 that are not for ids, or 41 where it reads from the disk.
    narrow = start_daemon(dataset, "--shm-limit", "1G", "--work-memory", "72M")
    expected = [batches(roomy.address, 100 * trainer) for trainer in range(3)]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda trainer: batches(narrow.address, 100 * trainer), range(3)))
    for one, other in zip(found, expected, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_what_waits_for_shared_memory_gives_way_to_what_can_run(
    start_daemon: START, raw: Any, dataset: Path
) -> None:
    """A trainer holds all it may have, and its next request is drawn: another one needs the
    memory."""
    daemon = start_daemon(dataset, "--shm-limit", "128M", "--work-memory", "48M")
    holder = raw(daemon.address, window=2)
    seeds = np.arange(20_000) % 2000
    for number in range(2, 12):
        holder.sample(number, seeds, [8], columns=["x"], timeout_ms=2**31)
    held = [holder.receive() for _ in range(2)]
    assert all(answer.WhichOneof("body") == "result" for answer in held)
    with gz.connect(daemon.address) as other:
        for seed in range(5):
            assert other.sample(seeds, [8], columns=[], seed=seed).batch_size == len(seeds)
    holder.release(*(answer.result for answer in held))
    for _ in range(8):
        answer = holder.receive()
        assert answer.WhichOneof("body") == "result", answer
        holder.release(answer.result)
    holder.close()


def test_what_waits_behind_another_one_keeps_no_memory_from_others(
    start_daemon: START, raw: Any, dataset: Path
) -> None:
    """Sessions that never read their results: the second request of each has memory set aside, and
    finds that the first one waits."""
    daemon = start_daemon(dataset, "--shm-limit", "64M", "--work-memory", "32M")
    silent = [raw(daemon.address, transport=pb.TRANSPORT_INLINE) for _ in range(8)]
    seeds = np.arange(20_000) % 2000
    for number in range(2, 6):
        for session in silent:
            session.sample(number, seeds, [20], columns=[], replace=True, timeout_ms=2**31)
    with gz.connect(daemon.address, timeout=40) as client:
        for seed in range(6):
            assert client.sample(seeds, [20], columns=[], seed=seed).batch_size == len(seeds)
    for session in silent:
        session.close()


def test_the_clients_errors_name_what_to_change(start_daemon: START, dataset: Path) -> None:
    daemon = start_daemon(dataset, "--work-memory", "16M", "--shm-limit", "256M")
    with gz.connect(daemon.address) as client:
        with pytest.raises(InvalidRequest, match="--max-result"):
            client.sample(range(2000), [1_000_000], replace=True)
        with pytest.raises(ResourceExhausted, match="--work-memory"):
            client.sample(np.arange(60_000) % 2000, [100], columns=[])


class FakeRequest:
    """A request of a session that has used `seconds`, which can have memory when it is told."""

    def __init__(
        self, seconds: float, ran: list[FakeRequest], needed: int = 300, session_id: int = 1
    ) -> None:
        self.answered = False
        self.queued = False
        self.may_have = False
        self.session_id = session_id
        self.needed = needed
        self.call = self
        self._seconds = seconds
        self._ran = ran

    def seconds_used(self) -> float:
        return self._seconds

    def reserve(self, byte_size: int) -> bool:
        assert byte_size >= self.needed
        return self.may_have

    def run_again(self) -> None:
        self.queued = True
        self._ran.append(self)

    def drop_draw(self) -> bool:
        return True


def test_those_who_used_the_least_time_go_first() -> None:
    line, ran = WorkingMemoryLine(1000, newcomers_seconds=lambda: 0.0), []
    busy, modest = (FakeRequest(seconds, ran) for seconds in (5.0, 1.0))
    line.wait(busy)
    line.wait(modest)
    busy.may_have = True
    line.serve()
    assert ran == []  # it would take what the modest one waits for
    modest.may_have = True
    line.serve()
    assert ran == [modest, busy]
    assert len(line) == 0


def test_newcomers_do_not_overtake_one_who_waits_for_ever() -> None:
    now = [4.0]
    line, ran = WorkingMemoryLine(1000, newcomers_seconds=lambda: now[0]), []
    busy, early, late = (FakeRequest(seconds, ran) for seconds in (5.0, 0.0, 0.0))
    line.wait(busy)
    line.wait(early)
    now[0] = 6.0  # meanwhile everybody has had so much
    line.wait(late)
    for request in (late, busy, early):
        request.may_have = True
    line.serve()
    assert ran == [early, busy, late]


def test_small_requests_do_not_wait_behind_a_large_one_each_session_with_one_at_a_time() -> None:
    line, ran = WorkingMemoryLine(1000, newcomers_seconds=lambda: 0.0), []
    line.sessions = 2
    large = FakeRequest(0.0, ran, needed=700, session_id=1)
    small, next_one = (FakeRequest(5.0, ran, needed=10, session_id=2) for _ in range(2))
    small.may_have = next_one.may_have = True
    for request in (large, small, next_one):
        line.wait(request)
    line.serve()
    assert ran == [small]
    small.queued = False  # it is done
    line.serve()
    assert ran == [small, next_one]
    large.may_have = True
    line.serve()
    assert ran == [small, next_one, large]


def test_an_answered_request_leaves_the_line() -> None:
    line, ran = WorkingMemoryLine(1000, newcomers_seconds=lambda: 0.0), []
    given_up = FakeRequest(0.0, ran)
    line.wait(given_up)
    line.serve()
    given_up.answered = True
    line.serve()
    assert len(line) == 0
    assert ran == []


def test_one_request_may_have_all_memory_only_while_nobody_else_is_there() -> None:
    line = WorkingMemoryLine(1000, newcomers_seconds=lambda: 0.0)
    assert line.largest == 1000
    line.sessions = 2
    assert line.largest == 750


def test_a_message_that_releases_too_many_blocks_ends_its_session(
    start_daemon: START, raw: Any, dataset: Path
) -> None:
    session = raw(start_daemon(dataset).address)
    session.send(release=pb.Release(block_ids=range(1 << 14)))
    session.send(release=pb.Release(block_ids=range((1 << 14) + 1)))
    assert session.status().name == "INVALID_ARGUMENT"
    assert "16385 blocks" in session._down.details()


def test_a_client_releases_any_number_of_blocks_at_once(start_daemon: START, dataset: Path) -> None:
    with gz.connect(start_daemon(dataset).address) as client:
        client.sample([1], [1])
        session = client._pool.direct()._session
        (region,) = session._results._regions.values()
        leases = [
            _engine.BlockLease.make(
                region, session._releases, block_id=1000 + number, offset=0, size=8
            )
            for number in range(40_000)  # of which the daemon knows none
        ]
        del leases
        client.sample([1], [1])
        assert client._pool.direct()._session is session


def test_a_session_may_hold_as_many_ids_as_are_free_for_others() -> None:
    budget = IdBudget(100)
    assert budget.take(50, held=0)
    assert not budget.take(1, held=50)
    assert budget.take(25, held=0)
    assert not budget.take(1, held=25)
    budget.give(75)
    assert budget.take(50, held=0)


def test_inline_results_leave_room_for_others_and_count_as_shared_memory() -> None:
    shared = _engine.MemoryBudget(64 << 20, "graphzero-test")
    budget = InlineBudget(shared)  # half of it
    greedy, modest = budget.open_session(), budget.open_session()
    with pytest.raises(InputError, match="--shm-limit"):
        greedy.try_allocate(17 << 20)
    block = greedy.try_allocate(16 << 20)
    assert block is not None
    assert greedy.try_allocate(1 << 20) is None
    assert modest.try_allocate(8 << 20) is not None
    assert shared.used == 24 << 20
    called: list[str] = []
    greedy.call_when_room(lambda: called.append("greedy"))
    modest.close()
    assert called == []  # its own block still leaves no room
    greedy.give_back(block)
    assert shared.used == 0
    assert called == ["greedy"]


def test_inline_results_find_no_room_where_regions_have_it() -> None:
    shared = _engine.MemoryBudget(16 << 20, "graphzero-test")
    sessions = [shared.open_session(2), shared.open_session(2)]  # promised 8 MiB each
    inline = InlineBudget(shared).open_session()
    assert inline.try_allocate(4096) is None
    for session in sessions:
        session.close()
    assert inline.try_allocate(4096) is not None


def test_a_result_that_goes_inline_is_called_when_regions_leave_room() -> None:
    shared = _engine.MemoryBudget(16 << 20, "graphzero-test")
    sessions = [shared.open_session(2), shared.open_session(2)]  # promised 8 MiB each
    inline = InlineBudget(shared).open_session()
    assert inline.try_allocate(4096) is None
    assert not select.select([shared.ready_descriptor], [], [], 0)[0]
    sessions[0].close()
    assert select.select([shared.ready_descriptor], [], [], 0)[0]
    assert inline.take_ready()
    assert inline.try_allocate(4096) is not None


def test_names_of_values_never_make_a_message_too_long(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    """Two datasets, each with 4.4 MB of names: receivers take messages of 4 MiB."""
    names = tuple(f"{number:062}" for number in range(1000))
    for dataset in ("a", "b"):
        gz.write_graph(make_directory(tmp_path / "data" / dataset) / "graph.gl", [0], [1])
        for number in range(71):
            spec = MatrixSpec((2, 1000), "uint8", description=ColumnDescription(names).to_json())
            path = tmp_path / "data" / dataset / f"x{number:02}.gd"
            write_pieces(str(path), spec, [np.zeros((2, 1000), np.uint8)])
    daemon = start_daemon(tmp_path / "data")
    with gz.connect(daemon.address, dataset="b") as client:
        columns = client.info().dataset.columns
        assert columns["x00"].value_names == names
        assert columns["x70"].value_names == ()
        assert client.gather("x70", [1]).shape == (1, 1000)
        assert [found.name for found in client.datasets()] == ["a", "b"]


def make_directory(path: Path) -> Path:
    path.mkdir(parents=True)
    return path
