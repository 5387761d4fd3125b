"""Graphs of PyG, DGL, scipy and networkx."""

from __future__ import annotations

from pathlib import Path

import graphzero as gz
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from contents import column
from dgl_interpreter import run_with_dgl
from graphzero import InputError
from input_graphs import SmallGraph
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
    with pytest.warns(UserWarning, match=r"data.name: left out, found 'cora'.*; data.n_id: left"):
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


def test_objects_without_edges_to_take_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="HeteroData: found no relation, expected one at least"):
        gz.import_pyg(HeteroData(), tmp_path / "ds")
    with pytest.raises(InputError, match="expected a PyG Data with edge_index"):
        gz.import_pyg(5, tmp_path / "ds")
    with pytest.raises(InputError, match=r"expected a PyG Data with edge_index, or with num_nodes"):
        gz.import_pyg(Data(), tmp_path / "ds")
    with pytest.raises(InputError, match=r"data.adj_t: found edges as a sparse matrix"):
        gz.import_pyg(Data(x=torch.zeros(3, 2), adj_t=torch.eye(3).to_sparse()), tmp_path / "ds")


def test_a_pyg_graph_without_edges(tmp_path: Path) -> None:
    for number, data in enumerate((Data(x=torch.ones(3, 2)), Data(num_nodes=3))):
        gz.import_pyg(data, tmp_path / str(number))
        graph = gz.Graph(tmp_path / str(number), verify=True)
        assert (graph.num_nodes, graph.num_edges) == (3, 0)
    assert column(tmp_path / "0", "x").shape == (3, 2)


def test_odd_tensors_of_a_pyg_graph(tmp_path: Path) -> None:
    """Each is taken, or left out by name."""
    index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    data = Data(
        edge_index=index,
        num_nodes=3,
        grad=torch.ones(3, 2, requires_grad=True),
        array=np.arange(3),
        sparse=torch.eye(3).to_sparse(),
        cube=torch.arange(12).reshape(3, 2, 2),
        wide=torch.ones(3, dtype=torch.uint16),
        complex=torch.ones(3, dtype=torch.complex64),
        none=torch.ones(3, 0),
        scale=torch.tensor(2.0),
        other=torch.ones(7),
        train=torch.ones(3),
        train_mask=torch.ones(3, dtype=torch.bool),
    )
    with pytest.warns(UserWarning, match="import_pyg") as told:
        report = gz.import_pyg(data, tmp_path / "ds")
    assert sorted(report.columns) == ["array", "cube", "grad", "train", "train_mask"]
    assert column(tmp_path / "ds", "cube").tolist() == data.cube.tolist()
    left_out = {"sparse", "wide", "complex", "none", "scale", "other", "train_mask"}
    assert {note.split(":")[0].removeprefix("data.") for note in report.notes} == left_out
    (warning,) = [w for w in told if "import_pyg" in str(w.message)]
    assert all(f"data.{name}: " in str(warning.message) for name in left_out)
    assert Path(warning.filename) == Path(__file__)  # the line of the caller
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
    for name in ("ds", "ds-typed"):
        same = tmp_path / f"{name}-csc/graph.gl"
        assert same.read_bytes() == (tmp_path / name / "graph.gl").read_bytes()


TRIANGLE = torch.tensor([[0, 1, 2], [1, 2, 0]])


@pytest.mark.parametrize(
    ("weights", "drawn"),
    [
        (torch.tensor([0.5, 0, 2]), True),
        (torch.tensor([16777217, 1, 2]), True),
        (torch.tensor([0.1, 1, 2], dtype=torch.float64), True),
        (torch.tensor([0.1, 1, 2], dtype=torch.bfloat16), True),
        (torch.tensor([True, False, True]), True),
        (torch.tensor([-1.0, 1, 2]), False),
        (torch.tensor([1, float("nan"), 2]), False),
        (torch.tensor([1, 2, 1e300], dtype=torch.float64), False),
        (torch.ones(3, 1), False),
    ],
    ids=str,
)
def test_weights_of_a_pyg_graph_come_back_as_they_were(
    tmp_path: Path, weights: torch.Tensor, drawn: bool, recwarn: pytest.WarningsRecorder
) -> None:
    gz.import_pyg(Data(edge_index=TRIANGLE, edge_weight=weights, num_nodes=3), tmp_path / "ds")
    told = [str(w.message) for w in recwarn if "data.edge_weight: a column, but" in str(w.message)]
    assert bool(told) == (not drawn)
    graph = gz.Graph(tmp_path / "ds", verify=True)
    assert graph.has_weights == drawn
    if drawn:
        assert graph.get_weights(0).tolist() == [float(weights[0].float())]
    is_exact = drawn and weights.dtype == torch.float32
    assert (tmp_path / "ds/edge_weight.gd").exists() != is_exact
    if not is_exact:
        stored = torch.as_tensor(column(tmp_path / "ds", "edge_weight"))
        assert stored.dtype == weights.dtype
        assert torch.allclose(stored, weights, rtol=0, atol=0, equal_nan=True)


def test_weights_of_another_name(tmp_path: Path) -> None:
    data = Data(edge_index=TRIANGLE, distance=torch.tensor([1.0, 2, 3]), num_nodes=3)
    gz.import_pyg(data, tmp_path / "ds", weight_attr="distance")
    graph = gz.Graph(tmp_path / "ds", verify=True)
    assert graph.get_weights(2).tolist() == [3.0]
    assert graph._file.topology.weight_name == "distance"
    assert column(tmp_path / "ds", "distance").tolist() == [1, 2, 3]
    # The name goes with the graph, also through an export and through another conversion.
    for kind in ("npy", "parquet"):
        gz.export_dataset(tmp_path / "ds", tmp_path / kind, format=kind)
        gz.import_folder(tmp_path / kind, tmp_path / f"{kind}-again")
        assert gz.Graph(tmp_path / f"{kind}-again")._file.topology.weight_name == "distance"
    gz.import_files(tmp_path / "ds/graph.gl", tmp_path / "again")
    assert gz.Graph(tmp_path / "again")._file.topology.weight_name == "distance"
    gz.import_pyg(data, tmp_path / "none", weight_attr=None)
    assert not gz.Graph(tmp_path / "none").has_weights
    with pytest.raises(InputError, match=r"weight_attr: found no data.cost, expected one of"):
        gz.import_pyg(data, tmp_path / "other", weight_attr="cost")
    data.distance[1] = -1
    with pytest.raises(InputError, match=r"data.distance: found -1.0 for edge 1, expected finite"):
        gz.import_pyg(data, tmp_path / "other", weight_attr="distance")
