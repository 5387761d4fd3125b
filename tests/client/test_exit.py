"""Programs end in good order, whatever of a client is under way: status 0, nothing on stderr.

GRAPHZERO_EXITS sets how often each program runs; `make crash` sets it high.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("GRAPHZERO_EXITS", "1"))
DEADLINE_S = 60  # against a hang; nothing is measured

BEGIN = """
import atexit, sys, threading, time
import graphzero as gz
address, delay = sys.argv[1], float(sys.argv[2])
"""

PROGRAMS = {
    "a client never closed": "client = gz.connect(address); client.sample(range(50), [3])",
    "an epoch left in the middle": """
client = gz.connect(address)
iterator = iter(client.loader(None, [5, 5], 50, prefetch=4))
batch = next(iterator)
time.sleep(delay)
""",
    "unfinished requests": """
client = gz.connect(address)
futures = [client.sample_async(range(2000), [10, 10, 5]) for _ in range(4)]
time.sleep(delay)
""",
    "callbacks to come": """
client = gz.connect(address)
for _ in range(4):
    client.sample_async(range(2000), [10, 10]).add_done_callback(lambda future: time.sleep(delay))
time.sleep(delay)
""",
    "daemon threads that sample": """
client = gz.connect(address)
def sample_for_ever():
    while True:
        for batch in client.loader(None, [3], 100):
            begun.set()
begun = threading.Event()
threading.excepthook = lambda _: None  # they are told that the client was closed
for _ in range(2):
    threading.Thread(target=sample_for_ever, daemon=True).start()
begun.wait()
time.sleep(delay)
""",
    "daemon threads that connect": """
def connect_for_ever():
    while True:
        gz.connect(address).sample(range(50), [3])
        begun.set()
begun = threading.Event()
threading.excepthook = lambda _: None
for _ in range(2):
    threading.Thread(target=connect_for_ever, daemon=True).start()
begun.wait()
time.sleep(delay)
""",
    "a thread that is waited for": """
client = gz.connect(address)
def train():
    for batch in client.loader(None, [3], 50):
        pass
threading.Thread(target=train).start()
""",
    "a client that is used at the end": """
client = gz.connect(address)
atexit.register(lambda: client.sample(range(50), [3]))
""",
    "a generator over a loader": """
client = gz.connect(address)
def batches():
    with gz.connect(address) as other:
        yield from other.loader(None, [3], 50)
generator = batches()
next(generator)
cycle = [generator]; cycle.append(cycle); del generator
""",
    "an exception": """
client = gz.connect(address)
for batch in client.loader(None, [3], 50):
    sys.exit(0)
""",
    "workers that exit": """
import torch
client = gz.connect(address)
class Leaves(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, number):
        batch = client.sample(range(50), [3])
        futures = [client.sample_async(range(2000), [10, 10]) for _ in range(2)]
        return batch.batch_size
workers = torch.utils.data.DataLoader(
    Leaves(), batch_size=None, num_workers=2, multiprocessing_context="fork"
)
for size in workers:
    break
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_program_ends_with(daemon: Any, program: str) -> None:
    for number in range(ROUNDS):
        delay = random.Random(number).random() * 0.05
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", BEGIN + program, daemon.address, str(delay)],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
        assert (done.returncode, done.stderr) == (0, ""), f"round {number}, after {delay} s"


WAITS_FOR_A_DAEMON = """
client = gz.connect(address, retry=True)
client.sample(range(50), [3])
print("connected", flush=True)
sys.stdin.readline()
future = client.sample_async(range(50), [3])
"""


def test_a_program_ends_while_it_waits_for_another_daemon(start_daemon: Any, dataset: Path) -> None:
    daemon = start_daemon(dataset)
    trainer = subprocess.Popen(
        [sys.executable, "-c", BEGIN + WAITS_FOR_A_DAEMON, daemon.address, "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert trainer.stdout is not None
    assert trainer.stdout.readline() == "connected\n"
    daemon.kill()
    _, errors = trainer.communicate("\n", timeout=DEADLINE_S)
    # If it ends late, it has said that it waits.
    unexpected = [line for line in errors.splitlines() if "went away; waiting" not in line]
    assert (trainer.returncode, unexpected) == (0, [])
