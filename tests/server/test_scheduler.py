"""How workers are divided among sessions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from graphzero.server.sessions.scheduler import Scheduler


async def run_behind_a_busy_worker(plan: Callable[[Scheduler, list[str]], None]) -> list[str]:
    """What ran, in order, of the jobs that `plan` submits while the only worker is busy."""
    scheduler = Scheduler(workers=1)
    go_on = threading.Event()
    scheduler.submit("busy", lambda: bool(go_on.wait()))
    ran: list[str] = []
    plan(scheduler, ran)
    go_on.set()
    while any(lane.jobs for lane in scheduler._lanes.values()):
        await run_one(scheduler)
    await run_one(scheduler)
    assert scheduler.shutdown(timeout_s=60)
    return ran


async def run_one(scheduler: Scheduler) -> None:
    """Returns when a job that is submitted now has run."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()
    scheduler.submit("last", lambda: bool(loop.call_soon_threadsafe(done.set)))
    await done.wait()


def test_sessions_take_turns_however_much_one_has_queued() -> None:
    def plan(scheduler: Scheduler, ran: list[str]) -> None:
        for name in ("a1", "a2", "a3", "b1", "b2"):
            scheduler.submit(name[0], lambda name=name: ran.append(name))

    assert asyncio.run(run_behind_a_busy_worker(plan)) == ["a1", "b1", "a2", "b2", "a3"]


def test_withdrawn_job_leaves_the_queue_and_never_runs() -> None:
    def plan(scheduler: Scheduler, ran: list[str]) -> None:
        jobs = {name: lambda name=name: ran.append(name) for name in ("a1", "a2", "b1")}
        for name, job in jobs.items():
            scheduler.submit(name[0], job)
        scheduler.withdraw("a", jobs["a1"])
        scheduler.withdraw("b", jobs["b1"])
        scheduler.withdraw("nobody", jobs["b1"])
        assert not scheduler._lanes["b"].jobs

    assert asyncio.run(run_behind_a_busy_worker(plan)) == ["a2"]


def test_session_whose_jobs_were_withdrawn_can_queue_again() -> None:
    def plan(scheduler: Scheduler, ran: list[str]) -> None:
        first, second = (lambda: ran.append("first")), (lambda: ran.append("second"))
        scheduler.submit("a", first)
        scheduler.withdraw("a", first)
        scheduler.submit("a", second)

    assert asyncio.run(run_behind_a_busy_worker(plan)) == ["second"]


def test_jobs_of_a_session_that_ended_never_run() -> None:
    def plan(scheduler: Scheduler, ran: list[str]) -> None:
        scheduler.submit("a", lambda: ran.append("a"))
        scheduler.submit("b", lambda: ran.append("b"))
        scheduler.forget("a")

    assert asyncio.run(run_behind_a_busy_worker(plan)) == ["b"]


def test_a_session_with_nothing_running_gets_a_worker_when_others_take_the_free_one() -> None:
    """Requests that wait for a peer and the answers that the peer waits for: the worker that has
    finished one answer takes a request, and the next answer needs a worker all the same."""
    scheduler = Scheduler(workers=2, most=8)
    waiting, first, second = threading.Event(), threading.Event(), threading.Event()
    begun = threading.Semaphore(0)

    def wait_for_a_peer() -> None:
        begun.release()
        waiting.wait()

    scheduler.submit("trainer", wait_for_a_peer)
    scheduler.submit("answers", lambda: (begun.release(), first.wait())[0])
    for _ in range(2):
        assert begun.acquire(timeout=60)
    scheduler.submit("trainer", wait_for_a_peer)
    scheduler.submit("answers", second.set)
    first.set()
    assert second.wait(60)
    waiting.set()
    assert scheduler.shutdown(timeout_s=60)
