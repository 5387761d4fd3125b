"""Every argument of PyG's loaders: it works, is not needed, or is refused by name. None is ignored.

The tables are compared with the signatures of PyG and torch, so that an argument that appears there
is missing here.
"""

from __future__ import annotations

import inspect
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import LinkNeighborLoader, NeighborLoader
from torch.utils.data import DataLoader
from torch_geometric import loader as pyg_loader
from torch_geometric.data import Data
from torch_geometric.sampler import NegativeSampling, NumNeighbors

NUM_NODES = 2_000
NODES = torch.tensor([5, 17, 3, 1999, 8, 40])
LINKS = torch.stack([NODES, NODES.flip(0)])
BASIC: dict[Any, dict[str, Any]] = {
    NeighborLoader: {"num_neighbors": [3], "input_nodes": NODES, "batch_size": 4},
    LinkNeighborLoader: {"num_neighbors": [3], "edge_label_index": LINKS, "batch_size": 4},
}
LOADERS = pytest.mark.parametrize("kind", BASIC, ids=lambda kind: kind.__name__)


def doubled(data: Data) -> Data:
    data.x = 2 * data.x
    return data


def without_edges(out: Any) -> Any:
    out.row, out.col, out.edge = out.row[:0], out.col[:0], out.edge[:0]
    return out


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# A value that shows in the batches.
WORKS: dict[str, Any] = {
    "num_neighbors": [1, 1],
    "input_nodes": NODES - 1,
    "edge_label_index": LINKS - 1,
    "edge_label": torch.arange(6),
    "replace": True,
    "subgraph_type": "induced",
    "disjoint": True,
    "directed": False,
    "weight_attr": "edge_weight",
    "neg_sampling": "binary",
    "neg_sampling_ratio": 2.0,
    "transform": doubled,
    "transform_sampler_output": without_edges,
    "input_id": torch.arange(6) + 100,
    "batch_size": 2,
    "shuffle": True,
    "sampler": [3, 1, 2],
    "batch_sampler": [[1, 2], [0]],
    "drop_last": True,
    "generator": generator(7),
}
# A value that may be given; batches are the same, and in the same order.
WITHOUT_EFFECT: dict[str, Any] = {
    "is_sorted": True,
    "filter_per_worker": True,
    "num_workers": 4,
    "persistent_workers": True,
    "prefetch_factor": 8,
    "collate_fn": list,
    "dataset": range(3),
    "in_order": False,
    "timeout": 30,
    "pin_memory_device": "",
}
REFUSED: dict[str, Any] = {
    "custom_cls": Data,
}
# Tested by itself below, in the tests of data=, or in test_pyg_workers.py.
ELSEWHERE = {
    "data", "pin_memory", "neighbor_sampler", "worker_init_fn", "multiprocessing_context",
    "input_time", "edge_label_time", "time_attr", "temporal_strategy",
}  # fmt: skip
# Of PyG's base classes, given by the loaders that users call.
NOT_FOR_USERS = {"self", "kwargs", "node_sampler", "link_sampler"}


def pyg_arguments(kind: Any) -> set[str]:
    bases = {
        NeighborLoader: (pyg_loader.NeighborLoader, pyg_loader.NodeLoader, DataLoader),
        LinkNeighborLoader: (pyg_loader.LinkNeighborLoader, pyg_loader.LinkLoader, DataLoader),
    }[kind]
    return {n for base in bases for n in inspect.signature(base.__init__).parameters}


def named(table: dict[str, Any]) -> list[Any]:
    """Those arguments that a loader of PyG has, as parameters of a test."""
    return [
        pytest.param(kind, name, id=f"{kind.__name__}-{name}")
        for kind in BASIC
        for name in table
        if name in pyg_arguments(kind)
    ]


def batches(kind: Any, client: gz.Client, **options: Any) -> list[Data]:
    torch.manual_seed(1)
    options = {**BASIC[kind], **options}
    if "batch_sampler" in options:
        del options["batch_size"]
    if options.get("directed") is False:
        with pytest.warns(DeprecationWarning, match="induced"):
            loader = kind(client, **options)
    else:
        loader = kind(client, **options)
    return [data.clone() for data in loader]


def same(ours: list[Data], theirs: list[Data]) -> bool:
    return len(ours) == len(theirs) and all(
        a.keys() == b.keys()
        and all(
            torch.equal(a[name], b[name]) if torch.is_tensor(a[name]) else a[name] == b[name]
            for name in a.keys()  # noqa: SIM118
        )
        for a, b in zip(ours, theirs, strict=True)
    )


