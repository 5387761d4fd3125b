"""The node classification example learns as well from our loader as from PyG's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

sys.path.insert(0, str(Path(__file__).parent))
from digits import make_digits
from graphzero.pyg import NeighborLoader
from node_classification import GraphSage, accuracy, train
from torch_geometric import typing as pyg_typing
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader as PygNeighborLoader
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput
from torch_geometric.utils import index_sort

pytestmark = pytest.mark.slow

FANOUT = [10, 10]
SEEDS = range(5)


class PlainSampler(BaseSampler):  # type: ignore[misc]
    """Uniform neighbour sampling as the textbooks have it, node by node in plain torch.

    Stands in for PyG's sampler where the library that it needs (pyg_lib or torch-sparse) cannot be
    installed; PyG's loader around it is the real one.
    """

    def __init__(self, data: Data) -> None:
        targets, order = index_sort(data.edge_index[1])
        self.sources = data.edge_index[0][order]
        self.first = torch.searchsorted(targets, torch.arange(data.num_nodes + 1))

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        nodes = index.node.tolist()
        local = {node: i for i, node in enumerate(nodes)}
        rows, cols, begin = [], [], 0
        for fanout in FANOUT:
            end = len(nodes)
            for target in range(begin, end):
                row = self.sources[self.first[nodes[target]] : self.first[nodes[target] + 1]]
                for source in row[torch.randperm(len(row))[:fanout]].tolist():
                    if source not in local:
                        local[source] = len(nodes)
                        nodes.append(source)
                    rows.append(local[source])
                    cols.append(target)
            begin = end
        node, row, col = (torch.tensor(ids, dtype=torch.int64) for ids in (nodes, rows, cols))
        return SamplerOutput(node, row, col, None, metadata=(index.input_id, None))

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> Any:
        raise NotImplementedError


@pytest.fixture
def client(tmp_path: Path, start_daemon: Callable[..., Any]) -> Iterator[gz.Client]:
    with gz.connect(start_daemon(make_digits(tmp_path / "digits")).address) as connected:
        yield connected


def in_memory(client: gz.Client) -> Data:
    every = gz.Graph(client.info().dataset.path).sample(range(1797), [-1])
    edge_index = torch.from_numpy(every.edge_index)
    return Data(x=client.column("x"), y=client.column("y"), edge_index=edge_index)


def test_mean_accuracy_is_within_one_standard_deviation_of_pyg_s(client: gz.Client) -> None:
    torch.set_num_threads(1)
    data, nodes = in_memory(client), client.column("train")
    everything = NeighborLoader(client, [-1, -1], "test", batch_size=512)
    options: dict[str, Any] = {"batch_size": 16, "shuffle": True}

    def theirs() -> Any:
        if pyg_typing.WITH_PYG_LIB or pyg_typing.WITH_TORCH_SPARSE:
            return PygNeighborLoader(data, FANOUT, nodes, **options)
        return NodeLoader(data, PlainSampler(data), nodes, **options)

    def results(loader: Any) -> torch.Tensor:
        reached = []
        for seed in SEEDS:
            torch.manual_seed(seed)
            model = GraphSage()
            train(model, loader)
            reached.append(accuracy(model, everything))
        return torch.tensor(reached)

    ours, pyg_s = results(NeighborLoader(client, FANOUT, "train", **options)), results(theirs())
    print(
        f"ours {ours.mean():.4f} +- {ours.std():.4f}, PyG {pyg_s.mean():.4f} +- {pyg_s.std():.4f}"
    )
    assert abs(ours.mean() - pyg_s.mean()) <= max(ours.std(), pyg_s.std())
