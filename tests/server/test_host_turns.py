"""How the turns of costly rpcs are divided among machines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import TooManyCalls
from graphzero.server.network.host_turns import HostTurns, host_of
from graphzero.server.peers.answers import PeerAnswers
from graphzero.server.sessions.scheduler import Scheduler
from graphzero.server.transfers import Transfers
from waiting import DEADLINE_S


async def settle() -> None:
    """Returns when every task that can go on without others has done so."""
    for _ in range(20):
        await asyncio.sleep(0)


class Callers:
    """Calls that keep their turn until they are cancelled."""

    def __init__(self, turns: HostTurns) -> None:
        self._turns = turns
        self.inside: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def _hold(self, name: str) -> None:
        async with self._turns.turn(name[0]):
            self.inside.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                self.inside.remove(name)

    async def call(self, *names: str) -> None:
        for name in names:
            self.tasks[name] = asyncio.create_task(self._hold(name))
        await settle()

    async def end(self, *names: str) -> None:
        for name in names:
            self.tasks.pop(name).cancel()
        await settle()


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))


def test_one_machine_leaves_turns_to_the_others() -> None:
    async def scenario() -> None:
        callers = Callers(HostTurns(3, per_host=2))
        await callers.call("a1", "a2", "a3", "a4", "b1", "b2", "c1")
        assert callers.inside == ["a1", "a2", "b1"]
        await callers.end("a3", "b1")  # one of them waits
        assert callers.inside == ["a1", "a2", "b2"]
        await callers.end("a1", "b2")
        assert callers.inside == ["a2", "c1", "a4"]
        await callers.end(*callers.tasks)
        assert not callers.inside
        assert not callers._turns._hosts

    run(scenario)


def test_more_calls_of_one_machine_than_may_wait_are_refused() -> None:
    async def scenario() -> None:
        callers = Callers(HostTurns(3, per_host=1, most_waiting=2))
        await callers.call("a1", "a2", "a3", "a4", "b1")
        assert callers.inside == ["a1", "b1"]
        with pytest.raises(TooManyCalls, match="1 calls of this machine are being answered and 2"):
            await callers.tasks.pop("a4")
        await callers.end("a2")
        await callers.call("a5")
        await callers.end("a1", "a3")
        assert callers.inside == ["b1", "a5"]
        await callers.end(*callers.tasks)

    run(scenario)


def test_connections_of_one_machine_count_together() -> None:
    assert host_of("ipv4:10.0.0.2:41822") == host_of("ipv4:10.0.0.2:7") == "ipv4:10.0.0.2"
    assert host_of("ipv6:%5B::1%5D:41822") == "ipv6:%5B::1%5D"
    assert host_of("unix:") == "unix"


class SlowReader:
    """The context of a call whose client takes nothing after the first piece."""

    def __init__(self, host: str, port: int) -> None:
        self._peer = f"ipv4:{host}:{port}"
        self.took = asyncio.Event()

    def peer(self) -> str:
        return self._peer

    async def write(self, _: Any) -> None:
        self.took.set()
        await asyncio.Event().wait()


Answer = Callable[[SlowReader], Coroutine[Any, Any, None]]


async def a_slow_machine_and_another(answer: Answer) -> None:
    """Returns when the other machine is answered, although the first has made many calls."""
    slow = [SlowReader("10.0.0.2", port) for port in range(20)]
    other = SlowReader("10.0.0.3", 1)
    tasks = [asyncio.create_task(answer(context)) for context in (*slow, other)]
    await other.took.wait()
    assert not all(context.took.is_set() for context in slow)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def test_a_machine_that_reads_slowly_does_not_stop_copies_of_others(monkeypatch: Any) -> None:
    async def pieces(*_: Any) -> Any:
        yield b"a piece"

    async def scenario() -> None:
        transfers = Transfers(None, lambda: 0)  # type: ignore[arg-type]
        request = pb.ReadFileRequest()
        await a_slow_machine_and_another(lambda context: transfers.read_file(request, context))

    monkeypatch.setattr("graphzero.server.transfers._pieces", pieces)
    monkeypatch.setattr(Transfers, "_find", lambda *_: None)
    run(scenario)


def test_a_machine_that_reads_slowly_does_not_stop_answers_to_other_peers(monkeypatch: Any) -> None:
    async def scenario() -> None:
        scheduler = Scheduler(workers=1)
        answers = PeerAnswers(None, scheduler)  # type: ignore[arg-type]
        request = pb.ReadRowsRequest()
        await a_slow_machine_and_another(lambda context: answers.read_rows(request, context))
        assert scheduler.shutdown(DEADLINE_S)

    monkeypatch.setattr("graphzero.server.peers.answers._wanted", lambda *_: [])
    monkeypatch.setattr("graphzero.server.peers.answers._pieces", lambda _: iter(["a piece"]))
    monkeypatch.setattr("graphzero.server.peers.answers._answer", lambda _: b"rows")
    monkeypatch.setattr(PeerAnswers, "_find", lambda *_: None)
    run(scenario)
