"""graphzero's loaders where PyG's code and PyG's scripts expect PyG's own."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import (
    FeatureStore,
    GraphStore,
    GraphZeroSampler,
    LinkNeighborLoader,
    NeighborLoader,
    ServedData,
)
from torch.utils.data import DataLoader
from torch_geometric import loader as pyg_loader
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv
from torch_geometric.nn.models import GraphSAGE
from torch_geometric.sampler import NeighborSampler, NodeSamplerInput
from torch_geometric.transforms import RandomLinkSplit

NUM_NODES = 2_000
LINKS = torch.tensor([[5, 17, 3, 1999, 8, 40], [40, 8, 1999, 3, 17, 5]])


def test_the_loaders_and_the_sampler_are_pyg_s(client: gz.Client) -> None:
    assert isinstance(NeighborLoader(client, [2]), pyg_loader.NeighborLoader)
    assert isinstance(LinkNeighborLoader(client, [2], LINKS), pyg_loader.LinkNeighborLoader)
    assert isinstance(GraphZeroSampler(client, [2]), NeighborSampler)


@pytest.mark.parametrize("cache", [False, True])
def test_pyg_s_inference_gives_the_outputs_of_the_full_graph(
    client: gz.Client, whole: Data, cache: bool
) -> None:
    model = GraphSAGE(16, hidden_channels=8, num_layers=2, out_channels=5).eval()
    loader = NeighborLoader(client, num_neighbors=[-1], batch_size=300)
    with torch.no_grad():
        expected = model(whole.x, whole.edge_index)
        assert torch.allclose(model.inference(loader, cache=cache), expected, atol=1e-4)


def test_inference_as_pyg_s_examples_write_it(client: gz.Client, whole: Data) -> None:
    """The lines of PyG's GraphSAGE example, but for the data."""
    data = ServedData(client)
    subgraph_loader = NeighborLoader(
        copy.copy(data), input_nodes=None, num_neighbors=[-1], shuffle=False, batch_size=512
    )
    # No need to maintain these features during evaluation:
    del subgraph_loader.data.x, subgraph_loader.data.y
    # Add global node index information.
    subgraph_loader.data.num_nodes = data.num_nodes
    subgraph_loader.data.n_id = torch.arange(data.num_nodes)
    convs = [SAGEConv(16, 8), SAGEConv(8, 5)]

    with torch.no_grad():
        x_all = data.x
        for conv in convs:
            xs = []
            for batch in subgraph_loader:
                assert "x" not in batch
                assert "y" not in batch
                x = conv(x_all[batch.n_id], batch.edge_index)
                xs.append(x[: batch.batch_size])
            x_all = torch.cat(xs)
        expected = whole.x
        for conv in convs:
            expected = conv(expected, whole.edge_index)
    assert torch.allclose(x_all, expected, atol=1e-4)
    assert torch.equal(data.x, whole.x)  # the other object still has its fields


def test_what_scripts_do_to_the_data_of_a_loader_shows_in_its_batches(
    client: gz.Client, whole: Data
) -> None:
    loader = NeighborLoader(client, [4, 2], batch_size=64)
    data = loader.data
    data.node_id = torch.arange(NUM_NODES)  # of nodes
    data.edge_number = torch.arange(len(whole.when))  # of edges
    data.name = "small"  # of the graph
    data.temperature = torch.tensor([0.5, 2.0])
    data.y = whole.y + 100  # instead of the column
    data.x.mul_(2)  # in place
    del data.when
    data.edge_weight = None
    batch = next(iter(loader))
    assert torch.equal(batch.node_id, batch.n_id)
    assert torch.equal(batch.edge_number, batch.e_id)
    assert batch.name == "small"
    assert batch.temperature.tolist() == [0.5, 2.0]
    assert torch.equal(batch.y, whole.y[batch.n_id] + 100)
    assert torch.equal(batch.x, 2 * whole.x[batch.n_id])
    assert "when" not in batch
    assert "edge_weight" not in batch
    # The dataset is as it was, and so is what another loader gives.
    other = next(iter(NeighborLoader(client, [1], batch_size=64)))
    assert torch.equal(other.x, whole.x[other.n_id])
    assert torch.equal(other.when, whole.when[other.e_id])


