"""HeteroData of PyG, and graphs with times: what becomes of their tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from contents import column
from graphzero import InputError, _engine
from typed_contents import TypedContents

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.transforms import ToUndirected  # noqa: E402

RATES = ("user", "rates", "movie")
FOLLOWS = ("user", "follows", "user")
REVERSE = ("movie", "rev_rates", "user")


def hetero_data() -> HeteroData:
    data = HeteroData()
    data["user"].x = torch.arange(8.0).reshape(4, 2)
    data["user"].y = torch.tensor([0, 1, 0, 1])
    data["user"].train_mask = torch.tensor([True, False, True, False])
    data["user"].time = torch.tensor([5, 6, 7, 8])
    data["movie"].num_nodes = 3
    data[RATES].edge_index = torch.tensor([[0, 0, 3, 2], [2, 1, 0, 2]])
    data[RATES].edge_attr = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    data[RATES].edge_weight = torch.tensor([1.0, 0.5, 2.0, 4.0])
    data[RATES].edge_time = torch.tensor([30, 10, 20, 40])
    data[FOLLOWS].edge_index = torch.tensor([[0, 1], [1, 2]])
    return data


def test_hetero_data_becomes_types_relations_and_columns(tmp_path: Path) -> None:
    report = gz.import_pyg(hetero_data(), tmp_path / "ds")
    found = TypedContents(tmp_path / "ds")
    assert found.counts == {"user": 4, "movie": 3}
    assert found.triples == [RATES, FOLLOWS]
    # e_id of a batch is the column of edge_index.
    assert sorted(found.edges(RATES)) == [
        (0, 1, None, 0.5, 1),
        (0, 2, None, 1.0, 0),
        (2, 2, None, 4.0, 3),
        (3, 0, None, 2.0, 2),
    ]
    assert found.pairs(FOLLOWS) == [(0, 1), (1, 2)]
    assert not found.relation(FOLLOWS).symmetric
    assert found.column("user", "x").tolist() == hetero_data()["user"].x.tolist()
    assert found.column("user", "train").tolist() == [0, 2]
    assert found.column("user", "train_mask").tolist() == [True, False, True, False]
    assert found.column("user", "time").tolist() == [5, 6, 7, 8]
    attributes = found.column("user.rates.movie", "edge_attr")
    assert attributes.tolist() == hetero_data()[RATES].edge_attr.tolist()
    assert found.times("user") == []  # nobody said that it is the time
    assert isinstance(report, gz.TypedConversionReport)
    assert report.relations[RATES].num_edges == 4
    assert report.notes == ()


def test_an_attribute_can_be_the_time_of_nodes_and_edges(tmp_path: Path) -> None:
    gz.import_pyg(hetero_data(), tmp_path / "ds", time="time", weight_attr=None)
    found = TypedContents(tmp_path / "ds")
    assert found.times("user") == [5, 6, 7, 8]
    assert found.times("movie") == []
    assert [(edge.id, edge.time) for edge in sorted(found.edges(RATES))] == [
        (1, 10),
        (0, 30),
        (3, 40),
        (2, 20),
    ]
    assert not found.relation(RATES).has_weights
    # All of them stay columns, so that batches have them.
    assert found.column("user.rates.movie", "edge_time").tolist() == [30, 10, 20, 40]
    assert found.column("user.rates.movie", "edge_weight").tolist() == [1, 0.5, 2, 4]
    assert found.graph.slot_times(2, "in", 0).tolist() == [30, 40]


def test_reverses_that_pyg_added_are_declared_inverse(tmp_path: Path) -> None:
    gz.import_pyg(ToUndirected()(hetero_data()), tmp_path / "ds")
    found = TypedContents(tmp_path / "ds")
    number = found.triples.index(RATES)
    assert found.triples[found.relation(RATES).inverse] == REVERSE
    assert found.relation(REVERSE).inverse == number
    assert found.pairs(REVERSE) == sorted((b, a) for a, b in found.pairs(RATES))
    changed = ToUndirected()(hetero_data())
    changed[REVERSE].edge_index[0] = changed[REVERSE].edge_index[0].roll(1)
    with pytest.warns(UserWarning, match="is not its inverse: found other edges"):
        gz.import_pyg(changed, tmp_path / "other")
    assert TypedContents(tmp_path / "other").relation(RATES).inverse is None


def test_counts_that_nothing_says_come_from_the_edges(tmp_path: Path) -> None:
    data = HeteroData()
    data["a"].x = torch.zeros(2, 1)
    data["a", "to", "b"].edge_index = torch.tensor([[0, 1], [4, 2]])
    gz.import_pyg(data, tmp_path / "ds")
    assert TypedContents(tmp_path / "ds").counts == {"a": 2, "b": 5}


def test_what_cannot_be_kept_is_told_by_name(tmp_path: Path) -> None:
    data = hetero_data()
    data["user"].n_id = torch.arange(4)
    data["user"].name = "people"
    data["movie"].wide = torch.zeros(5)
    data[RATES].sparse = torch.eye(4).to_sparse()
    data.origin = "here"
    with pytest.warns(UserWarning, match=r"import_pyg\(\): ") as caught:
        report = gz.import_pyg(data, tmp_path / "ds")
    text = str(caught[0].message)
    for part in (
        "data['user'].n_id: left out, every batch has a field of that name",
        "data['user'].name: left out, found 'people', expected 4 rows for the nodes",
        "data['movie'].wide: left out, found shape (5,), expected 3 rows for the nodes",
        "data[('user', 'rates', 'movie')].sparse: left out, found a tensor of layout",
        "data.origin: left out, it is of the whole graph",
    ):
        assert part in text
    assert len(report.notes) == 5


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            lambda data: setattr(data["user"], "time", torch.tensor([0.5, 1, 2, 3])),
            {"time": "time"},
            r"data\['user'\]\.time\[0\]: found 0\.5, expected an integer as time",
        ),
        (
            lambda data: setattr(data["user"], "time", torch.zeros(4, 2)),
            {"time": "time"},
            r"data\['user'\]\.time: found float32 of shape \(4, 2\), expected an integer for each",
        ),
        (
            lambda data: setattr(data["user"], "time", torch.full((4,), -(2**63))),
            {"time": "time"},
            r"data\['user'\]\.time\[0\]: found -9223372036854775808, expected an integer as time",
        ),
        (lambda data: None, {"time": "when"}, "time: found no type or relation of HeteroData"),
        (lambda data: None, {"weight_attr": "w"}, "weight_attr: found no relation of HeteroData"),
        (
            lambda data: setattr(data[RATES], "w", torch.tensor([1.0, -1, 1, 1])),
            {"weight_attr": "w"},
            r"data\[\('user', 'rates', 'movie'\)\]\.w: found -1\.0 for edge 1, expected finite",
        ),
        (
            lambda data: setattr(data[RATES], "edge_index", torch.zeros(3, 4)),
            {},
            r"edge_index: found float32 of shape \(3, 4\), expected integers of shape \(2, E\)",
        ),
        (
            lambda data: setattr(data[RATES], "edge_index", torch.tensor([[0], [3]])),
            {},
            r"edge_index row 0: found target 3, expected an id below 3, the number of nodes of",
        ),
        (
            lambda data: delattr(data[RATES], "edge_index"),
            {},
            r"data\[\('user', 'rates', 'movie'\)\]: found no edges expected edge_index",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(
    tmp_path: Path, change: Any, options: dict[str, Any], message: str
) -> None:
    data = hetero_data()
    change(data)
    with pytest.raises(InputError, match=message):
        gz.import_pyg(data, tmp_path / "ds", **options)
    assert not (tmp_path / "ds").exists()


def test_direction_is_not_for_types(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="direction is for graphs of one type"):
        gz.import_pyg(hetero_data(), tmp_path / "ds", direction="in")


# --- Without types ---


def test_times_of_a_graph_without_types(tmp_path: Path) -> None:
    data = Data(
        x=torch.zeros(3, 2),
        edge_index=torch.tensor([[0, 1, 2, 0], [1, 2, 1, 1]]),
        time=torch.tensor([1, 2, 3]),
        edge_time=torch.tensor([40, 30, 20, 10]),
    )
    gz.import_pyg(data, tmp_path / "ds", time="time")
    graph = _engine.Topology.open(str(tmp_path / "ds/graph.gl"))
    assert not graph.typed
    assert graph.node_times().tolist() == [1, 2, 3]
    # In-edges of node 1, in the order of time.
    assert graph.times(1, "in").tolist() == [10, 20, 40]
    assert graph.neighbours(1, "in").tolist() == [0, 2, 0]
    assert column(tmp_path / "ds", "time").tolist() == [1, 2, 3]
    assert column(tmp_path / "ds", "edge_time").tolist() == [40, 30, 20, 10]


def test_without_its_name_an_attribute_is_no_time(tmp_path: Path) -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), time=torch.tensor([1, 2]))
    gz.import_pyg(data, tmp_path / "ds")
    plain = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    gz.import_pyg(plain, tmp_path / "plain")
    assert (tmp_path / "ds/graph.gl").read_bytes() == (tmp_path / "plain/graph.gl").read_bytes()
    with pytest.raises(InputError, match=r"time: found no data\.when with a time for each node"):
        gz.import_pyg(plain, tmp_path / "other", time="when")


def test_times_of_any_integer_type_are_taken(tmp_path: Path) -> None:
    for number, dtype in enumerate((torch.int32, torch.uint8, torch.float64)):
        data = hetero_data()
        data["user"].time = torch.tensor([5, 6, 7, 8], dtype=dtype)
        gz.import_pyg(data, tmp_path / str(number), time="time")
        found = TypedContents(tmp_path / str(number))
        assert found.times("user") == [5, 6, 7, 8]
        assert found.column("user", "time").dtype == np.dtype(str(dtype).removeprefix("torch."))
