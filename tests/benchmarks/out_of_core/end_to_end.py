"""A trainer's batches from a dataset that is four times as large as memory.

    python tests/benchmarks/out_of_core/end_to_end.py [--nodes 8M] [--edges 80M] [--repeat 3]
        [--graphzero02-python PYTHON] [--directory DIR]

As root (control groups, drop_caches), with fio. Batches of 1024 seeds x [10, 5] with 128 float32
features and a label for every node; the trainer reads one value of each page of them; daemon and
trainer share one limit. Compared with the same without a limit, with what the disk could give, with
NumPy and torch over np.memmap, and with GraphZero 0.2.0. Those two would take minutes for a batch:
theirs have 128 seeds, and they are compared by nodes a second. Ratios are taken within a
repetition, and their median counts. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from device import random_reads_per_second
from graphzero import _engine
from graphzero.client.probe import daemon_stats
from limits import MemoryGroup, drop_caches, memory_group
from spread import spread

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="8M")
    parser.add_argument("--edges", default="80M", help="undirected; stored in both directions")
    parser.add_argument("--warm-up", type=float, default=15.0, help="seconds")
    parser.add_argument("--seconds", type=float, default=10.0, help="per run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of the daemon")
    parser.add_argument(
        "--graphzero02-python",
        default=os.environ.get("GRAPHZERO02_PYTHON"),
        help="an interpreter with graphzero 0.2.0 (default: the variable GRAPHZERO02_PYTHON)",
    )
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-end-to-end-") as temporary:
        data = args.directory or Path(temporary) / "data"
        if not data.exists():
            generate = [sys.executable, "-m", "graphzero", "generate", str(data)]
            subprocess.run([*generate, "--nodes", args.nodes, "--edges", args.edges], check=True)
        hot_first = data.with_name(f"{data.name}-hot-first")
        if not hot_first.exists():
            reorder = [sys.executable, str(HERE / "hot_first.py"), str(data), str(hot_first)]
            subprocess.run(reorder, check=True)
        bench = Bench(data, hot_first, Path(temporary), args.warm_up, args.seconds)
        # No link is followed: an environment is known by the path to its interpreter.
        peer = args.graphzero02_python and str(Path(args.graphzero02_python).absolute())
        bench.run(args.repeat, peer)


class Bench:
    def __init__(
        self, data: Path, hot_first: Path, temporary: Path, warm_up: float, seconds: float
    ) -> None:
        self._data = data
        self._hot_first = hot_first
        self._temporary = temporary
        self._times = (str(warm_up), str(seconds))
        self._size = sum(file.stat().st_size for file in data.iterdir())

    def run(self, repeat: int, graphzero02: str | None) -> None:
        limit = self._size // 4
        print(f"dataset {self._size / 2**30:.2f} GiB, limit {limit / 2**30:.2f} GiB", flush=True)
        print(f"load at the start {os.getloadavg()[0]:.1f}", flush=True)
        repeats = [self._repetition(limit) for _ in range(repeat)]
        daemon = [runs["daemon"] for runs in repeats]
        print("medians")
        print(f"  batches/s of the daemon   {spread([r['batches_per_second'] for r in daemon])}")
        print(f"  in memory, without limit  {spread([r['in memory'] for r in daemon])}")
        print(f"  possible with this disk   {spread([r['possible'] for r in daemon])}")
        print(f"  reached of what is possible {spread([r['share'] for r in daemon], '.0%')}")
        for name in repeats[0]:
            reads = spread([runs[name]["disk reads"] for runs in repeats], ",.0f")
            print(f"  disk reads a batch, {name:<24}{reads}", flush=True)
        nodes = statistics.median(r["batches_per_second"] * r["nodes"] for r in daemon)
        self._print_peer("np.memmap + torch", self._memmap(limit), nodes)
        if graphzero02:
            self._print_peer("GraphZero 0.2.0", self._graphzero02(graphzero02, limit), nodes)
        print(f"load at the end {os.getloadavg()[0]:.1f}")

    def _print_peer(self, name: str, result: dict[str, Any], nodes_per_second: float) -> None:
        self._print(name, result)
        gain = nodes_per_second / (result["batches_per_second"] * result["nodes"])
        print(f"    the daemon gives {gain:.1f} x the nodes a second", flush=True)

    def _repetition(self, limit: int) -> dict[str, dict[str, Any]]:
        """What the daemon gave, and the reads a batch that other settings take."""
        self._read_all()
        memory = self._daemon(None)
        self._print("in memory, no limit", memory)
        before = self._device()
        daemon = self._daemon(limit)
        device = (before + self._device()) / 2
        self._print("daemon", daemon)
        daemon["in memory"] = memory["batches_per_second"]
        daemon["possible"] = min(memory["batches_per_second"], device / daemon["disk reads"])
        daemon["share"] = daemon["batches_per_second"] / daemon["possible"]
        print(
            f"  fio {device:,.0f} reads/s: {daemon['possible']:.1f} batches/s possible,"
            f" {daemon['share']:.0%} reached"
        )
        runs = {
            "daemon": daemon,
            "no row cache": self._daemon(limit, "--row-cache", "0"),
            "row cache starts empty": self._daemon(limit, "--warm", "none"),
            "nodes by degree": self._daemon(limit, data=self._hot_first),
        }
        for name in list(runs)[1:]:
            self._print(name, runs[name])
        return runs

    def _read_all(self) -> None:
        """Through the processor: in a virtual machine, pages that only the disk wrote to are slow
        when they are touched for the first time, and so is a file that its host has not cached."""
        buffer = bytearray(16 << 20)
        for path in (*self._data.iterdir(), *self._hot_first.iterdir()):
            with path.open("rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass

    def _device(self) -> float:
        """The better of one thread, and one on each processor, as the daemon has."""
        file = self._data / "x.gd"
        threads = len(os.sched_getaffinity(0))
        return max(random_reads_per_second(file, 3), random_reads_per_second(file, 3, threads))

    def _print(self, name: str, result: dict[str, Any]) -> None:
        rest = ", ".join(
            f"{value:,.0f} {key}" for key, value in result.items() if key != "batches_per_second"
        )
        rate = result["batches_per_second"]
        print(f"  {name:<24}{rate:>8.2f} batches/s  {rest}", flush=True)

    def _daemon(self, limit: int | None, *options: str, data: Path | None = None) -> dict[str, Any]:
        serve = self._serve
        with self._group(limit) as group, serve(group, data or self._data, *options) as address:
            before: list[Any] = []

            def look() -> None:
                before.append(_costs(address))

            result = self._trainer([sys.executable, "loader_ours.py", address], group, look)
            spent = {name: before[1][name] - before[0][name] for name in before[0]}
            made = max(1, spent.pop("batches"))  # also those that the trainer has not taken yet
            for name, amount in spent.items():
                result[name] = amount / made
        return result

    @contextlib.contextmanager
    def _serve(self, group: MemoryGroup | None, data: Path, *options: str) -> Iterator[str]:
        socket = self._temporary / "s.sock"
        log = self._temporary / "daemon.log"
        command = [sys.executable, "-m", "graphzero.server", "--data", str(data)]
        with log.open("w") as output:
            daemon = subprocess.Popen(
                [*command, "--socket", str(socket), *options],
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=group.join if group else None,
            )
        try:
            _wait_for(lambda: "connect with" in log.read_text(), daemon)
            if "--warm" not in options:
                _wait_for(lambda: "warm start read" in log.read_text(), daemon)
                if "row cache of" in log.read_text():
                    _wait_for(lambda: "rows into the row cache" in log.read_text(), daemon)
            print("".join(f"    {line}\n" for line in _ways(log.read_text())), end="", flush=True)
            yield f"unix:{socket}"
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
            shutil.copy(log, self._temporary / "last.log")

    @contextlib.contextmanager
    def _group(self, limit: int | None) -> Iterator[MemoryGroup | None]:
        if limit is None:
            yield None
            return
        with memory_group(limit) as group:
            drop_caches()
            yield group

    def _trainer(
        self,
        command: Sequence[str],
        group: MemoryGroup | None,
        look: Callable[[], None] = lambda: None,
        *,
        cold: bool = False,  # its first batch takes minutes, and the next is no faster
    ) -> dict[str, Any]:
        times = ("0", self._times[1]) if cold else self._times
        trainer = subprocess.Popen(
            [*command, *times],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=group.join if group else None,
        )
        assert trainer.stdin is not None
        assert trainer.stdout is not None
        for word in ("warm", "done"):
            if trainer.stdout.readline().strip() != word:
                raise RuntimeError(f"{' '.join(command)} ended early")
            look()
            trainer.stdin.write("\n")
            trainer.stdin.flush()
        result: dict[str, Any] = json.loads(trainer.stdout.readline())
        trainer.wait()
        return result

    def _memmap(self, limit: int) -> dict[str, Any]:
        arrays = {"indptr": _section(self._data / "graph.gl", "out.indptr", _engine.Topology)}
        arrays["indices"] = _section(self._data / "graph.gl", "out.indices", _engine.Topology)
        for name in ("x", "y", "train"):
            file = self._data / f"{name}.gd"
            arrays[name] = _section(file, "rows", _engine.Matrix)
            arrays[name]["shape"] = gz.FeatureStore(file).shape
        places = self._temporary / "arrays.json"
        places.write_text(json.dumps(arrays))
        with self._group(limit) as group:
            command = [sys.executable, "-W", "ignore", "loader_memmap.py", str(places)]
            return self._trainer(command, group, cold=True)

    def _graphzero02(self, python: str, limit: int) -> dict[str, Any]:
        directory = self._temporary / "graphzero02"
        directory.mkdir()
        _write_graphzero02(self._data, directory)
        with self._group(limit) as group:
            return self._trainer(
                [python, "loader_graphzero02.py", str(directory)], group, cold=True
            )


def _wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not condition():
        if process.poll() is not None:
            raise RuntimeError("the daemon ended early")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)


def _ways(log: str) -> list[str]:
    """How the daemon says that it reads the large files."""
    return [line.strip() for line in log.splitlines() if "/x is" in line or "/graph.gl is" in line]


def _costs(address: str) -> dict[str, float]:
    """What the daemon has read so far. Pages that it found in the page cache are no disk reads: of
    what it read through that, the kernel's count of bytes from the disk tells."""
    stats = daemon_stats(address)
    direct = [column for column in stats.columns if column.path == "direct"]
    lines = Path(f"/proc/{stats.pid}/io").read_text().splitlines()
    from_disk = int(next(line for line in lines if line.startswith("read_bytes")).split()[1])
    through_cache = from_disk - sum(column.read_byte_size for column in direct)
    direct_reads = sum(column.reads for column in direct)
    return {
        "batches": next(column.gathers for column in stats.columns if column.column == "x"),
        "disk reads": direct_reads + max(0, through_cache) / 4096,
        "of rows": direct_reads,
        "row cache hits": sum(column.cache_hits for column in direct),
    }


