"""How long `graphzero convert` takes for an edge list, beside GraphZero 0.2.0 and pandas + scipy.

Every contender is a process of its own that reads the same CSV file and writes rows of out-edges,
flushed to the disk; its start counts. Runs are interleaved, so that a busy minute of the machine
meets everyone. Peers are installed into environments of their own under --cache, once.

    python tests/benchmarks/convert_edges.py --cache DIR [--edges 5M 100M] [--repeat 5]
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from graphzero.base.quantities import parse_count, parse_size
from graphzero.base.text import size_text

sys.path.append(str(Path(__file__).parents[1] / "helpers"))
from control_groups import NoControlGroup, memory_group

GRAPHZERO_02 = """
import os, sys
import graphzero
graphzero.convert_csv_to_gl(sys.argv[1], sys.argv[2], directed=True)
descriptor = os.open(sys.argv[2], os.O_RDONLY)
os.fsync(descriptor)
"""

# scipy adds up the edges between the same two nodes; nothing here repeats often enough to matter.
PANDAS_SCIPY = """
import os, sys
import numpy as np, pandas as pd, scipy.sparse as sp
edges = pd.read_csv(sys.argv[1], header=None, names=["src", "dst"], dtype=np.int32)
nodes = int(max(edges.src.max(), edges.dst.max())) + 1
ones = np.ones(len(edges), np.int8)
rows = sp.coo_matrix((ones, (edges.src.values, edges.dst.values)), (nodes, nodes)).tocsr()
rows.sort_indices()
with open(sys.argv[2], "wb") as file:
    rows.indptr.astype(np.int64).tofile(file)
    rows.indices.tofile(file)
    file.flush()
    os.fsync(file.fileno())
"""


@dataclass(frozen=True)
class Contender:
    name: str
    template: Sequence[str]  # of the command line, with "{csv}" and "{out}"

    def command(self, csv: Path, out: Path) -> list[str]:
        return [a.replace("{csv}", str(csv)).replace("{out}", str(out)) for a in self.template]


@dataclass(frozen=True)
class Run:
    seconds: float
    cpu_seconds: float
    peak_rss: int


def measure(command: Sequence[str]) -> Run:
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        peak = max(peak, peak_rss(process.pid))
        time.sleep(0.005)
    seconds = time.monotonic() - started
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, peak)


def peak_rss(pid: int) -> int:
    """So far. The one in a process's resource usage is no less than that of its parent."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0  # it has just ended


def environment(cache: Path, name: str, packages: Sequence[str]) -> str:
    """The interpreter of an environment with these packages."""
    python = cache / name / "bin" / "python"
    if not (cache / name / "complete").exists():
        print(f"installing {' '.join(packages)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", cache / name], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--quiet"]
        subprocess.run([*install, *packages], check=True)
        (cache / name / "complete").touch()
    return str(python)


def contenders(cache: Path, memory: str) -> list[Contender]:
    ours = [str(Path(sys.executable).with_name("graphzero")), "convert", "--edges", "{csv}"]
    ours += ["--out", "{out}", "--memory", memory, "--quiet"]
    # Without what it declares: that is torch with CUDA, which the conversion does not import.
    old = environment(cache, "graphzero-0.2.0", ["--no-deps", "graphzero==0.2.0", "numpy"])
    peer = environment(cache, "pandas-scipy", ["pandas", "scipy"])
    return [
        Contender("graphzero convert --direction out", [*ours, "--direction", "out"]),
        Contender("graphzero convert --direction both", ours),
        Contender("GraphZero 0.2.0 (rows not sorted)", [old, "-c", GRAPHZERO_02, "{csv}", "{out}"]),
        Contender("pandas + scipy", [peer, "-c", PANDAS_SCIPY, "{csv}", "{out}"]),
    ]


def write_edges(path: Path, count: int, nodes: int) -> None:
    """Lines in random order, a million at a time."""
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for at in range(0, count, 1 << 20):
            ids = rng.integers(0, nodes, (min(1 << 20, count - at), 2), np.int32)
            file.write(text_of(ids, len(str(nodes))).tobytes())


