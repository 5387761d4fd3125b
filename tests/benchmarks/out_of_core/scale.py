"""What a machine with little memory does with graphs of a hundred million nodes.

    python tests/benchmarks/out_of_core/scale.py --directory DIR [--only compile papers typed]

As root (control groups, drop_caches), with 70 GB of disk, in about 40 minutes. It makes its data
in DIR, one part after the other, and removes what it has made when a part is done, unless --keep.
Data that is there already is used and stays:

    compile   a text file of a billion edges, converted with --memory 1G in a control group of 128
              MiB more, page cache included; then every checksum and index of the result is verified
    papers    a dataset of ogbn-papers100M's shape
    typed     a dataset with three types of nodes, seven relations and times (generate --schema
              shop), whose samples obey the time of their seeds

Of a dataset it prints how long it takes to open, and then, for each --memory (daemon, trainers and
page cache together) and number of --trainers, from a cold start: how soon the first batch comes,
batches/s of all trainers in the first seconds and in as many more, and walk steps/s. Batches are
1024 seeds x [15, 10, 5], typed 1024 x [8, 5, 3] for each relation, with all columns. Trainers do
not wait for what the daemon reads ahead. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from graphzero.base.quantities import parse_count, parse_size
from graphzero.base.text import size_text
from limits import DiskGroup, MemoryGroup, disk_group, drop_caches, memory_group
from papers import Way, disk_of, join, serve

sys.path.append(str(Path(__file__).parents[1]))
from common.machine import describe_machine, fio_limit
from convert_edges import Run, measure, text_of

HERE = Path(__file__).parent
GRAPHZERO = str(Path(sys.executable).with_name("graphzero"))
NODES = 111_000_000
CHUNK = 1 << 20
# For the interpreter, buffers, and pages on their way to the disk.
BESIDE_MEMORY = 128 << 20
OPEN = """
import sys, time
import graphzero as gz
began = time.perf_counter()
gz.Graph(sys.argv[1])
print(time.perf_counter() - began)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, required=True, help="where data is made")
    parser.add_argument("--only", nargs="*", default=["compile", "papers", "typed"])
    parser.add_argument("--edges", type=parse_count, default=1_000_000_000, help="of the text file")
    parser.add_argument("--shrink", type=int, default=1, help="divide the sizes of datasets by it")
    parser.add_argument("--memory", nargs="+", default=["5.1G", "16G"], help="of control groups")
    parser.add_argument("--trainers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--seconds", type=float, default=40.0, help="cold, and as many warm")
    parser.add_argument("--walkers", type=parse_count, default=1_000_000)
    parser.add_argument("--keep", action="store_true", help="leave the data in place")
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    # So that a daemon does not outlive a run that is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    machine = describe_machine(args.directory) | {"fio": fio_limit(args.directory)}
    print(", ".join(f"{key}: {value}" for key, value in machine.items()), flush=True)
    parts: dict[str, Callable[[argparse.Namespace], None]] = {
        "compile": compile_edges,
        "papers": lambda args: serve_dataset(args, "papers", papers_options(args), "untyped"),
        "typed": lambda args: serve_dataset(args, "shop", shop_options(args), "typed"),
    }
    for name in args.only:
        parts[name](args)


