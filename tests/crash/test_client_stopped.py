"""A trainer that stands still, by SIGSTOP, and what that costs the others: nothing."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from daemon_watch import Watch, wait_until
from processes import Trainer

WINDOW = 4  # of a loader with prefetch 2: two in the making, two in the user's hands
SMALLEST_REGION = 4 << 20


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