def text_of(ids: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.uint8]:
    """ "source,target\\n" for each row, without a loop over rows."""
    rows, columns = ids.shape
    text = np.empty((rows, columns, width + 1), np.uint8)
    kept = np.ones((rows, columns, width + 1), bool)
    rest = ids.copy()
    for place in range(width - 1, -1, -1):
        text[:, :, place] = rest % 10 + ord("0")
        if place < width - 1:
            kept[:, :, place] = rest > 0  # no leading zeros
        rest //= 10
    text[:, 0, width], text[:, 1, width] = ord(","), ord("\n")
    return text[kept]


def run_all(
    chosen: Sequence[Contender], csv: Path, directory: Path, repeat: int
) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {contender.name: [] for contender in chosen}
    for round_ in range(repeat):
        for place in range(len(chosen)):
            contender = chosen[(place + round_) % len(chosen)]
            out = directory / "out"
            os.sync()  # nobody pays for the bytes of the one before
            runs[contender.name].append(measure(contender.command(csv, out)))
            remove(out)
    return runs


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def print_table(runs: dict[str, list[Run]], csv_bytes: int) -> None:
    first = next(iter(runs.values()))
    ours = statistics.median(run.seconds for run in first)
    ours_cpu = statistics.median(run.cpu_seconds for run in first)
    heads = ["seconds", "spread", "MB/s", "ratio", "CPU s", "CPU ratio", "peak RSS"]
    print(f"  {'':36}" + "".join(f"{head:>14}" for head in heads))
    for name, own in runs.items():
        seconds = [run.seconds for run in own]
        median = statistics.median(seconds)
        cpu = statistics.median(run.cpu_seconds for run in own)
        cells = [
            f"{median:.2f}",
            f"{min(seconds):.2f}-{max(seconds):.2f}",
            f"{csv_bytes / median / 1e6:.0f}",
            f"{median / ours:.1f}",
            f"{cpu:.2f}",
            f"{cpu / ours_cpu:.1f}",
            size_text(max(run.peak_rss for run in own)),
        ]
        print(f"  {name:36}" + "".join(f"{cell:>14}" for cell in cells))


def print_limited_run(ours: Contender, csv: Path, directory: Path, memory: int) -> None:
    limit = memory + (128 << 20)  # for the interpreter, buffers and pages on their way to disk
    out = directory / "out"
    try:
        with memory_group(limit) as group:
            enter = f'echo $$ > {group.directory}/cgroup.procs && exec "$@"'
            run = measure(["sh", "-c", enter, "sh", *ours.command(csv, out)])
            peak = group.peak
    except NoControlGroup as error:
        print(f"  {error}")
        return
    remove(out)
    print(
        f"  in a control group of {size_text(limit)}: {run.seconds:.2f} s, peak {size_text(peak)} "
        f"with page cache, {size_text(run.peak_rss)} resident"
    )


def print_machine(directory: Path, memory: str) -> None:
    cpu = next(
        line.split(":", 1)[1].strip()
        for line in [*Path("/proc/cpuinfo").read_text().splitlines(), "model name: unknown"]
        if line.startswith("model name")
    )
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    threads = len(os.sched_getaffinity(0))
    print(f"{cpu}, {threads} threads, {size_text(ram)} memory, Linux {platform.release()}")
    found = subprocess.run(
        ["findmnt", "-no", "SOURCE,FSTYPE", "-T", directory], capture_output=True, text=True
    )
    print(f"storage {' '.join(found.stdout.split()) or 'unknown'}; load {os.getloadavg()[0]:.1f}")
    print(f"--memory {memory}; process start and fsync included; the CSV file is in the page cache")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cache", type=Path, required=True, help="where peers are installed")
    parser.add_argument("--edges", nargs="+", default=["5M", "100M"], help="sizes of the files")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--temp", type=Path, help="where files are written (default: --cache)")
    args = parser.parse_args()
    cache = args.cache.absolute()
    cache.mkdir(parents=True, exist_ok=True)
    chosen = contenders(cache, args.memory)
    with tempfile.TemporaryDirectory(dir=args.temp or cache) as name:
        directory = Path(name)
        print_machine(directory, args.memory)
        for text in args.edges:
            count = parse_count(text)
            csv = directory / "edges.csv"
            write_edges(csv, count, max(2, count // 20))
            size = csv.stat().st_size
            print(
                f"\n{text} edges, {count // 20} nodes, {size / 1e6:.0f} MB, {args.repeat} runs each"
            )
            print_table(run_all(chosen, csv, directory, args.repeat), size)
            print_limited_run(chosen[0], csv, directory, parse_size(args.memory))


if __name__ == "__main__":
    main()
