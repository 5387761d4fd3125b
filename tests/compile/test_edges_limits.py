"""The bytes of a graph depend on its edges only: not on memory, threads or the order of division.

Limits far below the least that users can set make small graphs spill to disk and divide their
buckets again and again.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edge_reference import EdgeList, compile_file, edge_lines, tiny, topology_bytes
from graphzero import _engine
from graphzero.conversion.compile_graph import GraphOptions

pytestmark = pytest.mark.slow

KIB = 1 << 10
LIMITS = [
    pytest.param(1, 256 * KIB, False, id="1-thread-256K"),
    pytest.param(3, 512 * KIB, False, id="3-threads-512K"),
    pytest.param(2, 2048 * KIB, False, id="2-threads-2M"),
    pytest.param(2, 512 * KIB, True, id="64-bit-records"),
]
OPTIONS = [
    pytest.param(GraphOptions(), id="both"),
    pytest.param(GraphOptions(direction="in"), id="in"),
    pytest.param(GraphOptions(undirected=True), id="undirected"),
    pytest.param(GraphOptions(undirected=True, edge_ids=True), id="undirected-edge-ids"),
    pytest.param(GraphOptions(dedup=True), id="dedup"),
    pytest.param(GraphOptions(dedup=True, edge_ids=True, direction="in"), id="dedup-edge-ids-in"),
    pytest.param(GraphOptions(dedup=True, undirected=True), id="dedup-undirected"),
]
WEIGHTED = [
    pytest.param(False, id="plain"),
    pytest.param(True, id="weighted", marks=pytest.mark.slow),
]
COUNT = 30_000


def power_law(rng: np.random.Generator) -> EdgeList:
    """A few nodes have most of the edges."""
    ids = (3_000 * rng.random((2, COUNT)) ** 4).astype(np.int64)
    return EdgeList.make(ids[0], ids[1])


def hub(rng: np.random.Generator) -> EdgeList:
    """One row that exceeds a leaf many times, among ordinary ones."""
    src = np.where(rng.random(COUNT) < 0.8, 1234, rng.integers(0, 5_000, COUNT))
    return EdgeList.make(src, rng.integers(0, 5_000, COUNT))


def one_pair(rng: np.random.Generator) -> EdgeList:
    """One pair of nodes with more edges between them than a leaf holds, among ordinary ones."""
    same = rng.random(COUNT) < 0.8
    src = np.where(same, 77, rng.integers(0, 5_000, COUNT))
    return EdgeList.make(src, np.where(same, 4_999, rng.integers(0, 5_000, COUNT)))


def one_loop(rng: np.random.Generator) -> EdgeList:
    """Nothing but one self-loop, again and again."""
    return EdgeList.make(np.zeros(COUNT), np.zeros(COUNT))


def late_ids(rng: np.random.Generator) -> EdgeList:
    """The largest ids stand in a place of the file that a sample does not see."""
    ids = rng.integers(0, 500, (2, COUNT))
    ids[:, -COUNT // 100 : -COUNT // 200] = rng.integers(0, 400_000, (2, COUNT // 200))
    return EdgeList.make(ids[0], ids[1])


def sorted_by_target(rng: np.random.Generator) -> EdgeList:
    edges = EdgeList.make(*rng.integers(0, 20_000, (2, COUNT)))
    return EdgeList.make(edges.src, np.sort(edges.dst))


GRAPHS = [power_law, hub, one_pair, one_loop, late_ids, sorted_by_target]


@pytest.mark.parametrize("weighted", WEIGHTED)
@pytest.mark.parametrize("make", GRAPHS)
@pytest.mark.parametrize("options", OPTIONS)
def test_bytes_do_not_depend_on_memory_or_threads(
    tmp_path: Path, make: object, options: GraphOptions, weighted: bool
) -> None:
    rng = np.random.default_rng(11)
    edges = make(rng)  # type: ignore[operator]
    if weighted:
        edges = EdgeList.make(edges.src, edges.dst, rng.random(COUNT).astype(np.float32))
    source = tmp_path / "edges.csv"
    source.write_text(edge_lines(edges))
    expected = topology_bytes(edges, options)
    assert compile_file(source, options).data == expected
    for limits in LIMITS:
        threads, memory, wide = limits.values
        resources = tiny(tmp_path, threads, memory, wide)
        assert compile_file(source, options, resources).data == expected, limits.id


def compile_arrays(
    directory: Path, src: Any, dst: Any, options: GraphOptions, resources: _engine.Resources
) -> Any:
    out = str(directory / "g.gl")
    return _engine.compile_topology(
        _engine.EdgeInput.arrays("edges", src, dst),
        out,
        options=options.for_engine(),
        resources=resources,
    )


@pytest.mark.parametrize("make", GRAPHS)
def test_small_limits_do_spill(tmp_path: Path, make: object) -> None:
    edges = make(np.random.default_rng(1))  # type: ignore[operator]
    report = compile_arrays(
        tmp_path, edges.src, edges.dst, GraphOptions(), tiny(tmp_path, 2, 256 * KIB)
    )
    assert report.spilled_bytes > 0
    assert [p.name for p in tmp_path.iterdir()] == ["g.gl"]  # the spill file never had a name


def test_dropping_repeats_keeps_to_the_memory_too(tmp_path: Path) -> None:
    # Every edge survives and is divided twice: most of it must have been spilled both times.
    src = np.arange(COUNT)
    report = compile_arrays(
        tmp_path,
        src,
        src[::-1].copy(),
        GraphOptions(dedup=True, direction="out"),
        tiny(tmp_path, 1, 64 * KIB),
    )
    record_bytes = 8
    assert report.spilled_bytes > 1.5 * COUNT * record_bytes


def test_enough_memory_does_not_spill(tmp_path: Path) -> None:
    edges = power_law(np.random.default_rng(1))
    report = compile_arrays(
        tmp_path,
        edges.src,
        edges.dst,
        GraphOptions(),
        _engine.Resources.make(memory=64 << 20, threads=2, temp_dir=str(tmp_path)),
    )
    assert report.spilled_bytes == 0


def test_the_least_memory_that_users_can_set_is_64_mib(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"found a memory limit of 67108863 bytes, expected at "):
        _engine.Resources.make(memory=(64 << 20) - 1, threads=1, temp_dir=str(tmp_path))


def test_more_threads_than_memory_has_room_for_are_not_started(tmp_path: Path) -> None:
    resources = _engine.Resources.make(memory=64 << 20, threads=10_000, temp_dir=str(tmp_path))
    assert resources.threads == 8
