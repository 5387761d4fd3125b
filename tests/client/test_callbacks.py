"""Callbacks of futures, and what dies with the last reference: never on gRPC's own thread."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import graphzero as gz
import pytest
from graphzero.client.process.threads import keep_from_users
from waiting import DEADLINE_S

FANOUT = [3, 2]


class Called:
    """A callback that another thread waits for; `do` is what it does."""

    def __init__(self, do: Any) -> None:
        self._do = do
        self._results: SimpleQueue[Any] = SimpleQueue()

    def __call__(self, future: Future[Any]) -> None:
        try:
            self._results.put(self._do(future))
        except BaseException as error:
            self._results.put(error)

    def result(self) -> Any:
        return self._results.get(timeout=DEADLINE_S)


def ask(client: gz.Client) -> Future[gz.Batch]:
    return client.sample_async(range(2000), [10, 10, 5])


def test_a_callback_may_sample_and_others_go_on_meanwhile(client: gz.Client, daemon: Any) -> None:
    let_go = threading.Event()

    def sample(_: Any) -> int:
        size = client.sample(range(50), FANOUT).batch_size
        let_go.wait(DEADLINE_S)
        return size

    called = Called(sample)
    with daemon.held():
        ask(client).add_done_callback(called)
    assert client.sample(range(5), FANOUT).batch_size == 5  # while the callback is under way
    let_go.set()
    assert called.result() == 50


def test_a_callback_may_wait_for_a_future_that_has_one_too(client: gz.Client, daemon: Any) -> None:
    second = Called(lambda future: future.result().batch_size)
    first = Called(lambda _: other.result(DEADLINE_S).batch_size)
    with daemon.held():
        other = ask(client)
        other.add_done_callback(second)
        ask(client).add_done_callback(first)
    assert (first.result(), second.result()) == (2000, 2000)


def test_a_callback_may_close_the_client(daemon: Any) -> None:
    client = gz.connect(daemon.address)
    called = Called(lambda _: client.close())
    with daemon.held():
        ask(client).add_done_callback(called)
    assert called.result() is None
    with pytest.raises(gz.RequestCancelled):
        client.sample(range(5), FANOUT)


def test_a_callback_may_cancel_other_requests(client: gz.Client, daemon: Any) -> None:
    called = Called(lambda _: [other.cancel() or other.done() for other in others])
    with daemon.held():
        others = [ask(client) for _ in range(3)]
        client.sample_async([0], FANOUT).add_done_callback(called)
    assert called.result() == [True] * 3
    for other in others:
        with suppress(CancelledError):
            assert other.result(DEADLINE_S).batch_size == 2000
    assert client.sample(range(5), FANOUT).batch_size == 5


def test_callbacks_run_on_a_thread_of_their_own_and_in_order(
    client: gz.Client, daemon: Any
) -> None:
    called = [Called(lambda _: (threading.current_thread().name, len(order))) for _ in range(3)]
    order: list[int] = []
    with daemon.held():
        future = ask(client)
        for number, one in enumerate(called):
            future.add_done_callback(one)
            future.add_done_callback(lambda _, number=number: order.append(number))  # type: ignore[misc]
    assert [one.result() for one in called] == [("graphzero-callback", n) for n in range(3)]


def test_a_callback_that_fails_is_logged_and_stops_no_other(
    client: gz.Client, daemon: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Any) -> None:
        raise SystemExit("a user's mistake")

    called = Called(lambda future: future.result().batch_size)
    with caplog.at_level(logging.ERROR):
        with daemon.held():
            future = ask(client)
            future.add_done_callback(fail)
            future.add_done_callback(called)
        assert called.result() == 2000
    assert "a user's mistake" in caplog.text


def test_errors_and_cancelled_futures_call_back_too(client: gz.Client, daemon: Any) -> None:
    refused = Called(lambda future: type(future.exception()))
    client.sample_async([5000], FANOUT).add_done_callback(refused)
    assert refused.result() is gz.InvalidRequest
    cancelled = Called(lambda future: future.cancelled())
    with daemon.held():
        future = ask(client)
        future.add_done_callback(cancelled)
        assert future.cancel()
    assert cancelled.result()


def test_the_end_of_the_daemon_calls_back_where_another_client_can_be_used(
    start_daemon: Any, dataset: Any, client: gz.Client
) -> None:
    mortal = start_daemon(dataset)
    with gz.connect(mortal.address) as other:
        called = Called(
            lambda future: (future.exception(), client.sample([0], FANOUT), other.close())
        )
        with mortal.held():
            other.sample_async(range(50), FANOUT).add_done_callback(called)
            mortal.kill()
        error, batch, _ = called.result()
    assert isinstance(error, gz.ServerUnavailable)
    assert batch.batch_size == 1


def test_whoever_is_called_back_needs_to_hold_on_to_nothing(daemon: Any) -> None:
    called = Called(lambda future: future.result().batch_size)
    client = gz.connect(daemon.address)
    with daemon.held():
        ask(client).add_done_callback(called)
        del client
        gc.collect()
    assert called.result() == 2000


def test_a_future_keeps_its_client_open(daemon: Any) -> None:
    future = ask(gz.connect(daemon.address))
    gc.collect()
    assert future.result(DEADLINE_S).batch_size == 2000


def test_what_dies_with_a_callback_may_use_the_client(client: gz.Client, daemon: Any) -> None:
    died = Called(lambda _: client.sample(range(5), FANOUT).batch_size)

    class Last:
        def __del__(self) -> None:
            died(Future())

    last = Last()
    with daemon.held():
        future = ask(client)
        future.add_done_callback(lambda _, last=last: None)  # type: ignore[misc]
        del last, future
    assert died.result() == 5


def test_futures_work_with_asyncio(client: gz.Client) -> None:
    async def sample() -> int:
        return (await asyncio.wrap_future(client.sample_async(range(50), FANOUT))).batch_size

    assert asyncio.run(asyncio.wait_for(sample(), DEADLINE_S)) == 50


def test_a_thread_that_answers_come_on_is_refused_instead_of_hanging(daemon: Any) -> None:
    """The garbage collector runs destructors on any thread, also on those of the client."""
    client = gz.connect(daemon.address)
    found: SimpleQueue[Any] = SimpleQueue()

    def destructor() -> None:
        keep_from_users()
        try:
            ask(client)  # asking is harmless
            client.sample(range(2000), [10, 10, 5])
        except RuntimeError as error:
            found.put(str(error))
        client.close()
        found.put("closed")

    threading.Thread(target=destructor).start()
    assert "on another thread" in found.get(timeout=DEADLINE_S)
    assert found.get(timeout=DEADLINE_S) == "closed"
    client.close()


LAST_REFERENCES = {
    "in a future": "f = gz.connect(a).sample_async(range(50), [3]); f.result()",
    "in a result": "b = gz.connect(a).sample_async(range(50), [3]).result()",
    "nowhere": "gz.connect(a).sample_async(range(50), [3])",
    "in a loader": "l = gz.connect(a).loader(None, [3], 50); i = iter(l); next(i); del l",
    "in a cycle": "f = gz.connect(a).sample_async(range(50), [3]); f.cycle = f; f.result(); del f",
    "in a callback": """
def sample_again(f, c=gz.connect(a)):
    try:
        c.sample([0], [3])
    except gz.RequestCancelled:
        pass  # the program has ended meanwhile
sample_again.__defaults__[0].sample_async(range(50), [3]).add_done_callback(sample_again)
del sample_again
""",
}


@pytest.mark.parametrize("program", LAST_REFERENCES.values(), ids=LAST_REFERENCES.keys())
def test_programs_end_wherever_the_last_reference_to_a_client_is(daemon: Any, program: str) -> None:
    script = f"import graphzero as gz\na = {daemon.address!r}\n{program}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert (done.returncode, done.stderr) == (0, "")
