"""What the daemon promises on the wire, spoken without the client library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import numpy as np
import pytest
from gate import Gate
from graphzero.proto import graphzero_pb2 as pb
from waiting import wait_until

INVALID_ARGUMENT, DEADLINE, NOT_FOUND = 3, 4, 5
EXHAUSTED, PRECONDITION, CANCELLED = 8, 9, 1


def links_from(ids: list[int], **candidates: Any) -> dict[str, Any]:
    """A request for a negative pair from candidates."""
    links = pb.Links(
        num_sources=1,
        num_links=1,
        negative_kind=pb.NEGATIVE_KIND_PAIRS,
        num_negatives=1,
        **candidates,
    )
    return {"seeds": ids, "fanout": [2], "links": links}


@pytest.fixture
def daemon(start_daemon: Callable[..., Any], dataset: Path) -> Any:
    return start_daemon(dataset, "--threads", "2", "--shm-limit", "256M")


@pytest.fixture
def session(daemon: Any, raw: Any) -> Iterator[Any]:
    session = raw(daemon.address)
    yield session
    session.close()


def test_batch_is_what_the_engine_draws_in_process(session: Any, dataset: Path) -> None:
    seeds = [5, 17, 5, 1999]
    session.sample(2, seeds, [4, 3], seed=11, columns=["x", "y"], direction=pb.DIRECTION_IN)
    result = session.receive().result
    arrays = session.arrays(result)
    expected = gz.Graph(dataset).sample(seeds, [4, 3], seed=11)
    np.testing.assert_array_equal(arrays["n_id"], expected.n_id)
    np.testing.assert_array_equal(arrays["edge_index"], expected.edge_index)
    np.testing.assert_array_equal(arrays["e_id"], expected.e_id)
    np.testing.assert_array_equal(arrays["edge_weight"], expected.edge_weight)
    for name in ("x", "y"):
        rows = gz.FeatureStore(dataset / f"{name}.gd").gather(expected.n_id)
        np.testing.assert_array_equal(arrays[name], rows)
    assert list(result.num_sampled_nodes) == expected.num_sampled_nodes
    assert list(result.num_sampled_edges) == expected.num_sampled_edges
    assert result.batch_size == 4


def test_seed_columns_have_a_row_for_each_seed_only(session: Any, dataset: Path) -> None:
    session.sample(2, [3, 4], [5], columns=["x"], seed_columns=["y"])
    arrays = session.arrays(session.receive().result)
    assert arrays["x"].shape == (len(arrays["n_id"]), 16)
    np.testing.assert_array_equal(arrays["y"], gz.FeatureStore(dataset / "y.gd").gather([3, 4]))


def test_ids_may_come_in_pieces(session: Any, dataset: Path) -> None:
    ids = np.arange(0, 2000, 7)
    half = len(ids) // 2
    session.send(
        request_id=2, gather=pb.Gather(column="x", ids=ids[:half].tobytes(), more_ids=True)
    )
    session.send(request_id=2, ids=pb.IdsChunk(ids=ids[half:].tobytes(), last=True))
    arrays = session.arrays(session.receive().result)
    np.testing.assert_array_equal(arrays["x"], gz.FeatureStore(dataset / "x.gd").gather(ids))


def test_walks_are_those_of_the_engine(session: Any, dataset: Path) -> None:
    starts = np.arange(50)
    walk = pb.Walk(starts=starts.tobytes(), length=6, p=0.5, q=2.0, seed=3)
    session.send(request_id=2, walk=walk)
    arrays = session.arrays(session.receive().result)
    expected = gz.Graph(dataset).random_walk(starts, 6, p=0.5, q=2.0, seed=3)
    np.testing.assert_array_equal(arrays["nodes"], expected.nodes)
    np.testing.assert_array_equal(arrays["lengths"], expected.lengths)


def test_inline_transport_carries_the_same_bytes(daemon: Any, raw: Any, dataset: Path) -> None:
    session = raw(daemon.address, transport=pb.TRANSPORT_INLINE)
    session.sample(2, list(range(500)), [10, 10], seed=1, columns=["x"])
    data = bytearray()
    while (message := session.receive()).WhichOneof("body") == "chunk":
        assert len(message.chunk.data) <= 1 << 20
        data += message.chunk.data
    tensors = {t.name: t for t in message.result.tensors}
    n_id = tensors["n_id"]
    found = np.frombuffer(data, np.int64, n_id.shape[0], n_id.offset)
    expected = gz.Graph(dataset).sample(list(range(500)), [10, 10], seed=1)
    np.testing.assert_array_equal(found, expected.n_id)
    x = np.frombuffer(data, np.float32, found.size * 16, tensors["x"].offset).reshape(-1, 16)
    np.testing.assert_array_equal(x, gz.FeatureStore(dataset / "x.gd").gather(found))
    session.close()


def test_name_of_a_region_is_gone_once_it_is_mapped(session: Any, daemon: Any) -> None:
    session.sample(2, [1], [2])
    session.receive()
    session.sample(3, [1], [2])  # the daemon has read RegionMapped before it answers this
    session.receive()
    assert session.offers
    assert daemon.regions() == []


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    [
        ({"seeds": [2000], "fanout": [2]}, INVALID_ARGUMENT, "2000"),
        ({"seeds": [-1], "fanout": [2]}, INVALID_ARGUMENT, "-1"),
        ({"seeds": [1], "fanout": [-2]}, INVALID_ARGUMENT, "-2"),
        ({"seeds": [1], "fanout": [2], "columns": ["nope"]}, NOT_FOUND, "nope"),
        ({"seeds": [1], "fanout": [2], "columns": ["train"]}, INVALID_ARGUMENT, "train"),
        (
            links_from([1, 2, 3], num_candidates=2**64 - 1, num_source_candidates=2**64 - 1),
            INVALID_ARGUMENT,
            "36893488147419103230 candidates, 0 edge ids and 0 times, but 3 ids",
        ),
        (links_from([1, 2, 2000], num_candidates=1), INVALID_ARGUMENT, "2000"),
        (
            links_from([1, 2, 3], num_candidates=1, candidates_column="train"),
            INVALID_ARGUMENT,
            "are a column and 1 ids",
        ),
        (links_from([1, 2], candidates_column="x"), INVALID_ARGUMENT, "'x' is float32 by node"),
        (links_from([1, 2], candidates_column="nope"), NOT_FOUND, "nope"),
    ],
)
def test_bad_request_gets_its_error_and_the_session_lives(
    session: Any, request_: dict[str, Any], code: int, text: str
) -> None:
    session.sample(2, request_.pop("seeds"), request_.pop("fanout"), **request_)
    answer = session.receive()
    assert (answer.request_id, answer.error.code) == (2, code)
    assert text in answer.error.message
    session.sample(3, [1], [2])
    answer = session.receive()
    assert (answer.request_id, answer.result.batch_size) == (3, 1)


def test_result_beyond_the_limit_is_refused_with_both_numbers(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-result", "64k")
    session = raw(daemon.address)
    session.sample(2, list(range(2000)), [1], columns=["x"])
    error = session.receive().error
    assert error.code == INVALID_ARGUMENT
    assert "64.0 KiB" in error.message
    session.close()


def test_a_hop_that_would_draw_too_much_is_refused(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-edges", "100")
    session = raw(daemon.address)
    session.sample(2, list(range(2000)), [-1])
    error = session.receive().error
    assert error.code == INVALID_ARGUMENT
    assert "100" in error.message
    session.close()


def test_ids_of_half_a_number_are_refused(session: Any) -> None:
    session.send(request_id=2, sample=pb.Sample(seeds=b"1234567", fanout=[1]))
    assert session.receive().error.code == INVALID_ARGUMENT


def test_who_keeps_every_block_is_told_what_they_hold(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--shm-limit", "64M", "--request-timeout", "1")
    session = raw(daemon.address, window=2)
    kept: list[pb.Result] = []
    for request_id in range(2, 1000):
        session.sample(request_id, list(range(1500)), [15, 15], columns=["x"], timeout_ms=500)
        answer = session.receive()
        if answer.error.code == EXHAUSTED:
            break
        if answer.error.code != DEADLINE:  # of which there may be some on a busy machine
            kept.append(answer.result)
    assert f"{len(kept)} blocks" in answer.error.message
    assert "--shm-limit" in answer.error.message
    session.release(*kept)
    session.sample(request_id + 1, [1], [2])
    assert session.receive().result.batch_size == 1
    session.close()


# A file of shared memory may not grow beyond the limit of the process.
NO_LARGE_FILES = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
"""


