"""The one source of numbers: what GetStats says after a load that is known."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.client.requests.waits import WaitLog
from graphzero.server.metrics.requests import (
    CANCELLED,
    OK,
    SLOW_S,
    EndedRequest,
    RequestMetrics,
    SessionCounts,
    StageTimes,
)
from waiting import wait_until


def ended(code: str = OK, seconds: float | None = 0.1, **rest: Any) -> EndedRequest:
    return EndedRequest(3, "train.py[7]", "small", "sample", code, seconds, StageTimes(), **rest)


def test_what_was_cancelled_is_no_failure_and_has_no_stage() -> None:
    metrics, session = RequestMetrics(), SessionCounts()
    metrics.fail(ended(CANCELLED, seconds=2 * SLOW_S), session)
    assert (metrics.failed, session.failed, metrics.times) == (0, 0, {})
    assert (list(metrics.failures), list(metrics.slow)) == ([], [])
    assert metrics.ended == {("sample", CANCELLED): 1}


def test_failures_and_slow_requests_keep_the_latest_with_what_is_printable() -> None:
    metrics, session = RequestMetrics(), SessionCounts()
    for number in range(100):
        metrics.fail(ended("DATA_LOSS", message=f"{number}\n\x1b[2J" + 999 * "x"), session)
    metrics.note_if_slow(ended(OK, seconds=SLOW_S))
    assert metrics.failed == session.failed == 100
    assert len(metrics.failures) == 32
    newest = metrics.failures[0]
    assert newest.message.startswith("99\\n")
    assert len(newest.message) == 300
    assert (newest.client_name, newest.total_us) == ("train.py[7]", 100_000)
    assert [event.code for event in metrics.slow] == [OK]


def test_a_trainer_is_believed_up_to_the_age_of_its_session() -> None:
    metrics, session = RequestMetrics(), SessionCounts()
    metrics.waited(600_000, session, age_s=1.0)
    metrics.waited(2**63, session, age_s=1.5)
    metrics.waited(5, session, age_s=1.5)
    assert session.waited_us == metrics.waited_us == 1_500_000


def test_a_moment_in_which_two_threads_wait_counts_once() -> None:
    log = WaitLog()
    log._waits.extend([(10.0, 12.0), (11.0, 13.0), (20.0, 21.0)])
    assert log.take_us() == 4_000_000
    log._waits.append((20.5, 21.5))  # half of it was told before
    assert (log.take_us(), log.take_us()) == (500_000, 0)


def test_stages_that_come_again_add_up() -> None:
    times = StageTimes()
    for _ in range(2):
        times.wait(for_memory=True)
        times.wait(for_memory=False)
    times.stop_waiting()
    times.stop_waiting()
    assert times.memory > 0
    assert times.queue > 0
    assert times.sampling == 0


def test_a_stage_under_way_counts_in_the_copy_of_a_request_that_ended() -> None:
    times = StageTimes()
    with times.work(sampling=True):
        pass
    with times.work(sampling=False):
        ended = times.so_far()
        assert ended.gathering > times.gathering == 0
        assert ended.sampling == times.sampling > 0
        counted = ended.gathering
    assert times.gathering > ended.gathering == counted  # the worker goes on, the copy does not


@pytest.fixture
def loaded(start_daemon: Callable[..., Any], dataset: Path) -> Iterator[tuple[Any, int, int, int]]:
    """A daemon after ten samples, one of them wrong, two gathers and a walk; its nodes, edges and
    bytes."""
    daemon = start_daemon(dataset)
    with gz.connect(daemon.address) as client:
        batches = [client.sample([1, 2, 3], fanout=[3, 2]) for _ in range(9)]
        with pytest.raises(gz.InvalidRequest):
            client.sample([10**9], fanout=[2])
        for _ in range(2):
            client.gather("x", [1, 2])
        client.random_walk([1, 2, 3], length=4)
        nodes = sum(len(batch.n_id) for batch in batches)
        edges = sum(batch.edge_index.shape[1] for batch in batches)
        yield daemon, nodes, edges, len(batches)


def test_every_request_is_counted_by_kind_code_and_stage(loaded: Any) -> None:
    daemon, nodes, edges, batches = loaded
    stats = daemon_stats(daemon.address)
    counts = {(found.kind, found.code): found.count for found in stats.ended_requests}
    assert counts == {
        ("sample", "OK"): batches,
        ("sample", "INVALID_ARGUMENT"): 1,
        ("gather", "OK"): 2,
        ("walk", "OK"): 1,
    }
    assert (stats.requests, stats.failed_requests) == (batches + 4, 1)
    assert (stats.sampled_nodes, stats.sampled_edges) == (nodes, edges)
    stages = {(found.kind, found.stage): found for found in stats.stages}
    assert {stage for _, stage in stages} == {
        "queue", "memory", "sampling", "gathering", "delivery", "total"
    }  # fmt: skip
    for kind, results in (("sample", batches), ("gather", 2), ("walk", 1)):
        for stage in ("queue", "memory", "sampling", "gathering", "total"):
            found = stages[kind, stage]
            assert found.count == sum(found.latency) == results, (kind, stage)
        parts = sum(stages[kind, s].sum_us for s in ("queue", "memory", "sampling", "gathering"))
        assert parts <= stages[kind, "total"].sum_us
    assert stages["walk", "sampling"].sum_us > 0
    (failure,) = stats.failures
    assert (failure.kind, failure.code, failure.dataset) == ("sample", "INVALID_ARGUMENT", "small")
    assert str(10**9) in failure.message


def test_the_trainer_tells_how_long_it_waited(loaded: Any) -> None:
    daemon = loaded[0]
    stats = daemon_stats(daemon.address)
    (session,) = stats.sessions
    assert 0 < session.waited_us == stats.waited_us <= 1000 * (session.age_ms + 1)
    assert session.failed_requests == 1
    assert session.result_byte_size == stats.result_byte_size > 0


def test_a_client_that_says_it_waited_for_ever_is_not_believed(
    start_daemon: Callable[..., Any], dataset: Path, raw: Any
) -> None:
    daemon = start_daemon(dataset)
    session = raw(daemon.address)
    session.send(waited_us=2**64 - 1, release={})
    session.sample(2, [1], [2])
    session.receive()
    (found,) = daemon_stats(daemon.address).sessions
    assert 0 < found.waited_us <= 1000 * (found.age_ms + 1)
    session.close()


def test_open_requests_are_where_they_wait(
    start_daemon: Callable[..., Any], dataset: Path, raw: Any
) -> None:
    """A trainer that keeps its batches: the next ones wait for shared memory, and nobody runs."""
    daemon = start_daemon(dataset, "--shm-limit", "64M")
    session = raw(daemon.address)
    wanted = range(2, 40)
    for request_id in wanted:
        session.sample(request_id, list(range(1000)), [-1, -1], columns=["x"])

    def all_wait_for_memory() -> bool:
        found = daemon_stats(daemon.address).open_requests
        elsewhere = found.running + found.waiting_for_worker + found.waiting_for_disk
        return found.waiting_for_shared_memory > 0 and not elsewhere

    wait_until(all_wait_for_memory, "requests that all wait for shared memory")
    stats = daemon_stats(daemon.address)
    places = stats.open_requests
    assert places.waiting_for_worker == places.waiting_for_disk == 0
    assert places.waiting_for_shared_memory == stats.sessions[0].in_flight
    held = stats.shared_memory.held_byte_size_by_age
    assert len(held) == 5
    assert sum(held) == stats.sessions[0].block_byte_size > 0
    assert stats.shared_memory.guaranteed_byte_size >= stats.sessions[0].guarantee_byte_size > 0
    session.close()
    wait_until(
        lambda: any(
            found.code == "CANCELLED" for found in daemon_stats(daemon.address).ended_requests
        ),
        "requests of a session that has ended",
    )


def test_what_lies_in_memory_is_known_part_by_part(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--warm", "all")

    def files() -> dict[str, Any]:
        return {found.file: found for found in daemon_stats(daemon.address).files}

    wait_until(lambda: all(f.resident_percent for f in files().values()), "what lies in memory")
    for name, found in files().items():
        path = dataset / (name if name == "graph.gl" else f"{name}.gd")
        assert found.byte_size == path.stat().st_size
        assert 1 <= len(found.resident_percent) <= 64
    wait_until(
        lambda: all(f.resident_byte_size == f.byte_size for f in files().values()),
        "all of it in memory after the warm start",
    )
    assert all(set(found.resident_percent) == {100} for found in files().values())


def test_parts_of_a_file_that_the_kernel_dropped_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "x.gd"
    gz.write_features(path, np.zeros((1 << 16, 16), np.float32))
    matrix = _engine.Matrix.open(os.fspath(path))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        dropped = matrix.resident_parts(64)
        if sum(dropped) == path.stat().st_size:
            pytest.skip("this file system keeps files in memory")
        assert dropped[-1] == 0
        size = path.stat().st_size
        os.pread(file.fileno(), 4096, size - 4096)
    assert matrix.resident_parts(64)[-1] > 0
    assert sum(matrix.resident_parts(1)) == matrix.resident_bytes()
