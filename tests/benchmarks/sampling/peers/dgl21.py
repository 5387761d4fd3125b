"""DGL 2.1.0: GraphBolt for neighbours, DGL itself for walks.

GraphBolt's own sampler reads fanouts in reverse; here each hop is called directly, in our order. It
expands earlier nodes again in every hop, so its batches have more edges.
"""

import dgl
import dgl.graphbolt as gb
import torch
from measure import (
    FANOUT,
    LENGTH,
    NODE2VEC,
    ONE_HOP,
    ONE_HOP_SEEDS,
    WALKERS,
    Arguments,
    batch,
    report,
)

arguments = Arguments.read()
torch.set_num_threads(arguments.threads)
indptr = torch.from_numpy(arguments.load("indptr"))
indices = torch.from_numpy(arguments.load("indices"))
seeds = torch.from_numpy(arguments.load("seeds"))
graph = gb.fused_csc_sampling_graph(indptr, indices)


def hops(nodes: torch.Tensor, fanout: list[int]) -> tuple[int, int]:
    edges = 0
    for k in fanout:
        drawn = graph.sample_neighbors(nodes, torch.tensor([k]))
        nodes, compacted = gb.unique_and_compact_csc_formats(drawn.sampled_csc, nodes)
        edges += len(compacted.indices)
    return edges, len(nodes)


report("multi_hop", lambda n: hops(batch(seeds, n), FANOUT), arguments)


def one_hop(number: int) -> tuple[int, int]:
    """Only the draw: relabelling, which ours includes, is another call there."""
    drawn = graph.sample_neighbors(seeds[:ONE_HOP_SEEDS], torch.tensor([ONE_HOP]))
    return len(drawn.sampled_csc.indices), 0


report("one_hop", one_hop, arguments)

walks = dgl.graph(("csr", (indptr, indices, torch.tensor([], dtype=torch.int64))))


def walk(number: int) -> tuple[int, int]:
    dgl.sampling.random_walk(walks, seeds[:WALKERS], length=LENGTH)
    return WALKERS * LENGTH, 0


def node2vec(number: int) -> tuple[int, int]:
    dgl.sampling.node2vec_random_walk(walks, seeds[:WALKERS], **NODE2VEC, walk_length=LENGTH)
    return WALKERS * LENGTH, 0


report("walk", walk, arguments)
report("node2vec", node2vec, arguments)
