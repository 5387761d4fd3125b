"""A batch as PyG's Data, with the fields that PyG's own loaders set."""

from __future__ import annotations

from typing import Any

from graphzero.client.batch import Batch
from torch_geometric.data import Data

_ENDS = ("source_index", "target_index")


def to_data(batch: Batch) -> Data:
    """Every tensor of the batch but the ends of links, over the same memory."""
    fields: dict[str, Any] = {name: batch[name] for name in batch if name not in _ENDS}
    data = Data(**fields, num_nodes=len(fields["n_id"]))
    # None where edges do not lie hop by hop, as PyG has it.
    hops = bool(batch.num_sampled_edges)
    data.num_sampled_nodes = batch.num_sampled_nodes if hops else None
    data.num_sampled_edges = batch.num_sampled_edges if hops else None
    return data
