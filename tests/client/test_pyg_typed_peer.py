"""Against PyG's own loaders over HeteroData, field by field; where the library that those need can
be imported. torch-sparse knows neither disjoint trees nor times, pyg_lib does.

With all neighbours nothing is random, and graphs whose edges PyG has in the order of the file make
it discover nodes in the same order: batches must then be the same, byte for byte. But torch-sparse
goes through relations in an order of its own, in which it numbers the nodes of a hop: its batches
must be the same once they are numbered as ours are.
"""

from __future__ import annotations

from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import GraphStore, LinkNeighborLoader, NeighborLoader
from hetero_graphs import FOLLOWS, RATES, REV_RATES, hetero_graph
from torch_geometric import typing as pyg_typing
from torch_geometric.data import HeteroData
from torch_geometric.loader import LinkNeighborLoader as PygLinkNeighborLoader
from torch_geometric.loader import NeighborLoader as PygNeighborLoader
from torch_geometric.sampler import NegativeSampling

HAS_PYG_LIB = pyg_typing.WITH_PYG_LIB
pytestmark = [
    pytest.mark.skipif(
        not (HAS_PYG_LIB or pyg_typing.WITH_TORCH_SPARSE),
        reason="PyG's loaders need pyg_lib or torch-sparse, and neither is installed",
    ),
    pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without a 'pyg-lib'"),
]
# What torch-sparse does not report.
HOPS = set() if HAS_PYG_LIB else {"num_sampled_nodes", "num_sampled_edges"}
TIMED = ["node", "edge"]
USERS = torch.tensor([5, 59, 17, 3, 40])
TIMES = torch.tensor([30, 10, 0, 20, 5])


@pytest.fixture
def clients(film_client: gz.Client, film_clients: dict[str, gz.Client]) -> dict[str, gz.Client]:
    return {"plain": film_client, **film_clients}


def whole(client: gz.Client, kind: str) -> HeteroData:
    """The graph as PyG holds it, edges in the order of the file; stored_id has their ids."""
    data = hetero_graph(None if kind == "plain" else kind)  # type: ignore[arg-type]
    rows, first, ids = GraphStore(client).csc()
    for triple in data.edge_types:
        for name in data[triple].keys():  # noqa: SIM118
            if name != "edge_index":
                data[triple][name] = data[triple][name][ids[triple]]
        targets = torch.repeat_interleave(first[triple].diff())
        data[triple].edge_index = torch.stack([rows[triple], targets])
        data[triple].stored_id = ids[triple]
    return data


def numbered_as(ours: HeteroData, theirs: HeteroData) -> HeteroData:
    """Their batch with nodes and edges in our order. The seeds stay what they are."""
    result, places = theirs.clone(), {}
    for key in theirs.node_types:
        order = _order_of(ours[key].n_id, theirs[key].n_id)
        places[key] = torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))
        _take(result[key], order, len(order), but={"input_id", *ENDS})
    for key in theirs.edge_types:
        order = _order_of(ours[key].e_id, theirs[key].stored_id)
        _take(result[key], order, len(order), but={"input_id", "edge_label"})
        for name in ("edge_index", "edge_label_index"):
            if name in result[key]:
                index = theirs[key][name]
                index = index[:, order] if name == "edge_index" else index
                ends = places[key[0]][index[0]], places[key[2]][index[1]]
                result[key][name] = torch.stack(ends)
    return result


ENDS = ("src_index", "dst_pos_index", "dst_neg_index")


