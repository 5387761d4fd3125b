"""A sample as PyG's samplers give it, and what PyG's loaders take from such an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.pyg.data import Stores
from graphzero.client.pyg.parts import SCALES, WEIGHTS, Key, Part
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput

Output: TypeAlias = SamplerOutput | HeteroSamplerOutput


def output_of(batch: Batch | TypedBatch) -> Output:
    """The batch as the output of a PyG sampler."""
    # A copy, because PyG may keep outputs for long, and the daemon needs its memory back.
    batch = batch.clone()
    output: Output
    if isinstance(batch, TypedBatch):
        nodes = {name: batch[name] for name in batch.node_types}
        edges = {triple: batch[triple] for triple in batch.edge_types}
        by_hop = any(batch.num_sampled_edges.values())
        disjoint = any(fields.batch is not None for fields in nodes.values())
        output = HeteroSamplerOutput(
            node={name: fields.n_id for name, fields in nodes.items()},
            row={triple: fields.edge_index[0] for triple, fields in edges.items()},
            col={triple: fields.edge_index[1] for triple, fields in edges.items()},
            edge={triple: fields.e_id for triple, fields in edges.items()},
            batch={name: fields.batch for name, fields in nodes.items()} if disjoint else None,
            num_sampled_nodes=batch.num_sampled_nodes if by_hop else None,
            num_sampled_edges=batch.num_sampled_edges if by_hop else None,
        )
        output._of_drawn = {key: (output.row[key], _per_edge(edges[key])) for key in edges}
        return output
    by_hop = bool(batch.num_sampled_edges)
    output = SamplerOutput(
        node=batch.n_id,
        row=batch.edge_index[0],
        col=batch.edge_index[1],
        edge=batch.e_id,
        batch=batch.batch,
        num_sampled_nodes=batch.num_sampled_nodes if by_hop else None,
        num_sampled_edges=batch.num_sampled_edges if by_hop else None,
    )
    output._of_drawn = {None: (output.row, _per_edge(batch))}
    return output


def stores_of_output(output: Output, permutation: Any, parts: Mapping[Key, Part]) -> Stores:
    """The fields that PyG's loaders take from the output of any sampler. If there is a
    `permutation`, the sampler numbers edges in an order of its own, and it gives their ids."""
    if not isinstance(output, HeteroSamplerOutput):
        edge = output.edge
        fields = {
            "n_id": output.node,
            "edge_index": torch.stack([output.row, output.col]),
            "e_id": edge if permutation is None or edge is None else permutation[edge],
            "batch": output.batch,
            "num_nodes": len(output.node),
            "num_sampled_nodes": output.num_sampled_nodes,
            "num_sampled_edges": output.num_sampled_edges,
        }
        return {None: _those_there(fields)}
    none = torch.empty(0, dtype=torch.int64)  # of types and relations that were not reached
    stores: Stores = {}
    for key, part in parts.items():
        if part.nodes is not None:
            node = output.node.get(key, none)
            stores[key] = {
                "n_id": node,
                "batch": (output.batch or {}).get(key),
                "num_nodes": None if part.nodes.columns else len(node),
                "num_sampled_nodes": (output.num_sampled_nodes or {}).get(key),
            }
        else:
            edge = (output.edge or {}).get(key, none)
            order = (permutation or {}).get(key)
            stores[key] = {
                "edge_index": torch.stack([output.row.get(key, none), output.col.get(key, none)]),
                "e_id": edge if order is None or edge is None else order[edge],
                "num_sampled_edges": (output.num_sampled_edges or {}).get(key),
            }
    return {key: _those_there(fields) for key, fields in stores.items()}


def _those_there(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _per_edge(edges: Any) -> dict[str, torch.Tensor]:
    """Weights and scales of edges, for which PyG's outputs have no field."""
    return _those_there({name: getattr(edges, name) for name in (WEIGHTS, SCALES)})


def of_drawn_edges(output: Output, key: Key) -> dict[str, torch.Tensor]:
    """Weights and scales of the edges, if these are still the edges that were drawn here."""
    row, fields = getattr(output, "_of_drawn", {}).get(key, (None, {}))
    rows = output.row.get(key) if isinstance(output, HeteroSamplerOutput) else output.row
    return fields if rows is row else {}
