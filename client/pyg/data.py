"""A batch as PyG's Data or HeteroData, with the fields that PyG's own loaders set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import torch
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.pyg.parts import EDGE_INDEX, Key
from torch_geometric.data import Data, HeteroData
from torch_geometric.sampler import HeteroSamplerOutput

Stores: TypeAlias = dict[Key, dict[str, Any]]
"""Fields by store: those of Data are all in one, whose key is None."""

_OF_SEEDS = ("source_index", "target_index", "seed_time")
_HOPS = ("num_sampled_nodes", "num_sampled_edges")


def data_of_batch(batch: Batch | TypedBatch) -> Data | HeteroData:
    """What to_pyg() gives: the fields that a batch knows by itself."""
    stores = stores_of(batch)
    if not isinstance(batch, TypedBatch):
        stores[None]["batch_size"] = batch.batch_size
        if batch.seed_time is not None:
            stores[None]["seed_time"] = batch.seed_time
        return data_of(stores)
    first = 0  # of the seeds of a type, among those of all types
    for name in batch.node_types:
        size = batch[name].batch_size
        if size:
            stores[name]["batch_size"] = size
        if size and batch.seed_time is not None:
            stores[name]["seed_time"] = batch.seed_time[first : first + size]
        first += size
    return data_of(stores)


def stores_of(batch: Batch | TypedBatch) -> Stores:
    """Every tensor of the batch but the ends of links and times of seeds, over the same memory.

    As in PyG, a field that is None is not there: `"e_id" in data` is False for a graph without edge
    ids, and so is `"num_sampled_nodes" in data` where edges do not lie hop by hop.
    """
    return _typed_stores(batch) if isinstance(batch, TypedBatch) else {None: _flat_store(batch)}


def _flat_store(batch: Batch) -> dict[str, Any]:
    fields: dict[str, Any] = {name: batch[name] for name in batch if name not in _OF_SEEDS}
    fields["num_nodes"] = len(fields["n_id"])
    if batch.num_sampled_edges:
        fields["num_sampled_nodes"] = batch.num_sampled_nodes
        fields["num_sampled_edges"] = batch.num_sampled_edges
    return fields


def _typed_stores(batch: TypedBatch) -> Stores:
    stores: Stores = {}
    by_hop = any(batch.num_sampled_edges.values())
    for name in batch.node_types:
        nodes = batch[name]
        stores[name] = {field: nodes[field] for field in nodes}
        if not stores[name].keys() - {"n_id", "batch"}:
            # For a type without columns PyG's HeteroData, and its batches, store num_nodes.
            stores[name]["num_nodes"] = nodes.num_nodes
        if by_hop:
            stores[name]["num_sampled_nodes"] = nodes.num_sampled_nodes
    for triple in batch.edge_types:
        edges = batch[triple]
        stores[triple] = {field: edges[field] for field in edges}
        if by_hop:
            stores[triple]["num_sampled_edges"] = edges.num_sampled_edges
    return stores


def make_bidirectional(stores: Stores, kept: Mapping[Key, Collection[str]]) -> None:
    """Adds the reverse of every edge of a typed sample, to the relation that PyG takes for it.

    As in PyG, the edges of such a relation have no ids any more, so all its fields beside
    edge_index are dropped, except for those in `kept`.
    """
    drawn = {key: fields[EDGE_INDEX] for key, fields in stores.items() if EDGE_INDEX in fields}
    output = HeteroSamplerOutput(
        node={},
        row={key: index[0] for key, index in drawn.items()},
        col={key: index[1] for key, index in drawn.items()},
        edge=dict.fromkeys(drawn, torch.empty(0)),
    ).to_bidirectional()
    for key in drawn:
        if output.edge[key] is None:
            left = {name: stores[key][name] for name in kept.get(key, ()) if name in stores[key]}
            stores[key] = {EDGE_INDEX: torch.stack([output.row[key], output.col[key]]), **left}
    for fields in stores.values():
        for name in _HOPS:
            fields.pop(name, None)


def data_of(stores: Stores, of_all: dict[str, Any] | None = None) -> Data | HeteroData:
    """`of_all`: what a HeteroData has beside its stores."""
    # The same as Data(**fields), but that looks for a property behind every name, which costs more
    # than all the rest of a loader's work for a batch.
    if None in stores:
        data = Data()
        data._store._mapping.update(stores[None])
        return data
    typed = HeteroData()
    for key, fields in stores.items():
        typed[key]._mapping.update(fields)
    typed._global_store._mapping.update(of_all or {})
    return typed
