"""Reads files that are cut short meanwhile: cut_files.py KIND ROUNDS SEED DIRECTORY.

DIRECTORY/KIND/sources holds the files as they are. Each round copies them, runs a command on the
copies and lets another process cut one of them at a random moment. The command must end well, with
the same result as without a cut, or with an error that names the file. Prints one line for each
round, before it begins and after it: whoever started this can tell which one ended by a signal.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import graphzero as gz
import numpy as np
from graphzero.commands.cli import main

NODES = 60_000
EDGES = 600_000

# Reads lines "DELAY SIZE PATH", answers when the file is cut.
CUTTER = """
import os, sys, time
for line in sys.stdin:
    delay, size, path = line.rstrip("\\n").split(" ", 2)
    end = time.perf_counter() + float(delay)
    while time.perf_counter() < end:
        pass
    os.truncate(path, int(size))
    print("cut", flush=True)
"""


class Kind(NamedTuple):
    """One way to read files."""

    write: Callable[[Path], None]  # the sources, into a folder
    command: Callable[[Path, Path], list[str]]  # for sources and a folder for the result
    shorter_is_valid: bool = False  # a source that was cut before it was opened, is one too


def ends() -> np.ndarray:
    return np.random.default_rng(0).integers(0, NODES, (2, EDGES))


def write_dataset(folder: Path) -> None:
    rng = np.random.default_rng(1)
    weights = rng.random(EDGES, np.float32)
    gz.write_graph(folder / "graph.gl", *ends(), weights=weights, num_nodes=NODES, edge_ids=True)
    gz.write_features(folder / "x.gd", rng.random((NODES, 16), np.float32))
    gz.write_features(folder / "padded.gd", rng.random((NODES, 3), np.float32), row_align=64)
    gz.write_features(folder / "train.gd", rng.integers(0, NODES, 100_000), role="ids")
    gz.write_features(folder / "when.gd", rng.random(EDGES, np.float32), role="edge")


def write_symmetric(folder: Path) -> None:
    gz.write_graph(folder / "graph.gl", *ends(), num_nodes=NODES, undirected=True)


def write_npy(folder: Path) -> None:
    np.save(folder / "e.npy", ends())
    np.save(folder / "x.npy", np.asfortranarray(np.ones((NODES, 16), np.float32)))


def write_npz(folder: Path) -> None:
    np.savez(folder / "e.npz", e=ends().T, x=np.ones((NODES, 16), np.float32))


def write_compressed_npz(folder: Path) -> None:
    np.savez_compressed(folder / "e.npz", e=ends(), x=np.ones((NODES, 16), np.float32))


def write_text(folder: Path) -> None:
    np.savetxt(folder / "e.csv", ends().T, "%d", ",")


def write_tables(folder: Path) -> None:
    edges = ends()[:, :100_000]
    np.savetxt(folder / "edges.csv", edges.T, "n%d", ",", header="a,b", comments="")
    lines = [f"n{node},{node % 7},{node / 8},city {node % 999}\n" for node in range(NODES)]
    (folder / "nodes.csv").write_text("id,u,v,city\n" + "".join(lines))


def write_gzip(folder: Path) -> None:
    write_text(folder)
    subprocess.run(["gzip", "-1", folder / "e.csv"], check=True)


def table(**extra: object) -> object:
    import pyarrow

    src, dst = ends()
    return pyarrow.table({"src": src, "dst": dst, **extra})


def write_arrow(folder: Path, content: object | None = None) -> None:
    import pyarrow

    content = table(weight=np.ones(EDGES), other=np.ones(EDGES)) if content is None else content
    with pyarrow.ipc.new_file(folder / "e.arrow", content.schema) as file:
        file.write_table(content, max_chunksize=200_000)


def write_arrow_texts(folder: Path) -> None:
    import pyarrow

    src, dst = (np.char.add("n", side.astype(str)) for side in ends()[:, :100_000])
    write_arrow(folder, pyarrow.table({"src": src, "dst": pyarrow.array(dst).dictionary_encode()}))


def write_parquet(folder: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table(), folder / "e.parquet", row_group_size=100_000)


def convert(edges: str, *options: str) -> Callable[[Path, Path], list[str]]:
    def command(sources: Path, out: Path) -> list[str]:
        own = [option.replace("SOURCES", str(sources)) for option in options]
        return ["convert", "--quiet", "--edges", f"{sources}/{edges}", *own, "--out", f"{out}/ds"]

    return command


def convert_dataset(sources: Path, out: Path) -> list[str]:
    columns = [f"--column={name}={sources}/{name}.gd" for name in ("x", "padded")]
    edge_column = f"--edge-column=when={sources}/when.gd"
    split = f"--split=train={sources}/train.gd"
    return convert("graph.gl", *columns, edge_column, split)(sources, out)


def export(kind: str) -> Callable[[Path, Path], list[str]]:
    return lambda sources, out: ["export", str(sources), "--format", kind, "--out", f"{out}/e"]


TABLE_OPTIONS = [
    "--source=a", "--target=b", "--relabel", "--nodes=SOURCES/nodes.csv",
    "--columns=x=u,v", "--columns=city=city", "--fill=x=mean", "--fill=city=none",
]  # fmt: skip
KINDS = {
    "verify": Kind(write_dataset, lambda sources, out: ["verify", str(sources)]),
    "verify-symmetric": Kind(write_symmetric, lambda sources, out: ["verify", str(sources)]),
    "info": Kind(write_dataset, lambda sources, out: ["info", str(sources)]),
    "export-npy": Kind(write_dataset, export("npy")),
    "export-parquet": Kind(write_dataset, export("parquet")),
    "convert-dataset": Kind(write_dataset, convert_dataset),
    "convert-npy": Kind(write_npy, convert("e.npy", "--column=x=SOURCES/x.npy")),
    "convert-npz": Kind(write_npz, convert("e.npz#e", "--column=x=SOURCES/e.npz#x")),
    "convert-compressed-npz": Kind(
        write_compressed_npz, convert("e.npz#e", "--column=x=SOURCES/e.npz#x")
    ),
    "convert-text": Kind(write_text, convert("e.csv"), shorter_is_valid=True),
    "convert-tables-of-text": Kind(
        write_tables, convert("edges.csv", *TABLE_OPTIONS), shorter_is_valid=True
    ),
    "convert-gzip": Kind(write_gzip, convert("e.csv.gz")),
    "convert-arrow": Kind(write_arrow, convert("e.arrow")),
    "convert-arrow-texts": Kind(write_arrow_texts, convert("e.arrow", "--relabel")),
    "convert-parquet": Kind(write_parquet, convert("e.parquet")),
}


def run(command: list[str]) -> tuple[int, str]:
    """The exit code of a command, and what it wrote."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = main(command)
    return code, text.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@contextlib.contextmanager
