"""Time limits that count only while the process runs."""

from __future__ import annotations

import pytest
from graphzero.client.process import deadline
from graphzero.client.process.deadline import Deadline


class Clock:
    """The system's, in the hands of the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(deadline, "time", found)
    monkeypatch.setattr(deadline, "awake", deadline._AwakeClock())
    return found


def test_a_process_that_waits_runs_out_of_time(clock: Clock) -> None:
    limit = Deadline(10)
    looks = 0
    while step := limit.step():
        clock.now += step
        looks += 1
    assert looks == 10
    assert clock.now == 1010


def test_steps_that_come_late_count(clock: Clock) -> None:
    limit = Deadline(10)
    for _ in range(3):
        clock.now += limit.step() + 2.5
    assert limit.remaining() == 0


def test_an_hour_in_which_the_process_was_stopped_does_not_count(clock: Clock) -> None:
    limit, other = Deadline(10), Deadline(20)
    clock.now += limit.step()
    assert limit.step() == 1
    clock.now += 3600
    assert limit.remaining() == 9
    assert other.remaining() == 19  # however many noticed it
    clock.now += 5
    assert limit.remaining() == 4


def test_long_work_counts_while_another_thread_looks_at_the_clock(clock: Clock) -> None:
    limit = Deadline(10)
    for _ in range(8):
        clock.now += 1
        deadline.awake.now()
    assert limit.remaining() == 2