def _order_of(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """theirs[order] is ours; both have each id once."""
    assert torch.equal(ours.sort().values, theirs.sort().values)
    return theirs.argsort()[ours.argsort().argsort()]


def _take(fields: Any, order: torch.Tensor, count: int, but: set[str]) -> None:
    for name, value in list(fields.items()):
        if torch.is_tensor(value) and value.shape[0] == count and name not in but:
            fields[name] = value[order]


def same(ours: HeteroData, theirs: HeteroData) -> None:
    assert ours.metadata() == theirs.metadata()
    if not HAS_PYG_LIB:
        for key in theirs.node_types:  # what comes first does not depend on the relations' order
            seeds = theirs[key].get("batch_size", 0)
            assert torch.equal(ours[key].n_id[:seeds], theirs[key].n_id[:seeds])
        theirs = numbered_as(ours, theirs)
    for key in (*theirs.node_types, *theirs.edge_types):
        a, b = ours[key], theirs[key]
        own = set(b.keys()) - {"stored_id"}
        assert set(a.keys()) - HOPS == own - HOPS, key
        for name in own - {"e_id"}:
            if torch.is_tensor(b[name]):
                assert torch.equal(a[name], b[name]), (key, name)
                assert a[name].dtype == b[name].dtype, (key, name)
            else:
                assert a[name] == b[name], (key, name)
        if "e_id" in b:
            assert torch.equal(a.e_id, b.stored_id)


DISJOINT = pytest.mark.parametrize("disjoint", [False, True] if HAS_PYG_LIB else [False])
FANOUTS: list[Any] = [
    [-1],
    [-1, -1],
    {RATES: [-1, -1], REV_RATES: [0, -1], FOLLOWS: [-1, 0], ("movie", "has", "tag"): [-1, -1]},
]


@DISJOINT
@pytest.mark.parametrize("fanout", FANOUTS, ids=["one", "two", "by relation"])
@pytest.mark.parametrize("nodes", ["ids", "mask", "all"])
def test_neighbor_loader(
    clients: dict[str, gz.Client], fanout: Any, nodes: str, disjoint: bool
) -> None:
    mask = torch.zeros(60, dtype=torch.bool).index_fill(0, USERS, True)
    given = {"ids": ("user", USERS), "mask": ("user", mask), "all": "movie"}[nodes]
    options: dict[str, Any] = {"input_nodes": given, "batch_size": 2, "disjoint": disjoint}
    ours = NeighborLoader(clients["plain"], fanout, **options)
    theirs = PygNeighborLoader(whole(clients["plain"], "plain"), fanout, is_sorted=True, **options)
    assert len(ours) == len(theirs)
    for our_batch, their_batch in zip(ours, theirs, strict=True):
        same(our_batch, their_batch)


@DISJOINT
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("triple", [RATES, REV_RATES, FOLLOWS])
def test_link_neighbor_loader(
    clients: dict[str, gz.Client], triple: Any, labels: bool, disjoint: bool
) -> None:
    data = whole(clients["plain"], "plain")
    options: dict[str, Any] = {
        "edge_label_index": (triple, data[triple].edge_index[:, ::9]),
        "edge_label": torch.arange(len(data[triple].edge_index[0, ::9])) % 4 if labels else None,
        "batch_size": 16,
        "disjoint": disjoint,
    }
    ours = LinkNeighborLoader(clients["plain"], [-1], **options)
    theirs = PygLinkNeighborLoader(data, [-1], is_sorted=True, **options)
    for our_batch, their_batch in zip(ours, theirs, strict=True):
        same(our_batch, their_batch)


@DISJOINT
@pytest.mark.parametrize(("mode", "amount"), [("binary", 1), ("binary", 3), ("triplet", 2)])
@pytest.mark.parametrize("triple", [RATES, REV_RATES, FOLLOWS])
def test_negatives_have_the_shapes_types_and_labels_of_pyg(
    clients: dict[str, gz.Client], triple: Any, mode: str, amount: float, disjoint: bool
) -> None:
    data = whole(clients["plain"], "plain")
    options: dict[str, Any] = {
        "edge_label_index": (triple, data[triple].edge_index[:, ::9]),
        "neg_sampling": NegativeSampling(mode, amount),
        "batch_size": 16,
        "disjoint": disjoint,
    }
    ours = LinkNeighborLoader(clients["plain"], [2], **options)
    theirs = PygLinkNeighborLoader(data, [2], is_sorted=True, **options)
    names = ("edge_label_index", "edge_label", "src_index", "dst_pos_index", "dst_neg_index")
    for a, b in zip(ours, theirs, strict=True):
        for key in (*b.node_types, *b.edge_types):
            assert set(a[key].keys()) - HOPS == set(b[key].keys()) - {"stored_id"} - HOPS
            for name in names:
                if name in b[key]:
                    assert a[key][name].shape == b[key][name].shape
                    assert a[key][name].dtype == b[key][name].dtype
                    if disjoint:
                        assert torch.equal(a[key][name], b[key][name])
                        if name in ("src_index", "dst_pos_index", "dst_neg_index"):
                            trees = (batch[key].batch[batch[key][name]] for batch in (a, b))
                            assert torch.equal(*trees)


if HAS_PYG_LIB:

    @pytest.mark.parametrize("kind", TIMED)
    @pytest.mark.parametrize("strategy", ["uniform", "last"])
    @pytest.mark.parametrize("fanout", [[-1], [-1, -1]])
    def test_neighbours_by_time(
        clients: dict[str, gz.Client], kind: str, fanout: list[int], strategy: str
    ) -> None:
        options: dict[str, Any] = {
            "input_nodes": ("user", USERS),
            "input_time": TIMES,
            "time_attr": "time",
            "temporal_strategy": strategy,
            "batch_size": 2,
        }
        ours = NeighborLoader(clients[kind], fanout, **options)
        theirs = PygNeighborLoader(whole(clients[kind], kind), fanout, is_sorted=True, **options)
        for our_batch, their_batch in zip(ours, theirs, strict=True):
            same(our_batch, their_batch)

    @pytest.mark.parametrize("kind", TIMED)
    @pytest.mark.parametrize("triple", [RATES, FOLLOWS])
    def test_links_by_time(clients: dict[str, gz.Client], kind: str, triple: Any) -> None:
        data = whole(clients[kind], kind)
        links = data[triple].edge_index[:, ::9]
        options: dict[str, Any] = {
            "edge_label_index": (triple, links),
            "edge_label_time": torch.arange(links.shape[1]) % 40,
            "time_attr": "time",
            "batch_size": 16,
        }
        ours = LinkNeighborLoader(clients[kind], [-1], exclude_seed_edges=False, **options)
        theirs = PygLinkNeighborLoader(data, [-1], is_sorted=True, **options)
        for our_batch, their_batch in zip(ours, theirs, strict=True):
            same(our_batch, their_batch)
