"""A sample of a graph with types as the layers of a network; layers.py has those without types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphzero.base.extras import import_extra
from graphzero.client.batches.layers import NO_HOPS, NOT_BY_HOPS, NOT_TO_SEEDS
from graphzero.embedded.typed_results import EdgeFields, TypedResult
from graphzero.files.schema import RelationName


@dataclass(frozen=True, eq=False)
class TypedLayer:
    """One layer: bipartite graphs from its sources to its destinations, one for each relation.

    Local ids are positions among the sources of their type, and the destinations are the first of
    those:

        for layer, convolution in zip(batch.layers(), network):
            x_dst = {name: x[name][:count] for name, count in layer.num_dst.items()}
            x = convolution((x, x_dst), layer.edge_index)
    """

    edge_index: dict[RelationName, Any]
    """int64, (2, edges): local source and destination."""
    n_id: dict[str, Any]
    """Ids of the sources; of the destinations, the first num_dst of them."""
    e_id: dict[RelationName, Any]
    """Input row of each edge, for relations that store edge ids."""
    edge_weight: dict[RelationName, Any]
    """Weight of each edge, for relations that store weights."""
    edge_scale: dict[RelationName, Any]
    """Scale of each edge, in a LABOR sample by weight; else empty."""
    num_src: dict[str, int]
    num_dst: dict[str, int]


def nested_typed_layers(sample: TypedResult) -> list[TypedLayer]:
    """One layer for each hop. The input layer has all nodes and edges, the last the seeds' edges.

    Raises ValueError for a sample whose edges are not in the order of hops, or do not point to the
    seeds.
    """
    edges = {triple: sample[triple] for triple in sample.edge_types}
    hops = max((len(nodes) for nodes in sample.num_sampled_nodes.values()), default=1) - 1
    if any(len(fields.num_sampled_edges) != hops for fields in edges.values()):
        raise ValueError(NOT_BY_HOPS)
    layers = [_layer(sample, edges, count) for count in range(hops, 0, -1)]
    for triple, fields in edges.items():
        last = int(fields.edge_index[1].max()) if layers and fields.num_edges else -1
        if last >= 0 and last >= layers[0].num_dst[triple[2]]:
            raise ValueError(NOT_TO_SEEDS)
    return layers


def _layer(sample: TypedResult, edges: dict[RelationName, EdgeFields], hops: int) -> TypedLayer:
    nodes = sample.num_sampled_nodes
    num_src = {name: sum(counts[: hops + 1]) for name, counts in nodes.items()}
    last = {triple: sum(fields.num_sampled_edges[:hops]) for triple, fields in edges.items()}

    def of_edges(name: str) -> dict[RelationName, Any]:
        found = {triple: getattr(fields, name) for triple, fields in edges.items()}
        return {t: tensor[: last[t]] for t, tensor in found.items() if tensor is not None}

    return TypedLayer(
        edge_index={t: fields.edge_index[:, : last[t]] for t, fields in edges.items()},
        n_id={name: sample[name].n_id[:count] for name, count in num_src.items()},
        e_id=of_edges("e_id"),
        edge_weight=of_edges("edge_weight"),
        edge_scale=of_edges("edge_scale"),
        num_src=num_src,
        num_dst={name: sum(counts[:hops]) for name, counts in nodes.items()},
    )


def dgl_typed_blocks(layers: list[TypedLayer]) -> tuple[Any, Any, list[Any]]:
    """(input_nodes, output_nodes, blocks), input layer first. Raises ImportError without DGL."""
    dgl = import_extra("dgl", "dgl", "DGL blocks need DGL")
    if not layers:
        raise ValueError(NO_HOPS)
    first, last = layers[0], layers[-1]
    outputs = {name: last.n_id[name][:count] for name, count in last.num_dst.items()}
    return first.n_id, outputs, [_block(dgl, layer) for layer in layers]


def _block(dgl: Any, layer: TypedLayer) -> Any:
    block = dgl.create_block(
        {triple: tuple(edge_index) for triple, edge_index in layer.edge_index.items()},
        num_src_nodes=layer.num_src,
        num_dst_nodes=layer.num_dst,
    )
    for name, n_id in layer.n_id.items():
        if name in block.srctypes:
            block.srcnodes[name].data[dgl.NID] = n_id
        if name in block.dsttypes:
            block.dstnodes[name].data[dgl.NID] = n_id[: layer.num_dst[name]]
    for triple, e_id in layer.e_id.items():
        block.edges[triple].data[dgl.EID] = e_id
    for triple, weight in layer.edge_weight.items():
        block.edges[triple].data["edge_weight"] = weight
    for triple, scale in layer.edge_scale.items():
        block.edges[triple].data["edge_scale"] = scale
    return block
