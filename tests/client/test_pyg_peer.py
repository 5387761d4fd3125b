"""Against PyG's own loaders, field by field; where the library that those need can be imported.

With all neighbours nothing is random, and a graph whose edges PyG has in the order of the file
makes it discover nodes in the same order: batches must then be the same, byte for byte.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import LinkNeighborLoader, NeighborLoader
from torch_geometric import typing as pyg_typing
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.loader import LinkNeighborLoader as PygLinkNeighborLoader
from torch_geometric.loader import NeighborLoader as PygNeighborLoader
from torch_geometric.sampler import NegativeSampling

pytestmark = [
    pytest.mark.skipif(
        not (pyg_typing.WITH_PYG_LIB or pyg_typing.WITH_TORCH_SPARSE),
        reason="PyG's loaders need pyg_lib or torch-sparse, and neither is installed",
    ),
    pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib'"),
]

NUM_NODES = 2_000
# What torch-sparse does not report; pyg_lib does.
HOPS = {"num_sampled_nodes", "num_sampled_edges"}
# Every field that PyG's loaders assign, also those that they assign None.
SET_BY_PYG = HOPS | {
    "n_id", "e_id", "batch", "input_id", "seed_time", "batch_size", "_orig_edge_index",
    "edge_label_index", "edge_label", "edge_label_time", "src_index", "dst_pos_index",
    "dst_neg_index", "num_nodes", "edge_attr", "time",
}  # fmt: skip


def test_the_list_of_fields_that_pyg_sets_is_complete() -> None:
    assigned = set()
    for loader in (NodeLoader, LinkLoader):
        source = inspect.getsource(loader.filter_fn)
        assigned |= set(re.findall(r"^\s+data\.(\w+) = ", source, re.MULTILINE))
    assert assigned - {"x", "y"} <= SET_BY_PYG


@pytest.fixture(scope="module")
def whole(dataset: Path) -> Data:
    """The dataset as PyG holds it, edges in the order of the file."""
    every = gz.Graph(dataset).sample(range(NUM_NODES), [-1])
    return Data(
        x=torch.from_numpy(gz.FeatureStore(dataset / "x.gd").get_tensor()),
        y=torch.from_numpy(gz.FeatureStore(dataset / "y.gd").get_tensor()),
        edge_index=torch.from_numpy(every.edge_index),
        edge_weight=torch.from_numpy(every.edge_weight),
        when=torch.from_numpy(gz.FeatureStore(dataset / "when.gd").get_tensor())[every.e_id],
        stored_id=torch.from_numpy(every.e_id),
    )


def same(ours: Data, theirs: Data) -> None:
    missing = set(theirs.keys()) - set(ours.keys()) - {"stored_id"}
    assert not missing
    extra = set(ours.keys()) - set(theirs.keys())
    assert extra <= HOPS | {"num_nodes"}
    for name in SET_BY_PYG - HOPS:
        assert hasattr(ours, name) == hasattr(theirs, name), name
        assert (getattr(ours, name, None) is None) == (getattr(theirs, name, None) is None), name
    for name in set(theirs.keys()) - {"stored_id", "e_id"}:
        if torch.is_tensor(theirs[name]):
            assert torch.equal(ours[name], theirs[name]), name
            assert ours[name].dtype == theirs[name].dtype, name
        else:
            assert ours[name] == theirs[name], name
    assert torch.equal(ours.e_id, theirs.stored_id)


@pytest.mark.parametrize("input_nodes", ["ids", "mask"])
@pytest.mark.parametrize("subgraph_type", ["directional", "induced"])
@pytest.mark.parametrize("fanout", [[-1], [-1, -1]])
def test_neighbor_loader(
    client: gz.Client, whole: Data, fanout: list[int], subgraph_type: str, input_nodes: str
) -> None:
    nodes = torch.tensor([5, 1999, 17, 3, 888])
    if input_nodes == "mask":
        nodes = torch.zeros(NUM_NODES, dtype=torch.bool).index_fill(0, nodes, True)
    options: dict[str, Any] = {
        "input_nodes": nodes,
        "batch_size": 2,
        "subgraph_type": subgraph_type,
    }
    ours = NeighborLoader(client, fanout, **options)
    theirs = PygNeighborLoader(whole, fanout, is_sorted=True, **options)
    assert len(ours) == len(theirs)
    for our_batch, their_batch in zip(ours, theirs, strict=True):
        same(our_batch, their_batch)


@pytest.mark.parametrize("labels", [False, True])
def test_link_neighbor_loader(client: gz.Client, whole: Data, labels: bool) -> None:
    links = whole.edge_index[:, ::300]
    options: dict[str, Any] = {
        "edge_label_index": links,
        "edge_label": torch.arange(links.shape[1]) % 4 if labels else None,
        "batch_size": 16,
    }
    ours = LinkNeighborLoader(client, [-1], **options)
    theirs = PygLinkNeighborLoader(whole, [-1], is_sorted=True, **options)
    for our_batch, their_batch in zip(ours, theirs, strict=True):
        same(our_batch, their_batch)


@pytest.mark.parametrize(
    ("mode", "amount", "labels"),
    [
        *(("binary", amount, labels) for amount in (1, 0.7, 3) for labels in (False, True)),
        *(("triplet", amount, False) for amount in (1, 3)),
    ],
)
def test_negatives_have_the_shapes_types_and_labels_of_pyg(
    client: gz.Client, whole: Data, mode: str, amount: float, labels: bool
) -> None:
    links = whole.edge_index[:, ::300]
    options: dict[str, Any] = {
        "edge_label_index": links,
        "edge_label": torch.arange(links.shape[1]) % 4 if labels else None,
        "neg_sampling": NegativeSampling(mode, amount),
        "batch_size": 16,
    }
    ours = LinkNeighborLoader(client, [2], **options)
    theirs = PygLinkNeighborLoader(whole, [2], is_sorted=True, **options)
    for a, b in zip(ours, theirs, strict=True):
        assert set(b.keys()) - {"stored_id"} == set(a.keys()) - HOPS - {"num_nodes"}
        for name in SET_BY_PYG - HOPS:
            assert hasattr(a, name) == hasattr(b, name), name
        count = len(b.input_id)
        assert torch.equal(a.input_id, b.input_id)
        names = ("edge_label_index",) if mode == "binary" else ("src_index", "dst_pos_index")
        for name in names:
            assert a[name].shape == b[name].shape
            assert torch.equal(a.n_id[a[name][..., :count]], b.n_id[b[name][..., :count]])
        if mode == "binary":
            assert torch.equal(a.edge_label, b.edge_label)
            assert a.edge_label.dtype == b.edge_label.dtype
        else:
            assert a.dst_neg_index.shape == b.dst_neg_index.shape


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("own_generator", [False, True])
def test_torch_s_seed_gives_the_order_of_pyg(
    client: gz.Client, whole: Data, own_generator: bool, drop_last: bool
) -> None:
    def order(kind: Any, source: Any) -> list[list[int]]:
        torch.manual_seed(3)
        generator = torch.Generator().manual_seed(5) if own_generator else None
        nodes = torch.arange(0, NUM_NODES, 7)
        loader = kind(
            source,
            [1],
            nodes,
            batch_size=50,
            shuffle=True,
            drop_last=drop_last,
            generator=generator,
        )
        # PyG's sampler draws from torch's own generator too, so only the first epoch is the same.
        epochs = range(3 if own_generator else 1)
        return [data.input_id.tolist() for _ in epochs for data in loader]

    assert order(NeighborLoader, client) == order(PygNeighborLoader, whole)


def test_sampled_batches_have_as_many_edges_of_the_seeds(client: gz.Client, whole: Data) -> None:
    nodes = torch.arange(0, NUM_NODES, 7)
    for replace in (False, True):
        options: dict[str, Any] = {"batch_size": 50, "replace": replace}
        ours = NeighborLoader(client, [5], nodes, **options)
        theirs = PygNeighborLoader(whole, [5], nodes, is_sorted=True, **options)
        for a, b in zip(ours, theirs, strict=True):
            size = a.batch_size
            assert torch.equal(a.n_id[:size], b.n_id[:size])
            degrees = (d.edge_index[1].bincount(minlength=size)[:size] for d in (a, b))
            assert torch.equal(*degrees)