def test_rows_of_edges_are_those_of_their_direction_where_two_share_an_id(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    # As many edges both ways, without the repeated ones, as rows of the input.
    edges = "".join(f"{a},{b},{a * 10 + b}\n" for a, b in [(0, 1), (1, 0), (2, 1), (1, 2)])
    (tmp_path / "edges.csv").write_text("a,b,both\n" + edges)
    gz.import_files(
        tmp_path / "edges.csv",
        tmp_path / "data",
        source="a",
        target="b",
        undirected=True,
        dedup=True,
        edge_columns={"both": ["both"]},
    )
    with gz.connect(start_daemon(tmp_path / "data").address) as client:
        data = ServedData(client)
        source, target = data.edge_index
        data.direction = source * 100 + target
        data.both = data.both + 1000
        for given in (data, data.clone()):
            batch = next(iter(NeighborLoader(given, [-1], input_nodes=[1, 2, 0], batch_size=3)))
            ends = batch.n_id[batch.edge_index]
            assert batch.num_edges == data.num_edges
            assert torch.equal(batch.direction, ends[0] * 100 + ends[1])
            assert batch.both.tolist() == [1021 if 2 in pair else 1001 for pair in ends.T.tolist()]


def test_rows_of_edges_need_edge_ids(tmp_path: Path, start_daemon: Callable[..., Any]) -> None:
    gz.write_graph(tmp_path / "graph.gl", [0, 2, 1, 0], [1, 0, 2, 2], num_nodes=3)
    with gz.connect(start_daemon(tmp_path).address) as client:
        data = ServedData(client)
        data.when = torch.arange(4)
        with pytest.raises(NotImplementedError, match=r"data\.when .* --edge-ids"):
            next(iter(NeighborLoader(data, [-1])))


def test_copies_of_weights_need_no_edge_ids(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    gz.write_graph(tmp_path / "graph.gl", [0, 2, 1], [1, 0, 2], weights=[0.5, 2.5, 1.5])
    with gz.connect(start_daemon(tmp_path).address) as client:
        for data in (ServedData(client).clone(), ServedData(client).to("cpu")):
            batch = next(iter(NeighborLoader(data, [-1], batch_size=3)))
            assert batch.edge_weight.sort().values.tolist() == [0.5, 1.5, 2.5]
        data = ServedData(client)
        data.edge_weight.mul_(2)
        with pytest.raises(NotImplementedError, match="edge_weight"):
            next(iter(NeighborLoader(data.clone(), [-1], batch_size=3)))


def test_edges_that_a_script_replaced_are_refused_and_not_ignored(client: gz.Client) -> None:
    data = ServedData(client)
    train, _, _ = RandomLinkSplit(num_val=0.1, num_test=0.1)(copy.copy(data))
    refused = pytest.raises(NotImplementedError, match=r"data\.edge_index .*import_pyg")
    with refused:
        next(iter(NeighborLoader(train, [4], batch_size=64)))
    with refused:
        next(iter(LinkNeighborLoader(train, [4], train.edge_label_index, batch_size=64)))
    for same in (copy.copy(data), data.clone(), pickle.loads(pickle.dumps(data))):
        assert next(iter(NeighborLoader(same, [4], batch_size=64))).num_edges > 0
    data.edge_index[:, 7] = 0
    with refused:
        next(iter(NeighborLoader(data, [4], batch_size=64)))


def test_served_data_is_the_graph_and_reads_what_is_looked_at(
    client: gz.Client, whole: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ServedData(client)

    def never(*args: Any) -> Any:
        raise AssertionError("this reads the whole topology, or a column")

    with monkeypatch.context() as forbidden:
        forbidden.setattr("graphzero.client.pyg.served_fields.edges_by_id", never)
        forbidden.setattr(gz.Client, "column", never)
        assert (data.num_nodes, data.num_edges, data.num_features) == (2000, 30000, 16)
        assert repr(data) == (
            "ServedData(x=[2000, 16], y=[2000], edge_index=[2, 30000], edge_weight=[30000], "
            "when=[30000], num_nodes=2000)"
        )
        assert not data.is_cuda
        assert data.is_node_attr("x")
        assert data.is_edge_attr("when")
        assert not data.is_node_attr("when")
        next(iter(NeighborLoader(data, [2], batch_size=10)))
    for name in ("x", "y", "edge_index", "edge_weight", "when"):
        assert torch.equal(data[name], whole[name])
    assert data.to_dict().keys() == set(data.keys())


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies_of_served_data_are_independent(
    client: gz.Client, whole: Data, how: Callable[[ServedData], ServedData]
) -> None:
    data = ServedData(client)
    data.mine = torch.arange(3)
    del data.y
    assert torch.equal(data.x, whole.x)
    other = how(data)
    other.more = 1
    del other.x
    assert "more" not in data
    assert torch.equal(data.x, whole.x)
    assert other.mine.tolist() == [0, 1, 2]
    assert set(other.keys()) == set(data.keys()) - {"x"} | {"more"}
    assert torch.equal(other.when, whole.when)
    if other.client is not client:
        other.client.close()


def test_num_neighbors_can_be_set_later(client: gz.Client) -> None:
    loader = NeighborLoader(client, [1], range(20), batch_size=20)
    assert next(iter(loader)).num_edges <= 20
    loader.node_sampler.num_neighbors = [4]  # as PyG's documentation does it
    assert loader.num_neighbors == [4]
    assert next(iter(loader)).edge_index[1].bincount().max() == 4
    loader.num_neighbors = [-1]
    assert loader.node_sampler.num_neighbors.values == [-1]
    assert next(iter(loader)).num_edges == len(client.sample(range(20), [-1]).e_id)


def test_an_evaluation_sampler_is_a_copy_with_other_arguments(client: gz.Client) -> None:
    """As PyG's Lightning modules make one of eval_loader_kwargs."""
    sampler = GraphZeroSampler(client, num_neighbors=[1])
    evaluation = copy.copy(sampler)
    for name, value in {
        "num_neighbors": [4], "replace": True, "disjoint": True,
        "subgraph_type": "bidirectional", "weight_attr": "edge_weight",
    }.items():  # fmt: skip
        assert name in inspect.signature(GraphZeroSampler).parameters
        setattr(evaluation, name, value)
    nodes = NodeSamplerInput(None, torch.arange(20))
    assert sampler.sample_from_nodes(nodes).row.numel() <= 20
    assert sampler.num_neighbors.values == [1]
    drawn = evaluation.sample_from_nodes(nodes)
    assert drawn.row.numel() > 80
    assert drawn.batch is not None
    assert evaluation.options() == {
        "fanout": [4], "replace": True, "disjoint": True, "subgraph": "bidirectional",
        "weighted": True, "direction": "in", "sampler": "neighbour",
    }  # fmt: skip
    for name, wrong in (
        ("num_neighbors", 5), ("subgraph_type", "whole"), ("weight_attr", "w"),
        ("sample_direction", "up"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=f"{name} is"):
            setattr(evaluation, name, wrong)


def test_backward_sampling_follows_out_edges_with_the_ids_of_the_edges(
    client: gz.Client, whole: Data
) -> None:
    sampler = GraphZeroSampler(client, [3, 2], sample_direction="backward")
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(50)))
    edges = torch.stack([out.node[out.row], out.node[out.col]])
    assert torch.equal(edges, whole.edge_index[:, out.edge])
    assert out.row[: out.num_sampled_edges[0]].max() < 50  # sources are the seeds


def test_every_layout_of_the_graph_store_has_the_ids_of_the_edges(
    client: gz.Client, whole: Data
) -> None:
    store = GraphStore(client)
    row, col, ids = store.coo()
    assert torch.equal(torch.stack([row, col]), whole.edge_index)  # in the order of the input
    assert torch.equal(ids, torch.arange(len(row)))
    row, first, ids = store.csc()
    col = torch.repeat_interleave(torch.arange(NUM_NODES), first.diff())
    assert torch.equal(torch.stack([row, col]), whole.edge_index[:, ids])
    first, col, ids = store.csr()
    row = torch.repeat_interleave(torch.arange(NUM_NODES), first.diff())
    assert torch.equal(torch.stack([row, col]), whole.edge_index[:, ids])
    for layout in ("coo", "csc", "csr"):
        found = store.get_edge_index(edge_type=None, layout=layout)
        assert all(torch.equal(a, b) for a, b in zip(found, getattr(store, layout)(), strict=False))


def test_a_graph_without_edge_ids_has_the_same_numbers_in_every_layout(
    tmp_path: Path, start_daemon: Callable[..., Any]
) -> None:
    gz.write_graph(tmp_path / "graph.gl", [0, 2, 1, 0], [1, 0, 2, 2], num_nodes=3)
    with gz.connect(start_daemon(tmp_path).address) as client:
        row, col, ids = GraphStore(client).coo()
        assert ids is None
        first, targets, positions = GraphStore(client).csr()
        assert torch.equal(col[positions], targets)
        assert torch.equal(row[positions], torch.repeat_interleave(torch.arange(3), first.diff()))
        data = ServedData(client)
        assert torch.equal(data.edge_index, torch.stack([row, col]))


def test_pyg_s_own_backward_sampler_reads_the_ids_of_the_edges(
    client: gz.Client, whole: Data
) -> None:
    with pytest.warns(UserWarning, match="pyg-lib"):
        sampler: Any = NeighborSampler(
            (FeatureStore(client), GraphStore(client)), [3], sample_direction="backward"
        )
    sources = torch.repeat_interleave(torch.arange(NUM_NODES), sampler.colptr.diff())
    edges = torch.stack([sources, sampler.row])
    assert torch.equal(edges, whole.edge_index[:, sampler.edge_permutation])


@pytest.mark.parametrize("filter_per_worker", [None, False])
@pytest.mark.parametrize("workers", [0, 2])
def test_pyg_s_zip_loader(
    client: gz.Client, whole: Data, workers: int, filter_per_worker: bool | None
) -> None:
    loaders = [
        NeighborLoader(client, [4], torch.arange(50)),
        LinkNeighborLoader(client, [4], whole.edge_index[:, :45], neg_sampling="binary"),
    ]
    zipped = pyg_loader.ZipLoader(
        loaders, batch_size=20, num_workers=workers, filter_per_worker=filter_per_worker
    )
    assert len(zipped) == 3
    for number, (nodes, links) in enumerate(zipped):
        own = range(20 * number, min(20 * (number + 1), 45))
        assert nodes.n_id[: nodes.batch_size].tolist() == list(own)
        assert nodes.input_id.tolist() == list(own)
        assert torch.equal(nodes.x, whole.x[nodes.n_id])
        assert torch.equal(nodes.when, whole.when[nodes.e_id])
        assert links.input_id.tolist() == list(own)
        ends = links.n_id[links.edge_label_index[:, : len(own)]]
        assert torch.equal(ends, whole.edge_index[:, own])
        assert links.edge_label.tolist() == [1.0] * len(own) + [0.0] * len(own)
        assert torch.equal(links.y, whole.y[links.n_id])


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (NeighborLoader, {"input_nodes": torch.arange(40), "replace": True}),
        (NeighborLoader, {"input_nodes": "train", "subgraph_type": "induced", "disjoint": True}),
        (NeighborLoader, {"input_nodes": None, "weight_attr": "edge_weight", "columns": ["y"]}),
        (
            LinkNeighborLoader,
            {
                "edge_label_index": LINKS, "edge_label": torch.arange(6), "neg_sampling": "binary",
                "exclude_seed_edges": "both", "input_id": torch.arange(6) + 10,
            },
        ),
        (LinkNeighborLoader, {"edge_label_index": LINKS, "neg_sampling_ratio": 2.0}),
        (LinkNeighborLoader, {"edge_label_index": LINKS, "neg_sampling": gz.Negatives("targets")}),
    ],
)  # fmt: skip
def test_tools_that_rebuild_a_loader_from_its_attributes_get_the_same_one(
    client: gz.Client, kind: Any, options: dict[str, Any]
) -> None:
    """As Lightning does, to put another sampler in."""
    loader = kind(client, num_neighbors=[3, 2], batch_size=4, drop_last=True, **options)
    attributes = {name: v for name, v in vars(loader).items() if not name.startswith("_")}
    parameters = {
        **inspect.signature(kind.__init__).parameters,
        **inspect.signature(DataLoader.__init__).parameters,
    }
    needed = {
        name
        for name, p in parameters.items()
        if p.default is p.empty and name not in ("self", "kwargs", "dataset")
    }
    assert needed <= attributes.keys()
    again = {
        name: attributes[name]
        for name, parameter in parameters.items()
        if name in attributes and attributes[name] is not parameter.default
    }
    for name in ("batch_sampler", "sampler"):
        again.pop(name)
    rebuilt = kind(**again)

    def run(loader: Any) -> list[Data]:
        torch.manual_seed(3)
        return [batch.clone() for batch in loader]

    for ours, theirs in zip(run(rebuilt), run(loader), strict=True):
        assert ours.keys() == theirs.keys()
        for name in ours.keys():  # noqa: SIM118
            same = torch.equal if torch.is_tensor(ours[name]) else lambda a, b: a == b
            assert same(ours[name], theirs[name]), name
