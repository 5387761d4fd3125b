"""DGL 2.1.0: LABOR of GraphBolt, one batch for each line that comes in.

Each hop is called directly, in our order. GraphBolt expands earlier nodes again in every hop, so
its batches have more edges. Rows of features are read by torch's index_select, as GraphBolt's own
in-memory features are. Called with a folder of graphs.py and a number of threads; a line has the
number of a batch, and the answer is JSON: nodes, edges, seconds and CPU seconds of the sample, and
of sample and features.
"""

import json
import sys
import time
from pathlib import Path

import dgl.graphbolt as gb
import numpy as np
import torch

FANOUT, BATCH, DIM = [15, 10, 5], 1024, 128

directory = Path(sys.argv[1])
torch.set_num_threads(int(sys.argv[2]))


def load(name: str) -> torch.Tensor:
    return torch.from_numpy(np.load(directory / f"{name}.npy"))


seeds = load("seeds")
graph = gb.fused_csc_sampling_graph(load("indptr"), load("indices"))
# Values do not matter to speed; all pages are written, so that none is read for the first time.
features = torch.ones((graph.total_num_nodes, DIM))


def sample(nodes: torch.Tensor) -> tuple[torch.Tensor, int]:
    edges = 0
    for k in FANOUT:
        drawn = graph.sample_layer_neighbors(nodes, torch.tensor([k]))
        nodes, compacted = gb.unique_and_compact_csc_formats(drawn.sampled_csc, nodes)
        edges += len(compacted.indices)
    return nodes, edges


print("ready", flush=True)
for line in sys.stdin:
    begin = int(line) * BATCH % (len(seeds) - BATCH)
    start, cpu = time.perf_counter(), time.process_time()
    nodes, edges = sample(seeds[begin : begin + BATCH])
    drawn, drawn_cpu = time.perf_counter(), time.process_time()
    features.index_select(0, nodes)
    end, end_cpu = time.perf_counter(), time.process_time()
    times = [drawn - start, end - start, drawn_cpu - cpu, end_cpu - cpu]
    print(json.dumps([len(nodes), edges, *times]), flush=True)
