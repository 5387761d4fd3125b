"""A trainer that stands still, by SIGSTOP: it costs the others nothing, and goes on where it was.

GRAPHZERO_PAUSE_S sets how long it stands still; `make crash` sets it beyond all default timeouts.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from daemon_watch import Watch
from processes import Trainer
from waiting import wait_until

pytestmark = pytest.mark.slow

WINDOW = 4  # of a loader with prefetch 2: two in the making, two in the user's hands
SMALLEST_REGION = 4 << 20
EPOCHS = 30
PAUSE_S = float(os.environ.get("GRAPHZERO_PAUSE_S", "1"))


def test_stopped_trainer_keeps_to_its_credit_and_others_go_on(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    # Room for the guarantees of three sessions and hardly anything to lend.
    limit = 3 * WINDOW * SMALLEST_REGION + SMALLEST_REGION
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", str(limit))
    watch = Watch(daemon)
    stopped, *others = (Trainer(daemon.address, name) for name in ("stopped", "first", "second"))
    for trainer in (stopped, *others):
        trainer.advance(5)
    stopped.signal(signal.SIGSTOP)
    for trainer in others:
        trainer.advance(100)

    held = watch.session_of(f"trainer.py[{stopped.process.pid}]")
    assert held is not None
    print(f"the stopped one has {held.blocks} blocks in {held.region_byte_size} bytes of regions")
    assert held.blocks <= WINDOW
    assert held.region_byte_size <= WINDOW * SMALLEST_REGION
    requests = held.requests
    for trainer in others:
        trainer.advance(20)
    still = watch.session_of(held.client_name)
    assert still is not None
    assert still.requests == requests

    stopped.signal(signal.SIGCONT)
    stopped.advance(20)
    wait_until(
        lambda: watch.session_of(held.client_name).requests > requests,  # type: ignore[union-attr]
        "requests of the trainer that goes on",
    )
    for trainer in others:
        trainer.finish()
    batches = stopped.finish()
    alone = Trainer(daemon.address, stopped.name, 1 + max(epoch for epoch, _ in batches)).finish()
    assert {key: alone[key] for key in batches} == batches
    watch.close()


@pytest.mark.parametrize("retry", [False, True])
def test_trainers_go_on_after_a_long_pause(
    start_daemon: Callable[..., Any], dataset: Path, retry: bool
) -> None:
    """Whatever each was doing: in between batches, or with some on the way that nobody reads."""
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", "512M")
    options = {"connect": {"timeout": 60, "retry": retry}, "loader": {"prefetch": 4}}
    expected = Trainer(daemon.address, "stopped", EPOCHS, **options).finish()
    busy = Trainer(daemon.address, "busy")
    stopped = [Trainer(daemon.address, "stopped", EPOCHS, **options) for _ in range(4)]
    for number, trainer in enumerate(stopped):
        trainer.advance(3 * number)
        trainer.signal(signal.SIGSTOP)
    busy.advance(20)
    threading.Event().wait(PAUSE_S)
    busy.advance(20)
    busy.finish()
    for trainer in stopped:
        trainer.signal(signal.SIGCONT)
    for trainer in stopped:
        assert trainer.finish() == expected
