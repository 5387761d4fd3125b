"""`gz.Graph`: reading a topology in this process."""

import inspect
import os
import pickle
import subprocess
import sys

import golden
import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw

DIRECTED = golden.DIRECTORY / "directed.gl"
EDGES = rw.Edges(src=[0, 0, 2], dst=[1, 2, 0])


@pytest.fixture
def in_only(tmp_path):
    return rw.topology(3, EDGES, directions=["in"]).write(tmp_path / "in.gl")


@pytest.fixture
def out_only(tmp_path):
    return rw.topology(3, EDGES, directions=["out"]).write(tmp_path / "out.gl")


def test_names_and_parameters_are_those_of_graphzero_0_2():
    known = {
        "get_degree": ["node_id"],
        "get_neighbours": ["node_id"],
        "get_weights": ["node_id"],
        "batch_random_fanout": ["start_nodes", "K"],
        "batch_random_walk": ["start_nodes", "walk_length", "p", "q"],
        "batch_random_walk_uniform": ["start_nodes", "walk_length"],
        "sample_neighbours": ["start_node", "K"],
    }
    for name, expected in known.items():
        assert positional_parameters(getattr(gz.Graph, name)) == expected
    assert positional_parameters(gz.Graph.__init__) == ["filename"]
    for name in ("num_nodes", "num_edges", "has_weights"):
        assert isinstance(getattr(gz.Graph, name), property)


def positional_parameters(function):
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


def test_a_path_may_be_text_or_path_or_dataset_directory(tmp_path):
    rw.topology(3, EDGES).write(tmp_path / "graph.gl")
    for path in (tmp_path, str(tmp_path), tmp_path / "graph.gl", str(tmp_path / "graph.gl")):
        assert gz.Graph(path).num_edges == 3


def test_a_directory_without_a_graph_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"graph\.gl"):
        gz.Graph(tmp_path)


@pytest.mark.parametrize("node", [-1, 4, 2**63, -(2**70)])
@pytest.mark.parametrize("method", ["get_degree", "get_neighbours", "get_weights", "get_edge_ids"])
def test_a_node_outside_the_graph_is_an_index_error_that_shows_it(method, node):
    with pytest.raises(IndexError, match=f"found {node}, expected 0 to 3"):
        getattr(gz.Graph(DIRECTED), method)(node)


def test_a_node_may_be_any_kind_of_integer():
    torch = pytest.importorskip("torch")
    graph = gz.Graph(DIRECTED)
    for node in (2, np.int32(2), np.uint64(2), torch.tensor(2)):
        assert graph.get_neighbours(node).tolist() == [1]
    with pytest.raises(TypeError):
        graph.get_neighbours(2.0)


def test_neighbours_are_views_of_one_memory_that_never_reaches_the_file(tmp_path):
    path = tmp_path / "g.gl"
    path.write_bytes(DIRECTED.read_bytes())
    graph = gz.Graph(path)
    view = graph.get_neighbours(0)
    view[0] = 2
    assert graph.get_neighbours(0)[0] == 2
    weights = graph.get_weights(0)
    weights *= 2
    assert path.read_bytes() == DIRECTED.read_bytes()
    assert gz.Graph(path).get_neighbours(0)[0] == 1


def test_torch_takes_neighbours_without_a_warning(recwarn):
    torch = pytest.importorskip("torch")
    neighbours = torch.from_numpy(gz.Graph(DIRECTED).get_neighbours(0))
    assert neighbours.tolist() == [1, 1, 3]
    assert torch.zeros(4)[neighbours].shape == (3,)
    assert not recwarn.list


def test_weights_of_an_unweighted_graph_are_a_value_error(out_only):
    with pytest.raises(ValueError, match="no edge weights"):
        gz.Graph(out_only).get_weights(0)


def test_edge_ids_that_are_not_stored_are_an_error_that_names_the_flag(out_only):
    with pytest.raises(ValueError, match="--edge-ids"):
        gz.Graph(out_only).get_edge_ids(0)


def test_a_direction_that_is_not_stored_is_an_error_that_names_the_flag(in_only, out_only):
    with pytest.raises(ValueError, match="--direction both"):
        gz.Graph(in_only).get_neighbours(0)
    with pytest.raises(ValueError, match="--direction both"):
        gz.Graph(out_only).get_degree(0, direction="in")
    with pytest.raises(ValueError, match="sideways"):
        gz.Graph(out_only).get_degree(0, direction="sideways")


def test_symmetric_says_that_one_direction_serves_both(in_only):
    graph = gz.Graph(in_only, symmetric=True)
    assert graph.is_symmetric
    assert graph.get_neighbours(1).tolist() == [0]


def test_a_pickled_graph_opens_the_same_file_again(tmp_path, monkeypatch):
    rw.topology(3, EDGES, directions=["in"]).write(tmp_path / "g.gl")
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(gz.Graph("g.gl", symmetric=True))
    monkeypatch.chdir("/")
    copy = pickle.loads(pickled)
    assert copy.is_symmetric
    assert copy.get_neighbours(2).tolist() == [0]


def test_fingerprints_tell_content_apart(tmp_path):
    first = gz.Graph(rw.topology(3, EDGES).write(tmp_path / "a.gl")).fingerprint
    again = gz.Graph(rw.topology(3, EDGES).write(tmp_path / "b.gl")).fingerprint
    other = rw.Edges(src=[0, 0, 2], dst=[1, 2, 1])
    assert first == again
    assert first != gz.Graph(rw.topology(3, other).write(tmp_path / "c.gl")).fingerprint
    assert gz.Graph(golden.DIRECTORY / "graphzero02.gl").fingerprint == ""


def test_a_matrix_is_refused_by_name():
    with pytest.raises(gz.FormatError, match=r"a matrix \(\.gd\), expected a topology"):
        gz.Graph(golden.DIRECTORY / "float32.gd")


def test_a_missing_file_and_a_foreign_file_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError):
        gz.Graph(tmp_path / "absent.gl")
    foreign = tmp_path / "foreign.gl"
    foreign.write_bytes(b"PK\x03\x04" + bytes(1000))
    with pytest.raises(gz.FormatError, match="unknown kind of file"):
        gz.Graph(foreign)


def test_verify_raises_at_damage_that_opening_does_not_see(tmp_path):
    damaged = bytearray(DIRECTED.read_bytes())
    damaged[8192] ^= 1  # the first neighbour: still a node
    path = tmp_path / "g.gl"
    path.write_bytes(damaged)
    gz.Graph(path)
    with pytest.raises(gz.FormatError, match=r"out\.indices block 0"):
        gz.Graph(path, verify=True)
    assert gz.Graph(DIRECTED, verify=True).num_nodes == 4


def test_a_neighbour_that_is_no_node_is_a_format_error(tmp_path):
    damaged = bytearray(DIRECTED.read_bytes())
    damaged[8192 + 3] = 0xFF
    path = tmp_path / "g.gl"
    path.write_bytes(damaged)
    with pytest.raises(gz.FormatError, match=r"out\.indices slot 0"):
        gz.Graph(path).get_neighbours(0)


def test_repr_says_what_it_is():
    assert repr(gz.Graph(DIRECTED)) == f"Graph({os.fspath(DIRECTED)!r}: 4 nodes, 5 edges, weighted)"


def test_opening_does_not_import_torch():
    code = "import sys, graphzero; graphzero.Graph(sys.argv[1]); print('torch' in sys.modules)"
    command = [sys.executable, "-c", code, str(DIRECTED)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
