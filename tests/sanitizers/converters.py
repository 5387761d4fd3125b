"""Conversions by several threads: text parsers, buckets that spill, sorters, readers of tables.

`python converters.py`. The datasets that threads make must be those that one thread makes.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import graphzero as gz
import numpy as np

SECONDS = float(os.environ.get("GRAPHZERO_CONVERTERS_S", "20"))
NODES, EDGES = 5_000, 100_000


def write_texts(directory: Path, rng: np.random.Generator) -> None:
    """An edge list with weights and times, ids that are texts, and a table of features."""
    ends = rng.integers(0, NODES, (EDGES, 2))
    weights, times = rng.random(EDGES), rng.integers(0, 10**9, EDGES)
    edges = zip(ends.tolist(), weights, times.tolist(), strict=True)
    plain = "".join(f"{a},{b},{w:.6f},{t}\n" for (a, b), w, t in edges)
    (directory / "edges.csv").write_text("source,target,weight,time\n" + plain)
    named = "".join(f'"user {a}";"user {b}"\n' for a, b in ends.tolist())
    (directory / "named.csv").write_text(named)
    order = rng.permutation(NODES)
    rows = "".join(f"{i},{i / 3},{-i},{i * 1e-7:.3e}\n" for i in order.tolist())
    (directory / "x.csv").write_text(rows)


def convert(directory: Path, out: Path, threads: int) -> list[bytes]:
    """The fingerprints of what came."""
    limits = {"threads": threads, "memory": 64 << 20, "overwrite": True}
    x = {"x": directory / "x.csv"}
    gz.import_files(directory / "edges.csv", out / "plain", time="time", columns=x, **limits)
    gz.import_files(directory / "named.csv", out / "named", relabel=True, **limits)
    return [file.read_bytes() for file in sorted(out.rglob("*.g[ld]"))]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_texts(directory, np.random.default_rng(3))
        expected = convert(directory, directory / "one", threads=1)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            found = convert(directory, directory / "many", threads=4)
            assert found == expected, "threads make another dataset"


main()
