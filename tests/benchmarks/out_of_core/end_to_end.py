"""A trainer's batches from a dataset that is four times as large as memory.

    python tests/benchmarks/out_of_core/end_to_end.py [--nodes 8M] [--edges 80M]
        [--graphzero02-python PYTHON] [--directory DIR]

As root (control groups, drop_caches), with fio. Everyone makes batches of 1024 seeds x [10, 5] with
128 float32 features and a label for every node and reads one value of each page of them; daemon and
trainer share one limit. Compared with the same without a limit, with what the disk could give, with
NumPy and torch over np.memmap, and with GraphZero 0.2.0. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
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
from limits import drop_caches, enter, memory_group

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="8M")
    parser.add_argument("--edges", default="80M", help="undirected; stored in both directions")
    parser.add_argument("--warm-up", type=float, default=15.0, help="seconds")
    parser.add_argument("--seconds", type=float, default=15.0, help="per run")
    parser.add_argument("--graphzero02-python", help="an interpreter with graphzero 0.2.0")
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-end-to-end-") as temporary:
        data = args.directory or Path(temporary) / "data"
        if not data.exists():
            generate = [sys.executable, "-m", "graphzero", "generate", str(data)]
            subprocess.run([*generate, "--nodes", args.nodes, "--edges", args.edges], check=True)
        Bench(data, Path(temporary), args.warm_up, args.seconds).run(args.graphzero02_python)


class Bench:
    def __init__(self, data: Path, temporary: Path, warm_up: float, seconds: float) -> None:
        self._data = data
        self._temporary = temporary
        self._times = (str(warm_up), str(seconds))
        self._seconds = seconds
        self._size = sum(file.stat().st_size for file in data.iterdir())

    def run(self, graphzero02: str | None) -> None:
        limit = self._size // 4
        print(f"dataset {self._size / 2**30:.2f} GiB, limit {limit / 2**30:.2f} GiB", flush=True)
        memory = self._daemon(None)
        self._print("in memory, no limit", memory)
        limited = self._daemon(limit)
        self._print("daemon", limited)
        bare = self._daemon(limit, "--row-cache", "0")
        self._print("  without row cache", bare)
        device = random_reads_per_second(self._data / "x.gd", 5)
        possible = min(memory["batches_per_second"], device / limited["disk reads"])
        share = limited["batches_per_second"] / possible
        print(
            f"  fio {device:,.0f} reads/s: {possible:.1f} batches/s possible, {share:.0%} reached"
        )
        peers = {"np.memmap + torch": self._memmap(limit)}
        if graphzero02:
            peers["GraphZero 0.2.0"] = self._graphzero02(graphzero02, limit)
        for name, result in peers.items():
            self._print(name, result)
            gain = limited["batches_per_second"] / result["batches_per_second"]
            print(f"    the daemon gives {gain:.1f} x that")

    def _print(self, name: str, result: dict[str, Any]) -> None:
        rest = ", ".join(
            f"{value:,.0f} {key}" for key, value in result.items() if key != "batches_per_second"
        )
        rate = result["batches_per_second"]
        print(f"  {name:<22}{rate:>8.2f} batches/s  {rest}", flush=True)

    def _daemon(self, limit: int | None, *options: str) -> dict[str, Any]:
        with self._group(limit) as group, self._serve(group, *options) as address:
            before: list[Any] = []

            def look() -> None:
                before.append(_costs(address))

            result = self._trainer([sys.executable, "loader_ours.py", address], group, look)
            spent = {name: before[1][name] - before[0][name] for name in before[0]}
            for name, amount in spent.items():
                result[name] = amount / (result["batches_per_second"] * self._seconds)
        return result

    @contextlib.contextmanager
    def _serve(self, group: Path | None, *options: str) -> Iterator[str]:
        socket = self._temporary / "s.sock"
        log = self._temporary / "daemon.log"
        command = [sys.executable, "-m", "graphzero.server", "--data", str(self._data)]
        with log.open("w") as output:
            daemon = subprocess.Popen(
                [*command, "--socket", str(socket), *options],
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=enter(group) if group else None,
            )
        try:
            _wait_for(lambda: "connect with" in log.read_text(), daemon)
            _wait_for(lambda: "warm start read" in log.read_text(), daemon)
            print("".join(f"    {line}\n" for line in _ways(log.read_text())), end="", flush=True)
            yield f"unix:{socket}"
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
            shutil.copy(log, self._temporary / "last.log")

    @contextlib.contextmanager
    def _group(self, limit: int | None) -> Iterator[Path | None]:
        if limit is None:
            yield None
            return
        with memory_group(limit) as group:
            drop_caches()
            yield group

    def _trainer(
        self,
        command: Sequence[str],
        group: Path | None,
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
            preexec_fn=enter(group) if group else None,
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
