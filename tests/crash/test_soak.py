"""Six trainers for a while, some of which are killed and replaced: the daemon uses no more at the
end than in the beginning.

GRAPHZERO_SOAK_S sets for how long; `make soak SOAK_S=7200` lets them run for two hours. The report
goes to build/soak: memory and descriptors with each request, latency over time, a plot.
"""

from __future__ import annotations

import itertools
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from daemon_watch import Watch
from processes import Trainer, Victims
from soak_report import MIB, Usage, slope, write_report

SECONDS = float(os.environ.get("GRAPHZERO_SOAK_S", "8"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(int(2 * SECONDS) + 300)]

REPORT = Path(__file__).parents[2] / "build" / "soak"
LIGHT, REAL = 4, 2
# Looks at the daemon; at every so many of them a trainer is killed and another one comes.
LOOKS = max(40, min(600, int(SECONDS / 2)))
LOOKS_OF_A_LIFE = 2


class Prober:
    """One more client, which asks for a small batch now and then and notes how long it takes."""

    def __init__(self, address: str) -> None:
        self._client = gz.connect(address, timeout=300)
        self._seen: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._probe, daemon=True)
        self._thread.start()

    def _probe(self) -> None:
        for number in itertools.count():
            if self._stop.wait(0.02):
                return
            began = time.monotonic()
            self._client.sample([number % 2000, (7 * number) % 2000], [10, 5], seed=number)
            self._seen.append(1000 * (time.monotonic() - began))

    def take_ms(self) -> tuple[float, float]:
        """Median and 99th percentile since the last call."""
        seen, self._seen = self._seen, []
        return (statistics.median(seen), float(np.percentile(seen, 99))) if seen else (0.0, 0.0)

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()


class Churn:
    """Trainers that live for a while and are killed; another one comes for each."""

    def __init__(self, address: str) -> None:
        self._victims = Victims(address)
        self._seeds = itertools.count()
        self._pids = [self._start() for _ in range(LIGHT)]
        self.killed = 0

    def _start(self) -> int:
        pid = self._victims.start(seed=next(self._seeds), ahead=2, keep=2)
        self._victims.wait_for_batches(pid, 5)
        return pid

    def turn(self) -> None:
        os.kill(self._pids.pop(0), signal.SIGKILL)
        self.killed += 1
        self._pids.append(self._start())

    def end(self) -> None:
        self._victims.kill()


def look(watch: Watch, prober: Prober, started: float) -> Usage:
    stats = watch.stats()
    return Usage(
        time.monotonic() - started,
        stats.requests,
        watch.private_bytes(),
        len(watch.descriptors()),
        watch.mapped_regions(),
        len(stats.sessions),
        *prober.take_ms(),
    )


def test_six_trainers_do_not_make_the_daemon_grow(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", "1G")
    watch = Watch(daemon)
    before = watch.descriptors()
    trainers = [Trainer(daemon.address, f"trainer {number}") for number in range(REAL)]
    churn = Churn(daemon.address)
    prober = Prober(daemon.address)
    for trainer in trainers:
        trainer.advance(20)
    started = time.monotonic()
    seen: list[Usage] = []
    pause = threading.Event()
    for number in range(LOOKS):
        pause.wait(max(0.0, started + (number + 1) * SECONDS / LOOKS - time.monotonic()))
        seen.append(look(watch, prober, started))
        if number % LOOKS_OF_A_LIFE == 0:
            churn.turn()
        for trainer in trainers:
            trainer.advance(1)
    prober.close()
    for trainer in trainers:
        trainer.finish()
    churn.end()
    # The first quarter fills caches and pools.
    settled = seen[LOOKS // 4 :]
    facts = {"seconds": SECONDS, "trainers": LIGHT + REAL, "trainers killed": churn.killed}
    print(write_report(REPORT, settled, facts))
    assert settled[-1].requests > settled[0].requests
    requests = [usage.requests for usage in settled]
    growth = slope(requests, [usage.private for usage in settled])
    # What an allocator keeps differs from moment to moment: growth is one that is surely there and
    # that adds up to something.
    surely = max(0.0, growth.low) * (requests[-1] - requests[0])
    assert surely < 8 * MIB, f"{surely / MIB:.1f} MiB in the course of the test"
    more = slope(requests, [usage.descriptors for usage in settled])
    assert max(0.0, more.low) * (requests[-1] - requests[0]) < 4, f"descriptors: {more}"
    watch.expect_nothing_held(before)
    watch.close()
