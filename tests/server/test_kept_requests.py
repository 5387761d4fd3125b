"""Nothing of a request outlives its answer: no cycle of objects waits for the garbage collector."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from waiting import wait_until

# Counts, when it gets SIGUSR1, what the daemon has of each kind of object that belongs to requests.
COUNTER = """
import gc, signal
from concurrent.futures.thread import _worker as executor_thread
from pathlib import Path
gc.disable()
KINDS = ("Request", "ResultMaker", "SampleComputation", "InlineBlock", "SharedBlock", "traceback")
def of_idle_executor(each):  # from Python 3.13 on, it waits where it has caught a queue's Empty
    return type(each).__name__ == "traceback" and each.tb_frame.f_code is executor_thread.__code__
def count(*_):
    found = [type(each).__name__ for each in gc.get_objects() if not of_idle_executor(each)]
    counts = {{kind: found.count(kind) for kind in KINDS if kind in found}}
    draft = Path({counts!r} + ".draft")
    draft.write_text(repr(counts))
    draft.rename({counts!r})
signal.signal(signal.SIGUSR1, count)
"""


@pytest.mark.parametrize("transport", ["shared_memory", "inline"])
def test_a_daemon_without_garbage_collector_keeps_no_request(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path, transport: Any
) -> None:
    counts = tmp_path / "counts"
    daemon = start_daemon(dataset, setup=COUNTER.format(counts=str(counts)))
    with gz.connect(daemon.address, transport=transport) as client:
        seeds = np.arange(client.info().dataset.num_nodes)
        for _ in range(20):
            client.sample([1, 2], [3, 2])  # brief: the event loop answers it
            with pytest.raises(gz.InvalidRequest):
                client.sample([-1], [3])
            given_up, *others = [client.sample_async(seeds, [-1, -1]) for _ in range(3)]
            given_up.cancel()
            for other in others:
                other.result()
            del given_up, others, other

        def nothing_is_left() -> bool:
            counts.unlink(missing_ok=True)
            os.kill(daemon.process.pid, signal.SIGUSR1)
            wait_until(counts.exists, "the daemon counts")
            return counts.read_text() == "{}"

        wait_until(nothing_is_left, "requests are gone")
