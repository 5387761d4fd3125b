"""kill -9 of the daemon at random moments, under trainers that wait for the next one.

GRAPHZERO_DAEMON_KILLS sets the number of rounds; `make crash` sets it high.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from daemon_watch import Watch
from processes import Trainer, Victims, bound

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("GRAPHZERO_DAEMON_KILLS", "8"))
RETRY = {"retry": True, "retry_timeout": 300}


def names_of(instance_id: str) -> list[str]:
    return [path.name for path in Path("/dev/shm").glob(f"graphzero-{instance_id}-*")]


def test_trainers_that_retry_see_the_same_batches_and_no_name_is_left(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", "512M")
    trainers = [Trainer(daemon.address, name, connect=RETRY) for name in ("first", "second")]
    victims = Victims(daemon.address)
    rng = random.Random(21)
    left = 0
    for number in range(ROUNDS):
        # A new session in each round, whose regions have names when the moment is right.
        victims.start(seed=number, ahead=4, keep=3)
        for trainer in trainers:
            trainer.advance(rng.randrange(1, 12))
        threading.Event().wait(rng.random() * 0.05)
        died = daemon.instance_id
        daemon.kill()
        left += len(names_of(died))
        daemon.start()
        assert names_of(died) == []
    for trainer in trainers:
        trainer.advance(10)
    victims.kill()
    print(f"{ROUNDS} killed, {left} names were left for the next start to remove")
    disturbed = {trainer.name: trainer.finish() for trainer in trainers}
    watch = Watch(daemon)
    watch.expect_nothing_held(watch.descriptors())
    watch.close()

    for name, batches in disturbed.items():
        epochs = 1 + max(epoch for epoch, _ in batches)
        alone = Trainer(daemon.address, name, epochs).finish()
        assert {key: alone[key] for key in batches} == batches
        last = max(batches)
        assert len(batches) == sum(key <= last for key in alone)  # none left out
    print(bound(ROUNDS))
