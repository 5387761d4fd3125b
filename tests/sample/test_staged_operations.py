"""Every operation on a staged graph gives what it gives on a mapped one, and reads through the
queues: nothing of it comes from the mapping."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine

NODES = 3000
GOLDEN = Path(__file__).parents[1] / "golden"

Call = Callable[[gz.Graph], Any]


def write(path: Path, **options: Any) -> Path:
    """Hubs whose rows fill many pages, many short rows, parallel edges, nodes without edges."""
    rng = np.random.default_rng(5)
    edges = 80_000
    src = (NODES * rng.random(edges) ** 6).astype(np.int64)
    dst = rng.integers(0, NODES, edges)
    dst[: edges // 2] = (NODES * rng.random(edges // 2) ** 2).astype(np.int64)
    weights = rng.random(edges).astype(np.float32) * (rng.random(edges) < 0.8)
    gz.write_graph(
        path,
        src,
        dst,
        weights=weights.astype(np.float32),
        num_nodes=NODES,
        edge_ids=True,
        **options,
    )
    return path


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("staged") / "graph.gl")


@pytest.fixture(scope="module")
def pair(graph_file: Path) -> tuple[gz.Graph, gz.Graph]:
    """The mapped graph, and a staged one whose mapping has wrong numbers in all of its rows."""
    return gz.Graph(graph_file, io="mapped"), poisoned(graph_file)


def poisoned(path: Path) -> gz.Graph:
    """What is written to a view is private to this mapping: whoever reads it finds zeros."""
    graph = gz.Graph(path, io="staged")
    for direction, node in itertools.product(("out", "in"), range(graph.num_nodes)):
        if not graph.has_direction(direction):
            continue
        for view in (graph.get_neighbours, graph.get_weights, graph.get_edge_ids):
            view(node, direction=direction)[:] = 0
    return graph


def arrays(result: Any) -> list[Any]:
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, tuple):
        return [array for part in result for array in arrays(part)]
    values = [getattr(result, name) for name in result.__dataclass_fields__]
    found = [value for value in values if isinstance(value, np.ndarray)]
    for value in values:
        if hasattr(value, "__dataclass_fields__"):
            found += arrays(value)
    return found


def assert_same(pair: tuple[gz.Graph, gz.Graph], method: str, *args: Any, **options: Any) -> None:
    expected, found = (arrays(getattr(graph, method)(*args, **options)) for graph in pair)
    assert len(expected) == len(found) > 0
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.5, 2.0), (4.0, 0.25), (1e6, 1e6)])
@pytest.mark.parametrize("restart", [0.0, 0.3])
def test_walks(pair: Any, weighted: bool, p: float, q: float, restart: float) -> None:
    starts = np.r_[np.arange(0, NODES, 3), [0] * 50]
    options = {"p": p, "q": q, "restart": restart, "weighted": weighted}
    for length, seed in ((0, 1), (1, 2), (7, 3)):
        assert_same(pair, "random_walk", starts, length, seed=seed, **options)


def test_more_walks_than_are_under_way_at_a_time(pair: Any) -> None:
    starts = np.random.default_rng(1).integers(0, NODES, 40_000)
    assert_same(pair, "random_walk", starts, 3, seed=1)


@pytest.fixture(scope="module", params=["both", "in", "out"])
def stored(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the file stores, and a pair of graphs."""
    directory = tmp_path_factory.mktemp(request.param)
    path = write(directory / "graph.gl", direction=request.param)
    return request.param, (gz.Graph(path, io="mapped"), poisoned(path))


@pytest.mark.parametrize("weights", ["uniform", "degree"])
@pytest.mark.parametrize("kind", ["pairs", "targets"])
@pytest.mark.parametrize("reject", [False, True])
def test_negatives(stored: Any, weights: Any, kind: Any, reject: bool) -> None:
    direction, pair = stored
    links = np.random.default_rng(2).integers(0, NODES, (2, 500))
    links[0, :100] = np.arange(100) // 10  # hubs: their pairs are rejected often
    assert_same(
        pair,
        "sample_links",
        *links,
        [2],
        negatives=gz.Negatives(kind, amount=3, weights=weights, reject=reject),
        direction="out" if direction == "out" else "in",
        seed=3,
    )


