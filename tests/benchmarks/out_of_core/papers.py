"""What each way to need fewer reads brings, alone and together, at the shape of ogbn-papers100M.

    graphzero generate papers --nodes 111M --edges 800M --dim 100 --dtype float16
    python tests/benchmarks/out_of_core/papers.py --data papers [--memory 5.1G] [--batches 6]
        [--baseline PYTHON] [--variant int8=DIR --variant order=DIR ...] [--ahead 8]
        [--reads-per-second 6000]

As root (control groups, drop_caches). Daemon and trainer, page cache included, share one memory
control group. Batches of 1024 seeds x [15, 10, 5] with all columns, then walks. The kernel counts
reads. Every way runs once in each repetition, one after the other; ratios are to the first
way of the same repetition. Ways are:

    baseline          the interpreter of --baseline, which has another version of this package; it
                      walks at most 20,000 walks, since more would not make a version faster that
                      takes 8,192 at a time
    this code         row starts in memory, rows merged by what the disk gives, sweeps that batches
                      share; as many batches ahead as the daemon suggests
    no warm start     the same without what the daemon reads ahead: no row starts, no hot rows
    labor, drift      LABOR sampling; with batches that depend on each other (kappa 64)
    NAME              the dataset of --variant NAME=DIR: int8 columns, another order
    NAME + drift      both
    ..., N ahead      the same with a loader that prefetches N batches, for each N of --ahead

--reads-per-second makes the disk one that gives so many. Any dataset with x and train will do.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from limits import DiskGroup, MemoryGroup, disk_group, drop_caches, memory_group

sys.path.append(str(Path(__file__).parents[1]))
from common.rounds import Spread

HERE = Path(__file__).parent
MOST_WARM_UP_S = 300.0
BASELINE_WALKERS = 20_000


@dataclass(frozen=True)
class Way:
    name: str
    data: Path
    python: str = sys.executable
    sampler: str = "neighbour"
    prefetch: int | None = None
    options: tuple[str, ...] = ()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a dataset")
    parser.add_argument("--memory", default="5.1G", help="of the control group")
    parser.add_argument("--batches", type=int, default=6, help="that are counted, for each way")
    parser.add_argument("--walkers", type=int, default=20_000, help="that walk ten steps each")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--baseline", help="an interpreter with the version to compare with")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--ahead", type=int, nargs="*", default=[], help="prefetched batches")
    parser.add_argument("--reads-per-second", type=int, help="that the disk gives (default: all)")
    parser.add_argument("--only", nargs="*", help="names of ways to run")
    args = parser.parse_args()
    ways = [
        *(
            [Way("baseline", args.data, str(Path(args.baseline).absolute()))]
            if args.baseline
            else []
        ),
        Way("this code", args.data),
        Way("no warm start", args.data, options=("--warm", "none")),
        Way("labor", args.data, sampler="labor"),
        Way("drift", args.data, sampler="drift"),
    ]
    for variant in args.variant:
        name, _, data = variant.partition("=")
        ways += [Way(name, Path(data)), Way(f"{name} + drift", Path(data), sampler="drift")]
    ways += [
        replace(way, name=f"{way.name}, {ahead} ahead", prefetch=ahead)
        for ahead in args.ahead
        for way in ways
        if way.name != "no warm start"
    ]
    ways = [way for way in ways if not args.only or way.name in args.only]
    limit = int(float(args.memory.rstrip("G")) * 1e9)
    print(f"memory {limit / 1e9:.1f} GB, load {os.getloadavg()[0]:.1f}", flush=True)
    repeats = []
    for _ in range(args.repeat):
        repeats.append({way.name: run(way, limit, args) for way in ways})
    print("medians; x is the ratio to the first")
    first = ways[0].name
    for way in ways:
        for key in ("reads a batch", "batches/s", "walk steps/s", "reads a step"):
            values = [runs[way.name][key] for runs in repeats]
            ratios = [runs[way.name][key] / runs[first][key] for runs in repeats]
            found, ratio = Spread.of(values).text(",.2f"), Spread.of(ratios).text(".2f")
            print(f"  {way.name:<20}{key:<14}{found:<40} x {ratio}")


def disk_of(data: Path) -> str:
    """The disk that a file or folder lies on, as control groups name it."""
    number = data.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def run(way: Way, limit: int, args: argparse.Namespace) -> dict[str, float]:
    with (
        memory_group(limit) as memory,
        disk_group(disk_of(way.data), args.reads_per_second) as reads,
        tempfile.TemporaryDirectory(prefix="gz-papers-") as temporary,
    ):
        drop_caches()
        with serve(way, memory, reads, Path(temporary)) as (address, ready):
            command = [way.python, str(HERE / "papers_trainer.py"), address, way.sampler]
            is_baseline = way.python != sys.executable
            walkers = min(args.walkers, BASELINE_WALKERS) if is_baseline else args.walkers
            command += [str(args.batches), str(walkers), str(way.prefetch or "default")]
            trainer = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: join(memory, reads),
            )
            result = {"warm start s": ready} | measure(trainer, reads, args)
        result["killed"] = memory.killed
    shown = ", ".join(f"{value:,.2f} {key}" for key, value in result.items())
    print(f"  {way.name:<20}{shown}", flush=True)
    return result


def measure(
    trainer: subprocess.Popen[str], reads: DiskGroup, args: argparse.Namespace
) -> dict[str, float]:
    """The trainer says what it has done, and waits for a line before it goes on."""
    assert trainer.stdin is not None
    assert trainer.stdout is not None
    looks: list[tuple[int, int]] = []
    said: list[Any] = []
    for _ in range(3):  # after a first batch, after the others, after the walks
        line = trainer.stdout.readline()
        if not line:
            raise RuntimeError(f"the trainer ended early, with {trainer.wait()}")
        said.append(json.loads(line))
        looks.append(reads.reads)
        trainer.stdin.write("\n")
        trainer.stdin.flush()
    trainer.wait()
    batches, walks = said[1], said[2]
    return {
        "batches/s": args.batches / batches["seconds"],
        "reads a batch": (looks[1][0] - looks[0][0]) / args.batches,
        "MB a batch": (looks[1][1] - looks[0][1]) / args.batches / 1e6,
        "nodes a batch": batches["nodes"] / args.batches,
        "first batch s": said[0]["seconds"],
        "walk steps/s": walks["steps"] / walks["seconds"],
        "reads a step": (looks[2][0] - looks[1][0]) / max(walks["steps"], 1),
    }


def join(memory: MemoryGroup, reads: DiskGroup) -> None:
    memory.join()
    reads.join()


@contextlib.contextmanager
def serve(
    way: Way,
    memory: MemoryGroup,
    reads: DiskGroup,
    temporary: Path,
    *,
    wait_until_warm: bool = True,
) -> Iterator[tuple[str, float]]:
    """The address of a daemon, and how many seconds it read ahead before this gave up waiting."""
    log = temporary / "daemon.log"
    socket = temporary / "s.sock"
    command = [way.python, "-m", "graphzero.server", "--data", str(way.data)]
    with log.open("w") as output:
        daemon = subprocess.Popen(
            [*command, "--socket", str(socket), *way.options],
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: join(memory, reads),
        )
    try:
        wait_for(daemon, log, "connect with", 60.0)
        began = time.monotonic()
        reads_ahead = "row cache of" in log.read_text() and "--warm" not in way.options
        if wait_until_warm and reads_ahead:
            wait_for(daemon, log, "rows into the row cache", MOST_WARM_UP_S)
        yield f"unix:{socket}", time.monotonic() - began
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
        for line in log.read_text().splitlines():
            if re.search(r"warm start|is staged|is direct|the disk of", line):
                print(f"    {line.strip()}", flush=True)


def wait_for(daemon: subprocess.Popen[bytes], log: Path, text: str, most: float) -> None:
    until = time.monotonic() + most
    while text not in log.read_text() and time.monotonic() < until:
        if daemon.poll() is not None:
            raise RuntimeError(f"the daemon ended early: {log.read_text()}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(0.1)


if __name__ == "__main__":
    main()
