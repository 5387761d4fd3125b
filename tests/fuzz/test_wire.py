"""A live daemon is sent messages as no client sends them, beside a trainer that knows nothing of
it.

GRAPHZERO_WIRE_MESSAGES sets how many; `make fuzz` sends 100,000.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from daemon_watch import Watch
from processes import Trainer

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
MESSAGES = int(os.environ.get("GRAPHZERO_WIRE_MESSAGES", "3000"))
SEED = int(os.environ.get("GRAPHZERO_WIRE_SEED", "19"))
ATTACKERS = 2
# What the daemon may add to its own memory: Python, gRPC, requests at work, results that wait.
OWN_MEMORY = 256 << 20
NODES = 2_000
LOADER = {"loader": {"fanout": [5, 3], "batch_size": 100}, "connect": {"dataset": "flat"}}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One graph without types, one with types and times."""
    directory = tmp_path_factory.mktemp("wire")
    gz.generate(directory / "flat", nodes=NODES, edges=20 * NODES)
    gz.generate(directory / "shop", schema="shop", scale=0.001)
    return directory


def names_of(directory: Path) -> dict[str, Any]:
    """What there is to ask for, as the files say."""
    names: dict[str, Any] = {}
    for dataset in directory.iterdir():
        columns = sorted(
            file.relative_to(dataset).with_suffix("") for file in dataset.rglob("*.gd")
        )
        # Rows of the first are compared: a column of nodes.
        ordered = sorted(map(str, columns), key=lambda name: not name.endswith("x"))
        names[dataset.name] = {"num_nodes": gz.Graph(dataset).num_nodes, "columns": ordered}
    return names


def start_attacker(address: str, number: int, messages: int, names: str) -> subprocess.Popen[str]:
    arguments = [address, str(messages), str(SEED + number), names]
    command = [sys.executable, str(HERE / "wire.py"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_no_message_harms_the_daemon_or_another_trainer(
    start_daemon: Callable[..., Any], datasets: Path
) -> None:
    daemon = start_daemon(datasets, "--threads", "2", "--shm-limit", "256M")
    watch = Watch(daemon)
    descriptors, memory = watch.descriptors(), watch.private_bytes()
    healthy = Trainer(daemon.address, "healthy", **LOADER)
    healthy.advance(3)
    names = json.dumps(names_of(datasets))
    attackers = [
        start_attacker(daemon.address, number, MESSAGES // ATTACKERS, names)
        for number in range(ATTACKERS)
    ]
    most = 0
    while any(attacker.poll() is None for attacker in attackers):
        healthy.advance()
        most = max(most, watch.private_bytes() - memory)
        assert daemon.process.poll() is None, daemon.output()[-3000:]
        assert most < OWN_MEMORY, f"{most >> 20} MiB more than before"
    for attacker in attackers:
        counts = attacker.communicate()[0]
        assert attacker.returncode == 0, daemon.output()[-3000:]
        print(counts, f"{most >> 20} MiB more memory", sep="\n")
        # It got through: requests were answered, with results and with errors.
        assert "answer result" in counts
        assert "answer error INVALID_ARGUMENT" in counts
        assert "honest answers compared" in counts
    batches = healthy.finish()
    watch.expect_nothing_held(descriptors)
    undisturbed = Trainer(
        daemon.address, "healthy", 1 + max(epoch for epoch, _ in batches), **LOADER
    )
    undisturbed.advance(len(batches))
    undisturbed.kill()
    assert batches == undisturbed.batches
    assert "Traceback" not in daemon.output()
    watch.close()