@pytest.mark.parametrize("kind", ["pairs", "targets"])
@pytest.mark.parametrize("reject", [False, True])
def test_negatives_from_candidates(stored: Any, kind: Any, reject: bool) -> None:
    direction, pair = stored
    links = np.random.default_rng(2).integers(0, NODES, (2, 300))
    links[0] = 1 + links[0] % 9  # hubs, but not the one that has edges to all nodes
    lists: dict[str, Any] = {"candidates": np.arange(150)}
    if kind == "pairs":
        lists["source_candidates"] = [1, 2, 3, 1]
    assert_same(
        pair,
        "sample_links",
        *links,
        [2],
        negatives=gz.Negatives(kind, amount=3, reject=reject, **lists),
        direction="out" if direction == "out" else "in",
        seed=3,
    )


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("kind", ["pairs", "targets"])
def test_negatives_of_nodes_with_edges_to_nearly_all(
    tmp_path: Path, direction: Any, kind: Any
) -> None:
    """Drawing in vain ends in going through all targets."""
    nodes = 150
    linked = np.random.default_rng(3).random((nodes, nodes)) < 0.97
    linked[np.arange(nodes), np.arange(nodes) - 1] = False  # there is a negative for each
    src, dst = np.nonzero(linked)
    gz.write_graph(tmp_path / "g.gl", src, dst, num_nodes=nodes, direction=direction)
    for candidates in (None, np.arange(nodes)[::-1]):
        assert_same(
            tuple(gz.Graph(tmp_path / "g.gl", io=io) for io in ("mapped", "staged")),
            "sample_links",
            np.arange(nodes),
            np.arange(nodes),
            [],
            negatives=gz.Negatives(kind, amount=2, reject=True, candidates=candidates),
            direction=direction,
            seed=1,
        )


@pytest.mark.parametrize("direction", ["in", "out"])
def test_no_negative_at_all_is_the_same_error(tmp_path: Path, direction: Any) -> None:
    src, dst = np.nonzero(~np.eye(8, dtype=bool))
    gz.write_graph(tmp_path / "g.gl", src, dst, num_nodes=8, direction=direction)
    messages = set()
    for io, kind in itertools.product(("mapped", "staged"), ("pairs", "targets")):
        graph = gz.Graph(tmp_path / "g.gl", io=io)
        negatives = gz.Negatives(kind, reject=True)
        with pytest.raises(gz.InputError, match="without rejection") as caught:
            graph.sample_links([1], [2], [1], negatives=negatives, direction=direction)
        messages.add(str(caught.value))
    assert len(messages) == 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("subgraph", ["directional", "bidirectional", "induced"])
