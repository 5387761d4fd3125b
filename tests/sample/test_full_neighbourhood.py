"""A network on the batch computes what it computes on the whole graph.

Wrong direction, order, relabelling or handling of repeated seeds changes the result.
"""

import numpy as np
import pytest
import torch
from sampling_graphs import EdgeList, open_graph, random_edges

CHANNELS = 5


class MeanLayer(torch.nn.Module):
    """relu(A x_i + B mean of x_j over edges j -> i), in double precision."""

    def __init__(self) -> None:
        super().__init__()
        self.own = torch.nn.Linear(CHANNELS, CHANNELS, dtype=torch.float64)
        self.other = torch.nn.Linear(CHANNELS, CHANNELS, dtype=torch.float64)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        source, target = edge_index
        total = torch.zeros_like(x).index_add_(0, target, x[source])
        count = torch.zeros(len(x), dtype=x.dtype).index_add_(
            0, target, torch.ones(len(target), dtype=x.dtype)
        )
        mean = total / count.clamp(min=1).unsqueeze(1)
        return torch.relu(self.own(x) + self.other(mean))


def whole(layers, x, edge_index):
    for layer in layers:
        x = layer(x, edge_index)
    return x


def trimmed(layers, x, sample):
    """Each layer sees only the hops that still matter, as num_sampled_* tell."""
    edge_index = torch.from_numpy(sample.edge_index)
    for depth, layer in enumerate(layers):
        hops = len(layers) - depth
        nodes = sum(sample.num_sampled_nodes[: hops + 1])
        edges = sum(sample.num_sampled_edges[:hops])
        x = layer(x[:nodes], edge_index[:, :edges])
    return x


def two_cycles_and_a_tail() -> EdgeList:
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 4), (4, 3), (0, 1), (5, 0)]
    return EdgeList.of(8, pairs)


GRAPHS = {
    "cycles, loop, multi-edges, isolated": two_cycles_and_a_tail(),
    "skewed multigraph": random_edges(300, 2_000, seed=3),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_network_on_the_batch_equals_network_on_the_graph(tmp_path, name, depth):
    torch.manual_seed(0)
    edges = GRAPHS[name]
    graph = open_graph(tmp_path / "g.gl", edges)
    layers = [MeanLayer() for _ in range(depth)]
    x = torch.randn(edges.num_nodes, CHANNELS, dtype=torch.float64)
    everywhere = whole(layers, x, torch.from_numpy(np.stack([edges.src, edges.dst])))
    rng = np.random.default_rng(depth)
    for _ in range(10):
        seeds = rng.integers(0, edges.num_nodes, 12)
        seeds[6:8] = seeds[0]  # repeats
        sample = graph.sample(torch.from_numpy(seeds), [-1] * depth)
        on_batch = x[torch.from_numpy(sample.n_id)]
        edge_index = torch.from_numpy(sample.edge_index)
        expected = everywhere[torch.from_numpy(seeds)]
        for result in (whole(layers, on_batch, edge_index), trimmed(layers, on_batch, sample)):
            torch.testing.assert_close(result[: sample.batch_size], expected)
