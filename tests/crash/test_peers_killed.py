"""kill -9 of daemons that have parts of a dataset, at random moments, under a trainer that retries.

GRAPHZERO_PEER_KILLS sets the number of rounds; `make crash` sets it high.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graphzero.client.probe import open_calls
from processes import Trainer
from sharded_daemons import deal, start_parts
from waiting import wait_until

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("GRAPHZERO_PEER_KILLS", "8"))
RETRY = {"retry": True, "retry_timeout": 300}


def test_the_same_batches_whoever_is_killed_and_nothing_is_left(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    parts = deal(dataset, tmp_path / "parts", 3)
    # A small cache, so that rows are asked for all the time.
    daemons = start_parts(start_daemon, parts, "--row-cache", "1M", "--threads", "2")
    names = ("first", "second")
    trainers = [
        Trainer(daemon.address, name, connect=RETRY)
        for daemon, name in zip(daemons, names, strict=False)
    ]
    rng = random.Random(5)
    left: list[Path] = []
    for _ in range(ROUNDS):
        for trainer in trainers:
            trainer.advance(rng.randrange(1, 8))
        threading.Event().wait(rng.random() * 0.05)
        victim = rng.choice(daemons)
        died = victim.instance_id
        victim.kill()
        victim.start()
        left += Path("/dev/shm").glob(f"graphzero-{died}-*")
    for trainer in trainers:
        trainer.advance(10)
    disturbed = {trainer.name: trainer.finish() for trainer in trainers}
    assert not left
    whole = start_daemon(dataset)
    for name, batches in disturbed.items():
        epochs = 1 + max(epoch for epoch, _ in batches)
        alone = Trainer(whole.address, name, epochs).finish()
        assert {key: alone[key] for key in batches} == batches
        assert len(batches) == len({key for key in alone if key <= max(batches)})  # none left out
    for daemon in daemons:
        with open_calls(daemon.socket) as calls:
            wait_until(
                lambda calls=calls: calls.stats().open_requests.running == 0, "an end of all work"
            )
