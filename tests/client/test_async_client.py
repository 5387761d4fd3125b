"""`AsyncClient`: the answers of `Client`, awaited; nothing blocks the loop or outlives its task."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch
from daemon_watch import Watch
from gate import Gate
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

SEEDS = [7, 11, 7, 1999, 0]
FANOUT = [4, 3]


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """On a loop of its own, with a deadline against a hang."""
    return asyncio.run(asyncio.wait_for(coroutine, DEADLINE_S))


async def until(condition: Callable[[], Any], what: str) -> None:
    """wait_until() that lets the loop go on."""
    await asyncio.get_running_loop().run_in_executor(None, wait_until, condition, what)


def under_way(client: gz.AsyncClient) -> int:
    return len(client._connection._pending) + len(client._connection._unsent)


def same(one: gz.Batch, other: gz.Batch) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name
    assert (one.seed, one.num_sampled_nodes) == (other.seed, other.num_sampled_nodes)


def test_a_hundred_samples_at_once_are_those_of_the_client(daemon: Any, client: gz.Client) -> None:
    async def sample_all() -> list[gz.Batch]:
        async with gz.aconnect(daemon.address) as connected:
            calls = (connected.sample([n, 2 * n], FANOUT, seed=n) for n in range(100))
            return [batch.clone() for batch in await asyncio.gather(*calls)]

    for n, batch in enumerate(run(sample_all())):
        same(batch, client.sample([n, 2 * n], FANOUT, seed=n))


def test_every_call_answers_as_the_client_s(daemon: Any, client: gz.Client) -> None:
    async def ask() -> None:
        async with gz.aconnect(daemon.address) as connected:
            negatives = gz.Negatives("targets", 2)
            links = await connected.sample_links(
                SEEDS, SEEDS[::-1], FANOUT, negatives=negatives, seed=3
            )
            same(
                links, client.sample_links(SEEDS, SEEDS[::-1], FANOUT, negatives=negatives, seed=3)
            )
            walks = await connected.random_walk(SEEDS, 10, p=0.5, seed=3)
            assert torch.equal(walks.nodes, client.random_walk(SEEDS, 10, p=0.5, seed=3).nodes)
            assert torch.equal(await connected.gather("x", SEEDS), client.gather("x", SEEDS))
            assert torch.equal(await connected.column("x"), client.column("x"))
            assert await connected.datasets() == client.datasets()
            assert connected.info() == client.info()

    run(ask())


def test_the_methods_are_the_client_s_but_for_those_that_the_guide_names() -> None:
    def methods(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert methods(gz.Client) - methods(gz.AsyncClient) == {
        "close", "link_loader", "loader", "sample_async",
    }  # fmt: skip
    assert methods(gz.AsyncClient) - methods(gz.Client) == {"aclose"}


def test_original_ids_and_categories_take_several_requests(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    (tmp_path / "calls.csv").write_text("source,target\nann,bob\nbob,eve\neve,ann\n")
    (tmp_path / "people.csv").write_text("id,city\nann,Oslo\nbob,Paris\neve,Oslo\n")
    gz.import_files(
        tmp_path / "calls.csv",
        tmp_path / "calls",
        nodes=tmp_path / "people.csv",
        columns={"city": ["city"]},
        relabel=True,
    )
    daemon = start_daemon(tmp_path / "calls")

    async def ask() -> None:
        async with gz.aconnect(daemon.address) as client:
            batch = await client.sample(["eve"], [-1], original_ids=True)
            assert await client.original_ids(batch.n_id) == ["eve", "bob"]
            assert (await client.find_nodes(["eve", "ann"])).tolist() == [2, 0]
            assert await client.categories("city", batch.city) == ["Oslo", "Paris"]

    run(ask())


def test_it_can_be_awaited_and_closed_by_hand(daemon: Any) -> None:
    async def use() -> None:
        client = await gz.aconnect(daemon.address)
        assert (await client.sample(SEEDS, FANOUT)).batch_size == len(SEEDS)
        await client.aclose()
        await client.aclose()
        with pytest.raises(gz.RequestCancelled, match="closed"):
            await client.sample(SEEDS, FANOUT)

    run(use())


def test_one_client_serves_one_loop_after_the_other_and_two_at_once(daemon: Any) -> None:
    async def sample(client: gz.AsyncClient) -> int:
        batches = await asyncio.gather(*(client.sample(SEEDS, FANOUT) for _ in range(10)))
        return sum(batch.batch_size for batch in batches)

    async def connected() -> gz.AsyncClient:
        return await gz.aconnect(daemon.address)

    client = run(connected())
    expected = 10 * len(SEEDS)
    assert run(sample(client)) == expected
    sizes: list[int] = []
    threads = [threading.Thread(target=lambda: sizes.append(run(sample(client)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert sizes == [expected, expected]
    run(client.aclose())


def test_requests_under_way_take_no_threads(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)

    async def ask() -> None:
        async with gz.aconnect(daemon.address) as client:
            before = set(threading.enumerate())
            tasks = [asyncio.create_task(client.sample([n], [2])) for n in range(100)]
            while under_way(client) < len(tasks):
                await asyncio.sleep(0)
            assert set(threading.enumerate()) <= before
            gate.open()
            assert len(await asyncio.gather(*tasks)) == 100

    run(ask())


def test_a_cancelled_task_gives_its_request_and_its_memory_back(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)
    watch = Watch(daemon)

    def held() -> tuple[int, int, int]:
        (session,) = watch.stats().sessions
        return session.in_flight, session.blocks, session.block_byte_size

    async def ask() -> None:
        async with gz.aconnect(daemon.address) as client:
            tasks = [asyncio.create_task(client.sample(range(2000), [5, 5])) for _ in range(3)]
            await until(lambda: held()[0] == 3, "three requests under way")
            for task in tasks:
                task.cancel()
            assert all(
                isinstance(end, asyncio.CancelledError)
                for end in await asyncio.gather(*tasks, return_exceptions=True)
            )
            assert under_way(client) == 0
            gate.open()
            await until(lambda: held() == (0, 0, 0), "nothing of them is left")
            kept = await client.sample(range(2000), [5, 5])
            await until(lambda: held()[:2] == (0, 1), "one block")
            del kept

    run(ask())
    watch.close()


def test_a_result_s_block_is_free_when_the_result_dies_without_the_collector(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    watch = Watch(daemon)

    def blocks() -> int:
        (session,) = watch.stats().sessions
        return session.blocks

    async def ask() -> None:
        async with gz.aconnect(daemon.address) as client:
            batches = await asyncio.gather(*(client.sample(SEEDS, FANOUT) for _ in range(5)))
            await until(lambda: blocks() == 5, "five blocks")
            x = batches.pop().x
            batches.clear()
            await until(lambda: blocks() == 1, "one block, which a tensor views")
            assert x.shape[1] == 16
            del x
            await until(lambda: blocks() == 0, "no block")

    gc.collect()
    gc.disable()
    try:
        run(ask())
    finally:
        gc.enable()
        watch.close()


def test_a_task_that_nothing_else_keeps_is_not_collected_while_it_waits(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)

    async def ask() -> None:
        sizes: list[int] = []

        async def sample(client: gz.AsyncClient) -> None:
            sizes.append((await client.sample(SEEDS, FANOUT)).batch_size)

        async with gz.aconnect(daemon.address) as client:
            asyncio.ensure_future(sample(client))  # noqa: RUF006 - that is the point
            while not under_way(client):
                await asyncio.sleep(0)
            gc.collect()
            gate.open()
            await until(lambda: sizes, "the task goes on")
            assert sizes == [len(SEEDS)]

    run(ask())


def test_errors_are_those_of_the_client_and_the_session_lives(daemon: Any) -> None:
    async def ask() -> None:
        async with gz.aconnect(daemon.address) as client:
            for call, kind, message in (
                (client.sample([2000], FANOUT), gz.InvalidRequest, "2000"),
                (client.sample(SEEDS, FANOUT, columns=["z"]), gz.NotFound, "'z'"),
                (client.sample(SEEDS, 5), TypeError, "fanout is 5"),
                (client.gather("z", SEEDS), gz.NotFound, "z"),
                (client.random_walk(SEEDS, -1), ValueError, "-1"),
                (client.column("z"), gz.NotFound, "'z'"),
                (client.original_ids([1]), gz.InvalidRequest, "no original ids"),
            ):
                with pytest.raises(kind, match=message):
                    await call
            with pytest.raises(TypeError, match=r"^AsyncClient\.sample\(\) .*'weight'"):
                client.sample(SEEDS, FANOUT, weight=1)  # type: ignore[call-arg]
            assert (await client.sample(SEEDS, FANOUT)).batch_size == len(SEEDS)

    run(ask())


def test_arguments_are_those_of_the_client() -> None:
    for name in ("sample", "sample_links", "random_walk", "gather", "find_nodes", "categories"):
        waits, awaits = (
            inspect.signature(getattr(kind, name)).parameters
            for kind in (gz.Client, gz.AsyncClient)
        )
        assert awaits == waits, name
    assert inspect.signature(gz.aconnect).parameters == inspect.signature(gz.connect).parameters


def test_time_limits_hold_and_the_loop_goes_on(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphzero.client.requests.request._GRACE_S", 0.1)
    daemon = start_daemon(dataset, setup=gate.setup)

    async def ask() -> None:
        async with gz.aconnect(daemon.address) as client:
            with pytest.raises(gz.RequestTimeout):
                await client.sample(SEEDS, FANOUT, timeout=0.2)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.sample(SEEDS, FANOUT), 0.05)
            assert under_way(client) == 0
            os.kill(daemon.pid, signal.SIGSTOP)  # now it does not even say that the time is over
            try:
                with pytest.raises(gz.RequestTimeout, match=r"within 0\.1 s"):
                    await client.sample(SEEDS, FANOUT, timeout=0.1)
                with pytest.raises(gz.ServerUnavailable, match=r"within 0\.1 s"):
                    await gz.aconnect(daemon.address, timeout=0.1)
            finally:
                os.kill(daemon.pid, signal.SIGCONT)
            gate.open()
            assert (await client.sample(SEEDS, FANOUT)).batch_size == len(SEEDS)

    run(ask())


def test_closing_ends_what_is_awaited(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)

    async def ask() -> None:
        async with gz.aconnect(daemon.address) as client:
            tasks = [asyncio.create_task(client.sample(SEEDS, FANOUT)) for _ in range(3)]
            while under_way(client) < len(tasks):
                await asyncio.sleep(0)
        for end in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(end, gz.RequestCancelled)
        gate.open()

    run(ask())


def test_a_daemon_that_goes_away_is_an_error_and_the_next_one_is_found(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)

    async def ask() -> None:
        async with gz.aconnect(daemon.address, timeout=DEADLINE_S) as client:
            tasks = [asyncio.create_task(client.sample(SEEDS, FANOUT)) for _ in range(3)]
            while under_way(client) < len(tasks):
                await asyncio.sleep(0)
            daemon.kill()
            for end in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(end, gz.ServerUnavailable)
            with pytest.raises(gz.ServerUnavailable, match="retry=True"):
                await client.sample(SEEDS, FANOUT)
            gate.open()
            daemon.start()
            # It cannot answer now: to open a session takes until it can, and the loop goes on.
            os.kill(daemon.pid, signal.SIGSTOP)
            task = asyncio.create_task(client.sample(SEEDS, FANOUT))
            while not under_way(client):
                await asyncio.sleep(0)
            await asyncio.sleep(0.05)
            assert not task.done()
            os.kill(daemon.pid, signal.SIGCONT)
            assert (await task).batch_size == len(SEEDS)

    run(ask())


def test_with_retry_the_same_answers_come_from_the_next_daemon(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate, client: gz.Client
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)

    async def ask() -> list[gz.Batch]:
        async with gz.aconnect(daemon.address, retry=True) as connected:
            tasks = [asyncio.create_task(connected.sample(SEEDS, FANOUT, seed=n)) for n in range(5)]
            while under_way(connected) < len(tasks):
                await asyncio.sleep(0)
            daemon.kill()
            gate.open()
            await asyncio.get_running_loop().run_in_executor(None, daemon.start)
            return [batch.clone() for batch in await asyncio.gather(*tasks)]

    for n, batch in enumerate(run(ask())):
        same(batch, client.sample(SEEDS, FANOUT, seed=n))


def test_an_answer_for_a_loop_that_was_closed_is_dropped(
    start_daemon: Callable[..., Any], dataset: Path, gate: Gate
) -> None:
    daemon = start_daemon(dataset, setup=gate.setup)
    watch = Watch(daemon)
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(asyncio.wait_for(gz.aconnect(daemon.address), DEADLINE_S))
    left = loop.create_task(client.sample(SEEDS, FANOUT))
    while not under_way(client):
        loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    gate.open()
    wait_until(lambda: not under_way(client), "the answer")
    assert np.array_equal(run(client.gather("train", [1, 2])), [3, 6])
    left._log_destroy_pending = False  # type: ignore[attr-defined]
    del left
    gc.collect()

    def blocks() -> int:
        (session,) = watch.stats().sessions
        return session.blocks

    wait_until(lambda: blocks() == 0, "the block of the answer is free")
    run(client.aclose())
    watch.close()
