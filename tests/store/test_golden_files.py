"""Files of version 1.0 and of GraphZero 0.2 that are kept must open and read for ever."""

import tempfile
from pathlib import Path

import golden
import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from golden import GoldenGraph, GoldenMatrix
from graphzero import _engine
from graphzero.files.paths import find_problems, open_file
from hypothesis import given, settings
from hypothesis import strategies as st

ALL_GRAPHS = [*golden.GRAPHS, *golden.LEGACY_GRAPHS]
ALL_MATRICES = [*golden.MATRICES, *golden.LEGACY_MATRICES]


def name_of(item: GoldenGraph | GoldenMatrix) -> str:
    return item.name


@pytest.mark.parametrize("item", [*ALL_GRAPHS, *ALL_MATRICES], ids=name_of)
def test_reference_writer_makes_the_kept_bytes(item):
    assert golden.reference_bytes(item.name) == (golden.DIRECTORY / item.name).read_bytes()


@pytest.mark.parametrize("item", [*ALL_GRAPHS, *ALL_MATRICES], ids=name_of)
def test_kept_files_verify(item):
    assert find_problems(open_file(golden.DIRECTORY / item.name)) == []


@pytest.mark.parametrize("name", golden.TYPED_GRAPHS)
def test_kept_typed_and_timed_files_are_what_they_were(name):
    path = golden.DIRECTORY / name
    assert golden.reference_bytes(name) == path.read_bytes()
    assert find_problems(open_file(path)) == []


def test_the_kept_typed_graph_reads_as_it_was_written():
    topology = _engine.Topology.open(str(golden.DIRECTORY / "typed.gl"))
    assert [(t.name, t.count, t.has_times) for t in topology.types] == [
        ("user", 3, True),
        ("movie", 4, True),
        ("tag", 2, False),
        ("none", 0, False),
    ]
    assert [
        (r.source, r.name, r.target, r.base, r.inverse, r.symmetric, r.has_times)
        for r in topology.relations
    ] == [
        (0, "rates", 1, 0, None, False, True),
        (1, "has", 2, 1, 3, False, True),
        (0, "knows", 0, 2, None, True, True),
        (2, "of", 1, 3, 1, False, False),
        (3, "empty", 0, 4, None, False, True),
        (1, "rated_by", 0, 0, None, False, True),
        (1, "rev_of", 2, 3, None, False, False),
    ]
    assert topology.slot_times(0, "out", 0).tolist() == [6, 7, 40]
    assert topology.slot_times(1, "in", 0).tolist() == [6, 7]
    assert topology.slot_times(0, "in", 1).tolist() == [40, 40]
    assert topology.neighbours(1, "out", 1).tolist() == []
    assert topology.neighbours(0, "out", 6).tolist() == [1]


@pytest.mark.parametrize("item", ALL_GRAPHS, ids=name_of)
def test_graphs_read_as_they_were_written(item):
    graph = gz.Graph(golden.DIRECTORY / item.name)
    nodes = range(graph.num_nodes)
    assert [graph.get_neighbours(i).tolist() for i in nodes] == item.neighbours
    assert [graph.get_degree(i) for i in nodes] == [len(row) for row in item.neighbours]
    assert graph.num_edges == sum(map(len, item.neighbours))
    assert graph.is_symmetric == item.symmetric
    assert graph.has_weights == (item.weights is not None)
    assert graph._file.topology.weight_name == item.weight_name
    if item.weights is not None:
        assert [graph.get_weights(i).tolist() for i in nodes] == item.weights
    assert graph.has_edge_ids == (item.edge_ids is not None)
    if item.edge_ids is not None:
        assert [graph.get_edge_ids(i).tolist() for i in nodes] == item.edge_ids


@pytest.mark.parametrize("item", golden.GRAPHS, ids=name_of)
def test_in_edges_read_as_they_were_written(item):
    graph = gz.Graph(golden.DIRECTORY / item.name)
    rows = [graph.get_neighbours(i, direction="in").tolist() for i in range(graph.num_nodes)]
    assert rows == item.in_neighbours


@pytest.mark.parametrize("item", ALL_MATRICES, ids=name_of)
def test_matrices_read_as_they_were_written(item):
    store = gz.FeatureStore(golden.DIRECTORY / item.name)
    assert store.dtype.label == item.dtype
    assert store.role == item.role
    assert store.shape == item.values.shape
    tensor = store.get_tensor()
    if store.dtype is gz.DataType.BFLOAT16:
        torch = pytest.importorskip("torch")
        tensor = tensor.view(torch.int16).numpy()
    np.testing.assert_array_equal(tensor, item.values)
    assert tensor.dtype == item.values.dtype


def test_write_graph_makes_the_kept_directed_graph(tmp_path):
    edges = golden.DIRECTED_EDGES
    path = tmp_path / "g.gl"
    gz.write_graph(path, edges.src, edges.dst, weights=edges.weights, edge_ids=True)
    assert path.read_bytes() == (golden.DIRECTORY / "directed.gl").read_bytes()


def test_write_graph_makes_the_kept_symmetric_graph(tmp_path):
    path = tmp_path / "g.gl"
    gz.write_graph(path, *golden.UNDIRECTED_INPUT, undirected=True, edge_ids=True)
    assert path.read_bytes() == (golden.DIRECTORY / "symmetric.gl").read_bytes()


@pytest.mark.parametrize("item", golden.MATRICES, ids=name_of)
def test_write_features_makes_the_kept_matrix(item, tmp_path):
    values = item.values
    if item.dtype == "bfloat16":
        torch = pytest.importorskip("torch")
        values = torch.from_numpy(values).view(torch.bfloat16)
    path = tmp_path / "x.gd"
    gz.write_features(path, values, role=item.role, row_align=item.row_stride)
    assert path.read_bytes() == (golden.DIRECTORY / item.name).read_bytes()


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_write_graph_makes_what_the_reference_writer_makes(data):
    nodes = data.draw(st.integers(1, 40))
    node = st.integers(0, nodes - 1)
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=200))
    src, dst = [p[0] for p in pairs], [p[1] for p in pairs]
    weights = data.draw(st.none() | st.just([float(i % 7) for i in range(len(pairs))]))
    edge_ids = data.draw(st.booleans())
    direction = data.draw(st.sampled_from(["in", "out", "both"]))
    edges = rw.Edges(src, dst, weights, list(range(len(pairs))) if edge_ids else None)
    directions = ["out", "in"] if direction == "both" else [direction]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "g.gl"
        gz.write_graph(
            path,
            np.array(src, np.int64),
            np.array(dst, np.int64),
            weights=weights,
            num_nodes=nodes,
            direction=direction,
            edge_ids=edge_ids,
        )
        assert path.read_bytes() == rw.topology(nodes, edges, directions=directions).bytes()
        assert find_problems(open_file(path)) == []


def test_files_of_more_than_one_block_are_the_same_from_both_writers(tmp_path):
    values = np.random.default_rng(0).random((30_000, 33), np.float32)
    gz.write_features(tmp_path / "x.gd", values)
    assert (tmp_path / "x.gd").read_bytes() == rw.matrix(values).bytes()
    src, dst = np.random.default_rng(1).integers(0, 5000, (2, 300_000))
    gz.write_graph(tmp_path / "g.gl", src, dst, num_nodes=5000, edge_ids=True)
    edges = rw.Edges(src.tolist(), dst.tolist(), edge_ids=range(len(src)))
    assert (tmp_path / "g.gl").read_bytes() == rw.topology(5000, edges).bytes()
