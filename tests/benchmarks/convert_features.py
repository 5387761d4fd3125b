"""Feature table (CSV) -> matrix file, against pandas.read_csv of the same file.

    python tests/benchmarks/convert_features.py [--rows 200000] [--cols 128] [--pandas PYTHON]

Prints medians in seconds and MB/s of text, the ratio, and the peak resident memory of each. Ours
includes making the file durable; pandas only reads the table into memory. Each run is a process of
its own; time is taken inside it, after imports. `--pandas` names the interpreter that has pandas;
by default this one.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

OURS = """
import json, pathlib, sys, time
from graphzero.conversion.compile_column import ColumnRequest, compile_column
source, target, memory, threads, directory = sys.argv[1:]
start = time.perf_counter()
request = ColumnRequest(memory=int(memory), threads=int(threads), temp_dir=directory)
compile_column(source, target, request)
seconds = time.perf_counter() - start
status = pathlib.Path("/proc/self/status").read_text()
print(json.dumps([seconds, int(status.split("VmHWM:")[1].split()[0])]))
"""

PANDAS = """
import json, pathlib, sys, time
import pandas
start = time.perf_counter()
pandas.read_csv(sys.argv[1], header=None, index_col=0, dtype="float32")
seconds = time.perf_counter() - start
status = pathlib.Path("/proc/self/status").read_text()
print(json.dumps([seconds, int(status.split("VmHWM:")[1].split()[0])]))
"""


def write_table(path: Path, rows: int, cols: int, shuffled: bool) -> None:
    rng = np.random.default_rng(0)
    ids = rng.permutation(rows) if shuffled else np.arange(rows)
    line = "%d" + ",%.6g" * cols + "\n"
    with path.open("w") as file:
        for first in range(0, rows, 10_000):
            part = ids[first : first + 10_000].tolist()
            values = rng.standard_normal((len(part), cols)).astype(np.float32).tolist()
            file.writelines(line % (i, *row) for i, row in zip(part, values, strict=True))


def measure(python: str, code: str, arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak MiB of one run."""
    command = [python, "-c", code, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, kibibytes = json.loads(output)
    return seconds, kibibytes / 1024


def show(name: str, runs: list[tuple[float, float]], size: int) -> float:
    seconds = statistics.median(run[0] for run in runs)
    memory = max(run[1] for run in runs)
    spread = f"{min(run[0] for run in runs):.3f} to {max(run[0] for run in runs):.3f}"
    print(
        f"{name:<34} {seconds:7.3f} s ({spread})  {size / seconds / 1e6:7.0f} MB/s"
        f"  peak {memory:6.0f} MiB"
    )
    return seconds


def hardware() -> str:
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = names[0] if names else platform.machine()
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} x {model}, {memory:.0f} GiB, load {load:.1f} at start"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--cols", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--memory", type=int, default=512, help="MiB")
    parser.add_argument("--directory", help="where files are written (a disk, not a tmpfs)")
    parser.add_argument("--pandas", default=sys.executable, help="interpreter that has pandas")
    return parser.parse_args()


def compare(args: argparse.Namespace, directory: Path, shuffled: bool) -> None:
    source, target = directory / "x.csv", directory / "x.gd"
    write_table(source, args.rows, args.cols, shuffled)
    size = source.stat().st_size
    order = "shuffled ids" if shuffled else "ids in order"
    print(f"\n{args.rows} rows x {args.cols} values, {order}: {size / 1e6:.0f} MB of text")
    settings = [str(args.memory << 20), str(args.threads), str(directory)]
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    for _ in range(args.repeat):  # alternating, so that a busy moment hits both
        target.unlink(missing_ok=True)
        ours.append(measure(sys.executable, OURS, [str(source), str(target), *settings]))
        theirs.append(measure(args.pandas, PANDAS, [str(source)]))
    print(f"matrix file: {target.stat().st_size / 1e6:.0f} MB")
    mine = show(f"graphzero, {args.threads} threads", ours, size)
    other = show("pandas.read_csv", theirs, size)
    print(f"ratio: {other / mine:.1f}x")


def main() -> Any:
    args = parse_arguments()
    print(hardware())
    with tempfile.TemporaryDirectory(dir=args.directory) as name:
        for shuffled in (False, True):
            compare(args, Path(name), shuffled)


if __name__ == "__main__":
    main()
