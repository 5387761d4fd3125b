"""Makes DGL blocks of a saved batch and looks at them through DGL; run by test_layers.py."""

import sys

import dgl
import dgl.function
import numpy as np
import torch
from graphzero.client.batches.layers import dgl_blocks, nested_layers

saved = {name: torch.from_numpy(array) for name, array in np.load(sys.argv[1]).items()}
x = saved.pop("x")
sizes = {name: saved.pop(name).tolist() for name in ("num_sampled_nodes", "num_sampled_edges")}
layers = nested_layers(**saved, **sizes)
input_nodes, output_nodes, blocks = dgl_blocks(layers)

assert torch.equal(input_nodes, saved["n_id"])
assert torch.equal(output_nodes, saved["n_id"][: sizes["num_sampled_nodes"][0]])
assert len(blocks) == len(layers)
for block, layer in zip(blocks, layers, strict=True):
    assert block.is_block
    assert (block.num_src_nodes(), block.num_dst_nodes()) == (layer.num_src, layer.num_dst)
    assert torch.equal(torch.stack(block.edges()), layer.edge_index)
    assert torch.equal(block.srcdata[dgl.NID][: layer.num_dst], block.dstdata[dgl.NID])
    assert torch.equal(block.edata[dgl.EID], layer.e_id)

    # A layer of a network in DGL's words, against plain torch.
    block.srcdata["h"] = x
    block.update_all(dgl.function.u_mul_e("h", "edge_weight", "m"), dgl.function.sum("m", "total"))
    source, target = layer.edge_index
    messages = x[source] * layer.edge_weight.unsqueeze(1)
    expected = torch.zeros(layer.num_dst, x.shape[1]).index_add(0, target, messages)
    assert torch.allclose(block.dstdata["total"], expected, atol=1e-5)
    x = block.dstdata["total"]
print("blocks are right")
