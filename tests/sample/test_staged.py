"""Sampling a topology that is read hop by hop draws what sampling in memory draws."""

import errno
import itertools
import os
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine

GOLDEN = Path(__file__).parents[1] / "golden"
FIELDS = ("n_id", "edge_index", "e_id", "edge_weight")


def assert_same(first, second):
    for name in FIELDS:
        one, other = getattr(first, name), getattr(second, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)
    assert first.num_sampled_nodes == second.num_sampled_nodes
    assert first.num_sampled_edges == second.num_sampled_edges


@pytest.fixture
def make_graph(tmp_path):
    def make(nodes=5000, edges=60_000, weighted=True, edge_ids=True, **options):
        rng = np.random.default_rng(nodes)
        # A few hubs, many nodes of small degree, some without edges.
        src = rng.integers(0, nodes, edges)
        dst = (nodes * rng.random(edges) ** 4).astype(np.int64)
        weights = rng.random(edges, np.float32) * (rng.random(edges) < 0.8) if weighted else None
        if weighted:
            weights = weights.astype(np.float32)
        path = tmp_path / "graph.gl"
        gz.write_graph(
            path, src, dst, weights=weights, num_nodes=nodes, edge_ids=edge_ids, **options
        )
        return path

    return make


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_the_same_is_drawn(make_graph, weighted, replace, direction):
    path = make_graph()
    mapped, staged = gz.Graph(path, io="mapped"), gz.Graph(path, io="staged")
    seeds = np.r_[np.random.default_rng(1).integers(0, 5000, 300), [7, 7, 7]]
    for fanout, seed in itertools.product([[10, 5], [-1], [3, 0, 2], [-1, 2], []], [0, 99]):
        options = {"replace": replace, "weighted": weighted, "direction": direction, "seed": seed}
        assert_same(
            mapped.sample(seeds, fanout, **options), staged.sample(seeds, fanout, **options)
        )


def test_without_weights_and_edge_ids(make_graph):
    path = make_graph(weighted=False, edge_ids=False)
    mapped, staged = gz.Graph(path, io="mapped"), gz.Graph(path, io="staged")
    assert_same(mapped.sample([1, 2, 3], [4, 4], seed=1), staged.sample([1, 2, 3], [4, 4], seed=1))


@pytest.mark.parametrize("name", ["graphzero02", "graphzero02_weighted", "directed", "symmetric"])
def test_every_kind_of_file(name):
    path = GOLDEN / f"{name}.gl"
    mapped, staged = gz.Graph(path, io="mapped"), gz.Graph(path, io="staged")
    seeds = np.arange(mapped.num_nodes)
    for fanout in ([-1, -1], [2, 2]):
        options = {"direction": "out", "seed": 5}
        assert_same(
            mapped.sample(seeds, fanout, **options), staged.sample(seeds, fanout, **options)
        )


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_any_number_of_threads(make_graph, threads):
    path = make_graph()
    expected = gz.Graph(path, io="mapped").sample(np.arange(2000), [5, 5], seed=2)
    staged = gz.Graph(path, io="staged")
    assert_same(expected, staged.sample(np.arange(2000), [5, 5], seed=2, threads=threads))


def test_places_of_one_page_are_read_once(make_graph):
    path = make_graph()
    graph = gz.Graph(path, io="staged")
    graph.sample(np.arange(5000), [1], seed=1)
    stats = graph._file.disk.stats()
    # 5000 pairs of 8 bytes lie in at most 11 pages; what is drawn, in as many as all edges fill;
    # edge ids and weights in as many again.
    assert stats.items >= 4 * 4000
    assert stats.reads < 11 + 3 * (60_000 * 4 // 4096 + 2)
    assert graph._file.disk.stats().calls == 4


def test_a_damaged_row_is_the_same_error(tmp_path, make_graph):
    path = make_graph(weighted=False, edge_ids=False, direction="in")
    section = next(s for s in gz.Graph(path)._file.topology.sections if s.name == "in.indptr")
    with path.open("r+b") as file:
        file.seek(section.offset + 8 * 100)
        file.write((2**60).to_bytes(8, "little"))
    messages = []
    for io in ("mapped", "staged"):
        with pytest.raises(gz.FormatError, match="indptr of node 99") as caught:
            gz.Graph(path, io=io).sample(np.arange(200), [3], seed=1)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_damaged_neighbour_is_the_same_error(make_graph):
    path = make_graph(weighted=False, edge_ids=False, direction="in")
    section = next(s for s in gz.Graph(path)._file.topology.sections if s.name == "in.indices")
    with path.open("r+b") as file:
        file.seek(section.offset)
        file.write(b"\xff" * 40)
    messages = []
    for io in ("mapped", "staged"):
        with pytest.raises(gz.FormatError, match="neighbour 4294967295") as caught:
            gz.Graph(path, io=io).sample(np.arange(200), [-1], seed=1)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_failing_disk_is_an_error_with_file_and_offset(make_graph):
    path = make_graph()
    graph = gz.Graph(path, io="staged")
    _engine.set_read_fault("graph.gl", -errno.EIO)
    try:
        with pytest.raises(OSError, match=r"cannot read at byte \d+") as caught:
            graph.sample([1, 2, 3], [5], seed=1)
        assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(path))
    finally:
        _engine.clear_read_faults()
    assert graph.sample([1, 2, 3], [5], seed=1).n_id is not None


def test_a_file_that_was_cut_is_an_error_with_file_and_offset(make_graph):
    path = make_graph()
    graph = gz.Graph(path, io="staged")
    os.truncate(path, 8192)
    with pytest.raises(OSError, match=r"cannot read at byte \d+: the file was cut short"):
        graph.sample(np.arange(5000), [5], seed=1)


def test_auto_goes_by_size(make_graph, monkeypatch):
    path = make_graph()
    assert gz.Graph(path, io="auto")._file.reading.path == "mapped"
    size = path.stat().st_size
    for room, expected in ((size - 1, "staged"), (size, "mapped")):
        monkeypatch.setattr("graphzero.files.topology_file.room_for_a_file", lambda room=room: room)
        assert gz.Graph(path, io="auto")._file.reading.path == expected


def test_unknown_io_is_refused(make_graph):
    with pytest.raises(ValueError, match="'auto', 'mapped', 'staged'"):
        gz.Graph(make_graph(), io="direct")


@pytest.mark.parametrize("subgraph", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_other_subgraphs_are_the_same(make_graph, subgraph, disjoint):
    path = make_graph()
    mapped, staged = gz.Graph(path, io="mapped"), gz.Graph(path, io="staged")
    options = {"subgraph": subgraph, "disjoint": disjoint, "seed": 4}
    assert_same(
        mapped.sample([1, 2, 3], [4, 4], **options), staged.sample([1, 2, 3], [4, 4], **options)
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_links_with_their_own_edges_left_out_are_the_same(make_graph, weighted):
    path = make_graph()
    targets = np.arange(20)  # hubs
    mapped = gz.Graph(path, io="mapped")
    sources = [int(mapped.get_neighbours(node, direction="in")[0]) for node in targets]
    options = {"exclude_seed_edges": "both", "weighted": weighted, "seed": 4}
    samples = [
        gz.Graph(path, io=io).sample_links(sources, targets, [-1, 5], **options).sample
        for io in ("mapped", "staged")
    ]
    assert_same(*samples)