def papers_options(args: argparse.Namespace) -> list[str]:
    edges = 800_000_000 // args.shrink
    return [
        *("--nodes", str(NODES // args.shrink), "--edges", str(edges)),
        *("--dim", "100", "--dtype", "float16"),
    ]


def shop_options(args: argparse.Namespace) -> list[str]:
    return ["--schema", "shop", "--scale", str(162 / args.shrink)]


# --- a text file of edges ---


def compile_edges(args: argparse.Namespace) -> None:
    csv, out = args.directory / "edges.csv", args.directory / "compiled"
    made = not csv.exists()
    if made:
        write_edges(csv, args.edges)
    size = csv.stat().st_size
    drop_caches()
    memory = parse_size("1G")
    command = [GRAPHZERO, "convert", "--edges", str(csv), "--out", str(out), "--quiet"]
    with memory_group(memory + BESIDE_MEMORY) as group:
        enter = f'echo $$ > {group.directory}/cgroup.procs && exec "$@"'
        run = measure(["sh", "-c", enter, "sh", *command, "--memory", "1G"])
        peak, killed = group.peak, group.killed
    tell("compile", run, f"{args.edges:,} edges, {size / 1e9:.1f} GB of text", size)
    print(f"  peak {size_text(peak)} with page cache, killed {killed}", flush=True)
    verified = measure([GRAPHZERO, "verify", str(out)])
    print(f"  verify: {verified.seconds:.0f} s for {folder_gb(out):.1f} GB", flush=True)
    print(subprocess.run([GRAPHZERO, "info", str(out)], capture_output=True, text=True).stdout)
    if not args.keep:
        shutil.rmtree(out)  # convert refuses to replace one that was there
        if made:
            csv.unlink()


def write_edges(path: Path, count: int) -> None:
    chunks = [(number, min(CHUNK, count - at)) for number, at in enumerate(range(0, count, CHUNK))]
    began = time.monotonic()
    with Pool() as pool, path.open("wb") as file:
        for text in pool.imap(edges_text, chunks):
            file.write(text)
    print(f"{path}: written in {time.monotonic() - began:.0f} s", flush=True)


def edges_text(chunk: tuple[int, int]) -> bytes:
    number, rows = chunk
    ids = np.random.default_rng(number).integers(0, NODES, (rows, 2), np.int32)
    return text_of(ids, len(str(NODES))).tobytes()


def tell(what: str, run: Run, of: str, size: int) -> None:
    print(
        f"{what}: {of} in {run.seconds:.0f} s ({size / run.seconds / 1e6:.0f} MB/s, "
        f"{run.cpu_seconds:.0f} s of processors, {size_text(run.peak_rss)} resident)",
        flush=True,
    )


def folder_gb(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e9


# --- a dataset that is served ---


def serve_dataset(args: argparse.Namespace, name: str, options: list[str], kind: str) -> None:
    data = args.directory / name
    made = not data.exists()
    if made:
        run = measure([GRAPHZERO, "generate", str(data), *options])
        tell("generate", run, f"{name}, {folder_gb(data):.1f} GB", int(1e9 * folder_gb(data)))
    drop_caches()
    opened = subprocess.run(
        [sys.executable, "-c", OPEN, str(data)], capture_output=True, text=True, check=True
    )
    print(f"{name}: gz.Graph opens in {1000 * float(opened.stdout):.0f} ms, cold", flush=True)
    for memory in args.memory:
        for trainers in args.trainers:
            limit = int(float(memory.rstrip("G")) * 1e9)
            found = run_trainers(data, kind, limit, trainers, args)
            shown = ", ".join(f"{key} {value:,.4g}" for key, value in found.items())
            print(f"  {memory}, {trainers} trainer(s): {shown}", flush=True)
    if made and not args.keep:
        shutil.rmtree(data)


def run_trainers(
    data: Path, kind: str, limit: int, count: int, args: argparse.Namespace
) -> dict[str, float]:
    drop_caches()
    with (
        memory_group(limit) as memory,
        disk_group(disk_of(data)) as reads,
        tempfile.TemporaryDirectory(prefix="gz-scale-") as temporary,
    ):
        # Each trainer is promised memory for four of its batches, which is more than the quarter of
        # 5.1 GB that results have by default.
        options = ("--shm-limit", str(limit * 2 // 5)) if count > 1 else ()
        way = Way("scale", data, options=options)
        began = time.monotonic()
        with serve(way, memory, reads, Path(temporary), wait_until_warm=False) as (address, _):
            answered = time.monotonic() - began
            trainers = [start_trainer(address, kind, memory, reads, args) for _ in range(count)]
            found = {"daemon answers after s": answered} | follow(trainers, reads)
        found["killed"] = memory.killed
    return found


def start_trainer(
    address: str, kind: str, memory: MemoryGroup, reads: DiskGroup, args: argparse.Namespace
) -> subprocess.Popen[str]:
    script = [sys.executable, str(HERE / "scale_trainer.py"), address, kind]
    return subprocess.Popen(
        [*script, str(args.seconds), str(args.walkers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: join(memory, reads),
    )


def follow(trainers: list[subprocess.Popen[str]], reads: DiskGroup) -> dict[str, float]:
    """What the trainers say after each step, which they take together; only the first one walks."""
    first = say_on(trainers)
    looks = [reads.reads[0]]
    cold = say_on(trainers)
    looks.append(reads.reads[0])
    warm = say_on(trainers)
    looks.append(reads.reads[0])
    found = {"first batch after s": max(step["seconds"] for step in first)}
    for name, steps, i in (("cold", cold, 0), ("warm", warm, 1)):
        found[f"{name} batches/s"] = sum(step["batches"] / step["seconds"] for step in steps)
        batches = sum(step["batches"] for step in steps)
        found[f"{name} reads a batch"] = (looks[i + 1] - looks[i]) / max(batches, 1)
    for trainer in trainers[1:]:
        end(trainer)
    (walks,) = say_on(trainers[:1])
    end(trainers[0])
    if walks["steps"]:
        found["walk steps/s"] = walks["steps"] / walks["seconds"]
    return found


def say_on(trainers: list[subprocess.Popen[str]]) -> list[Any]:
    """Lets each of them take its next step, and returns what they say of it."""
    for trainer in trainers:
        assert trainer.stdin is not None
        trainer.stdin.write("\n")
        trainer.stdin.flush()
    lines = [trainer.stdout.readline() for trainer in trainers if trainer.stdout is not None]
    if not all(lines):
        raise RuntimeError(f"a trainer ended early: {[trainer.poll() for trainer in trainers]}")
    return [json.loads(line) for line in lines]


def end(trainer: subprocess.Popen[str]) -> None:
    trainer.communicate(timeout=60)


if __name__ == "__main__":
    main()