def _section(path: Path, name: str, kind: Any) -> dict[str, Any]:
    section = next(s for s in kind.open(os.fspath(path)).sections if s.name == name)
    return {
        "file": str(path),
        "dtype": section.dtype,
        "offset": section.offset,
        "shape": (section.count,),
    }


def _write_graphzero02(data: Path, directory: Path) -> None:
    """The dataset as GraphZero 0.2 stores it: every id in 64 bits."""
    arrays = [_section(data / "graph.gl", f"out.{name}", _engine.Topology) for name in _ARRAYS]
    indptr, indices = (
        np.memmap(a["file"], a["dtype"], "r", offset=a["offset"], shape=a["shape"]) for a in arrays
    )
    start = -(-(64 + 8 * len(indptr)) // 64) * 64
    sizes = (8 * len(indptr), 8 * len(indices), 64, start, len(indptr) - 1, len(indices))
    with (directory / "graph02.gl").open("wb") as file:
        file.write(b"graphlit" + struct.pack("<7Q", *sizes, 0))
        indptr.astype(np.uint64).tofile(file)
        file.seek(start)
        for part in np.array_split(indices, 64):
            part.astype(np.uint64).tofile(file)
    for name, number in (("x", 2), ("y", 1)):
        store = gz.FeatureStore(data / f"{name}.gd")
        with (directory / f"{name}02.gd").open("wb") as file:
            rows, cols = store.num_nodes, store.feature_dim
            file.write(b"GZDATA26" + struct.pack("<IiQQ", 0, number, rows, cols))
            for part in np.array_split(store.get_tensor(), 64):
                part.tofile(file)
    np.save(directory / "train.npy", gz.FeatureStore(data / "train.gd").get_tensor())


_ARRAYS = ("indptr", "indices")

if __name__ == "__main__":
    main()
