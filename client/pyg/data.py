"""A batch as PyG's Data, with the fields that PyG's own loaders set."""

from __future__ import annotations

from typing import Any

from graphzero.client.batch import Batch
from torch_geometric.data import Data

_ENDS = ("source_index", "target_index")


def fields_of(batch: Batch) -> dict[str, Any]:
    """Every tensor of the batch but the ends of links, over the same memory.

    As in PyG, a field that is None is not there: `"e_id" in data` is False for a graph without edge
    ids, and so is `"num_sampled_nodes" in data` where edges do not lie hop by hop.
    """
    fields: dict[str, Any] = {name: batch[name] for name in batch if name not in _ENDS}
    fields["num_nodes"] = len(fields["n_id"])
    if batch.num_sampled_edges:
        fields["num_sampled_nodes"] = batch.num_sampled_nodes
        fields["num_sampled_edges"] = batch.num_sampled_edges
    return fields


def data_of(fields: dict[str, Any]) -> Data:
    data = Data()
    # What Data(**fields) does, but that looks for a property behind every name, which costs more
    # than all the rest of a loader's work for a batch.
    data._store._mapping.update(fields)
    return data
