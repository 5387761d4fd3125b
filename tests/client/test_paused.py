"""A trainer that stands still, by SIGSTOP or with a laptop's lid, and reads its messages later."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import pytest
from gate import Gate
from graphzero.proto.graphzero_pb2 import GetStatsRequest, GetStatsResponse
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

# A daemon that takes who says nothing for a while for gone; and that does so on its socket too.
IMPATIENT_OVER_TCP = """
from graphzero.transport import grpc_setup
grpc_setup._TCP_KEEPALIVE_MS = 300
"""
IMPATIENT = f"""
{IMPATIENT_OVER_TCP}
over_tcp = grpc_setup.keepalive_options(is_socket=False)
grpc_setup.keepalive_options = lambda is_socket: over_tcp
"""

# Samples once, when the test says so; a pause of a second is a long one to it.
TRAINER = """
import sys
import graphzero as gz
from graphzero.client.process import deadline
from graphzero.client.requests import request
request._GRACE_S = 0.2
deadline._LATE_S = 0.2 - deadline.STEP_S
client = gz.connect(sys.argv[1], retry=sys.argv[2] == "True")
print("connected", flush=True)
sys.stdin.readline()
batch = client.sample(range(50), [3, 2], seed=1, timeout=float(sys.argv[3]))
print(batch.n_id.tolist(), flush=True)
"""


class Trainer:
    """The program above, stopped and let go by the test."""

    def __init__(self, address: str, *, retry: bool, timeout: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, address, str(retry), str(timeout)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "connected\n"

    def ask(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def result(self) -> list[int]:
        """Lets it go on, to its end."""
        os.kill(self.process.pid, signal.SIGCONT)
        out, errors = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == 0, errors
        found: list[int] = eval(out)
        return found


class Stats:
    """What a daemon says of itself."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
        self._ask = SamplerServiceStub(self._channel).GetStats

    def wait_until(self, condition: Callable[[GetStatsResponse], bool]) -> None:
        def holds() -> bool:
            return condition(self._ask(GetStatsRequest(), timeout=DEADLINE_S))

        wait_until(holds, lambda: f"found {self._ask(GetStatsRequest(), timeout=DEADLINE_S)}")

    def close(self) -> None:
        self._channel.close()


@pytest.fixture
def expected(dataset: Path) -> list[int]:
    found: list[int] = gz.Graph(dataset).sample(range(50), [3, 2], seed=1).n_id.tolist()
    return found


@pytest.fixture
def kill_trainers() -> Iterator[list[Trainer]]:
    trainers: list[Trainer] = []
    yield trainers
    for trainer in trainers:
        trainer.process.kill()
        trainer.process.wait()


Scene = tuple[Any, Stats, Trainer]


@pytest.fixture
def scene(
    start_daemon: Any, dataset: Path, gate: Gate, kill_trainers: list[Trainer]
) -> Iterator[Callable[..., Scene]]:
    """scene(setup, ...) -> a daemon with a gate, what it says of itself, and a trainer."""
    with contextlib.ExitStack() as stack:

        def make(setup: str = "", **trainer: Any) -> Scene:
            daemon = start_daemon(dataset, setup=setup + gate.setup)
            stats = stack.enter_context(contextlib.closing(Stats(daemon.address)))
            kill_trainers.append(Trainer(daemon.address, **trainer))
            return daemon, stats, kill_trainers[-1]

        yield make


def stopped_with_an_unread_batch(trainer: Trainer, stats: Stats, gate: Gate) -> None:
    """Its first, so that the region it lies in is still to be opened."""
    trainer.ask()
    stats.wait_until(lambda found: any(session.in_flight for session in found.sessions))
    trainer.stop()
    gate.open()
    stats.wait_until(lambda found: any(session.blocks for session in found.sessions))


def test_a_batch_that_was_ready_meanwhile_is_there(
    scene: Callable[..., Scene], gate: Gate, expected: list[int]
) -> None:
    _, stats, trainer = scene(retry=False, timeout=3)
    stopped_with_an_unread_batch(trainer, stats, gate)
    threading.Event().wait(4)  # beyond all that the trainer would wait for
    assert trainer.result() == expected


def test_a_request_whose_time_ran_out_meanwhile_is_made_again(
    scene: Callable[..., Scene], gate: Gate, expected: list[int]
) -> None:
    _, stats, trainer = scene(retry=False, timeout=3)
    trainer.ask()
    stats.wait_until(lambda found: any(session.in_flight for session in found.sessions))
    trainer.stop()
    stats.wait_until(lambda found: found.failed_requests == 1)
    threading.Event().wait(0.5)  # beyond its patience after the deadline
    gate.open()
    assert trainer.result() == expected


def test_a_session_that_was_dropped_meanwhile_is_a_lost_connection(
    scene: Callable[..., Scene], gate: Gate, expected: list[int]
) -> None:
    """The trainer first reads of a region that does not exist any more."""
    _, stats, trainer = scene(IMPATIENT, retry=True, timeout=60)
    stopped_with_an_unread_batch(trainer, stats, gate)
    stats.wait_until(lambda found: not found.sessions)
    assert trainer.result() == expected


def test_a_daemon_that_was_restarted_meanwhile_is_a_lost_connection(
    scene: Callable[..., Scene], gate: Gate, expected: list[int]
) -> None:
    daemon, stats, trainer = scene(retry=True, timeout=60)
    stopped_with_an_unread_batch(trainer, stats, gate)
    daemon.kill()
    daemon.start()
    assert trainer.result() == expected


def test_a_stopped_trainer_keeps_its_session_on_a_socket_and_not_over_tcp(
    start_daemon: Any, dataset: Path, kill_trainers: list[Trainer]
) -> None:
    """Beyond this machine it could as well have vanished. It connects again when it goes on."""
    daemon = start_daemon(dataset, "--listen", "127.0.0.1:0", setup=IMPATIENT_OVER_TCP)
    where = next(line for line in daemon.output().splitlines() if "127.0.0.1:" in line)
    tcp = next(word for word in where.split() if word.startswith("127.0.0.1:")).strip(",")
    stats = Stats(daemon.address)
    for address in (daemon.address, tcp):
        kill_trainers.append(Trainer(address, retry=True, timeout=60))
    stats.wait_until(lambda found: len(found.sessions) == 2)
    for trainer in kill_trainers:
        trainer.stop()
    stats.wait_until(lambda found: len(found.sessions) == 1)
    on_socket, over_tcp = kill_trainers
    stats.wait_until(lambda found: str(on_socket.process.pid) in found.sessions[0].client_name)
    for trainer in kill_trainers:
        trainer.ask()
    assert on_socket.result() == over_tcp.result()
    stats.close()


def test_a_daemon_that_vanished_beyond_this_machine_is_noticed(
    start_daemon: Any, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphzero.transport.grpc_setup._TCP_KEEPALIVE_MS", 300)
    daemon = start_daemon(dataset, "--listen", "127.0.0.1:0")
    where = next(line for line in daemon.output().splitlines() if "127.0.0.1:" in line)
    tcp = next(word for word in where.split() if word.startswith("127.0.0.1:")).strip(",")
    client = gz.connect(tcp)
    os.kill(daemon.pid, signal.SIGSTOP)
    with pytest.raises(gz.ServerUnavailable):
        client.sample(range(50), [3])
    os.kill(daemon.pid, signal.SIGCONT)
    assert client.sample(range(50), [3]).batch_size == 50
    client.close()
