"""Files of version 1.0 and of GraphZero 0.2 that are kept must open and read for ever."""

import golden
import graphzero as gz
import numpy as np
import pytest
from golden import GoldenGraph, GoldenMatrix
from graphzero import _engine
from graphzero._files import find_problems, open_file

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


@pytest.mark.parametrize("item", ALL_GRAPHS, ids=name_of)
def test_graphs_read_as_they_were_written(item):
    graph = gz.Graph(golden.DIRECTORY / item.name)
    nodes = range(graph.num_nodes)
    assert [graph.get_neighbours(i).tolist() for i in nodes] == item.neighbours
    assert [graph.get_degree(i) for i in nodes] == [len(row) for row in item.neighbours]
    assert graph.num_edges == sum(map(len, item.neighbours))
    assert graph.is_symmetric == item.symmetric
    assert graph.has_weights == (item.weights is not None)
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


def compile_graph(path, src, dst, weights=None, **options):
    defaults = {
        "undirected": False,
        "symmetric_source": False,
        "out": True,
        "in_": True,
        "dedup": False,
        "edge_ids": True,
        "num_nodes": None,
    }
    _engine.compile_edges_arrays(
        "edges",
        np.asarray(src),
        np.asarray(dst),
        None if weights is None else np.asarray(weights, np.float32),
        str(path),
        options=_engine.TopologyOptions.make(**{**defaults, **options}),
        resources=_engine.Resources.make(memory=64 << 20, threads=2, temp_dir=str(path.parent)),
    )
    return path.read_bytes()


def test_the_engine_writes_the_kept_directed_graph(tmp_path):
    edges = golden.DIRECTED_EDGES
    made = compile_graph(tmp_path / "g.gl", edges.src, edges.dst, edges.weights)
    assert made == (golden.DIRECTORY / "directed.gl").read_bytes()


def test_the_engine_writes_the_kept_symmetric_graph(tmp_path):
    made = compile_graph(tmp_path / "g.gl", *golden.UNDIRECTED_INPUT, undirected=True)
    assert made == (golden.DIRECTORY / "symmetric.gl").read_bytes()
