"""graphzero.pyg.NeighborLoader: PyG's arguments and fields, and what PyG's code makes of them."""

from __future__ import annotations

import inspect
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.pyg import NeighborLoader
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader as PygNeighborLoader
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import k_hop_subgraph, trim_to_layer

NUM_NODES = 2_000


def epoch(loader: Any) -> list[Data]:
    return [data.clone() for data in loader]


def test_arguments_have_the_names_order_and_defaults_of_pyg() -> None:
    ours = list(inspect.signature(NeighborLoader.__init__).parameters.values())
    theirs = list(inspect.signature(PygNeighborLoader.__init__).parameters.values())
    positional = [p for p in ours if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    expected = [p for p in theirs if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert [(p.name, p.default) for p in positional] == [(p.name, p.default) for p in expected]


def test_a_batch_has_the_fields_that_pyg_sets(
    client: gz.Client, column: Callable[[str], Any], whole: Data
) -> None:
    nodes = torch.tensor([5, 17, 3, 1999, 8])
    loader = NeighborLoader(client, [4, 3], nodes, batch_size=3)
    assert len(loader) == 2
    assert list(loader.dataset) == [0, 1, 2, 3, 4]
    first, second = epoch(loader)
    assert isinstance(first, Data)
    assert set(first.keys()) == {
        "x", "y", "edge_index", "n_id", "e_id", "edge_weight", "input_id", "batch_size",
        "when", "num_sampled_nodes", "num_sampled_edges", "num_nodes",
    }  # fmt: skip
    assert first.n_id[:3].tolist() == [5, 17, 3]
    assert first.input_id.tolist() == [0, 1, 2]
    assert second.input_id.tolist() == [3, 4]
    assert (first.batch_size, second.batch_size) == (3, 2)
    assert isinstance(first.num_sampled_nodes, list)
    assert isinstance(first.num_sampled_edges, list)
    assert sum(first.num_sampled_nodes) == first.num_nodes == len(first.n_id)
    assert sum(first.num_sampled_edges) == first.num_edges
    assert np.array_equal(first.x, column("x")[first.n_id])
    assert np.array_equal(first.y, column("y")[first.n_id])
    assert torch.equal(first.n_id[first.edge_index], whole.edge_index[:, first.e_id])
    assert torch.equal(first.edge_weight, whole.edge_weight[first.e_id])


@pytest.mark.parametrize("kind", ["mask", "numpy mask", "list", "split", "all"])
def test_input_nodes_of_any_kind(client: gz.Client, kind: str) -> None:
    mask = torch.zeros(NUM_NODES, dtype=torch.bool)
    mask[[2, 500, 501]] = True
    split = list(range(0, NUM_NODES, 3))
    given, nodes, input_id = {
        "mask": (mask, [2, 500, 501], [2, 500, 501]),
        "numpy mask": (mask.numpy(), [2, 500, 501], [2, 500, 501]),
        "list": ([500, 2], [500, 2], [0, 1]),
        "split": ("train", split, list(range(len(split)))),
        "all": (None, list(range(NUM_NODES)), list(range(NUM_NODES))),
    }[kind]
    batches = epoch(NeighborLoader(client, [1], given, batch_size=64))  # type: ignore[arg-type]
    assert torch.cat([b.n_id[: b.batch_size] for b in batches]).tolist() == nodes
    assert torch.cat([b.input_id for b in batches]).tolist() == input_id


def test_torch_s_seed_repeats_order_and_draws(client: gz.Client) -> None:
    loader = NeighborLoader(client, [3, 3], batch_size=512, shuffle=True)

    def run() -> list[torch.Tensor]:
        torch.manual_seed(4)
        return [data.e_id for _ in range(2) for data in epoch(loader)]

    first, again = run(), run()
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], first[4])  # the next epoch is another one

    def order(seed: int) -> list[int]:
        own = torch.Generator().manual_seed(seed)
        loader = NeighborLoader(client, [3], batch_size=512, shuffle=True, generator=own)
        return torch.cat([data.input_id for data in loader]).tolist()

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list(range(NUM_NODES))


