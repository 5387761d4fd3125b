"""Reads that a batch takes before and after `graphzero reorder`.

    python tests/benchmarks/out_of_core/order.py [--nodes 2M] [--edges 16M] [--graphs rmat,ring]
        [--row-bytes 512,200] [--directory DIR]

As root (a control group). Batches of 128 seeds x [15, 10, 5] with a row of each node, read around
the page cache, with a row cache of a fifth of the column. Reads are counted by the engine and by
the kernel. The same nodes are seeds in every order. Graphs:

communities  communities of 50 to 5000 nodes, 85 % of the edges inside, degrees by a power law, ids
             shuffled
rmat         R-MAT (0.57, 0.19, 0.19, 0.05), ids shuffled: no communities
ring         everyone knows those nearby, and ids say who that is: an order that cannot be better
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from graphzero.base.quantities import parse_count
from limits import disk_group

HERE = Path(__file__).parent
ORDERS = ("as it is", "degree", "community")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=parse_count, default=2_000_000)
    parser.add_argument("--edges", type=parse_count, default=16_000_000, help="undirected")
    parser.add_argument("--graphs", default="communities,rmat,ring")
    parser.add_argument("--row-bytes", default="512,200")
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--directory", type=Path, help="where to put the data (default: temporary)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gz-order-", dir=args.directory) as temporary:
        for graph in args.graphs.split(","):
            for row_bytes in map(int, args.row_bytes.split(",")):
                compare(Path(temporary), graph, args, row_bytes)


def compare(directory: Path, graph: str, args: argparse.Namespace, row_bytes: int) -> None:
    plain = directory / "plain"
    write_dataset(plain, GRAPHS[graph], args.nodes, args.edges, row_bytes)
    size = sum(file.stat().st_size for file in plain.iterdir())
    print(f"{graph}, rows of {row_bytes} bytes: {size / 2**30:.2f} GiB", flush=True)
    first: dict[str, Any] = {}
    for order in ORDERS:
        dataset, became = plain, ""
        if order != "as it is":
            dataset = directory / "ordered"
            report = gz.reorder(plain, dataset, order=order, overwrite=True)  # type: ignore[arg-type]
            estimate = report.blocks[1] / report.blocks[0]
            cold = report.cold_blocks[1] / report.cold_blocks[0]
            became = f"  {report.seconds:.0f} s, estimated {estimate:.2f}, {cold:.2f} cold"
            became += "" if report.order else ", left as it is"
        found = measure(dataset, args.batches)
        first = first or found
        print(
            f"  {order:<10}{found['nodes']:>8,.0f} nodes{found['reads']:>9,.0f} reads a batch "
            f"({found['topology_reads']:,.0f} of the graph), {found['kernel_reads']:,.0f} by the "
            f"kernel; {first['reads'] / found['reads']:.2f} x fewer, by the kernel "
            f"{first['kernel_reads'] / found['kernel_reads']:.2f} x{became}",
            flush=True,
        )
    shutil.rmtree(plain)
    shutil.rmtree(directory / "ordered")


def measure(dataset: Path, batches: int) -> dict[str, float]:
    """What order_reads.py prints, run in a control group whose reads the kernel counts."""
    device = dataset.stat().st_dev
    with disk_group(f"{os.major(device)}:{os.minor(device)}") as group:
        arguments = [str(dataset), str(group.directory), "--batches", str(batches)]
        done = subprocess.run(
            [sys.executable, str(HERE / "order_reads.py"), *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            preexec_fn=group.join,
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_dataset(path: Path, make: Callable[..., Any], nodes: int, edges: int, row: int) -> None:
    path.mkdir()
    rng = np.random.default_rng(0)
    src, dst = make(rng, nodes, edges)
    gz.write_graph(path / "graph.gl", src, dst, num_nodes=nodes, undirected=True)
    pieces = (rng.random((1 << 16, row // 4), dtype=np.float32) for _ in range(0, nodes, 1 << 16))
    rows = (piece[: nodes - (i << 16)] for i, piece in enumerate(pieces))
    gz.write_features(path / "x.gd", rows, shape=(nodes, row // 4), dtype="float32")
    train = np.sort(rng.choice(nodes, nodes // 10, replace=False))
    gz.write_features(path / "train.gd", train, role="ids")


def communities(rng: Any, nodes: int, edges: int) -> tuple[Any, Any]:
    sizes = np.minimum(50 * rng.random(nodes // 50) ** (-1 / 1.2), 5000).astype(np.int64)
    begins = np.concatenate([[0], np.cumsum(sizes)])
    begins = np.append(begins[begins < nodes], nodes)

    def members(of: Any) -> Any:
        """A node of each community, by a power law."""
        first, size = begins[of], begins[of + 1] - begins[of]
        return first + (size * rng.random(len(of)) ** 1.8).astype(np.int64)

    def by_size(count: int) -> Any:
        return np.searchsorted(begins, rng.integers(0, nodes, count), "right") - 1

    own = by_size(edges)
    other = np.where(rng.random(edges) < 0.85, own, by_size(edges))
    shuffled = rng.permutation(nodes)
    return shuffled[members(own)], shuffled[members(other)]


def rmat(rng: Any, nodes: int, edges: int) -> tuple[Any, Any]:
    src, dst = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range((nodes - 1).bit_length()):
        draw = rng.random(edges)
        src = 2 * src + (draw >= 0.76)
        dst = 2 * dst + ((draw >= 0.57) & (draw < 0.76) | (draw >= 0.95))
    shuffled = rng.permutation(nodes)
    return shuffled[src % nodes], shuffled[dst % nodes]


def ring(rng: Any, nodes: int, edges: int) -> tuple[Any, Any]:
    src = rng.integers(0, nodes, edges)
    return src, (src + 1 + rng.exponential(20, edges).astype(np.int64)) % nodes


GRAPHS = {"communities": communities, "rmat": rmat, "ring": ring}

if __name__ == "__main__":
    main()
