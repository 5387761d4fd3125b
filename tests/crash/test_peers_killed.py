"""Daemons that have parts of a dataset, under trainers that retry: daemons and trainers are killed
(-9) and links are cut at random moments.

GRAPHZERO_PEER_KILLS sets the number of rounds; `make crash` sets it high.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from certificates import make_certificate
from daemon_process import DaemonProcess
from graphzero.client.daemon.daemon_calls import open_calls
from network_namespaces import ADDRESSES, network_namespaces
from processes import Trainer, bound
from sharded_daemons import deal, start_parts
from waiting import wait_until

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("GRAPHZERO_PEER_KILLS", "4"))
PORT = 7434
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
    assert_undisturbed(disturbed, start_daemon(dataset))
    assert_all_work_ended(daemons)


def test_the_same_batches_whatever_is_killed_and_whichever_link_is_cut(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    parts = deal(dataset, tmp_path / "parts", 2)
    peers = ",".join(f"{address}:{PORT}" for address in ADDRESSES)
    token = tmp_path / "token"
    token.write_text("a token of enough bytes")
    token.chmod(0o600)
    certificate, key = make_certificate(tmp_path, *ADDRESSES)
    options = ("--peers", peers, "--row-cache", "1M", "--threads", "2", "--token-file", str(token),
               "--tls-certificate", str(certificate), "--tls-key", str(key),
               "--peer-root-certificate", str(certificate))  # fmt: skip
    rng = random.Random(6)
    names = (f"trainer {number}" for number in itertools.count())
    disturbed: dict[str, dict[tuple[int, int], str]] = {}
    with network_namespaces() as namespaces:
        daemons = [
            start_daemon(part, "--listen", f"{address}:{PORT}", *options, setup=setup)
            for part, address, setup in zip(parts, ADDRESSES, namespaces.setups, strict=True)
        ]
        trainers = [Trainer(daemon.address, next(names), connect=RETRY) for daemon in daemons]
        for _ in range(ROUNDS):
            for trainer in trainers:
                trainer.advance(rng.randrange(1, 8))
            threading.Event().wait(rng.random() * 0.05)
            number = rng.randrange(2)
            match rng.choice(("daemon", "trainer", "link")):
                case "daemon":
                    daemons[number].kill()
                    daemons[number].start()
                case "trainer":
                    trainers[number].kill()
                    disturbed[trainers[number].name] = trainers[number].batches
                    trainers[number] = Trainer(daemons[number].address, next(names), connect=RETRY)
                case "link":
                    namespaces.set_link("down")
                    threading.Event().wait(rng.random())
                    namespaces.set_link("up")
        for trainer in trainers:
            trainer.advance(10)
        disturbed |= {trainer.name: trainer.finish() for trainer in trainers}
        assert_undisturbed(disturbed, start_daemon(dataset))
        assert_all_work_ended(daemons)
        for daemon in daemons:
            instance = daemon.instance_id
            assert daemon.stop() == 0
            assert not list(Path("/dev/shm").glob(f"graphzero-{instance}-*"))
    print(bound(ROUNDS))


def assert_undisturbed(
    disturbed: dict[str, dict[tuple[int, int], str]], whole: DaemonProcess
) -> None:
    """Each trainer got the batches that a daemon of the whole dataset gives, and left out none."""
    for name, batches in disturbed.items():
        epochs = 1 + max(epoch for epoch, _ in batches)
        alone = Trainer(whole.address, name, epochs).finish()
        assert {key: alone[key] for key in batches} == batches
        last = max(batches)
        assert len(batches) == sum(key <= last for key in alone)


def assert_all_work_ended(daemons: list[Any]) -> None:
    for daemon in daemons:
        with open_calls(daemon.socket) as calls:
            wait_until(
                lambda calls=calls: calls.stats().open_requests.running == 0, "an end of all work"
            )