@LOADERS
def test_no_argument_of_pyg_and_torch_is_forgotten(kind: Any) -> None:
    known = {*WORKS, *WITHOUT_EFFECT, *REFUSED, *ELSEWHERE}
    assert pyg_arguments(kind) - NOT_FOR_USERS <= known
    both = pyg_arguments(NeighborLoader) | pyg_arguments(LinkNeighborLoader)
    assert known <= both  # nothing here that PyG does not have any more


@pytest.mark.parametrize(("kind", "name"), named(WORKS))
def test_arguments_that_work_change_batches(client: gz.Client, kind: Any, name: str) -> None:
    others = {"shuffle": True} if name == "generator" else {}
    given = batches(kind, client, **{name: WORKS[name]}, **others)
    assert not same(given, batches(kind, client, **others))


@pytest.mark.parametrize(("kind", "name"), named(WITHOUT_EFFECT))
def test_arguments_that_are_not_needed_change_nothing(
    client: gz.Client, kind: Any, name: str
) -> None:
    given = batches(kind, client, **{name: WITHOUT_EFFECT[name]})
    assert same(given, batches(kind, client))
    assert len(given) == 2


@pytest.mark.parametrize(("kind", "name"), named(REFUSED))
def test_what_cannot_be_done_is_refused_by_name(client: gz.Client, kind: Any, name: str) -> None:
    with pytest.raises(NotImplementedError, match=name):
        batches(kind, client, **{name: REFUSED[name]})


@LOADERS
def test_pinning_without_an_accelerator_warns_as_torch_does(client: gz.Client, kind: Any) -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator")
    with pytest.warns(UserWarning, match="pin_memory=True has no effect"):
        pinned = batches(kind, client, pin_memory=True)
    assert same(pinned, batches(kind, client))
    with pytest.raises(RuntimeError, match="torch finds none"):
        client.sample([1], [1]).pin_memory()


@pytest.mark.parametrize(
    ("given", "nodes"),
    [
        ([5, 17], [5, 17]),
        ((5, 17), [5, 17]),
        (range(5, 18, 12), [5, 17]),
        (np.array([5, 17], np.int32), [5, 17]),
        (torch.tensor([5, 17], dtype=torch.int32), [5, 17]),
        ((None, torch.tensor([5, 17])), [5, 17]),
        (slice(5, 18, 12), [5, 17]),
        (slice(-2, None), [1998, 1999]),
        (torch.arange(NUM_NODES) == 17, [17]),
        ([], []),
        (torch.tensor([], dtype=torch.int64), []),
        (torch.zeros(NUM_NODES, dtype=torch.bool), []),
    ],
    ids=str,
)
def test_input_nodes_may_be_anything_that_names_nodes(
    client: gz.Client, given: Any, nodes: list[int]
) -> None:
    loader = NeighborLoader(client, [1], given, batch_size=2)
    assert len(loader) == len(nodes[::2])
    assert [n for data in loader for n in data.n_id[: data.batch_size].tolist()] == nodes


@pytest.mark.parametrize(
    "num_neighbors", [[2, 1], (2, 1), np.array([2, 1]), torch.tensor([2, 1]), NumNeighbors([2, 1])]
)
def test_num_neighbors_may_be_any_list_of_integers(client: gz.Client, num_neighbors: Any) -> None:
    assert NeighborLoader(client, num_neighbors).num_neighbors == [2, 1]


