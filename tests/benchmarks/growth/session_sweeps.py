"""Sweeps of trainers, sessions, connections and sizes of requests, through a daemon."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import graphzero as gz
import numpy as np
from common.contest import BENCHMARKS, Daemon, go, started
from common.contest import measure as run_contenders
from common.datasets import generated_dataset
from common.memory import system_memory
from growth.points import milliseconds, swept
from report.document import Sweep

if TYPE_CHECKING:
    from growth.subject import Growth

# Each session is promised 16 MiB of shared memory, which it does not take before it asks for more.
SESSIONS = ("--max-sessions", "600", "--shm-limit", "10G")
TRAINER = str(BENCHMARKS / "growth/small_trainer.py")


@contextmanager
def _daemon(growth: Growth) -> Iterator[Daemon]:
    count = int(400_000 * growth.scale)
    data = generated_dataset(growth.directory, count, 10 * count, 64)
    with Daemon(data, *SESSIONS).wait_until_warm() as daemon:
        yield daemon


def seeds(growth: Growth) -> list[Sweep]:
    """Requests of one seed to a million, each with one neighbour and its rows."""
    counts = (1, 10, 100, 1000, 10_000, 100_000) + (() if growth.quick else (1_000_000,))
    with _daemon(growth) as daemon, gz.connect(daemon.address) as client:
        nodes = client.info().dataset.num_nodes

        def request(count: int) -> float:
            ids = np.random.default_rng(count).integers(0, nodes, count)
            return milliseconds(lambda _: client.sample(ids, [1], columns=["y"]), growth.seconds)

        points = {float(count): (lambda count=count: request(count)) for count in counts}
        what = ("seeds", "seeds of a request x [1]", "ms a request")
        return [swept(*what, points, growth.repeats)]


def trainers(growth: Growth) -> list[Sweep]:
    """The daemon makes as many batches however many ask: time of one, all trainers together."""
    counts = (1, 2, 4, 8) if growth.quick else (1, 2, 4, 8, 16, 32)
    rates: dict[float, list[float]] = {float(n): [] for n in counts}
    memory: dict[float, list[float]] = {float(n): [] for n in counts}
    with _daemon(growth) as daemon:
        for count in counts:
            command = [sys.executable, TRAINER, daemon.address, str(growth.seconds)]
            with started([command] * count) as processes:
                seen = run_contenders(processes)
                held = system_memory([daemon.pid, *(process.pid for process in processes)])
                for process in processes:
                    go(process)
            memory[float(count)].append(held["anonymous"] + held["shared"])
            rate = sum(one["batches"] / one["seconds"] for one in seen)
            rates[float(count)].append(1000 / rate)
    return [
        Sweep(
            "trainers",
            "trainers",
            "ms a batch, all together",
            list(rates),
            list(rates.values()),
            0.0,
        ),
        Sweep(
            "memory",
            "trainers",
            "MB, anonymous and shared, all processes",
            list(memory),
            list(memory.values()),
        ),
    ]


def idle_sessions(growth: Growth) -> list[Sweep]:
    """What sessions that ask for nothing cost the one that does, and the daemon."""
    counts = (1, 10, 100) if growth.quick else (1, 10, 100, 500)
    latency: dict[float, list[float]] = {}
    memory: dict[float, list[float]] = {}
    with _daemon(growth) as daemon, ExitStack() as stack:
        asking = stack.enter_context(gz.connect(daemon.address))
        opened = 0
        for count in counts:
            for _ in range(count - opened):
                stack.enter_context(gz.connect(daemon.address)).info()
            opened = count
            latency[float(count)] = [
                milliseconds(lambda n: asking.sample([n % 1000], [5]), growth.seconds)
                for _ in range(growth.repeats)
            ]
            held = system_memory([daemon.pid])
            memory[float(count)] = [held["anonymous"] + held["shared"]]
    what = ("idle sessions", "idle sessions", "ms a small request of another")
    return [
        Sweep(*what, list(latency), list(latency.values()), 0.0),
        Sweep(
            "memory of sessions",
            "idle sessions",
            "MB of the daemon, anonymous and shared",
            list(memory),
            list(memory.values()),
        ),
    ]


def busy_sessions(growth: Growth) -> list[Sweep]:
    """Up to 64 that ask at the same time, from threads of this process."""
    counts = (1, 4, 16, 64)
    with _daemon(growth) as daemon, ExitStack() as stack:
        clients = [stack.enter_context(gz.connect(daemon.address)) for _ in range(max(counts))]

        def together(count: int) -> float:
            done = [0] * count
            began = time.perf_counter()

            def ask(number: int) -> None:
                while time.perf_counter() - began < growth.seconds or not done[number]:
                    clients[number].sample([number], [5])
                    done[number] += 1

            threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return 1000 * (time.perf_counter() - began) / sum(done)

        points = {float(count): (lambda count=count: together(count)) for count in counts}
        what = ("busy sessions", "busy sessions", "ms a small request, all together")
        return [swept(*what, points, growth.repeats, linear=0.0)]


def connections(growth: Growth) -> list[Sweep]:
    """Many clients in one process: time to open one more, and descriptors of that process."""
    counts = (10, 50, 100) if growth.quick else (10, 100, 500)
    taken: dict[float, list[float]] = {}
    files: dict[float, list[float]] = {}
    with _daemon(growth) as daemon:
        for count in counts * growth.repeats:
            with ExitStack() as stack:
                before = _descriptors()
                began = time.perf_counter()
                for number in range(count):
                    client = stack.enter_context(gz.connect(daemon.address))
                    client.sample([number], [5])
                taken.setdefault(float(count), []).append(1000 * (time.perf_counter() - began))
                files.setdefault(float(count), []).append(float(_descriptors() - before))
    what = ("connections", "connections of one process")
    return [
        Sweep(*what, "ms to open all and ask each once", list(taken), list(taken.values())),
        Sweep(*what, "descriptors of the process", list(files), list(files.values())),
    ]


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
