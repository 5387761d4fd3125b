"""Row starts in memory: the same draws as without them, and fewer reads."""

import errno
import os
import subprocess
import sys

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine

NODES, EDGES = 5000, 60_000


def write(path, degrees, **options):
    """A graph whose rows have these lengths, to random neighbours."""
    rng = np.random.default_rng(len(degrees))
    src = np.repeat(np.arange(len(degrees)), degrees)
    dst = rng.integers(0, len(degrees), len(src))
    gz.write_graph(path, src, dst, num_nodes=len(degrees), **options)
    return path


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(5)
    degrees = rng.integers(0, 20, NODES)
    degrees[rng.integers(0, NODES, 6)] = 3000  # hubs
    return write(tmp_path / "graph.gl", degrees, weights=None)


@pytest.fixture
def indptr_section(path):
    def find(name="in.indptr"):
        return next(s for s in gz.Graph(path)._file.topology.sections if s.name == name)

    return find


def staged(path, *, row_starts):
    graph = gz.Graph(path, io="staged")
    if row_starts:
        for _ in graph._file.read_row_starts():
            pass
    return graph


@pytest.mark.parametrize(
    "degrees",
    [
        np.zeros(300, int),
        np.ones(128, int),
        np.r_[np.zeros(127, int), 1],
        np.r_[0, 70_000, np.zeros(126, int), 3, 3],
        np.random.default_rng(1).integers(0, 40, 129),
        np.array([2]),
    ],
    ids=["empty", "a block", "its last row", "a hub and another block", "a row more", "one row"],
)
def test_degrees_are_those_of_the_file(tmp_path, degrees):
    path = write(tmp_path / "graph.gl", degrees, direction="out")
    graph = staged(path, row_starts=True)
    found = np.full(len(degrees), -1)
    assert graph._file.disk.known_degrees(graph._file.topology, 0, "out", 0, found)
    np.testing.assert_array_equal(found, degrees)
    # Every row from memory, with nothing read but its neighbours.
    sample = graph.sample(np.arange(len(degrees)), [-1], direction="out", seed=1)
    drawn = np.bincount(sample.edge_index[0], minlength=len(degrees))
    np.testing.assert_array_equal(drawn, degrees)


def test_a_part_of_the_degrees(path):
    graph = staged(path, row_starts=True)
    topology, disk = graph._file.topology, graph._file.disk
    everything = np.empty(NODES, np.int64)
    assert disk.known_degrees(topology, 0, "in", 0, everything)
    for begin, count in [(0, 1), (127, 2), (1000, 300), (NODES - 1, 1), (NODES, 0)]:
        some = np.empty(count, np.int64)
        assert disk.known_degrees(topology, 0, "in", begin, some)
        np.testing.assert_array_equal(some, everything[begin : begin + count])
    with pytest.raises(IndexError):
        disk.known_degrees(topology, 0, "in", NODES, np.empty(1, np.int64))


@pytest.mark.parametrize("direction", ["in", "out"])
def test_the_same_is_drawn_with_fewer_reads(path, direction):
    graphs = [staged(path, row_starts=kept) for kept in (False, True)]
    seeds = np.random.default_rng(2).integers(0, NODES, 400)
    without, kept = (graph.sample(seeds, [5, 5], direction=direction, seed=3) for graph in graphs)
    for name in ("n_id", "edge_index", "e_id"):
        np.testing.assert_array_equal(getattr(without, name), getattr(kept, name))
    calls = [graph._file.disk.stats().calls for graph in graphs]
    assert calls[0] - calls[1] == 2  # one for each hop


@pytest.mark.parametrize("options", [{}, {"p": 0.25, "q": 4.0}, {"restart": 0.2}], ids=str)
def test_walks_are_the_same_and_take_one_round_a_step(path, options):
    graphs = [staged(path, row_starts=kept) for kept in (False, True)]
    starts = np.arange(0, NODES, 7)
    walks = [graph.random_walk(starts, 12, seed=4, **options) for graph in graphs]
    np.testing.assert_array_equal(walks[0].nodes, walks[1].nodes)
    np.testing.assert_array_equal(walks[0].lengths, walks[1].lengths)
    calls = [graph._file.disk.stats().calls for graph in graphs]
    assert calls[1] < calls[0]
    if not options:
        assert calls[1] == 12