@pytest.mark.parametrize(
    ("kind", "options", "error", "message"),
    [
        (NeighborLoader, {"num_neighbors": 5}, TypeError, "num_neighbors is 5, expected a list"),
        (NeighborLoader, {"num_neighbors": "5"}, TypeError, "num_neighbors is '5'"),
        (NeighborLoader, {"num_neighbors": [2, 5.5]}, TypeError, "of hop 1 is 5.5"),
        (NeighborLoader, {"num_neighbors": [-2]}, ValueError, "of hop 0 is -2"),
        (NeighborLoader, {"num_neighbors": {("a", "b", "c"): [2]}}, ValueError, "has no types"),
        (NeighborLoader, {"input_nodes": [2000]}, ValueError, r"input_nodes\[0\] is 2000"),
        (NeighborLoader, {"input_nodes": [3, -1]}, ValueError, r"input_nodes\[1\] is -1"),
        (NeighborLoader, {"input_nodes": 3}, ValueError, "input_nodes is 3, expected a list"),
        (NeighborLoader, {"input_nodes": [0.5]}, TypeError, "input_nodes: found float"),
        (NeighborLoader, {"input_nodes": [True]}, ValueError, r"mask of shape \(1,\)"),
        (NeighborLoader, {"input_nodes": ("paper", NODES)}, ValueError, "'paper'.*has no types"),
        (NeighborLoader, {"input_nodes": {"paper": NODES}}, ValueError, "has no types"),
        (
            NeighborLoader,
            {"input_time": NODES},
            ValueError,
            "input_time is given without time_attr",
        ),
        (NeighborLoader, {"time_attr": "when"}, ValueError, "time_attr is 'when', .* has no times"),
        (NeighborLoader, {"temporal_strategy": "last"}, ValueError, "'last' without time_attr"),
        (NeighborLoader, {"temporal_strategy": "first"}, ValueError, "is 'first', expected one of"),
        (NeighborLoader, {"input_nodes": [], "shuffle": True}, ValueError, "nothing to shuffle"),
        (NeighborLoader, {"input_id": NODES[:2]}, ValueError, r"shape \(2,\), expected \(6,\)"),
        (NeighborLoader, {"subgraph_type": "whole"}, ValueError, "subgraph_type is 'whole'"),
        (NeighborLoader, {"columns": ["z"]}, gz.NotFound, "no column 'z', it has"),
        (NeighborLoader, {"columns": "x"}, TypeError, "columns is the text 'x'"),
        (NeighborLoader, {"num_workers": -1}, ValueError, "num_workers is -1"),
        (NeighborLoader, {"batch_size": None}, ValueError, "batch_size is None"),
        (NeighborLoader, {"unheard_of": 1}, TypeError, r"^NeighborLoader\(\) .*'unheard_of'"),
        (NeighborLoader, {"neighbor_sampler": 5}, TypeError, "neighbor_sampler is 5, expected"),
        (LinkNeighborLoader, {"edge_label_index": LINKS + 1999}, ValueError, "is 2004, expected"),
        (LinkNeighborLoader, {"edge_label_index": LINKS.T}, ValueError, "6 rows, expected 2"),
        (LinkNeighborLoader, {"edge_label_index": "train"}, TypeError, "'train', expected ids"),
        (
            LinkNeighborLoader,
            {"edge_label_index": (("a", "to", "b"), LINKS)},
            ValueError,
            "edge_label_index is .*has no types",
        ),
        (LinkNeighborLoader, {"time_attr": "when"}, ValueError, "'edge_label_time' is not set"),
        (LinkNeighborLoader, {"edge_label_time": NODES}, ValueError, "'time_attr' is not set"),
        (LinkNeighborLoader, {"edge_label": ["a"] * 6}, TypeError, "edge_label: expected a tensor"),
        (LinkNeighborLoader, {"neg_sampling": 5}, ValueError, "neg_sampling is 5"),
        (LinkNeighborLoader, {"neg_sampling_ratio": -1.0}, ValueError, "amount.*-1.0"),
        (
            LinkNeighborLoader,
            {"neg_sampling": gz.Negatives("pairs"), "neg_sampling_ratio": 2.0},
            ValueError,
            r"only one can say how many; give Negatives\(amount=2.0\)",
        ),
        (LinkNeighborLoader, {"exclude_seed_edges": 1}, ValueError, "exclude_seed_edges is 1"),
    ],
)
def test_wrong_arguments_are_named(
    client: gz.Client, kind: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        kind(client, **{**BASIC[kind], **options})


def test_a_pair_of_no_type_and_links_is_the_links(client: gz.Client) -> None:
    pair = batches(LinkNeighborLoader, client, edge_label_index=(None, LINKS))
    assert same(pair, batches(LinkNeighborLoader, client))


def test_the_ratio_counts_where_pyg_gets_both(client: gz.Client) -> None:
    both = {"neg_sampling": NegativeSampling("triplet"), "neg_sampling_ratio": 1.0}
    assert "edge_label" in batches(LinkNeighborLoader, client, **both)[0]


def test_a_text_that_is_neither_directory_nor_address_says_so() -> None:
    with pytest.raises(gz.ServerUnavailable, match="'nowhere': no such directory or socket below"):
        NeighborLoader("nowhere", [2])
    with pytest.raises(TypeError, match=r"torch_geometric\.data\.data\.Data.*import_pyg"):
        NeighborLoader(Data(), [2])  # type: ignore[arg-type]