def test_samplers_of_torch_decide_the_order(client: gz.Client) -> None:
    nodes = torch.arange(100, 200)
    backwards = NeighborLoader(client, [2], nodes, sampler=range(99, -1, -1), batch_size=30)
    assert [b.batch_size for b in backwards] == [30, 30, 30, 10]
    assert next(iter(backwards)).input_id.tolist() == list(range(99, 69, -1))
    chosen = NeighborLoader(client, [2], nodes, batch_sampler=[[1, 5], [7]])
    assert [b.n_id[: b.batch_size].tolist() for b in chosen] == [[101, 105], [107]]
    assert len(chosen) == 2
    dropped = NeighborLoader(client, [2], nodes, batch_size=30, drop_last=True)
    assert [b.batch_size for b in dropped] == [30, 30, 30]


def test_ranks_share_an_epoch_through_torch_s_distributed_sampler(client: gz.Client) -> None:
    from torch.utils.data import DistributedSampler

    seen = []
    for rank in range(2):
        sampler = DistributedSampler(range(1000), num_replicas=2, rank=rank)  # type: ignore[arg-type]
        loader = NeighborLoader(client, [1], torch.arange(1000), sampler=sampler, batch_size=64)
        seen += [node for b in loader for node in b.n_id[: b.batch_size].tolist()]
    assert sorted(seen) == list(range(1000))


def test_transform_and_call(client: gz.Client) -> None:
    def scaled(data: Data) -> Data:
        data.x = 2 * data.x
        return data

    loader = NeighborLoader(client, [2], torch.tensor([9, 4]), transform=scaled, columns=["x"])
    plain = client.gather("x", [4, 9])
    data = loader([1, 0])
    assert data.input_id.tolist() == [1, 0]
    assert torch.equal(data.x[:2], 2 * plain)
    assert "y" not in data
    assert torch.equal(loader(torch.tensor([1])).n_id[:1], torch.tensor([4]))


def test_replace_and_weights_reach_the_sampler(client: gz.Client) -> None:
    data = next(iter(NeighborLoader(client, [40], batch_size=NUM_NODES, replace=True)))
    degree = data.edge_index[1].bincount(minlength=NUM_NODES)
    assert set(degree.tolist()) <= {0, 40}
    weighted = next(
        iter(NeighborLoader(client, [1], batch_size=NUM_NODES, weight_attr="edge_weight"))
    )
    plain = next(iter(NeighborLoader(client, [1], batch_size=NUM_NODES)))
    assert weighted.edge_weight.mean() > plain.edge_weight.mean() + 0.05
    with pytest.raises(ValueError, match="weight_attr is 'w', expected 'edge_weight'"):
        NeighborLoader(client, [1], weight_attr="w")


def test_disjoint_batches_have_a_batch_vector(client: gz.Client) -> None:
    data = next(
        iter(NeighborLoader(client, [4, 3], torch.tensor([7, 7, 1]), batch_size=3, disjoint=True))
    )
    assert data.batch[:3].tolist() == [0, 1, 2]
    assert torch.equal(data.batch[data.edge_index[0]], data.batch[data.edge_index[1]])


def test_bidirectional_is_what_pyg_makes_of_the_directional_sample(client: gz.Client) -> None:
    from torch_geometric.sampler.utils import to_bidirectional

    def one(**options: Any) -> Data:
        torch.manual_seed(3)
        return next(iter(NeighborLoader(client, [4, 3], batch_size=64, **options)))

    drawn, ours = one(), one(subgraph_type="bidirectional")
    row, col, _ = to_bidirectional(*drawn.edge_index, *drawn.edge_index)
    assert torch.equal(ours.edge_index, torch.stack([row, col]))
    assert torch.equal(ours.n_id, drawn.n_id)
    assert "num_sampled_nodes" not in ours  # as in PyG: trimming would be wrong


def test_induced_is_pyg_s_subgraph(client: gz.Client, whole: Data) -> None:
    from torch_geometric.utils import subgraph

    for options in ({"subgraph_type": "induced"}, {"directed": False}):
        if "directed" in options:
            with pytest.warns(DeprecationWarning, match="induced"):
                loader = NeighborLoader(client, [4, 3], batch_size=64, **options)  # type: ignore[arg-type]
        else:
            loader = NeighborLoader(client, [4, 3], batch_size=64, **options)  # type: ignore[arg-type]
        data = next(iter(loader))
        _, _, mask = subgraph(
            data.n_id, whole.edge_index, num_nodes=NUM_NODES, return_edge_mask=True
        )
        assert sorted(data.e_id.tolist()) == mask.nonzero().view(-1).tolist()


