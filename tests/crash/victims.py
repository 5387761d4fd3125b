"""Forks trainers that are there to be killed. Run as: python victims.py ADDRESS

Each line of input forks one, and is a JSON object of options for it: see `_train`. Its pid is
printed. A victim prints "at PID" whenever it got a batch, in one write, so lines never mix. They
all die with this program.

Forking is safe because gRPC is imported here but not used. The protocol is spoken without the
client library, which makes a victim ready within milliseconds.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sys
from collections import deque
from pathlib import Path
from typing import Any

import grpc
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
from raw_session import RawSession

PR_SET_PDEATHSIG = 1


def _say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def _train(address: str, options: dict[str, Any]) -> None:
    """Asks for batches without end, `ahead` at a time, and keeps the last `keep`."""
    rng = random.Random(options["seed"])
    ahead, keep = options["ahead"], options["keep"]
    session = RawSession(
        address,
        client_name=f"victim-{os.getpid()}",
        window=ahead + keep + 1,
        stream_timeout=None,
    )
    kept: deque[Any] = deque()
    numbers = iter(range(2, 1 << 30))
    for _ in range(ahead):
        _ask(session, next(numbers), rng)
    while True:
        answer = session.receive()
        assert answer.WhichOneof("body") == "result", answer
        arrays = session.arrays(answer.result)
        assert len(arrays["x"]) == len(arrays["n_id"])
        kept.append(answer.result)
        _say(f"at {os.getpid()}")
        if len(kept) > keep:
            session.release(kept.popleft())
        _ask(session, next(numbers), rng)


def _ask(session: RawSession, request_id: int, rng: random.Random) -> None:
    seeds = np.array(rng.choices(range(2000), k=rng.choice([50, 500, 2000])))
    session.sample(request_id, seeds, [15, rng.choice([2, 15])], columns=["x", "y"])


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            try:
                _train(sys.argv[1], json.loads(line))
            except grpc.RpcError:  # the daemon was killed instead
                os._exit(0)
        _say(f"started {child}")


if __name__ == "__main__":
    main()
