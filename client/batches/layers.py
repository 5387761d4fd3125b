"""A sample as the layers of a network: which nodes each layer computes, from which edges.

Layers need no framework, and arrays may be NumPy's or torch's; dgl_blocks() needs DGL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphzero.base.extras import import_extra

# Why a batch cannot be had as layers or blocks.
NOT_BY_HOPS = (
    "the edges of this batch are not in the order of hops, so it has no layers; sample it with "
    'subgraph="directional"'
)
NOT_TO_SEEDS = (
    "the edges of this batch do not point to its seeds, so it has no layers; sample it with "
    'direction="in"'
)
NO_HOPS = "the batch has no hops, so there are no blocks"


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer: a bipartite graph from its sources to its destinations.

    Local ids are positions among the sources, and the destinations are the first of those:

        for layer, convolution in zip(batch.layers(), network):
            x = convolution((x, x[: layer.num_dst]), layer.edge_index)
    """

    edge_index: Any
    """int64, (2, edges): local source and destination."""
    n_id: Any
    """Global ids of the sources; of the destinations, n_id[:num_dst]."""
    e_id: Any
    """Input row of each edge; None if the graph stores no edge ids."""
    edge_weight: Any
    """None if the graph stores no weights."""
    num_src: int
    num_dst: int
    edge_scale: Any = None
    """Scale of each edge, in a LABOR sample by weight; else None."""


def nested_layers(
    *,
    n_id: Any,
    edge_index: Any,
    e_id: Any,
    edge_weight: Any,
    num_sampled_nodes: list[int],
    num_sampled_edges: list[int],
    edge_scale: Any = None,
) -> list[Layer]:
    """One layer for each hop. The input layer has all nodes and edges, the last the seeds' edges.

    Raises ValueError for a sample whose edges are not in the order of hops, or do not point to the
    seeds.
    """
    if len(num_sampled_nodes) != len(num_sampled_edges) + 1:
        raise ValueError(NOT_BY_HOPS)
    layers = []
    for hops in range(len(num_sampled_edges), 0, -1):
        edges = sum(num_sampled_edges[:hops])
        layers.append(
            Layer(
                edge_index=edge_index[:, :edges],
                n_id=n_id[: sum(num_sampled_nodes[: hops + 1])],
                e_id=None if e_id is None else e_id[:edges],
                edge_weight=None if edge_weight is None else edge_weight[:edges],
                num_src=sum(num_sampled_nodes[: hops + 1]),
                num_dst=sum(num_sampled_nodes[:hops]),
                edge_scale=None if edge_scale is None else edge_scale[:edges],
            )
        )
    if layers and edge_index.shape[1] and int(edge_index[1].max()) >= layers[0].num_dst:
        raise ValueError(NOT_TO_SEEDS)
    return layers


def dgl_blocks(layers: list[Layer]) -> tuple[Any, Any, list[Any]]:
    """(input_nodes, output_nodes, blocks), input layer first. Raises ImportError without DGL."""
    dgl = import_extra("dgl", "dgl", "DGL blocks need DGL")
    if not layers:
        raise ValueError(NO_HOPS)
    blocks = [_block(dgl, layer) for layer in layers]
    return blocks[0].srcdata[dgl.NID], blocks[-1].dstdata[dgl.NID], blocks


def _block(dgl: Any, layer: Layer) -> Any:
    sources, targets = layer.edge_index
    block = dgl.create_block(
        (sources, targets), num_src_nodes=layer.num_src, num_dst_nodes=layer.num_dst
    )
    block.srcdata[dgl.NID] = layer.n_id
    block.dstdata[dgl.NID] = layer.n_id[: layer.num_dst]
    if layer.e_id is not None:
        block.edata[dgl.EID] = layer.e_id
    if layer.edge_weight is not None:
        block.edata["edge_weight"] = layer.edge_weight
    if layer.edge_scale is not None:
        block.edata["edge_scale"] = layer.edge_scale
    return block
