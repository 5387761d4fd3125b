"""A daemon under a sanitizer, and trainers without one that come and are killed.

`python trainers.py FEATURE_IO TOPOLOGY_IO`
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 30.0
TRAINERS = 3
TRAINER = """
import sys
import graphzero as gz
client = gz.connect(sys.argv[1])
while True:
    for batch in client.loader(None, [5, 3], 256, shuffle=True, prefetch=3):
        float(batch.x[0, 0])
    client.random_walk([1, 2, 3], 5)
    client.gather("x", [4, 5])
"""


# What run.py sets for the daemon only.
SANITIZER = ("LD_PRELOAD", "PYTHONPATH")


def without_sanitizer() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in SANITIZER}


def train_and_kill(socket: Path) -> None:
    trainers: list[subprocess.Popen[bytes]] = []
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            while len(trainers) < TRAINERS:
                command = [sys.executable, "-c", TRAINER, str(socket)]
                trainers.append(subprocess.Popen(command, env=without_sanitizer()))
            time.sleep(3.0)
            assert trainers[0].poll() is None, "a trainer ended by itself"
            trainers[0].kill()
            trainers.pop(0).wait()
    finally:
        for trainer in trainers:
            trainer.kill()
            trainer.wait()


def main() -> None:
    features, graphs = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        data, socket = path / "data", path / "s.sock"
        size = ["--nodes", "20000", "--edges", "300000"]
        generate = [sys.executable, "-m", "graphzero", "generate", str(data), *size]
        subprocess.run(generate, env=without_sanitizer(), check=True)
        options = ["--data", str(data), "--socket", str(socket), "--threads", "4"]
        options += ["--feature-io", features, "--topology-io", graphs, "--row-cache", "1M"]
        daemon = subprocess.Popen([sys.executable, "-m", "graphzero.server", *options])
        try:
            while not socket.exists() and daemon.poll() is None:
                time.sleep(0.1)
            train_and_kill(socket)
        finally:
            daemon.send_signal(signal.SIGTERM)
            code = daemon.wait()
        assert code == 0, f"the daemon ended with {code}; a sanitizer that found something says 66"


main()
