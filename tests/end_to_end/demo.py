"""`make demo`: generate a dataset, serve it, train with one and with two processes, count memory.

Stops and removes everything that it started or wrote, however it ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = Path(sys.executable).parent
TRAINER = Path(__file__).with_name("train_graphsage.py")
MEMORY_EVERY_S = 0.5
STOP_TIMEOUT_S = 30


def main() -> None:
    args = parse()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell had it ignored
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with temporary_folders(args.folder) as (folder, socket_folder):
            results = demo(args, folder / "products", socket_folder / "server.sock")
        if args.json is not None:
            args.json.write_text(json.dumps(results))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def demo(args: argparse.Namespace, dataset: Path, address: Path) -> dict[str, Any]:
    started = time.monotonic()
    say(f"1. A dataset: {args.nodes} nodes, {args.edges} edges, {args.dim} floats for each node")
    run("generate", dataset, "--nodes", args.nodes, "--edges", args.edges, "--dim", args.dim)
    size = sum(path.stat().st_size for path in dataset.iterdir())

    say("2. The daemon")
    log = dataset.with_name("server.log")  # sessions that come and go; not between progress bars
    with child("graphzero-server", "--data", dataset, "--socket", address, log=log) as server:
        os.environ["GRAPHZERO_ADDRESS"] = f"unix:{address}"
        wait_until_it_answers(server, log)

        say("3. A trainer: GraphSAGE in plain torch")
        report = dataset.with_name("report.json")
        training = ["--batch-size", args.batch_size, "--every", args.every]
        more = ["--epochs", args.epochs, "--json", report]
        with child(sys.executable, TRAINER, *training, *more) as trainer:
            require_success(trainer)
        results: dict[str, Any] = json.loads(report.read_text())

        say("4. Two trainers at once: one model, each with half of every epoch")
        results["memory"] = train_together(server, training)
    print_memory(results["memory"], size)
    results["dataset_byte_size"] = size
    print(f"\nStopped the daemon and removed the dataset after {time.monotonic() - started:.0f} s.")
    return results


def train_together(server: subprocess.Popen[bytes], training: list[Any]) -> dict[str, Any]:
    """Memory of each process, in bytes by kind, when all together had the most."""
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    shared["GLOO_SOCKET_IFNAME"] = "lo"
    options = [*training, "--epochs", 1, "--no-test"]
    most: dict[str, dict[str, int]] = {}
    with (
        child(sys.executable, TRAINER, *options, env=shared | {"RANK": "0"}) as first,
        child(sys.executable, TRAINER, *options, env=shared | {"RANK": "1"}) as second,
    ):
        processes = {"daemon": server, "trainer 0": first, "trainer 1": second}
        while first.poll() is None and second.poll() is None:
            now = {name: memory(process.pid) for name, process in processes.items()}
            most = max(most, now, key=lambda m: sum(sum(kinds.values()) for kinds in m.values()))
            time.sleep(MEMORY_EVERY_S)
        require_success(first)
        require_success(second)
    return most


def memory(pid: int) -> dict[str, int]:
    """Bytes by kind. PSS: a page that n processes map counts as 1/n in each, so sums are true."""
    kinds = {"Pss_Anon:": "private", "Pss_File:": "files", "Pss_Shmem:": "shared memory"}
    found = dict.fromkeys(kinds.values(), 0)
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return found
    for words in map(str.split, lines):
        if words[0] in kinds:
            found[kinds[words[0]]] = 1024 * int(words[1])
    return found


def print_memory(processes: dict[str, dict[str, int]], dataset: int) -> None:
    total = {kind: sum(m[kind] for m in processes.values()) for kind in processes["daemon"]}
    print(f"\n{'PSS in MB':12}{''.join(f'{kind:>16}' for kind in total)}{'sum':>16}")
    for name, kinds in [*processes.items(), ("all", total)]:
        numbers = [*kinds.values(), sum(kinds.values())]
        print(f"{name:12}{''.join(f'{number / 1e6:16.0f}' for number in numbers)}")
    print(
        f"The dataset has {dataset / 1e6:.0f} MB. What is in memory of it is in the page cache, "
        "each page once,\nas a part of the files above, with the libraries. Batches are in shared "
        "memory."
    )


def wait_until_it_answers(server: subprocess.Popen[bytes], log: Path) -> None:
    ping = [str(PROGRAMS / "graphzero"), "ping"]
    while subprocess.run(ping, capture_output=True).returncode != 0:
        if server.poll() is not None:
            sys.exit(f"the daemon ended with status {server.returncode}:\n{log.read_text()}")
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run(*arguments: object) -> None:
    with child("graphzero", *arguments) as process:
        require_success(process)


def require_success(process: subprocess.Popen[bytes]) -> None:
    if process.wait() != 0:
        sys.exit(f"{process.args} ended with status {process.returncode}")


@contextmanager
def child(
    program: str,
    *arguments: object,
    env: dict[str, str] | None = None,
    log: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block. Programs of this environment go by their name."""
    command = [program if "/" in program else str(PROGRAMS / program), *map(str, arguments)]
    shown = [Path(word).name if "/" in word else word for word in command]
    print("$", *(f"{k}={v}" for k, v in (env or {}).items() if k == "RANK"), *shown, flush=True)
    with (log or Path(os.devnull)).open("ab") as errors:
        process = subprocess.Popen(
            command, env=os.environ | (env or {}), stderr=errors if log else None
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def temporary_folders(parent: Path) -> Iterator[tuple[Path, Path]]:
    """One for the data, and one with a short path: a socket's has at most 107 bytes."""
    parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=parent.absolute()) as data,
        tempfile.TemporaryDirectory(prefix="graphzero-demo-") as short,
    ):
        yield Path(data), Path(short)


def say(text: str) -> None:
    bold, plain = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default="build/demo", help="for the data")
    parser.add_argument("--nodes", default="1M")
    parser.add_argument("--edges", default="20M")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--every", type=int, default=3, help="learn from each n-th train node only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