@pytest.mark.parametrize("kind", ["targets", "pairs"])
def test_negatives_by_degree_are_the_same(path, kind):
    graphs = [staged(path, row_starts=kept) for kept in (False, True)]
    nodes = np.arange(0, NODES, 3)
    negatives = gz.Negatives(kind, 2, "degree", reject=True)
    drawn = [graph.sample_links(nodes, nodes, [2], negatives=negatives, seed=9) for graph in graphs]
    np.testing.assert_array_equal(drawn[0].n_id, drawn[1].n_id)
    calls = [graph._file.disk.stats().calls for graph in graphs]
    assert calls[1] < calls[0]


def test_samples_of_typed_graphs_are_the_same(tmp_path):
    make = ["generate", "--schema", "shop", "--scale", "0.02", "--out", str(tmp_path / "shop")]
    subprocess.run([sys.executable, "-m", "graphzero", *make], check=True, capture_output=True)
    mapped = gz.Graph(tmp_path / "shop", io="mapped")
    kept = staged(tmp_path / "shop", row_starts=True)
    assert kept._file.disk.stats().row_starts_bytes > 0
    seeds = {name: np.arange(0, count, 7) for name, count in mapped.types.items()}
    samples = [graph.sample(seeds, [4, 3], seed=2) for graph in (mapped, kept)]
    for name in mapped.types:
        np.testing.assert_array_equal(samples[0][name].n_id, samples[1][name].n_id)


def test_memory_is_counted_and_stays_below_what_was_planned(path):
    graph = staged(path, row_starts=False)
    assert graph._file.disk.stats().row_starts_bytes == 0
    graph.warm()
    kept = graph._file.disk.stats().row_starts_bytes
    assert 0 < kept <= graph._file.most_row_starts_bytes < 3 * 8 * (NODES + 1)


def test_a_damaged_indptr_is_told_and_not_kept(path, indptr_section):
    section = indptr_section()
    with path.open("r+b") as file:
        file.seek(section.offset + 8 * 100)
        file.write((2**60).to_bytes(8, "little"))
    graph = gz.Graph(path, io="staged")
    with pytest.raises(gz.FormatError, match=r"in\.indptr does not rise"):
        graph.warm()
    disk = graph._file.disk
    assert not disk.known_degrees(graph._file.topology, 0, "in", 0, np.empty(5, np.int64))
    assert disk.known_degrees(graph._file.topology, 0, "out", 0, np.empty(5, np.int64))
    # Other rows are served; the damaged ones are the error that they were.
    graph.sample([0, 1, 2], [3], seed=1)
    with pytest.raises(gz.FormatError, match="indptr of node 99"):
        graph.sample([99], [3], seed=1)


def test_a_file_that_was_cut_is_an_error_and_reading_goes_on_without(path, indptr_section):
    graph = gz.Graph(path, io="staged")
    os.truncate(path, indptr_section().offset + 4096)
    with pytest.raises(OSError, match=r"cannot read at byte .*graph\.gl"):
        for _ in graph._file.read_row_starts():
            pass
    assert graph._file.disk.stats().row_starts_bytes == 0


def test_a_failing_disk_is_an_error_with_its_errno(path, indptr_section):
    graph = gz.Graph(path, io="staged")
    section = indptr_section()
    _engine.set_read_fault(
        path_suffix=path.name, begin=section.offset, end=section.offset + 1, result=-errno.EIO
    )
    try:
        with pytest.raises(OSError, match="Input/output error") as caught:
            for _ in graph._file.read_row_starts():
                pass
        assert caught.value.errno == errno.EIO
    finally:
        _engine.clear_read_faults()
    for _ in graph._file.read_row_starts():
        pass
    assert graph._file.disk.stats().row_starts_bytes > 0


def test_they_are_not_left_in_the_page_cache(tmp_path):
    path = write(tmp_path / "graph.gl", np.full(400_000, 1), direction="out")
    script = f"""
import os, graphzero as gz
fd = os.open({str(path)!r}, os.O_RDONLY)
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
graph = gz.Graph({str(path)!r}, io="staged")
before = graph._file.topology.resident_bytes()
for _ in graph._file.read_row_starts():
    pass
print(graph._file.topology.resident_bytes() - before, graph._file.disk.stats().row_starts_bytes)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    more, kept = map(int, done.stdout.split())
    assert kept > 0
    assert more < 1 << 20  # of 3.2 MB


def test_a_forked_child_uses_what_its_parent_keeps(path):
    graph = staged(path, row_starts=True)
    expected = graph.random_walk([1, 2, 3], 5, seed=1).nodes
    child = os.fork()
    if child == 0:
        same = (graph.random_walk([1, 2, 3], 5, seed=1).nodes == expected).all()
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
