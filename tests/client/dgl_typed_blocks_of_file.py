"""Makes DGL blocks of a typed batch and looks at them through DGL; run by test_typed_dgl.py."""

import json
import sys
from pathlib import Path

import dgl
import dgl.function
import numpy as np
import torch
from graphzero.client.batches.typed_layers import dgl_typed_blocks, nested_typed_layers
from graphzero.embedded.typed_results import EdgeFields, NodeFields, TypedResult

arrays = np.load(sys.argv[1])
counts = json.loads(Path(sys.argv[2]).read_text())


def tensors(directory):
    prefix = f"{directory}/"
    keys = [key for key in arrays if key.startswith(prefix)]
    return {key.removeprefix(prefix): torch.from_numpy(arrays[key]) for key in keys}


batch = TypedResult(
    {name: NodeFields(name, tensors(name), **facts) for name, facts in counts["types"].items()},
    {
        tuple(name.split(".")): EdgeFields(name, tensors(name), **facts)
        for name, facts in counts["relations"].items()
    },
    seed=0,
)
layers = nested_typed_layers(batch)
input_nodes, output_nodes, blocks = dgl_typed_blocks(layers)

assert len(blocks) == len(layers) == counts["hops"]
for name in batch.node_types:
    assert torch.equal(input_nodes[name], batch[name].n_id)
    assert torch.equal(output_nodes[name], batch[name].n_id[: batch[name].batch_size])
x = {name: batch[name].x for name in batch.node_types}
for block, layer in zip(blocks, layers, strict=True):
    assert block.is_block
    assert set(block.canonical_etypes) == set(batch.edge_types)
    for name in batch.node_types:
        assert block.num_src_nodes(name) == layer.num_src[name]
        assert block.num_dst_nodes(name) == layer.num_dst[name]
        sources, destinations = block.srcnodes[name].data, block.dstnodes[name].data
        assert torch.equal(sources[dgl.NID], layer.n_id[name])
        assert torch.equal(sources[dgl.NID][: layer.num_dst[name]], destinations[dgl.NID])
        sources["h"] = x[name]
    total = {name: torch.zeros(count, 1) for name, count in layer.num_dst.items()}
    for triple in batch.edge_types:
        source, target = layer.edge_index[triple]
        assert torch.equal(torch.stack(block.edges(etype=triple)), layer.edge_index[triple])
        if triple in layer.e_id:
            assert torch.equal(block.edges[triple].data[dgl.EID], layer.e_id[triple])
        weight = layer.edge_weight.get(triple, torch.ones(len(source)))
        block.edges[triple].data["w"] = weight
        total[triple[2]].index_add_(0, target, x[triple[0]][source] * weight.unsqueeze(1))
    # A layer of a network over all relations in DGL's words, against plain torch.
    add = (dgl.function.u_mul_e("h", "w", "m"), dgl.function.sum("m", "total"))
    block.multi_update_all(dict.fromkeys(batch.edge_types, add), "sum")
    for name, expected in total.items():
        found = block.dstnodes[name].data.get("total", torch.zeros(len(expected), 1))
        assert torch.allclose(found, expected, atol=1e-4), name
    x = total
print("blocks are right")
