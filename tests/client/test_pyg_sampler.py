"""PyG's own loaders over graphzero's sampler and stores."""

from __future__ import annotations

import pickle
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import FeatureStore, GraphStore, GraphZeroSampler
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.sampler import NegativeSampling

NUM_NODES = 2_000


@pytest.mark.parametrize("workers", [0, 2])
def test_node_loader_over_data_in_memory(client: gz.Client, whole: Data, workers: int) -> None:
    nodes = torch.arange(0, NUM_NODES, 5)
    loader = NodeLoader(
        whole, GraphZeroSampler(client, [4, 3]), nodes, batch_size=100, num_workers=workers
    )
    batches = list(loader)
    assert torch.equal(torch.cat([b.n_id[: b.batch_size] for b in batches]), nodes)
    assert torch.equal(torch.cat([b.input_id for b in batches]), torch.arange(400))
    for b in batches:
        assert torch.equal(b.x, whole.x[b.n_id])
        assert torch.equal(b.n_id[b.edge_index], whole.edge_index[:, b.e_id])
        assert torch.equal(b.edge_weight, whole.edge_weight[b.e_id])
        assert sum(b.num_sampled_nodes) == b.num_nodes
        assert len(b.num_sampled_edges) == 2


def test_node_loader_over_stores_leaves_everything_in_the_daemon(
    client: gz.Client, whole: Data
) -> None:
    stores = (FeatureStore(client), GraphStore(client))
    nodes = torch.tensor([3, 1999, 42])
    sampler = GraphZeroSampler(client, [5, 5], disjoint=True)
    data = next(iter(NodeLoader(stores, sampler, nodes, batch_size=3)))
    assert torch.equal(data.n_id[:3], nodes)
    assert torch.equal(data.x, whole.x[data.n_id])
    assert torch.equal(data.y, whole.y[data.n_id])
    assert torch.equal(data.n_id[data.edge_index], whole.edge_index[:, data.e_id])
    assert data.batch[:3].tolist() == [0, 1, 2]


@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_link_loader(client: gz.Client, whole: Data, mode: str | None, disjoint: bool) -> None:
    links = whole.edge_index[:, :60]
    loader = LinkLoader(
        whole,
        GraphZeroSampler(client, [3], disjoint=disjoint, exclude_seed_edges="both"),
        links,
        neg_sampling=None if mode is None else NegativeSampling(mode, 2),
        batch_size=20,
    )
    for number, data in enumerate(loader):
        own = links[:, 20 * number : 20 * (number + 1)]
        assert data.input_id.tolist() == list(range(20 * number, 20 * (number + 1)))
        if mode == "triplet":
            found = torch.stack([data.src_index, data.dst_pos_index])
            assert data.dst_neg_index.shape == (20, 2)
        else:
            found = data.edge_label_index[:, :20]
            assert data.edge_label_index.shape == (2, 20 if mode is None else 60)
        assert torch.equal(data.n_id[found], own)
        if mode == "binary":
            assert data.edge_label.tolist() == [1.0] * 20 + [0.0] * 40
        if disjoint:
            assert set(data.batch.tolist()) == set(range(20))
        sampled = set(zip(*data.n_id[data.edge_index].tolist(), strict=True))
        assert not sampled & set(zip(*own.tolist(), strict=True))


def test_torch_s_seed_repeats_the_draws(client: gz.Client, whole: Data) -> None:
    loader = NodeLoader(whole, GraphZeroSampler(client, [2, 2]), torch.arange(50), batch_size=50)

    def run(seed: int) -> list[int]:
        torch.manual_seed(seed)
        e_id: list[int] = next(iter(loader)).e_id.tolist()
        return e_id

    assert run(1) == run(1) != run(2)


def test_other_subgraphs_have_no_hops(client: gz.Client, whole: Data) -> None:
    sampler = GraphZeroSampler(client, [3], subgraph_type="induced")
    data = next(iter(NodeLoader(whole, sampler, torch.arange(30), batch_size=30)))
    assert "num_sampled_edges" not in data
    assert torch.equal(data.n_id[data.edge_index], whole.edge_index[:, data.e_id])


def test_a_pickled_sampler_connects_for_itself(client: gz.Client, whole: Data) -> None:
    sampler = pickle.loads(pickle.dumps(GraphZeroSampler(client, [2])))
    data = next(iter(NodeLoader(whole, sampler, torch.arange(10), batch_size=10)))
    assert data.batch_size == 10
    sampler.client.close()


def test_times_that_the_sampler_does_not_have_are_refused_by_name(
    client: gz.Client, whole: Data
) -> None:
    with pytest.raises(ValueError, match="time_attr is 'time', but dataset 'small' has no times"):
        GraphZeroSampler(client, [2], time_attr="time")
    loader = NodeLoader(
        whole, GraphZeroSampler(client, [2]), torch.arange(4), input_time=torch.zeros(4)
    )
    with pytest.raises(ValueError, match="input_time is given without time_attr"):
        next(iter(loader))


def test_features_by_any_index(client: gz.Client, whole: Data) -> None:
    store = FeatureStore(client)
    assert [attr.attr_name for attr in store.get_all_tensor_attrs()] == ["x", "y"]
    rows = torch.tensor([7, 7, 0])
    mask = torch.zeros(NUM_NODES, dtype=torch.bool)
    mask[[4, 9]] = True
    for index in (rows, slice(5, 50, 3), mask, 12):
        assert torch.equal(store.get_tensor(None, "x", index), whole.x[index])
    assert torch.equal(store.get_tensor(None, "x", None), whole.x)
    assert store.get_tensor_size(None, "x", None) == (NUM_NODES, 16)
    with pytest.raises(gz.NotFound, match="no column 'when', it has x, y"):
        store.get_tensor(None, "when", None)
    with pytest.raises(NotImplementedError, match="immutable"):
        store.put_tensor(torch.zeros(1), None, "x", None)


def test_the_graph_store_hands_out_csc_with_edge_ids(client: gz.Client, whole: Data) -> None:
    sources, first, edge_ids = GraphStore(client).csc()
    assert edge_ids is not None
    assert first[-1] == len(sources) == whole.num_edges
    targets = torch.repeat_interleave(torch.arange(NUM_NODES), first.diff())
    assert torch.equal(torch.stack([sources, targets]), whole.edge_index[:, edge_ids])


@pytest.mark.parametrize("kind", [FeatureStore, GraphStore])
def test_a_store_that_was_sent_to_another_process_connects_for_itself(
    client: gz.Client, kind: Any
) -> None:
    copy = pickle.loads(pickle.dumps(kind(client)))
    assert copy.client is not client
    assert copy.client.info().dataset == client.info().dataset
    copy.client.close()


def test_a_graph_that_does_not_fit_points_to_the_sampler(
    client: gz.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphzero.client.pyg.topology.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="GraphZeroSampler"):
        GraphStore(client).csc()


def test_pyg_s_own_sampler_reads_the_graph_store(client: gz.Client, whole: Data) -> None:
    from torch_geometric import typing as pyg_typing
    from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

    with pytest.warns(UserWarning, match="pyg-lib"):
        sampler: Any = NeighborSampler((FeatureStore(client), GraphStore(client)), [3])
    assert sampler.num_nodes == NUM_NODES
    assert torch.equal(sampler.colptr.diff(), whole.edge_index[1].bincount(minlength=NUM_NODES))
    if not (pyg_typing.WITH_PYG_LIB or pyg_typing.WITH_TORCH_SPARSE):
        pytest.skip("drawing needs pyg_lib or torch-sparse, and neither is installed")
    out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(5)))
    assert torch.equal(out.node[:5], torch.arange(5))
