"""A daemon that runs out of descriptors under its trainers. (Of /dev/shm: test_credits.py; of the
disk: tests/compile/test_convert_cli.py; of threads: tests/base/test_thread_limit.py; of memory:
test_hostile.py.)"""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from daemon_watch import Watch
from processes import Trainer

pytestmark = pytest.mark.slow

NEWCOMERS = 10
# What a session takes: its connection and its regions.
LEFT = 3


def set_limit(pid: int, descriptors: int) -> None:
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors, hard))


def test_a_daemon_without_descriptors_serves_on_and_takes_new_trainers_when_it_has_some(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "2")
    watch = Watch(daemon)
    before = watch.descriptors()
    trainer = Trainer(daemon.address, "first")
    trainer.advance(20)
    limit = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)[0]
    opened = len(list(Path(f"/proc/{daemon.pid}/fd").iterdir()))
    set_limit(daemon.pid, opened + LEFT)
    refused = 0
    clients = []
    for number in range(NEWCOMERS):
        try:
            clients.append(gz.connect(daemon.address, timeout=2))
            clients[-1].sample([number], [2])
        except gz.ClientError:
            refused += 1
        trainer.advance(5)
    assert refused > 0
    assert daemon.process.poll() is None
    for client in clients:
        with suppress(gz.ClientError):
            client.close()
    set_limit(daemon.pid, limit)
    trainer.advance(5)
    with gz.connect(daemon.address) as client:
        assert client.sample([1], [2]).batch_size == 1
    batches = trainer.finish()
    alone = Trainer(daemon.address, "first", 1 + max(epoch for epoch, _ in batches)).finish()
    assert {key: alone[key] for key in batches} == batches
    watch.expect_nothing_held(before)
    watch.close()
