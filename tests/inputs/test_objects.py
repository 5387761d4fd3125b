"""Graphs of PyG, DGL, scipy and networkx."""

from __future__ import annotations

from pathlib import Path

import graphzero as gz
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from dgl_interpreter import run_with_dgl
from graphzero import InputError
from input_graphs import SmallGraph, column
from torch_geometric.data import Data, HeteroData, InMemoryDataset

IMPORT_DGL = Path(__file__).with_name("import_dgl_graph.py")


def pyg_data(small: SmallGraph) -> Data:
    mask = torch.zeros(small.num_nodes, dtype=torch.bool)
    mask[::7] = True
    return Data(
        x=torch.from_numpy(small.x),
        y=torch.from_numpy(small.y),
        edge_index=torch.from_numpy(np.stack([small.src, small.dst])),
        edge_attr=torch.from_numpy(np.stack([small.weight] * 3, 1)).bfloat16(),
        edge_weight=torch.from_numpy(small.weight),
        train_mask=mask,
        name="cora",
        n_id=torch.arange(small.num_nodes),
    )


def test_pyg_data(tmp_path: Path, small: SmallGraph) -> None:
    data = pyg_data(small)
    report = gz.import_pyg(data, tmp_path / "ds")
    expected = small.write(tmp_path / "expected", weighted=True, edge_ids=True)
    assert (tmp_path / "ds/graph.gl").read_bytes() == expected.read_bytes()
    np.testing.assert_array_equal(column(tmp_path / "ds", "x"), small.x)
    assert column(tmp_path / "ds", "y").tolist() == small.y.tolist()
    assert torch.equal(column(tmp_path / "ds", "edge_attr"), data.edge_attr)
    assert gz.FeatureStore(tmp_path / "ds/edge_attr.gd").role == "edge"
    assert column(tmp_path / "ds", "train").tolist() == list(range(0, small.num_nodes, 7))
    assert torch.equal(torch.from_numpy(column(tmp_path / "ds", "train_mask")), data.train_mask)
    assert {note.split(":")[0] for note in report.notes} == {"data.name", "data.n_id"}


def test_a_pyg_dataset_of_one_graph(tmp_path: Path, small: SmallGraph) -> None:
    class OneGraph(InMemoryDataset):
        def __init__(self) -> None:
            super().__init__()
            self.data, self.slices = self.collate([pyg_data(small)])

    gz.import_pyg(OneGraph(), tmp_path / "ds", dtype="float16")
    np.testing.assert_array_equal(column(tmp_path / "ds", "x"), small.x.astype(np.float16))


def test_a_pyg_graph_of_several_types_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="HeteroData: found several node types, expected one"):
        gz.import_pyg(HeteroData(), tmp_path / "ds")
    with pytest.raises(InputError, match="expected a PyG Data with edge_index"):
        gz.import_pyg(Data(x=torch.zeros(3, 2)), tmp_path / "ds")


def test_odd_tensors_of_a_pyg_graph(tmp_path: Path) -> None:
    """Each is taken, or left out by name."""
    index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    data = Data(
        edge_index=index,
        num_nodes=3,
        grad=torch.ones(3, 2, requires_grad=True),
        array=np.arange(3),
        sparse=torch.eye(3).to_sparse(),
        cube=torch.ones(3, 2, 2),
        wide=torch.ones(3, dtype=torch.uint16),
        none=torch.ones(3, 0),
        train=torch.ones(3),
        train_mask=torch.ones(3, dtype=torch.bool),
    )
    report = gz.import_pyg(data, tmp_path / "ds")
    assert sorted(report.columns) == ["array", "grad", "train", "train_mask"]
    assert {note.split(":")[0].removeprefix("data.") for note in report.notes} == {
        "sparse", "cube", "wide", "none", "train_mask",
    }  # fmt: skip
    for edges in (index.float(), torch.zeros(3, 4, dtype=torch.long)):
        with pytest.raises(InputError, match=r"data\.edge_index: found .* expected integers of"):
            gz.import_pyg(Data(edge_index=edges, num_nodes=3), tmp_path / "other")
    with pytest.raises(ValueError, match="dtype: found 'float12', expected one of float32"):
        gz.import_pyg(data, tmp_path / "other", dtype="float12")


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "dok"])
def test_a_scipy_matrix(tmp_path: Path, layout: str) -> None:
    matrix = sp.random(40, 40, 0.1, layout, dtype=np.float32, random_state=0)
    gz.import_scipy(matrix, tmp_path / "ds", columns={"x": np.arange(40.0)})
    graph = gz.Graph(tmp_path / "ds", verify=True)
    rows = matrix.tocsr().sorted_indices()
    for node in range(40):
        assert graph.get_neighbours(node).tolist() == rows[[node]].indices.tolist()
        np.testing.assert_array_equal(graph.get_weights(node), rows[[node]].data)
    assert column(tmp_path / "ds", "x").tolist() == list(range(40))


