"""How long `graphzero convert` takes for edges in Parquet, beside reading all of them with pyarrow
and building the same file from the arrays.

Both are processes of their own that read the same file and write the same bytes, flushed to the
disk; their start counts. The peer needs memory for all edges at once, ours stays within --memory.
Runs are interleaved.

    python tests/benchmarks/convert_parquet.py [--edges 5M 50M] [--repeat 7] [--compression zstd]
"""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from convert_edges import Contender, measure, print_machine, print_table, remove, run_all
from graphzero.base.quantities import parse_count
from pyarrow import parquet

# The same work with everything in memory: pyarrow's fastest reader, then the same compiler.
READ_AND_BUILD = """
import sys
from pathlib import Path
from pyarrow import parquet
import graphzero as gz
table = parquet.read_table(sys.argv[1], columns=["src", "dst"])
src, dst = (table.column(name).to_numpy() for name in ("src", "dst"))
Path(sys.argv[2]).mkdir()
gz.write_graph(Path(sys.argv[2]) / "graph.gl", src, dst, memory=4 << 30)
"""

ROWS_AT_ONCE = 1 << 20


def contenders(memory: str) -> list[Contender]:
    ours = [str(Path(sys.executable).with_name("graphzero")), "convert", "--edges", "{csv}"]
    ours += ["--out", "{out}", "--memory", memory, "--quiet"]
    peer = [sys.executable, "-c", READ_AND_BUILD, "{csv}", "{out}"]
    return [
        Contender("pyarrow + write_graph", peer),
        Contender(f"graphzero convert, {memory}", ours),
    ]


def write_edges(path: Path, count: int, nodes: int, compression: str) -> None:
    """Ids in random order: what compresses well is read faster by both."""
    rng = np.random.default_rng(0)
    schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    with parquet.ParquetWriter(path, schema, compression=compression) as writer:
        for at in range(0, count, ROWS_AT_ONCE):
            ends = rng.integers(0, nodes, (2, min(ROWS_AT_ONCE, count - at)))
            writer.write_table(pa.table({"src": ends[0], "dst": ends[1]}))


def check_same(chosen: list[Contender], file: Path, directory: Path) -> None:
    """Before anything is timed: it is the same result."""
    made = [directory / f"made-{number}" for number in range(len(chosen))]
    for contender, out in zip(chosen, made, strict=True):
        measure(contender.command(file, out))
    if not filecmp.cmp(made[0] / "graph.gl", made[1] / "graph.gl", shallow=False):
        raise SystemExit("the contenders wrote different files")
    for out in made:
        remove(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edges", nargs="+", default=["5M", "50M"], help="sizes of the files")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--compression", default="snappy", help="of the Parquet file")
    parser.add_argument("--temp", type=Path, help="where files are written")
    args = parser.parse_args()
    chosen = contenders(args.memory)
    with tempfile.TemporaryDirectory(dir=args.temp) as name:
        directory = Path(name)
        print_machine(directory, args.memory)
        for text in args.edges:
            count = parse_count(text)
            file = directory / "edges.parquet"
            write_edges(file, count, max(2, count // 20), args.compression)
            check_same(chosen, file, directory)
            size = file.stat().st_size
            print(
                f"\n{text} edges, {count // 20} nodes, {size / 1e6:.0f} MB {args.compression}, "
                f"{args.repeat} runs each; ratios against {chosen[0].name}"
            )
            print_table(run_all(chosen, file, directory, args.repeat), size)


if __name__ == "__main__":
    main()
