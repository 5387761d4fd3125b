"""PyG's sampler, which is pyg_lib."""

import pyg_lib
import torch
from measure import FANOUT, ONE_HOP, ONE_HOP_SEEDS, Arguments, batch, report

arguments = Arguments.read()
torch.set_num_threads(arguments.threads)
indptr = torch.from_numpy(arguments.load("indptr"))
indices = torch.from_numpy(arguments.load("indices"))
seeds = torch.from_numpy(arguments.load("seeds"))


def hops(nodes: torch.Tensor, fanout: list[int]) -> tuple[int, int]:
    row, _, found, *_ = pyg_lib.sampler.neighbor_sample(indptr, indices, nodes, fanout, csc=True)
    return len(row), len(found)


report("multi_hop", lambda n: hops(batch(seeds, n), FANOUT), arguments)
report("one_hop", lambda n: hops(seeds[:ONE_HOP_SEEDS], [ONE_HOP]), arguments)
