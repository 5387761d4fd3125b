"""Typed and timed sampling beside the plain sampler, on the same edges.

    python tests/benchmarks/sampling/typed.py --directory /tmp/graphs

The R-MAT graph "small" of run.py (2.1 M nodes, 61 M edges) is cut into two types, the even and the
odd ids, and so into four relations; every edge has a random time. Plain samples follow these edges
without types, with twice the fanout of a relation: a node of the typed graph draws from two. The
figure to compare is sampled edges a second, and a ratio is the median over turns that alternate,
because machines are noisy. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
from graphzero import _engine
from graphzero.base.resources import make_resources
from graphzero.conversion.compile_typed import NodeType, RelationEdges, compile_typed_graph

sys.path.append(str(Path(__file__).parents[1]))
from common.graphs import SHAPES, Shape, rmat_edges, warm
from common.machine import describe_machine

BATCH = 1024
FANOUT = [8, 5, 3]
TURNS = 7
SPAN = 10**9  # of the times


def generate(shape: Shape, directory: Path) -> None:
    if (directory / "typed_seeds.npy").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    src, dst = (np.concatenate(ends).astype(np.int64) for ends in both_ways(rmat_edges(shape)))
    rng = np.random.default_rng(5)
    times = rng.integers(0, SPAN, len(src))
    weights = rng.random(len(src), np.float32)
    nodes = 1 << shape.scale
    gz.write_graph(directory / "plain.gl", src, dst, num_nodes=nodes, overwrite=True)
    gz.write_graph(
        directory / "weighted.gl", src, dst, weights=weights, num_nodes=nodes, overwrite=True
    )
    for name, of_edges, of_weights in (
        ("typed", None, None),
        ("timed", times, None),
        ("weighted_typed", None, weights),
        ("weighted_timed", times, weights),
    ):
        relations = []
        for a in range(2):
            for b in range(2):
                chosen = (src % 2 == a) & (dst % 2 == b)
                relations.append(
                    RelationEdges(
                        f"t{a}",
                        "to",
                        f"t{b}",
                        _engine.EdgeInput.arrays(
                            f"edges from t{a} to t{b}",
                            src[chosen] // 2,
                            dst[chosen] // 2,
                            None if of_weights is None else of_weights[chosen],
                            None if of_edges is None else of_edges[chosen],
                        ),
                        direction="in",
                    )
                )
        types = [NodeType(f"t{a}", nodes // 2) for a in range(2)]
        path = directory / f"{name}.gl"
        path.unlink(missing_ok=True)
        compile_typed_graph(path, types, relations, make_resources(None, None, directory))
    connected = np.flatnonzero(np.bincount(dst, minlength=nodes))
    np.save(directory / "typed_seeds.npy", rng.permutation(connected)[:400_000])


def both_ways(ends: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any]:
    return (ends[0], ends[1]), (ends[1], ends[0])


class Samplers:
    """What is measured: each makes a batch by its number and returns its edges."""

    def __init__(self, directory: Path, threads: int) -> None:
        self.seeds = np.load(directory / "typed_seeds.npy")
        self.graphs = {p.stem: gz.Graph(p, io="mapped") for p in sorted(directory.glob("*.gl"))}
        self.threads = threads

    def batch(self, number: int) -> np.ndarray:
        begin = number * BATCH % (len(self.seeds) - BATCH)
        return self.seeds[begin : begin + BATCH]

    def plain(self, number: int, name: str = "plain", **options: Any) -> int:
        sample = self.graphs[name].sample(
            self.batch(number),
            [2 * edges for edges in FANOUT],
            seed=number,
            threads=self.threads,
            **options,
        )
        return int(sample.edge_index.shape[1])

    def typed(self, number: int, name: str = "typed", **options: Any) -> int:
        ids = self.batch(number)
        seeds = {f"t{a}": ids[ids % 2 == a] // 2 for a in range(2)}
        sample = self.graphs[name].sample(
            seeds, FANOUT, seed=number, threads=self.threads, **options
        )
        return sum(sample[relation].num_edges for relation in sample.edge_types)

    def timed(self, number: int, name: str = "timed", **options: Any) -> int:
        at = np.random.default_rng(number).integers(0, SPAN, BATCH)
        return self.typed(number, name, time=at, **options)

    def all(self) -> dict[str, Callable[[int], int]]:
        return {
            "plain": self.plain,
            "plain, disjoint": lambda n: self.plain(n, disjoint=True),
            "typed": self.typed,
            "typed, disjoint": lambda n: self.typed(n, disjoint=True),
            "timed, uniform": self.timed,
            "timed, last": lambda n: self.timed(n, temporal_strategy="last"),
            "plain, weights": lambda n: self.plain(n, "weighted", weighted=True),
            "typed, weights": lambda n: self.typed(n, "weighted_typed", weighted=True),
            "disjoint, weights": lambda n: self.typed(
                n, "weighted_typed", weighted=True, disjoint=True
            ),
            "timed, weights": lambda n: self.timed(n, "weighted_timed", weighted=True),
        }


def measure(samplers: dict[str, Callable[[int], int]], seconds: float) -> dict[str, list[float]]:
    """Edges a second of each, in turns."""
    rates: dict[str, list[float]] = {name: [] for name in samplers}
    for turn in range(TURNS):
        for name, sample in samplers.items():
            sample(0)
            edges, calls, begin = 0, 0, time.perf_counter()
            while time.perf_counter() - begin < seconds / TURNS or not calls:
                edges += sample(turn * 1000 + calls)
                calls += 1
            rates[name].append(edges / (time.perf_counter() - begin))
            print(f"  {name}: {rates[name][-1] / 1e6:.1f} M edges/s", flush=True)
    return rates


RATIOS = [
    ("typed", "plain", 0.7),
    ("timed, uniform", "plain", 0.5),
    ("timed, last", "plain", 0.6),
    ("timed, weights", "disjoint, weights", 0.8),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--graph", default="small", choices=SHAPES)
    parser.add_argument("--directory", type=Path, required=True, help="where graphs are kept")
    parser.add_argument("--seconds", type=float, default=10, help="for each sampler")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    directory = arguments.directory / f"typed-{arguments.graph}"
    generate(SHAPES[arguments.graph], directory)
    print("\n".join(f"{name:<16}{what}" for name, what in describe_machine(directory).items()))
    for path in sorted(directory.glob("*.gl")):
        huge = warm(path)
        print(f"graph    {path.stem}: {path.stat().st_size / 1e6:.0f} MB, {huge / 1e6:.0f} huge")
    _engine.set_thread_limit(arguments.threads)
    print(f"threads  {arguments.threads}; {BATCH} seeds, fanout {FANOUT} for each relation")
    rates = measure(Samplers(directory, arguments.threads).all(), arguments.seconds)
    print("\nM edges/s: median [lowest, highest] of turns")
    for name, found in rates.items():
        low, high = min(found) / 1e6, max(found) / 1e6
        print(f"  {name:20} {statistics.median(found) / 1e6:6.1f} [{low:.1f}, {high:.1f}]")
    for name, beside, wanted in RATIOS:
        ratio = statistics.median(a / b for a, b in zip(rates[name], rates[beside], strict=True))
        best = max(rates[name]) / max(rates[beside])
        verdict = "reached" if ratio >= wanted else "MISSED"
        print(
            f"  {name} / {beside}: {ratio:.2f}, best turns {best:.2f}; wanted {wanted}: {verdict}"
        )


if __name__ == "__main__":
    main()
