"""Health checks: gRPC's health service, as grpc_health_probe calls it, and `graphzero ping`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from certificates import make_certificate
from commands import run_graphzero
from daemon_process import OWN_CONNECTION
from graphzero.client.daemon.daemon_calls import daemon_stats
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waiting import DEADLINE_S, wait_until

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
TOKEN = "0123456789abcdef-token"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure_options(certificate: tuple[Path, Path], tmp_path: Path) -> list[str]:
    """Of a daemon with TLS and a token."""
    token_file = tmp_path / "token"
    token_file.touch(mode=0o600)
    token_file.write_text(TOKEN)
    return [
        *("--listen", "127.0.0.1:0", "--token-file", str(token_file)),
        *("--tls-certificate", str(certificate[0]), "--tls-key", str(certificate[1])),
    ]


def test_health_is_told_without_a_token_on_socket_and_tcp(
    start_daemon: Callable[..., Any],
    dataset: Path,
    certificate: tuple[Path, Path],
    secure_options: list[str],
    gate: Any,
    raw: Any,
) -> None:
    """The calls of grpc_health_probe, and Watch, to the end of a daemon that drains."""
    daemon = start_daemon(dataset, *secure_options, setup=gate.setup)
    trust = grpc.ssl_channel_credentials(certificate[0].read_bytes())
    session = raw(daemon.address)
    with (
        grpc.insecure_channel(f"unix://{daemon.socket}", OWN_CONNECTION) as local,
        grpc.secure_channel(daemon.tcp_address, trust, OWN_CONNECTION) as secure,
    ):
        watches = []
        for channel in (local, secure):
            stub = health_pb2_grpc.HealthStub(channel)
            for service in ("", "graphzero.v1.SamplerService"):
                request = health_pb2.HealthCheckRequest(service=service)
                assert stub.Check(request, timeout=DEADLINE_S).status == SERVING
                watches.append(stub.Watch(request, timeout=DEADLINE_S))
            unknown = health_pb2.HealthCheckRequest(service="no.such.Service")
            with pytest.raises(grpc.RpcError) as caught:
                stub.Check(unknown, timeout=DEADLINE_S)
            assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        assert [next(watch).status for watch in watches] == [SERVING] * 4
        session.sample(2, [1], [2])  # stands at the gate, so that the daemon stays to drain
        wait_until(lambda: daemon_stats(daemon.address).sessions[0].in_flight, "a request")
        daemon.process.terminate()
        assert [next(watch).status for watch in watches] == [NOT_SERVING] * 4
        gate.open()
        assert daemon.process.wait(timeout=DEADLINE_S) == 0
    session.close()


def test_ping_goes_by_the_environment_alone(
    start_daemon: Callable[..., Any],
    dataset: Path,
    certificate: tuple[Path, Path],
    secure_options: list[str],
) -> None:
    daemon = start_daemon(dataset, *secure_options)
    known = {
        "GRAPHZERO_ADDRESS": daemon.tcp_address,
        "GRAPHZERO_ROOT_CERTIFICATE": str(certificate[0]),
        "GRAPHZERO_TOKEN": TOKEN,
    }
    for command in ("ping", "sessions"):
        done = run_graphzero(command, env=os.environ | known)
        assert done.returncode == 0, done.stderr
    done = run_graphzero("ping", env=os.environ | known | {"GRAPHZERO_TOKEN": "wrong" * 5})
    assert done.returncode == 1
    assert "a wrong token, or none" in done.stderr


# A network of the daemon's own, in which peers are asked after a second whether they are there.
OWN_NETWORK = """
import ctypes, subprocess
assert ctypes.CDLL(None).unshare(0x40000000) == 0  # CLONE_NEWNET
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
from graphzero.transport import grpc_setup
grpc_setup._TCP_KEEPALIVE_MS = 1000
"""
TRAINER = """
import sys, graphzero as gz
client = gz.connect(sys.argv[1])
client.sample([1], fanout=[2])
print("trains", flush=True)
sys.stdin.read()
"""


def refusal() -> str | None:
    """Why a network of one's own cannot be had here, if so."""
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    probe = ["unshare", "--net", "ip", "link", "set", "lo", "up"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"unshare is not permitted: {done.stderr.strip()}"


def test_a_host_that_vanishes_without_a_word_loses_its_session(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    """The link is cut: no packet comes any more, not even one that ends a connection."""
    reason = refusal()
    if reason is not None:
        pytest.skip(reason)
    daemon = start_daemon(dataset, "--listen", "127.0.0.1:7171", setup=OWN_NETWORK)
    inside = ["nsenter", "--net", "--target", str(daemon.pid)]
    command = [*inside, sys.executable, "-c", TRAINER, "127.0.0.1:7171"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == "trains\n"
        assert daemon_stats(daemon.address).num_sessions == 1  # the socket is a file: it stays
        subprocess.run([*inside, "ip", "link", "set", "lo", "down"], check=True)
        wait_until(lambda: not daemon_stats(daemon.address).num_sessions, "the end of the session")
        assert trainer.poll() is None  # it is there, and has said nothing
        trainer.kill()
