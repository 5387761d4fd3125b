"""Runs the damage cases of one file in a process of its own: damage_worker.py FILE DIRECTORY.

The case at hand is kept in DIRECTORY/current, so that whoever started this can name it when the
process dies or hangs. Prints one line for each case that did not come out as it must; the last line
is the number of cases.
"""

from __future__ import annotations

import mmap
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

import graphzero as gz
from damage_cases import FOUND, REFUSED, Case, cases
from graphzero import _engine
from graphzero.commands import info
from graphzero.files.paths import open_file

# A wild size taken from a file would ask for more than this.
ADDRESS_SPACE = 8 << 30


def exercise(path: Path) -> list[str]:
    """Opens the file, reads everything in every way, returns what verify says."""
    store = gz.Graph(path) if path.suffix == ".gl" else gz.FeatureStore(path)
    if isinstance(store, gz.Graph):
        read_relations(_engine.Topology.open(str(path)))
        if len(store.relations) == 1:
            read_graph(store)
            sample_graph(store)
        sample_in_time(store)
    else:
        read_matrix(store)
    tolerate(lambda: info.describe_file(path))
    return _engine.verify(open_file(path), threads=1)


def read_graph(graph: gz.Graph) -> None:
    for direction in ("out", "in"):
        for node in (-1, *range(min(graph.num_nodes, 16)), graph.num_nodes):
            for method in (
                graph.get_degree,
                graph.get_neighbours,
                graph.get_weights,
                graph.get_edge_ids,
            ):
                tolerate(lambda m=method, n=node, d=direction: m(n, direction=d))


def read_relations(topology: _engine.Topology) -> None:
    for number, node_type in enumerate(topology.types):
        if node_type.count < 1 << 20:
            tolerate(lambda n=number: topology.node_times(n))
    for number in range(len(topology.relations)):
        for direction in ("out", "in"):
            for node in range(2):
                for method in (
                    topology.degree,
                    topology.neighbours,
                    topology.weights,
                    topology.edge_ids,
                    topology.times,
                    topology.slot_times,
                ):
                    tolerate(lambda m=method, n=node, d=direction, r=number: m(n, d, r))


def sample_in_time(graph: gz.Graph) -> None:
    """Samples of every type, at a time and at the nodes' own."""
    for name, count in graph.types.items():
        ids = list(range(min(count, 4)))
        seeds = {name: ids} if name else ids
        for time in (7, "own"):
            tolerate(lambda s=seeds, t=time: graph.sample(s, [2, -1], time=t, seed=0, threads=1))


def sample_graph(graph: gz.Graph) -> None:
    nodes = list(range(min(graph.num_nodes, 16)))
    for direction in ("out", "in"):
        tolerate(
            lambda d=direction: graph.sample(nodes, [2, -1], direction=d, seed=0, threads=1).n_id
        )
    tolerate(lambda: graph.sample(nodes, [2], direction="out", weighted=True, seed=0).n_id)
    tolerate(lambda: graph.random_walk(nodes, 5, p=0.5, q=2.0, seed=0, threads=1).nodes)
    tolerate(lambda: graph.random_walk(nodes, 5, weighted=True, seed=0, threads=1).nodes)
    tolerate(lambda: graph.batch_random_fanout(nodes, 3, seed=0))


def read_matrix(store: gz.FeatureStore) -> None:
    tolerate(store.get_tensor)
    for node in (-1, 0, store.num_nodes - 1, store.num_nodes):
        tolerate(lambda n=node: store.get_data(n))
        tolerate(lambda n=node: store.gather([n, 0, n]))


def tolerate(action) -> None:
    """Runs it; the errors a user is told about are all right, any other is a bug."""
    with suppress(gz.FormatError, IndexError, ValueError):
        result = action()
        if hasattr(result, "sum"):
            result.sum()  # reads every value of a view


def judge(case: Case, path: Path) -> str | None:
    """Why the outcome is wrong, or None."""
    try:
        problems = exercise(path)
    except gz.FormatError as error:
        return None if str(path) in str(error) else f"the error does not name the file: {error}"
    if case.expected == REFUSED:
        return "was opened"
    if case.expected == FOUND and not any(case.place in problem for problem in problems):
        return f"verify did not name {case.place!r}: {problems}"
    return None


class Bench:
    """One file that is damaged and mended, over and over. No view of it outlives its case."""

    def __init__(self, original: Path, directory: Path) -> None:
        self.original = original.read_bytes()
        self.path = directory / f"damaged{original.suffix}"
        self.path.write_bytes(self.original)
        self.count = 0
        self._current_path = directory / "current"
        self._current_path.write_bytes(bytes(mmap.PAGESIZE))
        with self._current_path.open("r+b") as file:
            self._current = mmap.mmap(file.fileno(), 0)

    def run(self, case: Case) -> None:
        """Applies a case, prints it if it came out wrong, mends the file."""
        self._current[:128] = case.name.encode().ljust(128, b"\0")
        wrong = judge(case, self.path)
        if wrong is not None:
            print(f"{case.name}: {wrong}")
        self.count += 1

    def run_flips(self) -> None:
        with self.path.open("r+b", buffering=0) as file:
            for case in cases(self.original):
                end = case.offset + len(case.patch)
                os.pwrite(file.fileno(), case.patch, case.offset)
                self.run(case)
                os.pwrite(file.fileno(), self.original[case.offset : end], case.offset)

    def run_sizes(self) -> None:
        """One byte too long, then every shorter length."""
        for length in range(len(self.original) + 1, -1, -1):
            if length != len(self.original):
                os.truncate(self.path, length)
                self.run(Case(f"a size of {length} bytes", 0, b"", REFUSED))


def main() -> None:
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which needs terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    bench = Bench(Path(sys.argv[1]), Path(sys.argv[2]))
    bench.run_flips()
    bench.run_sizes()
    print(bench.count)


if __name__ == "__main__":
    main()
