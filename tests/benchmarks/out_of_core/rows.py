"""Random rows of a column that is eight times as large as memory.

    python tests/benchmarks/out_of_core/rows.py [--gigabytes 4] [--seconds 5] [--repeat 3]

As root (control groups, drop_caches), with fio. Uniform rows against fio's random reads of the same
file, and against a mapping; Zipf rows with and without a row cache, while it fills and afterwards,
and against the best that a cache of that size could have held: the most frequent rows of the same
run. Each repetition runs everything once, fio before and after, so that a disk whose speed
wanders favours nobody; ratios are taken within a repetition, and their median counts. Nothing
is asserted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import numpy.typing as npt
from limits import run_limited
from row_ids import ZIPF_BATCH, batch_ids

sys.path.append(str(Path(__file__).parents[1]))
from common.machine import fio_reads
from common.rounds import Spread

HERE = Path(__file__).parent
PROCESS_BYTES = 192 << 20  # Python, NumPy and a batch
COLUMNS = 128  # float32: rows of 512 bytes
FILLING = 5  # runs' lengths until a row cache holds what it will hold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=int, default=4, help="a power of two")
    parser.add_argument("--seconds", type=float, default=5.0, help="per run")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-out-of-core-") as temporary:
        directory = args.directory or Path(temporary)
        file = make_column(directory, args.gigabytes)
        # Every row of it comes up several times in a run, so that the run is about the policy.
        small = make_column(directory, max(1, args.gigabytes // 2))
        print(f"load at the start {os.getloadavg()[0]:.1f}", flush=True)
        repeats = range(args.repeat)
        print_uniform(file, [uniform(file, args.seconds) for _ in repeats])
        print_zipf([zipf(small, args.seconds) for _ in repeats])
        print(f"load at the end {os.getloadavg()[0]:.1f}")


def make_column(directory: Path, gigabytes: int) -> Path:
    rows = (gigabytes << 30) // (4 * COLUMNS)
    file = directory / f"rows-{gigabytes}.gd"

    def chunks() -> Iterator[npt.NDArray[np.float32]]:
        rng = np.random.default_rng(1)
        for _ in range(0, rows, 1 << 16):
            yield rng.random((1 << 16, COLUMNS), dtype=np.float32)

    if not file.exists():
        directory.mkdir(parents=True, exist_ok=True)
        gz.write_features(file, chunks(), shape=(rows, COLUMNS), dtype="float32")
    return file


def measure(file: Path, seconds: float, limit: int, **options: Any) -> dict[str, Any]:
    arguments = [str(file), f"--seconds={seconds}"]
    arguments += [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return run_limited(HERE / "gather_rows.py", arguments, limit)


def uniform(file: Path, seconds: float) -> dict[str, dict[str, Any]]:
    """One repetition: what each way gave. fio reads blocks of the size that ours has on average;
    a row that takes two reads, or bytes that nobody asked for, are our loss."""
    limit = file.stat().st_size // 8
    runs = {}
    for way in ("cached", "direct"):
        before = _fio(file, runs.get("cached"), seconds)
        runs[way] = measure(file, seconds, limit, way=way)
        device = (before + _fio(file, runs[way], seconds)) / 2  # as it was around it
        runs[way]["fio"] = device
        runs[way]["of_fio"] = runs[way]["rows_per_second"] / device
    runs["mmap-random"] = measure(file, seconds, limit, way="mmap-random", batch=5000)
    runs["mmap"] = measure(file, seconds, limit, way="mmap", batch=200)
    return runs


def _fio(file: Path, ours: dict[str, Any] | None, seconds: float) -> float:
    """Reads a second, of blocks as large as our reads."""
    size = ours["bytes_per_row"] / ours["reads_per_row"] if ours and ours["reads_per_row"] else 4096
    return fio_reads(file, max(512, round(size / 512) * 512), seconds=seconds)["reads_s"]


def spread(values: Sequence[float], form: str = ".2f") -> str:
    return Spread.of(values).text(form)


def print_uniform(file: Path, repeats: Sequence[dict[str, dict[str, Any]]]) -> None:
    print(f"uniform rows of 512 bytes, memory 1/8 of {file.stat().st_size >> 30} GiB")
    for way in ("cached", "direct"):
        runs = [repeat[way] for repeat in repeats]
        print(f"  {way:<14}{spread([run['rows_per_second'] for run in runs], ',.0f')} rows/s")
        print(f"    fio, same size {spread([run['fio'] for run in runs], ',.0f')} reads/s")
        print(f"    of fio         {spread([run['of_fio'] for run in runs], '.1%')}")
        for peer in ("mmap-random", "mmap"):
            ratios = [
                repeat[way]["rows_per_second"] / repeat[peer]["rows_per_second"]
                for repeat in repeats
            ]
            print(f"    x {peer:<13}{spread(ratios, ',.1f')}")
        size = statistics.median(run["bytes_per_row"] for run in runs)
        latency = statistics.median(run["latency_us"] for run in runs)
        print(f"    {size:.0f} bytes read a row, {latency:.0f} us a read")
    for peer in ("mmap-random", "mmap"):
        rates = [repeat[peer]["rows_per_second"] for repeat in repeats]
        print(f"  {peer:<14}{spread(rates, ',.0f')} rows/s", flush=True)


def zipf(file: Path, seconds: float) -> dict[str, dict[str, Any]]:
    """One repetition: without a cache, while one fills, and once it is full."""
    size = file.stat().st_size
    limit = size // 10 + PROCESS_BYTES
    options = {"way": "direct", "ids": "zipf", "callers": 2}
    plain = measure(file, seconds, limit, **options)
    full = measure(file, seconds, limit, **options, row_cache=size // 10, warm_up=FILLING * seconds)
    filling = full.pop("warm_up")
    rows = gz.FeatureStore(file).num_nodes
    asked = np.zeros(rows, np.int64)
    for number in range(filling["batches"] + full["batches"]):
        np.add.at(asked, batch_ids("zipf", rows, number), 1)
    best = np.sort(asked)[::-1][: rows // 10].sum()
    full["hit_rate"] = full["hits"] / (full["batches"] * ZIPF_BATCH)
    filling["hit_rate"] = filling["hits"] / (filling["batches"] * ZIPF_BATCH)
    full["of_best"] = (filling["hits"] + full["hits"]) / best
    return {"no cache": plain, "filling": filling, "full": full}


def print_zipf(repeats: Sequence[dict[str, dict[str, Any]]]) -> None:
    print("Zipf rows of 512 bytes, row cache 1/10 of the column")
    for name in ("no cache", "filling", "full"):
        runs = [repeat[name] for repeat in repeats]
        print(
            f"  {name:<14}{spread([run['rows_per_second'] for run in runs], ',.0f')} rows/s,"
            f" {statistics.median(run['reads_per_row'] for run in runs):.3f} reads a row"
        )
        if name == "no cache":
            continue
        gains = [r[name]["rows_per_second"] / r["no cache"]["rows_per_second"] for r in repeats]
        print(f"    x no cache     {spread(gains, '.2f')}")
        print(f"    hits           {spread([run['hit_rate'] for run in runs], '.1%')}")
    shares = [repeat["full"]["of_best"] for repeat in repeats]
    print(f"  hits of both against the best choice of rows {spread(shares, '.1%')}", flush=True)


if __name__ == "__main__":
    main()
