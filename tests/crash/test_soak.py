"""Eight trainers for a while: the daemon uses no more at the end than in the beginning.

GRAPHZERO_SOAK_S sets for how long; `make soak` lets them run for a minute.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from daemon_watch import Watch
from processes import Trainer, Victims

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("GRAPHZERO_SOAK_S", "8"))
LIGHT, REAL = 6, 2
MIB = 1 << 20


@dataclass(frozen=True)
class Usage:
    private: int
    descriptors: int
    regions: int
    requests: int

    @classmethod
    def now(cls, watch: Watch) -> Usage:
        return cls(
            watch.private_bytes(),
            len(watch.descriptors()),
            watch.mapped_regions(),
            watch.stats().requests,
        )


def samples(watch: Watch) -> Iterator[Usage]:
    pause = threading.Event()
    for _ in range(20):
        pause.wait(SECONDS / 20)
        yield Usage.now(watch)


def per_request(seen: list[Usage]) -> float:
    """Bytes by which the daemon's own memory grows with each request, as a line through all."""
    slope, _ = np.polyfit([s.requests for s in seen], [s.private for s in seen], 1)
    return float(slope)


def test_eight_trainers_do_not_make_the_daemon_grow(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", "1G")
    watch = Watch(daemon)
    before = watch.descriptors()
    trainers = [Trainer(daemon.address, f"trainer {number}") for number in range(REAL)]
    victims = Victims(daemon.address)
    for number in range(LIGHT):
        victims.wait_for_batches(victims.start(seed=number, ahead=2, keep=2), 20)
    for trainer in trainers:
        trainer.advance(20)
    assert len(watch.stats().sessions) == LIGHT + REAL
    seen = list(samples(watch))
    early, late = seen[:10], seen[10:]
    print(f"{seen[-1].requests - seen[0].requests} requests; {seen[0]} ... {seen[-1]}")
    assert len(watch.stats().sessions) == LIGHT + REAL
    assert late[-1].requests > late[0].requests
    growth = per_request(seen[5:]) * (seen[-1].requests - seen[5].requests)
    # What an allocator keeps differs from moment to moment.
    assert growth < 8 * MIB, f"{growth / MIB:.1f} MiB in the course of the test"
    assert min(s.regions for s in late) <= max(s.regions for s in early)
    assert min(s.descriptors for s in late) <= max(s.descriptors for s in early)
    for trainer in trainers:
        trainer.finish()
    victims.kill()
    watch.expect_nothing_held(before)
    watch.close()
