"""What it costs to be counted and looked at.

    python tests/benchmarks/loaders/observed.py [--rounds N] [--seconds S] [--browser]

Two daemons serve the same data. In one nothing is counted and nobody looks. The other is as it
always is, with --http; /metrics is scraped and /api/stats asked for, as the page does, once a
second; with --browser the page itself is open in Chromium, on this machine, which then has that to
do as well. They take turns at full load: two trainers that ask for large batches as fast as they
can, then two that ask for small ones. Turns are short and there are many, because the speed of a
machine that others use changes within seconds: the two turns of a pair see nearly the same machine.
Printed are batches a second, processor time of the daemon for each, the medians of the ratios
of all pairs, and 95 % confidence intervals of these medians.
"""

from __future__ import annotations

import argparse
import math
import os
import socket as socketlib
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import graphzero as gz

with socketlib.create_server(("127.0.0.1", 0)) as _probe:
    PORT = _probe.getsockname()[1]
TRAINERS = 2
LOADS = {"large": (1024, [15, 10, 5]), "small": (32, [5, 5])}
# The daemon without its counting.
UNCOUNTED = """
from graphzero.server.metrics import requests
for name in ("begin", "waited"):
    setattr(requests.RequestMetrics, name, lambda *rest: None)
times = requests.KindTimes()
requests.RequestMetrics.succeed = lambda *rest: times
requests.DurationCounts.add = lambda *rest: None
requests.StageTimes._enter = lambda *rest: None
"""
TRAINER = """
import sys, time
import graphzero as gz
seconds, size, fanout = float(sys.argv[2]), int(sys.argv[3]), eval(sys.argv[4])
options = {"fanout": fanout, "batch_size": size, "shuffle": True, "prefetch": 4}
with gz.connect(sys.argv[1]) as client:
    def batches():
        while True:
            yield from client.loader("train", **options)
    source = batches()
    print("ready", flush=True)
    for _ in sys.stdin:
        for _ in range(5):  # the batches that were made ahead while nobody asked, and one more
            next(source)
        count, began = 0, time.perf_counter()
        while (now := time.perf_counter()) - began < seconds:
            next(source)
            count += 1
        print(count / (now - began), flush=True)
"""
MAIN = "import sys; from graphzero.server import main; sys.exit(main())"


class Daemon(NamedTuple):
    address: str
    pid: int

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Turn(NamedTuple):
    rate: float  # batches a second, of all trainers
    cpu_ms: float  # of the daemon, for each batch


@contextmanager
def daemon(data: Path, socket: Path, setup: str, *options: str) -> Iterator[Daemon]:
    command = [sys.executable, "-c", f"{setup}\n{MAIN}", "--data", str(data)]
    process = subprocess.Popen(
        [*command, "--socket", str(socket), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    next(line for line in process.stderr if "warm start read" in line)
    threading.Thread(target=process.stderr.read, daemon=True).start()
    try:
        yield Daemon(str(socket), process.pid)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def looked_at(browser: Any) -> Iterator[None]:
    """Once a second: a scrape, and what the page asks for."""
    stop = threading.Event()

    def ask(path: str) -> None:
        stop.wait(0.5)  # so that a turn of n seconds has n of them
        while not stop.is_set():
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}").read()
            stop.wait(1.0)

    threads = [threading.Thread(target=ask, args=(path,)) for path in ("/metrics", "/api/stats")]
    if browser is not None:
        browser.goto(f"http://127.0.0.1:{PORT}/")
        browser.wait_for_function("document.getElementById('state').dataset.state !== 'connecting'")
        threads.pop()
    for thread in threads:
        thread.start()
    yield
    stop.set()
    for thread in threads:
        thread.join()
    if browser is not None:
        browser.goto("about:blank")


class Trainers:
    """Of one daemon. They stay connected, and ask for batches during a turn only."""

    def __init__(self, served: Daemon, seconds: float, size: int, fanout: list[int]) -> None:
        self._served = served
        self._seconds = seconds
        arguments = [served.address, str(seconds), str(size), repr(fanout)]
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", TRAINER, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(TRAINERS)
        ]
        for process in self._processes:
            self._line(process)

    def turn(self) -> Turn:
        before = self._served.cpu_seconds()
        for process in self._processes:
            print(file=process.stdin, flush=True)
        rate = sum(float(self._line(process)) for process in self._processes)
        return Turn(rate, 1000 * (self._served.cpu_seconds() - before) / (rate * self._seconds))

    def close(self) -> None:
        for process in self._processes:
            process.communicate()

    @staticmethod
    def _line(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline()


def median_interval(values: list[float]) -> tuple[float, float]:
    """Between which the median of all turns lies with 95 % confidence, whatever they are
    distributed like: how many of n values lie below it is binomial (n, 1/2)."""
    ranked = sorted(values)
    count, below, rank = len(ranked), 0.0, 0
    while below + math.comb(count, rank) / 2**count <= 0.025:
        below += math.comb(count, rank) / 2**count
        rank += 1
    return ranked[max(rank - 1, 0)], ranked[min(count - rank, count - 1)]


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        yield browser.new_page()
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="pairs of turns for each load")
    parser.add_argument("--seconds", type=float, default=2.0, help="of one turn")
    parser.add_argument("--browser", action="store_true", help="the page is open in Chromium here")
    parser.add_argument("--load", choices=LOADS, action="append", help="default: both")
    args = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gz-observed-")))
        data = directory / "data"
        gz.generate(data, nodes=200_000, edges=4_000_000)
        browser = stack.enter_context(chromium()) if args.browser else None
        off = stack.enter_context(daemon(data, directory / "off.sock", UNCOUNTED))
        http = ("--http", f"127.0.0.1:{PORT}")
        on = stack.enter_context(daemon(data, directory / "on.sock", "", *http))
        for name in args.load or LOADS:
            compare(name, off, on, browser, args)


def compare(name: str, off: Daemon, on: Daemon, browser: Any, args: argparse.Namespace) -> None:
    size, fanout = LOADS[name]
    trainers = {which: Trainers(which, args.seconds, size, fanout) for which in (off, on)}
    pairs = []
    for number in range(args.rounds):
        found = {}
        for which in ((off, on), (on, off))[number % 2]:
            with looked_at(browser) if which == on else ExitStack():
                found[which] = trainers[which].turn()
        quiet, seen = found[off], found[on]
        pairs.append((seen.rate / quiet.rate, seen.cpu_ms / quiet.cpu_ms))
        print(
            f"{name}: off {quiet.rate:6.1f} batches/s, {quiet.cpu_ms:6.2f} ms each; "
            f"on {seen.rate:6.1f}, {seen.cpu_ms:6.2f} ms; "
            f"ratios {pairs[-1][0]:.3f}, {pairs[-1][1]:.3f}",
            flush=True,
        )
    for each in trainers.values():
        each.close()
    for what, ratios in zip(("batches/s", "processor time"), zip(*pairs, strict=True), strict=True):
        low, high = median_interval(list(ratios))
        print(
            f"{name}: {what}, median of {len(ratios)} ratios {statistics.median(ratios):.3f}, "
            f"with 95 % confidence {low:.3f} to {high:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