def test_shared_memory_that_the_machine_refuses_is_in_the_log(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, setup=NO_LARGE_FILES)
    session = raw(daemon.address)
    session.sample(2, [1], [2])
    error = session.receive().error
    assert error.code == EXHAUSTED
    assert "request 2 (" in daemon.output()
    assert f"failed with RESOURCE_EXHAUSTED: {error.message}" in daemon.output()
    session.close()


def test_what_a_client_gives_up_is_no_failure(session: Any) -> None:
    session.send(request_id=2, sample=pb.Sample(seeds=b"", fanout=[1], more_seeds=True))
    session.send(request_id=2, cancel=pb.Cancel())
    assert session.receive().error.code == CANCELLED
    stats = session.stub.GetStats(pb.GetStatsRequest())
    assert (stats.requests, stats.failed_requests) == (1, 0)
    session.send(request_id=3, sample=pb.Sample(seeds=b"1234567", fanout=[1]))
    assert session.receive().error.code == INVALID_ARGUMENT
    assert session.stub.GetStats(pb.GetStatsRequest()).failed_requests == 1


def test_releasing_twice_and_unknown_blocks_is_harmless(session: Any) -> None:
    session.sample(2, [1], [2])
    result = session.receive().result
    session.release(result, result)
    session.send(release=pb.Release(block_ids=[10**9]))
    session.sample(3, [1], [2])
    assert session.receive().request_id == 3


