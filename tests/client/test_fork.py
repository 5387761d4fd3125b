"""Clients in forked children: each opens a session of its own, and the parent's goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import pytest
import torch
from contents import batch_contents
from forking import in_child
from graphzero.client.connection.address import find_address
from graphzero.client.connection.stream import open_stream
from graphzero.proto.graphzero_pb2 import Cancel, GetStatsRequest, SessionRequest
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from graphzero.torch import BatchDataset
from waiting import DEADLINE_S, wait_until

FANOUT = [3, 2]
# Epochs that are left after their first batch; `make crash` sets them high.
LEFT_EPOCHS = int(os.environ.get("GRAPHZERO_LEFT_EPOCHS", "6"))

# Python warns that forking a process with threads may deadlock; that it does not is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_a_child_gets_the_same_batches_and_leaves_its_parent_s_alone(client: gz.Client) -> None:
    batch = client.sample(range(50), FANOUT, seed=1)
    expected = batch_contents(batch)

    def child() -> None:
        assert batch_contents(batch) == expected  # inherited
        assert batch_contents(client.sample(range(50), FANOUT, seed=1)) == expected
        with pytest.raises(gz.InvalidRequest, match="5000"):
            client.sample([5000], FANOUT)
        assert [found.num_nodes for found in client.datasets()] == [2000]
        client.close()

    in_child(child)
    assert batch_contents(batch) == expected
    assert batch_contents(client.sample(range(50), FANOUT, seed=1)) == expected


def test_a_child_that_ends_on_its_own_terms_does_not_hang(client: gz.Client) -> None:
    client.sample(range(50), FANOUT)
    script = Path(__file__).with_name("fork_and_exit.py")
    address = client.info().address
    done = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, str(script), address])
    assert done == 0


def test_a_child_does_not_release_the_blocks_of_its_parent(client: gz.Client) -> None:
    batch = client.sample(range(50), FANOUT, seed=1)
    expected = batch_contents(batch)
    in_child(batch.release)
    for seed in range(20):
        client.sample(range(50), FANOUT, seed=seed)
    assert batch_contents(batch) == expected


def test_children_of_children_connect_too(client: gz.Client) -> None:
    expected = batch_contents(client.sample(range(50), FANOUT, seed=1))

    def use() -> None:
        assert batch_contents(client.sample(range(50), FANOUT, seed=1)) == expected

    def child() -> None:
        use()
        in_child(use)
        use()

    in_child(child)


def test_a_loader_goes_on_in_parent_and_child(client: gz.Client) -> None:
    loader = client.loader(range(100), FANOUT, 10, shuffle=True)
    expected = [
        batch_contents(batch) for batch in client.loader(range(100), FANOUT, 10, shuffle=True)
    ]
    iterator = iter(loader)
    assert [batch_contents(next(iterator)) for _ in range(3)] == expected[:3]

    def child() -> None:
        assert [batch_contents(batch) for batch in iterator] == expected[3:]

    in_child(child)
    assert [batch_contents(batch) for batch in iterator] == expected[3:]


def test_a_child_that_is_killed_leaves_no_session_behind(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-sessions", "2")
    with gz.connect(daemon.address) as client:
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            client.sample(range(50), FANOUT)
            os.write(tell, b"!")
            signal.pause()
        assert os.read(told, 1) == b"!"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

        # Its relay ends by itself, and the daemon notices: until then the next one is refused.
        def is_accepted() -> bool:
            try:
                gz.connect(daemon.address).close()
            except gz.ResourceExhausted:
                return False
            return True

        wait_until(is_accepted, "the end of the killed child's session")


class Sampled(torch.utils.data.Dataset[Any]):
    """Batches by number, sampled wherever they are asked for."""

    def __init__(self, client: gz.Client) -> None:
        self._client = client

    def __len__(self) -> int:
        return 6

    def __getitem__(self, number: int) -> gz.Batch:
        return self._client.sample(range(10 * number, 10 * number + 10), FANOUT, seed=number)


def test_dataloader_workers_use_the_client_they_inherit(client: gz.Client) -> None:
    data = Sampled(client)
    expected = [batch_contents(data[number]) for number in range(6)]
    workers = torch.utils.data.DataLoader(
        data, batch_size=None, num_workers=2, multiprocessing_context="fork"
    )
    assert [batch_contents(batch) for batch in workers] == expected
    assert batch_contents(data[0]) == expected[0]


def sessions_of(address: str) -> list[str]:
    with grpc.insecure_channel(address) as channel:
        stats = SamplerServiceStub(channel).GetStats(GetStatsRequest(), timeout=DEADLINE_S)
        return [session.client_name for session in stats.sessions]


def relays_with(mark: str) -> list[str]:
    """Those that have it in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_relay = b"graphzero.client.connection.relay" in (process / "cmdline").read_bytes()
            if is_relay and mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
    return found


@pytest.mark.slow
def test_epochs_that_are_left_leave_neither_sessions_nor_relays(
    start_daemon: Callable[..., Any], dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers end with answers unread; there are sessions for three epochs only."""
    monkeypatch.setenv("GRAPHZERO_TEST_MARK", mark := f"left-epochs-{os.getpid()}")
    daemon = start_daemon(dataset, "--max-sessions", "8")
    data = BatchDataset(gz.connect(daemon.address), None, FANOUT, 20, prefetch=4)
    workers = torch.utils.data.DataLoader(
        data, batch_size=None, num_workers=2, multiprocessing_context="fork"
    )
    at_first = len(sessions_of(daemon.address))
    for _ in range(LEFT_EPOCHS):
        for batch in workers:
            assert batch.batch_size == 20
            break

    def left() -> tuple[int, list[str]]:
        return len(sessions_of(daemon.address)) - at_first, relays_with(mark)

    wait_until(lambda: left() == (0, []), lambda: f"sessions and relays left: {left()}")


def test_a_finalizer_may_interrupt_a_child_in_the_middle_of_a_message(client: gz.Client) -> None:
    """The collector runs at any allocation, and may find an iterator that cancels its requests."""
    address = find_address(client.info().address)

    def child() -> None:
        signal.alarm(int(DEADLINE_S))
        stream = open_stream(address)
        interrupted = threading.Event()

        class Message:
            def SerializeToString(self) -> bytes:
                stream.send(SessionRequest(request_id=1, cancel=Cancel()))
                interrupted.set()
                return b""

        stream.send(Message())  # type: ignore[arg-type]
        assert interrupted.wait(DEADLINE_S)
        stream.close()

    in_child(child)


KILLED_PARENT = """
import os, signal, sys, time
import graphzero as gz
client = gz.connect(sys.argv[1])
batch = client.sample(range(50), [3, 2])
child = os.fork()
if child == 0:
    signal.pause()
print(child, flush=True)
signal.pause()
"""


def test_a_child_that_lives_on_does_not_keep_what_its_killed_parent_held(daemon: Any) -> None:
    trainer = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", KILLED_PARENT, daemon.address],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert trainer.stdout is not None
    child = int(trainer.stdout.readline())
    try:
        with grpc.insecure_channel(daemon.address) as channel:
            stats = SamplerServiceStub(channel).GetStats

            def sessions() -> list[str]:
                found = stats(GetStatsRequest(), timeout=DEADLINE_S).sessions
                return [one.client_name for one in found if str(trainer.pid) in one.client_name]

            assert sessions()
            trainer.kill()
            trainer.wait()
            wait_until(lambda: not sessions(), "the end of the killed parent's session")
            os.kill(child, 0)  # it is still there
    finally:
        os.kill(child, signal.SIGKILL)