def test_excluded_edges(pair: Any, weighted: bool, replace: bool, subgraph: Any) -> None:
    rows = {
        node: pair[0].get_neighbours(node, direction="in")
        for node in (*range(40), *range(2900, 2940))
    }
    ends = [(int(row[len(row) // 2]), node) for node, row in rows.items() if len(row)]
    links = np.array(ends).T
    options = {"weighted": weighted, "replace": replace, "subgraph": subgraph, "seed": 4}
    for exclude, fanout in itertools.product((True, "both"), ([-1], [4, 3])):
        assert_same(pair, "sample_links", *links, fanout, exclude_seed_edges=exclude, **options)


@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_induced_subgraphs(pair: Any, disjoint: bool, direction: Any) -> None:
    seeds = np.r_[np.arange(0, NODES, 40), [1, 1]]
    options = {"subgraph": "induced", "disjoint": disjoint, "direction": direction, "seed": 4}
    assert_same(pair, "sample", seeds, [4, 2], **options)


def test_an_induced_subgraph_that_is_too_large_is_the_same_error(pair: Any) -> None:
    messages = set()
    for graph in pair:
        with pytest.raises(gz.InputError, match="limit of 500") as caught:
            graph.sample(np.arange(100), [1], subgraph="induced", seed=1, max_edges=500)
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("replace", [False, True])
def test_neighbour_sampling(pair: Any, weighted: bool, replace: bool) -> None:
    options = {"weighted": weighted, "replace": replace, "seed": 9}
    seeds = np.r_[np.arange(0, NODES, 2), [3, 3]]
    for fanout in ([5, 2], [-1], [1, 0, 2]):
        assert_same(pair, "sample", seeds, fanout, **options)


def test_calls_of_0_2(pair: Any) -> None:
    nodes = np.arange(NODES)
    for count in (0, 1, 30):
        assert_same(pair, "batch_random_fanout", nodes, count, return_counts=True, seed=2)
    assert_same(pair, "sample_neighbours", 5, 10, seed=2)
    assert_same(pair, "batch_random_walk", nodes, 5, 0.5, 2.0, seed=2)


@pytest.mark.parametrize("name", ["graphzero02", "graphzero02_weighted", "symmetric"])
def test_every_kind_of_file(name: str) -> None:
    path = GOLDEN / f"{name}.gl"
    pair = (gz.Graph(path, io="mapped"), gz.Graph(path, io="staged"))
    starts = np.repeat(np.arange(pair[0].num_nodes), 20)
    weighted = pair[0].has_weights
    for p, q in ((1.0, 1.0), (0.25, 4.0), (1e6, 1.0)):
        assert_same(pair, "random_walk", starts, 5, p=p, q=q, weighted=weighted, seed=1)
    assert_same(
        pair,
        "sample_links",
        starts[:1],
        starts[-1:],
        [2],
        negatives=gz.Negatives("pairs", amount=20, weights="degree", reject=True),
        direction="out",
        exclude_seed_edges="both",
        subgraph="induced",
        seed=1,
    )


OPERATIONS: dict[str, Call] = {
    "walk": lambda graph: graph.random_walk(np.arange(NODES), 4, seed=1),
    "weighted walk": lambda graph: graph.random_walk(np.arange(NODES), 4, weighted=True, seed=1),
    "node2vec": lambda graph: graph.random_walk(np.arange(NODES), 4, p=0.5, q=3.0, seed=1),
    "negatives": lambda graph: graph.sample_links(
        [1], [2], [], negatives=gz.Negatives("pairs", 99, "degree", reject=True), seed=1
    ),
    "induced": lambda graph: graph.sample([1, 2], [5], subgraph="induced", seed=1),
    "excluded": lambda graph: graph.sample([1], [5], exclude=([2], [1]), seed=1),
    "weighted": lambda graph: graph.sample([1, 2], [5], weighted=True, seed=1),
    "fanout": lambda graph: graph.batch_random_fanout([1, 2], 5, seed=1),
}


@pytest.fixture
def faults() -> Iterator[Any]:
    yield _engine.set_read_fault
    _engine.clear_read_faults()


def section(graph: gz.Graph, name: str) -> Any:
    return next(section for section in graph._file.topology.sections if section.name == name)


@pytest.mark.parametrize("part", ["indptr", "indices"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failing_disk_is_an_error_and_the_next_call_is_right(
    graph_file: Path, faults: Any, name: str, part: str
) -> None:
    graph = gz.Graph(graph_file, io="staged")
    expected = arrays(OPERATIONS[name](graph))
    for direction in ("out", "in"):
        place = section(graph, f"{direction}.{part}")
        end = place.offset + place.stored_bytes
        faults("graph.gl", -errno.EIO, begin=place.offset, end=end)
    with pytest.raises(OSError, match=r"cannot read at byte \d+") as caught:
        OPERATIONS[name](graph)
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(graph_file))
    _engine.clear_read_faults()
    for one, other in zip(expected, arrays(OPERATIONS[name](graph)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", OPERATIONS)
def test_short_and_interrupted_reads_change_nothing(
    graph_file: Path, faults: Any, name: str
) -> None:
    graph = gz.Graph(graph_file, io="staged")
    expected = arrays(OPERATIONS[name](graph))
    faults("graph.gl", -errno.EINTR, times=5)
    faults("graph.gl", -errno.EAGAIN, times=5)
    faults("graph.gl", 3, times=200)
    for one, other in zip(expected, arrays(OPERATIONS[name](graph)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_file_that_was_cut_is_an_error_with_file_and_offset(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "graph.gl")
    graph = gz.Graph(path, io="staged")
    os.truncate(path, 4096)
    with pytest.raises(OSError, match=r"cannot read at byte \d+.*cut short") as caught:
        OPERATIONS[name](graph)
    assert caught.value.filename == str(path)


@pytest.mark.parametrize("name", ["walk", "node2vec", "negatives", "induced", "fanout"])
def test_a_damaged_neighbour_is_an_error(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "graph.gl")
    graph = gz.Graph(path, io="staged")
    with path.open("r+b") as file:
        for direction in ("out", "in"):
            place = section(graph, f"{direction}.indices")
            file.seek(place.offset)
            file.write(b"\xff" * place.stored_bytes)
    with pytest.raises(gz.FormatError, match="neighbour 4294967295"):
        OPERATIONS[name](graph)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_damaged_row_is_an_error(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "graph.gl")
    graph = gz.Graph(path, io="staged")
    with path.open("r+b") as file:
        for direction in ("out", "in"):
            place = section(graph, f"{direction}.indptr")
            file.seek(place.offset)
            file.write(np.arange(2**60, 2**60 - NODES - 1, -1, dtype=np.uint64).tobytes())
    with pytest.raises(gz.FormatError, match="indptr of node"):
        OPERATIONS[name](graph)


def test_walkers_on_the_same_row_share_its_reads(graph_file: Path) -> None:
    graph = gz.Graph(graph_file, io="staged")
    graph.random_walk(np.zeros(5000, np.int64), 1, weighted=True, seed=1)
    row = 4 * graph.get_degree(0)
    # The bounds of the row, its weights, and the drawn neighbours, which lie in as many pages.
    assert graph._file.disk.stats().read_bytes < 16 + row + 2 * (row + 4096)


MANY_CALLERS = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
import graphzero as gz
import numpy as np
mapped, staged = (gz.Graph(sys.argv[1], io=io) for io in ("mapped", "staged"))

def call(number):
    starts = np.random.default_rng(number).integers(0, mapped.num_nodes, 500)
    options = dict(p=0.5, q=2.0, weighted=number % 2 == 0, seed=number)
    walks = [graph.random_walk(starts, 4, **options).nodes for graph in (mapped, staged)]
    assert (walks[0] == walks[1]).all()

with ThreadPoolExecutor(8) as pool:
    list(pool.map(call, range(16)))
child = os.fork()
if child == 0:
    call(1)
    os._exit(0)
call(2)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("engine", ["", "pread"])
def test_many_threads_and_a_forked_child(graph_file: Path, engine: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY_CALLERS, str(graph_file)],
        env={**os.environ, "GRAPHZERO_IO_ENGINE": engine},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