def test_ones_of_a_scipy_matrix_are_no_weights(tmp_path: Path) -> None:
    gz.import_scipy(sp.eye(5), tmp_path / "ones")
    gz.import_scipy(sp.eye(5), tmp_path / "weights", weights=True)
    assert not gz.Graph(tmp_path / "ones").has_weights
    assert gz.Graph(tmp_path / "weights").has_weights


def test_a_scipy_matrix_must_be_square(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found shape \(2, 3\), expected a square one"):
        gz.import_scipy(sp.csr_matrix((2, 3)), tmp_path / "ds")


def test_a_networkx_graph_with_names(tmp_path: Path) -> None:
    """The club's members get names; one of them has no friends."""
    club = nx.karate_club_graph()
    names = {node: f"member {node * 7 % 34:02}" for node in club}
    graph = nx.relabel_nodes(club, names)
    graph.add_node("zoë", club="none")
    for node in graph:
        graph.nodes[node]["size"] = float(len(node))
    gz.import_networkx(graph, tmp_path / "ds", columns=["size"], weight="weight")
    ours = gz.Graph(tmp_path / "ds", verify=True)
    order = sorted(graph)
    assert ours.is_symmetric
    assert ours.num_nodes == len(order)
    for number, name in enumerate(order):
        found = {order[neighbour] for neighbour in ours.get_neighbours(number)}
        assert found == set(graph[name])
        assert column(tmp_path / "ds", "size")[number] == len(name)
    weights = dict(zip(ours.get_neighbours(3).tolist(), ours.get_weights(3).tolist(), strict=True))
    assert weights == {order.index(b): d["weight"] for b, d in graph[order[3]].items()}


def test_a_networkx_graph_with_integers(tmp_path: Path) -> None:
    graph = nx.DiGraph([(10, -5), (-5, 3_000_000_000)])
    gz.import_networkx(graph, tmp_path / "ds")
    assert column(tmp_path / "ds", "original_id").tolist() == [-5, 10, 3_000_000_000]
    assert gz.Graph(tmp_path / "ds").get_neighbours(0).tolist() == [2]
    gz.import_networkx(nx.path_graph(4), tmp_path / "dense")
    assert not (tmp_path / "dense/original_id.gd").exists()


def test_other_networkx_nodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found nodes of type int, str, expected int or str"):
        gz.import_networkx(nx.Graph([(1, "a")]), tmp_path / "ds")
    with pytest.raises(InputError, match="found nodes of type tuple"):
        gz.import_networkx(nx.grid_2d_graph(2, 2), tmp_path / "ds")


def test_a_dgl_graph(tmp_path: Path, small: SmallGraph) -> None:
    np.savez(tmp_path / "graph.npz", **vars(small))
    run_with_dgl(IMPORT_DGL, tmp_path / "graph.npz", tmp_path / "ds", folder=tmp_path)
    expected = small.write(tmp_path / "expected", weighted=True, edge_ids=True)
    assert (tmp_path / "ds/graph.gl").read_bytes() == expected.read_bytes()
    np.testing.assert_array_equal(column(tmp_path / "ds", "x"), small.x)
    assert column(tmp_path / "ds", "y").tolist() == small.y.tolist()
    assert column(tmp_path / "ds", "t").tolist() == list(range(len(small.src)))
    assert column(tmp_path / "ds", "train").tolist() == list(range(0, small.num_nodes, 2))


def test_weights_are_a_number_for_each_edge(tmp_path: Path) -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="needs the extra [pyg]")
    import torch

    data = pyg.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.ones(2, 1))
    with pytest.raises(gz.InputError, match=r"weights of shape \(2, 1\), expected \(2,\)"):
        gz.import_pyg(data, tmp_path / "ds")
