"""What clients say of themselves: in the log, in the statistics, in errors. And a log that nobody
can fill."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from daemon_process import OWN_CONNECTION
from graphzero.commands.cli import main
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.process.log_lines import LineFormatter, LineLimit

FORGED = "x\n2026-01-01 00:00:00,000 ERROR forged\x1b[2J\u202e"
HARMLESS = "x\\n2026-01-01 00:00:00,000 ERROR forged\\x1b[2J\\u202e"


def test_a_client_s_name_can_forge_nothing(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(dataset)
    session = raw(daemon.address, client_name=FORGED)
    daemon.wait_for_output("session 1 opened")
    assert HARMLESS in daemon.output()
    assert FORGED not in daemon.output()
    assert session.stub.GetStats(pb.GetStatsRequest()).sessions[0].client_name == HARMLESS
    assert main(["top", "--once", daemon.address]) == 0
    shown = capsys.readouterr().out
    assert f"{HARMLESS}, small" in shown
    assert "\x1b" not in shown
    session.close()


def test_huge_names_do_not_keep_ping_from_an_answer(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(dataset)
    sessions = [raw(daemon.address, client_name="é" * 30_000) for _ in range(3)]
    assert main(["ping", daemon.address]) == 0
    assert "3 sessions" in capsys.readouterr().out
    stats = sessions[0].stub.GetStats(pb.GetStatsRequest())
    assert [s.client_name for s in stats.sessions] == ["é" * 100] * 3
    for session in sessions:
        session.close()


@pytest.mark.parametrize(
    "hello",
    [{"client_name": "x" * 1_500_000}, {"features": ["x" * 10] * 100_000}],
    ids=["name", "features"],
)
def test_a_huge_hello_is_refused(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, hello: dict[str, Any]
) -> None:
    daemon = start_daemon(dataset)
    with pytest.raises(grpc.RpcError) as caught:
        raw(daemon.address, **hello)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "64.0 KiB" in caught.value.details()


def test_an_unknown_dataset_is_quoted_in_short(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with pytest.raises(grpc.RpcError) as caught:
        raw(daemon.address, dataset="東\n" * 10_000)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    assert caught.value.details().startswith("found dataset '東\\n東")
    assert caught.value.details().endswith("expected one of 'small'")
    with pytest.raises(grpc.RpcError) as caught:
        raw(daemon.address, expected_fingerprint=b"\xff" * 60_000)
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.slow
def test_errors_about_shared_memory_cannot_fill_the_log(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    session = raw(daemon.address)
    for _ in range(50):
        session.send(region_mapped=pb.RegionMapped(region_id=1, error=FORGED + "y" * 2_000_000))
    session.sample(2, [1], [2])
    message = session.receive().error.message
    assert HARMLESS in message
    assert len(message) < 1000
    log = daemon.output()
    assert log.count("cannot map shared memory") == 1
    assert len(log) < 10_000
    session.close()


METHODS = (
    "graphzero.v1.SamplerService/Session",
    "graphzero.v1.SamplerService/GetStats",
    "graphzero.v1.SamplerService/ListDatasets",
    "grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/Watch",
    "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
)


def test_messages_that_cannot_be_decoded_are_a_line_each_until_there_are_too_many(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    with grpc.insecure_channel(daemon.address, OWN_CONNECTION) as channel:
        for method in METHODS * 30:
            with pytest.raises(grpc.RpcError) as caught:
                list(channel.stream_stream(f"/{method}")(iter([b"\xff"]), timeout=60))
            assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert 100 <= daemon.output().count("cannot be decoded") < 30 * len(METHODS)
    daemon.wait_for_output("more like: refused a message")
    assert "Traceback" not in daemon.output()
    assert main(["ping", daemon.address]) == 0


def test_an_undecodable_message_ends_a_session_that_was_open(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    hello = pb.SessionRequest(request_id=1, hello=pb.Hello(protocol_version=1))
    with grpc.insecure_channel(daemon.address, OWN_CONNECTION) as channel:
        call = channel.stream_stream("/graphzero.v1.SamplerService/Session")
        answers = call(iter([hello.SerializeToString(), b"\xff"]), timeout=60)
        with pytest.raises(grpc.RpcError) as caught:
            list(answers)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    daemon.wait_for_output("session 1 closed")
    assert "Traceback" not in daemon.output()


def test_peers_that_speak_no_tls_leave_nothing_in_the_log(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    import socket

    from certificates import make_certificate

    certificate, key = make_certificate(tmp_path)
    daemon = start_daemon(
        *(dataset, "--listen", "127.0.0.1:0"),
        *("--tls-certificate", str(certificate), "--tls-key", str(key)),
    )
    daemon.wait_for_output("connect with")
    port = int(daemon.output().split("listening on 127.0.0.1:")[1].split()[0])
    before = len(daemon.output())
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(b"GET / HTTP/1.0\r\n\r\n")
            while peer.recv(4096):
                pass
    assert main(["ping", daemon.address]) == 0
    assert "ssl" not in daemon.output()[before:].lower()


# --- the log ---


def record(text: str, line: int = 1, **rest: Any) -> logging.LogRecord:
    fields = {"name": "log", "level": logging.WARNING, "pathname": "f.py", "exc_info": None, **rest}
    return logging.LogRecord(lineno=line, msg="said %s", args=(text,), **fields)


def test_a_kind_of_line_is_limited_and_what_is_left_out_is_counted() -> None:
    now = [0.0]
    limit = LineLimit(clock=lambda: now[0])
    passed = sum(limit.filter(record(f"{i}")) for i in range(1000))
    assert passed == 100
    assert limit.filter(record("other", line=2))  # another kind
    now[0] = 100.0
    assert limit.omitted() == ["left out 900 more like: said 999"]
    assert limit.omitted() == []
    assert sum(limit.filter(record(f"{i}")) for i in range(1000)) == 100
    now[0] = 101.0
    assert limit.omitted() == []  # not too often
    now[0] = 120.0
    assert len(limit.omitted()) == 1


def test_a_record_is_one_short_line() -> None:
    text = LineFormatter().format(record(FORGED + "y" * 10**6))
    assert text.endswith("…")
    assert "\n" not in text
    assert len(text) < 1100


def test_a_traceback_is_marked_and_cut() -> None:
    def fail(depth: int) -> None:
        if depth == 0:
            raise ValueError(FORGED)
        fail(depth - 1)

    try:
        fail(100)
    except ValueError:
        text = LineFormatter().format(record("", exc_info=sys.exc_info()))
    _, *rest = text.split("\n")
    assert all(line.startswith("  | ") for line in rest)
    assert 0 < len(rest) <= 40
    assert "\x1b" not in text
    assert "ValueError: x" in text