def test_an_unknown_split_is_named(client: gz.Client) -> None:
    with pytest.raises(gz.NotFound, match="no split 'valid', it has train"):
        NeighborLoader(client, [2], "valid")


@pytest.mark.usefixtures("own_runtime_directory")
def test_data_is_a_client_an_address_or_a_directory(daemon: Any, dataset: Path) -> None:
    for data in (daemon.address, dataset, str(dataset)):
        loader = NeighborLoader(data, [2], [3, 4], batch_size=2)
        assert next(iter(loader)).n_id[:2].tolist() == [3, 4]
        loader.client.close()


def test_full_neighbourhoods_are_those_of_k_hop_subgraph(client: gz.Client, whole: Data) -> None:
    seeds = torch.tensor([11, 500, 1234])
    for hops in (1, 2):
        data = next(iter(NeighborLoader(client, [-1] * hops, seeds, batch_size=3)))
        nodes, _, _, mask = k_hop_subgraph(seeds, hops, whole.edge_index, num_nodes=NUM_NODES)
        assert sorted(data.n_id.tolist()) == nodes.tolist()
        # PyG takes every edge between those nodes; a sample has those that reach a seed in time.
        reached = data.n_id[: len(data.n_id) - data.num_sampled_nodes[-1]]
        needed = mask & torch.isin(whole.edge_index[1], reached)
        assert sorted(data.e_id.tolist()) == needed.nonzero().view(-1).tolist()


@pytest.mark.parametrize("trimmed", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_full_batches_give_the_outputs_of_the_full_graph(
    client: gz.Client, whole: Data, layers: int, trimmed: bool
) -> None:
    torch.manual_seed(1)
    widths = [16] * layers + [7]
    convs = [SAGEConv(*pair) for pair in itertools.pairwise(widths)]

    def forward(x: Any, edge_index: Any, batch: Data | None) -> Any:
        for number, conv in enumerate(convs):
            if batch is not None:
                x, edge_index, _ = trim_to_layer(
                    number, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index
                )
            x = conv(x, edge_index).relu()
        return x

    with torch.no_grad():
        expected = forward(whole.x, whole.edge_index, None)
        for data in NeighborLoader(client, [-1] * layers, batch_size=256, shuffle=True):
            out = forward(data.x, data.edge_index, data if trimmed else None)[: data.batch_size]
            assert torch.allclose(out, expected[data.n_id[: data.batch_size]], atol=1e-5)


def test_a_pickled_loader_connects_for_itself(client: gz.Client) -> None:
    loader = NeighborLoader(client, [2, 2], "train", batch_size=100, shuffle=True)

    def run(kind: Any) -> list[torch.Tensor]:
        torch.manual_seed(2)
        return [data.e_id for data in epoch(kind)]

    copy = pickle.loads(pickle.dumps(loader))
    assert copy.client is not client
    assert all(torch.equal(a, b) for a, b in zip(run(copy), run(loader), strict=True))
    copy.client.close()


def test_an_interrupted_epoch_can_be_begun_again(client: gz.Client) -> None:
    def interrupt(data: Data) -> Data:
        raise KeyboardInterrupt

    loader = NeighborLoader(client, [2], "train", batch_size=100, transform=interrupt)
    with pytest.raises(KeyboardInterrupt):
        epoch(loader)
    loader.transform = None
    assert sum(data.batch_size for data in loader) == 667


def test_two_epochs_at_a_time_do_not_disturb_each_other(client: gz.Client) -> None:
    loader = NeighborLoader(client, [2], torch.arange(40), batch_size=10)
    pairs = [
        (a.input_id.tolist(), b.input_id.tolist()) for a, b in zip(loader, loader, strict=True)
    ]
    assert len(pairs) == 4
    assert all(a == b for a, b in pairs)


def test_one_loader_needs_one_session_however_many_epochs(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--max-sessions", "1")
    with gz.connect(daemon.address) as client:
        loader = NeighborLoader(client, [2], "train", batch_size=100)
        for _ in range(3):
            assert sum(data.batch_size for data in loader) == 667


def test_a_dropped_epoch_gives_its_memory_back_at_once(client: gz.Client) -> None:
    loader = NeighborLoader(client, [5, 5], batch_size=100)
    for _ in range(10):
        for _data in loader:
            break
    assert sum(data.batch_size for data in loader) == NUM_NODES
