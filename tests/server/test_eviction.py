"""Sessions that others than their trainers end: operators, and --session-idle-timeout."""

from __future__ import annotations

import grp
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import pytest
from commands import run_graphzero, run_graphzero_as
from daemon_process import OWN_CONNECTION
from graphzero.client.daemon.daemon_calls import daemon_stats, open_calls
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from graphzero.transport.admin_key import METADATA_NAME, lock_path, read_admin_key
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

NOBODY = 65534


def only_session(daemon: Any) -> Any:
    (session,) = daemon_stats(daemon.address).sessions
    return session


def end_session(daemon: Any, *options: object) -> Any:
    return run_graphzero("sessions", daemon.address, *options)


def test_sessions_lists_trainers_and_ends_the_one_that_is_named(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    assert end_session(daemon).stdout == "no trainers\n"
    with gz.connect(daemon.address) as first, gz.connect(daemon.address) as second:
        kept = first.sample([1, 2], fanout=[3])
        expected = kept.n_id.tolist()
        second.sample([1, 2], fanout=[3])
        ids = [session.session_id for session in daemon_stats(daemon.address).sessions]
        listed = end_session(daemon).stdout.splitlines()
        assert [int(line.split()[0]) for line in listed[1:]] == ids
        assert "small" in listed[1]
        document = json.loads(end_session(daemon, "--json").stdout)
        assert [entry["session_id"] for entry in document] == ids

        ended = end_session(daemon, "--end", ids[0], "--reason", "it is the night\x1b[31m")
        assert ended.returncode == 0, ended.stderr
        assert f"ended session {ids[0]} of" in ended.stdout
        assert only_session(daemon).session_id == ids[1]
        with pytest.raises(gz.SessionEnded, match=r"an operator .*it is the night\\x1b\[31m"):
            first.sample([1, 2], fanout=[3])
        assert kept.n_id.tolist() == expected
        assert first.sample([1, 2], fanout=[3], seed=kept.seed).batch_size == 2  # another session
        second.sample([1, 2], fanout=[3])
    daemon.wait_for_output(f"session {ids[0]} of")
    gone = end_session(daemon, "--end", ids[0])
    assert gone.returncode == 1
    assert f"no session {ids[0]}" in gone.stderr


def test_an_evicted_trainer_does_not_come_back_by_itself_even_with_retry(
    start_daemon: Callable[..., Any], dataset: Path, gate: Any
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)
    gate.let_pass(1)
    with gz.connect(daemon.address, retry=True) as client:
        batches = iter(client.loader(None, fanout=[3], batch_size=8, prefetch=2))
        next(batches)
        wait_until(lambda: only_session(daemon).in_flight, "requests at the gate")
        with open_calls(daemon.address) as calls:
            calls.end_session(only_session(daemon).session_id)
        with pytest.raises(gz.SessionEnded):
            next(batches)
        assert daemon_stats(daemon.address).num_sessions == 0
        gate.open()


def test_an_evicted_loader_says_so_after_the_batches_that_were_ready(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with gz.connect(daemon.address, retry=True) as client:
        loader = client.loader(None, fanout=[3], batch_size=8, prefetch=2)
        batches = iter(loader)
        next(batches)
        wait_until(lambda: all(ahead.future.done() for ahead in batches._ahead), "batches ahead")
        with open_calls(daemon.address) as calls:
            calls.end_session(only_session(daemon).session_id)
        wait_until(lambda: loader._connection._session is None, "the end of the session")
        assert [next(batches).batch_size for _ in range(2)] == [8, 8]
        with pytest.raises(gz.SessionEnded):
            next(batches)
        assert daemon_stats(daemon.address).num_sessions == 0
        assert next(iter(loader)).batch_size == 8  # it is told once only


def test_memory_of_an_evicted_session_is_free_when_its_tensors_are(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with gz.connect(daemon.address) as client:
        kept = client.sample(list(range(500)), fanout=[10, 10])
        with open_calls(daemon.address) as calls:
            ended = calls.end_session(only_session(daemon).session_id)
        assert ended.block_byte_size > 0
        daemon.wait_for_output("closed after 1 request of")
        assert daemon_stats(daemon.address).shm_used_byte_size > 0  # mapped by this process
        assert kept.n_id[:500].tolist() == list(range(500))
        del kept

        def is_free() -> bool:
            return bool(daemon_stats(daemon.address).shm_used_byte_size == 0)

        wait_until(is_free, "memory that is free again")


def call_end(address: str, credentials: Any, *metadata: tuple[str, str]) -> grpc.StatusCode:
    """The status of EndSession with that metadata."""
    channel = (
        grpc.insecure_channel(address, OWN_CONNECTION)
        if credentials is None
        else grpc.secure_channel(address, credentials, OWN_CONNECTION)
    )
    with channel, pytest.raises(grpc.RpcError) as caught:
        SamplerServiceStub(channel).EndSession(
            pb.EndSessionRequest(session_id=1), timeout=DEADLINE_S, metadata=metadata
        )
    code: grpc.StatusCode = caught.value.code()
    return code


def test_sessions_are_ended_with_the_key_of_the_lock_file_only(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--listen", "127.0.0.1:0")
    lock = lock_path(daemon.socket)
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    key = (METADATA_NAME, read_admin_key(daemon.socket))
    assert call_end(daemon.address, None) == grpc.StatusCode.PERMISSION_DENIED
    wrong = (METADATA_NAME, "0" * 64)
    assert call_end(daemon.address, None, wrong) == grpc.StatusCode.PERMISSION_DENIED
    assert call_end(daemon.address, None, key) == grpc.StatusCode.NOT_FOUND
    tcp = daemon.tcp_address
    assert call_end(tcp, None, key) == grpc.StatusCode.PERMISSION_DENIED
    over_tcp = run_graphzero("sessions", tcp, "--end", 1)
    assert over_tcp.returncode == 1
    assert "Unix socket only" in over_tcp.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_members_of_the_group_may_connect_but_end_no_session(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    group = grp.getgrgid(NOBODY).gr_name
    daemon = start_daemon(dataset, "--group", group)
    with gz.connect(daemon.address) as client:
        listed = run_graphzero_as(NOBODY, "sessions", daemon.address)
        assert listed.returncode == 0, listed.stderr
        number = only_session(daemon).session_id
        refused = run_graphzero_as(NOBODY, "sessions", daemon.address, "--end", number)
        assert refused.returncode == 1
        assert "only the daemon's user and root may end sessions" in refused.stderr
        assert client.sample([1], fanout=[2]).batch_size == 1


def test_idle_sessions_that_hold_memory_end_and_the_next_use_says_why(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--session-idle-timeout", "0.2")
    with gz.connect(daemon.address) as client, gz.connect(daemon.address) as other:
        kept = client.sample([1, 2], fanout=[3])
        expected = kept.n_id.tolist()
        wait_until(lambda: len(daemon_stats(daemon.address).sessions) == 1, "the end of a session")
        daemon.wait_for_output("is ended: it said nothing for")
        with pytest.raises(gz.SessionEnded, match=r"--session-idle-timeout 0\.2"):
            client.sample([1, 2], fanout=[3])
        assert kept.n_id.tolist() == expected
        again = client.sample([1, 2], fanout=[3], seed=kept.seed)
        assert again.n_id.tolist() == expected
        # A session that never had memory is nobody's loss.
        assert other.sample([1], fanout=[2]).batch_size == 1


def test_a_session_with_a_request_under_way_is_not_idle(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, gate: Any
) -> None:
    """The idle one, which has memory as well, shows that the time was over."""
    daemon = start_daemon(dataset, "--session-idle-timeout", "1", setup=gate.setup)
    gate.let_pass(2)
    busy, idle = raw(daemon.address), raw(daemon.address)
    for session in (busy, idle):
        session.sample(2, [1], [2])
        session.receive()
    busy.sample(3, [1], [2])  # stands at the gate
    assert idle.status() == grpc.StatusCode.ABORTED
    assert only_session(daemon).session_id == busy.welcome.session_id
    assert only_session(daemon).idle_ms == 0
    gate.open()
    assert busy.receive().result.batch_size == 1
    assert busy.status() == grpc.StatusCode.ABORTED
    idle.close()
    busy.close()
