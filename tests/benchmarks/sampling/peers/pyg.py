"""PyG's samplers: pyg_lib where it is installed, else torch-sparse, which uses one thread."""

import torch
from measure import FANOUT, ONE_HOP, ONE_HOP_SEEDS, Arguments, batch, report

arguments = Arguments.read()
torch.set_num_threads(arguments.threads)
indptr = torch.from_numpy(arguments.load("indptr"))
indices = torch.from_numpy(arguments.load("indices"))
seeds = torch.from_numpy(arguments.load("seeds"))

try:
    import pyg_lib

    def hops(nodes: torch.Tensor, fanout: list[int]) -> tuple[int, int]:
        sample = pyg_lib.sampler.neighbor_sample
        row, _, found, *_ = sample(indptr, indices, nodes, fanout, csc=True, return_edge_id=False)
        return len(row), len(found)

except ImportError:
    import torch_sparse  # noqa: F401 - its operators

    def hops(nodes: torch.Tensor, fanout: list[int]) -> tuple[int, int]:
        sample = torch.ops.torch_sparse.neighbor_sample
        found, row, _, _ = sample(indptr, indices, nodes, fanout, False, True)
        return len(row), len(found)


report("multi_hop", lambda n: hops(batch(seeds, n), FANOUT), arguments)
report("one_hop", lambda n: hops(seeds[:ONE_HOP_SEEDS], [ONE_HOP]), arguments)