@pytest.mark.parametrize("cancelled", [2, 3], ids=["at a worker", "queued"])
def test_cancelled_request_is_answered_once(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, gate: Gate, cancelled: int
) -> None:
    daemon = start_daemon(dataset, "--threads", "1", setup=gate.setup)
    session = raw(daemon.address)
    for request_id in (2, 3):
        session.sample(request_id, [1], [2])
    session.send(request_id=cancelled, cancel=pb.Cancel())
    session.send(request_id=cancelled, cancel=pb.Cancel())
    answer = session.receive()
    assert (answer.request_id, answer.error.code) == (cancelled, CANCELLED)
    gate.open()
    session.sample(4, [1], [2])
    answers = [session.receive() for _ in range(2)]  # in any order
    assert {answer.request_id for answer in answers} == {2, 3, 4} - {cancelled}
    assert [answer.result.batch_size for answer in answers] == [1, 1]
    assert session.stub.GetStats(pb.GetStatsRequest()).failed_requests == 0
    session.close()


def test_request_id_in_use_ends_the_stream(daemon: Any, raw: Any) -> None:
    session = raw(daemon.address)
    session.send(request_id=2, sample=pb.Sample(more_seeds=True, fanout=[1]))
    session.send(request_id=2, sample=pb.Sample(more_seeds=True, fanout=[1]))
    assert session.status() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        ({"protocol_version": 99}, grpc.StatusCode.FAILED_PRECONDITION),
        ({"dataset": "other"}, grpc.StatusCode.NOT_FOUND),
        ({"dataset": "../small"}, grpc.StatusCode.NOT_FOUND),
        ({"expected_fingerprint": b"x" * 16}, grpc.StatusCode.FAILED_PRECONDITION),
    ],
)
def test_hello_that_cannot_be_met_ends_the_stream(
    daemon: Any, raw: Any, hello: dict[str, Any], code: grpc.StatusCode
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        raw(daemon.address, **hello)
    assert caught.value.code() == code


def test_session_beyond_the_limit_is_refused_at_once(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-sessions", "2")
    sessions = [raw(daemon.address) for _ in range(2)]
    with pytest.raises(grpc.RpcError) as caught:
        raw(daemon.address)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "--max-sessions" in caught.value.details()
    for session in sessions:
        session.close()


def test_greedy_session_does_not_starve_another(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(dataset, "--threads", "1", setup=gate.setup)
    greedy, modest = raw(daemon.address, window=4), raw(daemon.address)
    for i in range(60):
        greedy.sample(2 + i, [1], [2])
    modest.sample(2, [1], [2])
    arrived = [[60, 1], [1, 60]]
    wait_until(lambda: [s.in_flight for s in daemon_sessions(modest)] in arrived, "all requests")
    # The one that is at the only worker, and the next of each session.
    gate.let_pass(3)
    assert modest.receive().result.batch_size == 1
    gate.open()
    greedy.close()
    modest.close()


def test_memory_of_a_session_is_free_when_its_stream_ends(daemon: Any, raw: Any) -> None:
    session, watcher = raw(daemon.address), raw(daemon.address)
    session.sample(2, list(range(1000)), [10], columns=["x"])
    session.receive()
    session.close()
    wait_until(lambda: len(daemon_sessions(watcher)) == 1, "the end of the session")
    stats = watcher.stub.GetStats(pb.GetStatsRequest())
    assert [s.session_id for s in stats.sessions] == [watcher.welcome.session_id]
    assert stats.shm_used_byte_size > 0  # its trainer, this process, still maps it
    session.unmap()

    def used() -> int:
        return watcher.stub.GetStats(pb.GetStatsRequest()).shm_used_byte_size

    wait_until(lambda: used() == 0, lambda: f"{used()} bytes left")
    watcher.close()


def daemon_sessions(session: Any) -> list[pb.SessionStats]:
    return list(session.stub.GetStats(pb.GetStatsRequest()).sessions)