def cutter() -> Iterator[Callable[[float, int, Path], None]]:
    process = subprocess.Popen(
        [sys.executable, "-c", CUTTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None

    def cut_later(delay: float, size: int, path: Path) -> None:
        process.stdin.write(f"{delay} {size} {path}\n")
        process.stdin.flush()

    cut_later.wait = process.stdout.readline  # type: ignore[attr-defined]
    yield cut_later
    process.stdin.close()
    process.wait()


def main_loop(name: str, rounds: int, seed: int, directory: Path) -> None:
    kind = KINDS[name]
    pristine, sources, out = (directory / part for part in ("pristine", "sources", "out"))
    pristine.mkdir()
    kind.write(pristine)
    shutil.copytree(pristine, sources)
    out.mkdir()
    for _ in range(2):  # the first one imports what it needs
        shutil.rmtree(out)
        out.mkdir()
        started = time.perf_counter()
        code, text = run(kind.command(sources, out))
        seconds = time.perf_counter() - started
        if code != 0:
            sys.exit(f"without a cut: {text}")
    expected = contents(out)
    rng = random.Random(seed)
    with cutter() as cut_later:
        for number in range(rounds):
            for folder in (sources, out):
                shutil.rmtree(folder)
            shutil.copytree(pristine, sources)
            out.mkdir()
            file = rng.choice(sorted(sources.iterdir()))
            size = int(file.stat().st_size * rng.random())
            delay = rng.uniform(0, 1.1 * seconds)
            print(f"round {number}: {file.name} to {size} bytes after {delay:.4f} s", flush=True)
            cut_later(delay, size, file)
            code, text = run(kind.command(sources, out))
            cut_later.wait()  # type: ignore[attr-defined]
            if code != 0 and file.name not in text:
                sys.exit(f"an error that does not name the file: {text}")
            if code == 0 and not kind.shorter_is_valid and contents(out) != expected:
                sys.exit("another result, and no error")
            print("error" if code else "success", flush=True)


if __name__ == "__main__":
    main_loop(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
