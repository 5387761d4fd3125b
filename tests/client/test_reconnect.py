"""The daemon's death, and data that changes, seen from a trainer."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import tempfile
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from contents import batch_contents
from daemon_process import DaemonProcess
from graphzero.client.connection.address import Address
from graphzero.client.connection.pool import ConnectionPool
from graphzero.client.connection.session import Session
from graphzero.client.connection.unavailable import went_away
from graphzero.files.publish import new_dataset
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

FANOUT = [3, 2]


@pytest.fixture(scope="module")
def restarted(dataset: Path) -> Iterator[DaemonProcess]:
    directory = Path(tempfile.mkdtemp(prefix="gz-"))
    daemon = DaemonProcess(dataset, directory / "s.sock")
    yield daemon
    daemon.kill()
    shutil.rmtree(directory)


@pytest.fixture
def mortal(restarted: DaemonProcess) -> DaemonProcess:
    """A daemon that a test may kill; the next one finds another in its place."""
    if restarted.process.poll() is not None:
        restarted.start()
    return restarted


def test_without_retry_the_daemon_s_death_is_an_error_and_tensors_stay(
    mortal: DaemonProcess,
) -> None:
    client = gz.connect(mortal.address)
    batch = client.sample(range(50), FANOUT)
    before = batch.clone()
    mortal.kill()
    with pytest.raises(gz.ServerUnavailable):
        client.sample(range(50), FANOUT)
    assert torch.equal(batch.x, before.x)
    batch.x.add_(1)
    client.close()


def test_without_retry_a_client_works_again_once_a_daemon_is_there(mortal: DaemonProcess) -> None:
    with gz.connect(mortal.address) as client:
        expected = batch_contents(client.sample(range(50), FANOUT, seed=1))
        mortal.kill()
        with pytest.raises(gz.ServerUnavailable):
            client.sample(range(50), FANOUT)
        mortal.start()
        assert batch_contents(client.sample(range(50), FANOUT, seed=1)) == expected


def test_the_daemon_s_death_is_one_sentence_with_the_remedy(mortal: DaemonProcess) -> None:
    def told(call: Callable[[], Any]) -> str:
        with pytest.raises(gz.ServerUnavailable) as caught:
            call()
        shown = "".join(traceback.format_exception(caught.value))
        assert "grpc" not in shown.lower(), shown
        assert "threading" not in shown, shown
        assert "\n" not in str(caught.value)
        return str(caught.value)

    with gz.connect(mortal.address) as client:
        client.sample([1], FANOUT)
        loader = client.loader(None, FANOUT, 10)  # both have a session now
        os.kill(mortal.pid, signal.SIGSTOP)  # so that the requests are surely in flight
        future = client.sample_async(range(50), FANOUT)
        batches = iter(loader)
        mortal.kill()
        while_asked = told(lambda: future.result(60))
        assert f"the daemon at {mortal.address} ended unexpectedly (" in while_asked
        while_not = told(lambda: client.sample(range(50), FANOUT))
        assert f"no daemon answers at {mortal.address} (Connection refused)" in while_not
        for text in (while_asked, while_not, told(lambda: next(batches))):
            assert "connect(retry=True) waits for the next one" in text
        assert "Connection refused" in told(client.datasets)
        assert "retry" not in told(lambda: gz.connect(mortal.address))


def test_direct_calls_do_not_wait_for_a_session_that_another_thread_opens(
    mortal: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_open = threading.Event(), threading.Event()
    new_connection = ConnectionPool._new_connection

    def slow(*arguments: Any) -> Any:
        begun.set()
        assert may_open.wait(DEADLINE_S)
        return new_connection(*arguments)

    with gz.connect(mortal.address) as client, ThreadPoolExecutor(2) as threads:
        client.sample([1], FANOUT)
        monkeypatch.setattr(ConnectionPool, "_new_connection", slow)
        loader = threads.submit(client.loader, None, FANOUT, 10)
        assert begun.wait(DEADLINE_S)
        sampled = threads.submit(client.sample, [1, 2], FANOUT)
        try:
            assert sampled.result(DEADLINE_S).batch_size == 2
        finally:
            may_open.set()
        assert next(iter(loader.result(DEADLINE_S))).batch_size == 10


def test_a_daemon_that_was_stopped_is_told_from_one_that_failed(mortal: DaemonProcess) -> None:
    with gz.connect(mortal.address) as client:
        session = client._pool.direct()._session
        assert session is not None
        mortal.stop()
        session._receiver.join(60)
        assert str(session.ended) == f"the daemon at {mortal.address} was stopped"
    address = Address("127.0.0.1:7000")
    assert str(went_away(address, "Cancelling all calls")) == f"the daemon at {address} was stopped"
    broken = "ended unexpectedly, or the connection to it broke (Broken pipe)"
    assert str(went_away(address, "Broken pipe")) == f"the daemon at {address} {broken}"


def test_with_retry_it_is_told_how_long_nobody_came(
    mortal: DaemonProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with gz.connect(mortal.address, retry=True, retry_timeout=0.2) as client:
        loader = client.loader(None, FANOUT, 500)
        mortal.kill()
        vain = (
            f"the daemon at {mortal.address} did not come back within 0.2 s (retry_timeout); "
            "start it with: graphzero-server --data DIR"
        )
        for call in (lambda: client.sample(range(50), FANOUT), lambda: next(iter(loader))):
            with pytest.raises(gz.ServerUnavailable) as caught:
                call()
            assert str(caught.value) == vain
    assert caplog.messages == [
        f"the daemon at {mortal.address} went away; waiting up to 0.2 s for it to come back "
        "(retry_timeout)"
    ]


def test_with_retry_a_daemon_that_goes_away_again_is_told_again(
    mortal: DaemonProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with gz.connect(mortal.address, retry=True) as client:
        for times in (1, 2):
            mortal.kill()
            restart = threading.Timer(0.1, mortal.start)
            restart.start()
            client.sample(range(50), FANOUT)
            restart.join()
            assert len(caplog.messages) == times
            assert "waiting up to 60 s for it to come back" in caplog.text


def test_requests_in_flight_fail_with_the_daemon(mortal: DaemonProcess) -> None:
    with gz.connect(mortal.address) as client:
        os.kill(mortal.pid, signal.SIGSTOP)  # so that they are surely in flight
        futures = [client.sample_async(range(50), FANOUT) for _ in range(3)]
        mortal.kill()
        for future in futures:
            with pytest.raises(gz.ServerUnavailable):
                future.result(60)


def test_with_retry_requests_in_flight_are_answered_by_the_next_daemon(
    mortal: DaemonProcess,
) -> None:
    with gz.connect(mortal.address, retry=True) as client:
        expected = [batch_contents(client.sample(range(50), FANOUT, seed=s)) for s in range(3)]
        os.kill(mortal.pid, signal.SIGSTOP)
        futures = [client.sample_async(range(50), FANOUT, seed=s) for s in range(3)]
        mortal.kill()
        mortal.start()
        assert [batch_contents(future.result(60)) for future in futures] == expected


def test_with_retry_the_next_daemon_may_take_fewer_requests_at_a_time(
    mortal: DaemonProcess,
) -> None:
    with gz.connect(mortal.address, retry=True) as client:
        nodes, fanout = range(2000), [10, 5]  # much enough that requests pile up
        expected = [batch_contents(client.sample(nodes, fanout, seed=s)) for s in range(20)]
        os.kill(mortal.pid, signal.SIGSTOP)
        futures = [client.sample_async(nodes, fanout, seed=s) for s in range(20)]
        mortal.kill()
        mortal.start("--max-in-flight", "2")
        assert [batch_contents(future.result(60)) for future in futures] == expected
        mortal.kill()  # the next test has one as it always is


def test_with_retry_a_loader_goes_on_with_the_same_batches(mortal: DaemonProcess) -> None:
    with gz.connect(mortal.address, retry=True) as client:

        def make() -> gz.Loader:
            return client.loader(None, FANOUT, 100, shuffle=True, seed=4, prefetch=3)

        expected = [batch_contents(batch) for batch in make()]
        seen, held = [], []
        for number, batch in enumerate(make()):
            if number in (3, 4, 11):
                mortal.kill()
                mortal.start()
            seen.append(batch_contents(batch))
            held.append(batch.x[0].clone())
        assert seen == expected


def test_no_batch_is_lost_when_the_daemon_dies(mortal: DaemonProcess) -> None:
    """Without retry an epoch ends with an error; a state saved then goes on without a gap."""
    with gz.connect(mortal.address) as client:
        loader = client.loader(None, FANOUT, 100, shuffle=True)
        expected = [
            batch_contents(batch) for batch in client.loader(None, FANOUT, 100, shuffle=True)
        ]
        seen: list[Any] = []

        def take_batches() -> None:
            for batch in loader:
                seen.append(batch_contents(batch))
                if len(seen) == 5:
                    mortal.kill()

        with pytest.raises(gz.ServerUnavailable):
            take_batches()
        state = loader.state_dict()
        mortal.start()
        loader.load_state_dict(state)
        seen += [batch_contents(batch) for batch in loader]
        assert seen == expected


def test_with_retry_new_loaders_wait_for_the_daemon_too(mortal: DaemonProcess) -> None:
    with gz.connect(mortal.address, retry=True) as client:
        client.sample(range(5), FANOUT)
        mortal.kill()
        restart = threading.Timer(0.1, mortal.start)
        restart.start()
        assert len(list(client.loader(None, FANOUT, 500))) == 4
        restart.join()


def test_with_retry_a_daemon_that_stays_away_is_an_error(mortal: DaemonProcess) -> None:
    with gz.connect(mortal.address, retry=True, retry_timeout=0.2) as client:
        mortal.kill()
        with pytest.raises(gz.ServerUnavailable):
            client.sample(range(50), FANOUT)


def test_a_daemon_that_drains_is_as_good_as_gone(mortal: DaemonProcess) -> None:
    with gz.connect(mortal.address, retry=True) as client:
        expected = batch_contents(client.sample(range(50), FANOUT, seed=1))
        assert mortal.stop() == 0
        mortal.start()
        assert batch_contents(client.sample(range(50), FANOUT, seed=1)) == expected


def test_a_daemon_that_hangs_is_a_timeout(
    mortal: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphzero.client.requests.request._GRACE_S", 0.1)
    with gz.connect(mortal.address) as client:
        client.sample(range(5), FANOUT)
        os.kill(mortal.pid, signal.SIGSTOP)
        with pytest.raises(gz.RequestTimeout, match=r"within 0\.1 s"):
            client.sample(range(5), FANOUT, timeout=0.1)
        with pytest.raises(gz.ServerUnavailable, match=r"within 0\.1 s"):
            gz.connect(mortal.address, timeout=0.1)
        os.kill(mortal.pid, signal.SIGCONT)
        assert client.sample(range(5), FANOUT).batch_size == 5


def new_version(dataset: Path, target: Path) -> None:
    """Replaces a served copy of `dataset` by one with other features."""
    with new_dataset(target, overwrite=True) as draft:
        shutil.copytree(dataset, draft, dirs_exist_ok=True, ignore=lambda *_: ["x.gd"])
        gz.write_features(draft / "x.gd", np.ones((2000, 16), np.float32))


@pytest.fixture
def copy(dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(dataset, tmp_path / "copy"))


def test_a_reconnect_that_meets_other_data_raises_dataset_changed(
    start_daemon: Callable[..., Any], dataset: Path, copy: Path
) -> None:
    daemon = start_daemon(copy)
    with gz.connect(daemon.address, retry=True) as client:
        client.sample(range(5), FANOUT)
        daemon.kill()
        new_version(dataset, copy)
        daemon.start()
        with pytest.raises(gz.DatasetChanged, match="was replaced"):
            client.sample(range(5), FANOUT)
        with pytest.raises(gz.DatasetChanged, match="was replaced"):
            client.column("x")
    with gz.connect(daemon.address) as client:
        assert client.sample(range(5), FANOUT).x.unique().tolist() == [1.0]


def test_a_state_from_before_a_replacement_is_refused(
    start_daemon: Callable[..., Any], dataset: Path, copy: Path
) -> None:
    daemon = start_daemon(copy)
    with gz.connect(daemon.address) as client:
        state = client.loader(None, FANOUT, 100).state_dict()
    daemon.kill()
    new_version(dataset, copy)
    daemon.start()
    with gz.connect(daemon.address) as client, pytest.raises(gz.DatasetChanged, match="dataset"):
        client.loader(None, FANOUT, 100).load_state_dict(state)


def test_shared_memory_that_cannot_be_opened_names_the_way_out(
    daemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphzero import _engine

    class Hidden:
        @staticmethod
        def open(name: str, size: int) -> None:
            raise FileNotFoundError(2, "No such file or directory", name)

    monkeypatch.setattr(_engine, "RegionView", Hidden)
    way_out = pytest.raises(gz.SharedMemoryUnavailable, match=r'/dev/shm.*transport="inline"')
    with gz.connect(daemon.address) as client, way_out:
        client.sample(range(5), FANOUT)


def test_batch_numbers_are_not_shared_between_links(daemon: Any) -> None:
    """Two loaders that are read in turn get their own answers."""
    with gz.connect(daemon.address) as client:
        one = client.loader(range(100), FANOUT, 10)
        two = client.loader(range(100, 200), FANOUT, 10)
        for a, b in itertools.zip_longest(one, two):
            assert a.n_id[0] < 100 <= b.n_id[0]


def test_a_request_made_while_the_daemon_is_away_gets_all_its_time_from_the_next(
    mortal: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    send = Session.send

    def record(self: Session, messages: Any) -> None:
        sent.extend(message.timeout_ms for message in messages)
        send(self, messages)

    monkeypatch.setattr(Session, "send", record)
    with gz.connect(mortal.address, retry=True) as client:
        mortal.kill()
        connection = client._pool.direct()
        wait_until(lambda: connection._session is None, "the client notices")
        timeout_s = 0.3
        future = client.sample_async([1], FANOUT, timeout=timeout_s)
        over = time.monotonic() + timeout_s
        wait_until(lambda: time.monotonic() > over, "its time would be over")
        mortal.start()
        wait_until(lambda: sent, "the request is sent")
        future.cancel()
    assert sent[0] > 1  # what would be left of it


def test_a_failed_call_keeps_nothing_until_the_garbage_collector_comes(
    mortal: DaemonProcess,
) -> None:
    client = gz.connect(mortal.address)
    reference = weakref.ref(client)
    gc.disable()
    try:
        with pytest.raises(gz.InvalidRequest):
            client.sample([-1], FANOUT)
        del client
        assert reference() is None
    finally:
        gc.enable()
