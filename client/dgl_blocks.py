"""Layers as DGL's blocks."""

from __future__ import annotations

from typing import Any

from graphzero._extras import import_extra
from graphzero.client.layers import Layer


def dgl_blocks(layers: list[Layer]) -> tuple[Any, Any, list[Any]]:
    """(input_nodes, output_nodes, blocks), input layer first. Raises ImportError without DGL."""
    dgl = import_extra("dgl", "dgl", "DGL blocks need DGL")
    if not layers:
        raise ValueError("the batch has no hops, so there are no blocks")
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
    return block
