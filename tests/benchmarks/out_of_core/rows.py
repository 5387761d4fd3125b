"""Random rows of a column that is eight times as large as memory.

    python tests/benchmarks/out_of_core/rows.py [--gigabytes 4] [--seconds 5]

As root (control groups, drop_caches), with fio. Uniform rows against fio's random reads of the same
file, and against a mapping; Zipf rows with and without a row cache, and against the best that a
cache of that size could have held: the most frequent rows of the same run. fio runs before and
after; the mean counts. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import numpy.typing as npt
from device import random_reads_per_second
from limits import run_limited
from row_ids import batch_ids

HERE = Path(__file__).parent
PROCESS_BYTES = 192 << 20  # Python, NumPy and a batch
COLUMNS = 128  # float32: rows of 512 bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=int, default=4, help="a power of two")
    parser.add_argument("--seconds", type=float, default=5.0, help="per run")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-out-of-core-") as temporary:
        directory = args.directory or Path(temporary)
        file = make_column(directory, args.gigabytes)
        # Every row of it comes up several times in a run, so that the run is about the policy.
        small = make_column(directory, max(1, args.gigabytes // 2))
        for _ in range(args.repeat):
            uniform(file, args.seconds)
            zipf(small, args.seconds)


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


def uniform(file: Path, seconds: float) -> None:
    before = random_reads_per_second(file, seconds)
    limit = file.stat().st_size // 8
    runs = {way: measure(file, seconds, limit, way=way) for way in ("cached", "direct")}
    device = (before + random_reads_per_second(file, seconds)) / 2
    runs["mmap-random"] = measure(file, seconds, limit, way="mmap-random", batch=5000)
    runs["mmap"] = measure(file, seconds, limit, way="mmap", batch=200)
    print(f"uniform rows of 512 bytes, memory 1/8 of {file.stat().st_size >> 30} GiB")
    print(f"  {'fio, 4 KiB':<14}{device:>10,.0f} reads/s")
    for way, run in runs.items():
        rows = run["rows_per_second"]
        print(
            f"  {way:<14}{rows:>10,.0f} rows/s {rows / device:>8.1%} of fio"
            f" {rows / runs['mmap-random']['rows_per_second']:>8.1f} x mmap-random"
            f" {rows / runs['mmap']['rows_per_second']:>8.1f} x mmap"
            f" {run['bytes_per_row']:>8.0f} bytes read a row, {run['latency_us']:.0f} us a read"
        )


def zipf(file: Path, seconds: float) -> None:
    size = file.stat().st_size
    limit = size // 10 + PROCESS_BYTES
    options = {"way": "direct", "ids": "zipf", "callers": 2}
    plain = measure(file, seconds, limit, **options)
    cached = measure(file, 6 * seconds, limit, **options, row_cache=size // 10)
    rows = gz.FeatureStore(file).num_nodes
    counts = np.zeros(rows, np.int64)
    for number in range(cached["batches"]):
        np.add.at(counts, batch_ids("zipf", rows, number), 1)
    best = np.sort(counts)[::-1][: rows // 10].sum() / counts.sum()
    gain = cached["rows_per_second"] / plain["rows_per_second"]
    print("Zipf rows of 512 bytes, row cache 1/10 of the column")
    print(f"  {'no cache':<14}{plain['rows_per_second']:>10,.0f} rows/s")
    print(
        f"  {'row cache':<14}{cached['rows_per_second']:>10,.0f} rows/s {gain:>8.2f} x no cache,"
        f" hits {cached['hit_rate']:.1%}, best fixed choice {best:.1%},"
        f" {cached['hit_rate'] / best:.1%} of it"
    )


if __name__ == "__main__":
    main()
