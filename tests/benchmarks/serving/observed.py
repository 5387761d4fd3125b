"""What it costs to be counted and looked at.

    python tests/benchmarks/serving/observed.py [--rounds N] [--seconds S] [--browser]

Two daemons serve the same data. In one nothing is counted and nobody looks. The other is as it
always is, with --http; /metrics is scraped and /api/stats asked for, as the page does, once a
second; with --browser the page itself is open in Chromium, on this machine, which then has that to
do as well. They take turns at full load: two trainers that ask for large batches as fast as they
can, then two that ask for small ones. Printed are batches a second and the ratio of each pair of
turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import graphzero as gz

PORT = 17199
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
for name in ("wait", "stop_waiting"):
    setattr(requests.StageTimes, name, lambda *rest, **named: None)
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
    for _ in range(5):
        next(source)
    print("ready", flush=True)
    input()
    count, began = 0, time.perf_counter()
    while (now := time.perf_counter()) - began < seconds:
        next(source)
        count += 1
    print(count / (now - began), flush=True)
"""
MAIN = "import sys; from graphzero.server import main; sys.exit(main())"


@contextmanager
def daemon(data: Path, socket: Path, setup: str, *options: str) -> Iterator[str]:
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
    yield str(socket)
    process.terminate()
    process.wait()


@contextmanager
def looked_at(browser: Any) -> Iterator[None]:
    """Once a second: a scrape, and what the page asks for."""
    stop = threading.Event()

    def ask(path: str) -> None:
        while not stop.wait(1.0):
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}").read()

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


def turn(address: str, seconds: float, size: int, fanout: list[int]) -> float:
    """Batches a second, of all trainers."""
    arguments = [sys.executable, "-c", TRAINER, address, str(seconds), str(size), repr(fanout)]
    trainers = [
        subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(TRAINERS)
    ]
    for trainer in trainers:
        assert trainer.stdin is not None
        assert trainer.stdout is not None
        trainer.stdout.readline()
    for trainer in trainers:
        print(file=trainer.stdin, flush=True)
    return sum(float(trainer.communicate()[0]) for trainer in trainers)


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
    parser.add_argument("--rounds", type=int, default=6, help="pairs of turns for each load")
    parser.add_argument("--seconds", type=float, default=4.0, help="of one turn")
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


def compare(name: str, off: str, on: str, browser: Any, args: argparse.Namespace) -> None:
    size, fanout = LOADS[name]
    ratios = []
    for number in range(args.rounds):
        found = {}
        for which in ((off, on), (on, off))[number % 2]:
            with looked_at(browser) if which == on else ExitStack():
                time.sleep(0.2)
                found[which] = turn(which, args.seconds, size, fanout)
        ratios.append(found[on] / found[off])
        print(f"{name}: off {found[off]:7.1f}, on {found[on]:7.1f} batches/s, {ratios[-1]:.3f}")
    median, least, most = statistics.median(ratios), min(ratios), max(ratios)
    print(f"{name}: median of ratios {median:.3f}, from {least:.3f} to {most:.3f}", flush=True)


if __name__ == "__main__":
    main()
