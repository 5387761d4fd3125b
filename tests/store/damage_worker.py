"""Runs the damage cases of one file in a process of its own: damage_worker.py FILE DIRECTORY.

The case at hand is kept in DIRECTORY/current, so that whoever started this can name it when the
process dies or hangs. Prints one line for each case that did not come out as it must; the last line
is the number of cases.
"""

from __future__ import annotations

import mmap
import resource
import sys
from contextlib import suppress
from pathlib import Path

import graphzero as gz
from damage_cases import FOUND, REFUSED, Case, cases
from graphzero._commands import info
from graphzero._files import find_problems, open_file

# A wild size taken from a file would ask for more than this.
ADDRESS_SPACE = 8 << 30


def exercise(path: Path) -> list[str]:
    """Opens the file, reads everything in every way, returns what verify says."""
    store = gz.Graph(path) if path.suffix == ".gl" else gz.FeatureStore(path)
    if isinstance(store, gz.Graph):
        read_graph(store)
    else:
        read_matrix(store)
    tolerate(lambda: info.describe_file(path))
    return find_problems(open_file(path))


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


def main() -> None:
    original, directory = Path(sys.argv[1]), Path(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    current_path = directory / "current"
    current_path.write_bytes(bytes(mmap.PAGESIZE))
    count = 0
    with current_path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as current:
        for case in cases(original.read_bytes()):
            current[:128] = case.name.encode().ljust(128, b"\0")
            # A new file each time: the pages of the old one may still be mapped.
            path = directory / f"{count}{original.suffix}"
            path.write_bytes(case.data)
            wrong = judge(case, path)
            path.unlink()
            if wrong is not None:
                print(f"{case.name}: {wrong}")
            count += 1
    print(count)


if __name__ == "__main__":
    main()
