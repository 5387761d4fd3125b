"""DGL's GraphBolt loader: `python peer_dgl.py ARRAYS SECONDS WORKERS THREADS 32|64 loaded|mapped`.

No edge ids: the graph has none, so GraphBolt makes none, as ours. It draws for every node of a hop
again in the next one, so that its batches have more edges: ratios are given by batches, nodes and
edges.
"""

from collections.abc import Iterator

import dgl.graphbolt as gb
import torch
from common.contender import BATCH, FANOUT, Taken, run
from peer_arrays import PeerArguments


def batches(arguments: PeerArguments) -> Iterator[Taken]:
    load = arguments.load
    short = arguments.ids == "32"
    graph = gb.fused_csc_sampling_graph(load("indptr"), load("indices32" if short else "indices"))
    features = gb.BasicFeatureStore(
        {
            ("node", None, "x"): gb.TorchBasedFeature(load("x")),
            ("node", None, "y"): gb.TorchBasedFeature(load("y").view(-1, 1)),
        }
    )
    train = load("train")
    items = gb.ItemSet(train.int() if short else train, names="seed_nodes")
    # GraphBolt reads fanouts from the input layer to the seeds.
    fanouts = [torch.tensor([k]) for k in reversed(FANOUT)]
    while True:
        pipe = gb.ItemSampler(items, batch_size=BATCH, shuffle=True, drop_last=True)
        pipe = pipe.sample_neighbor(graph, fanouts)
        pipe = pipe.fetch_feature(features, node_feature_keys=["x", "y"])
        for batch in gb.DataLoader(pipe, num_workers=arguments.workers):
            edges = [block.sampled_csc.indices for block in batch.sampled_subgraphs]
            tensors = [batch.input_nodes, *edges, *batch.node_features.values()]
            yield Taken(
                len(batch.input_nodes), sum(map(len, edges)), [tensor.numpy() for tensor in tensors]
            )


def main() -> None:
    arguments = PeerArguments.read()
    torch.set_num_threads(arguments.threads)
    run(batches(arguments), arguments.seconds, warm_up=8)


if __name__ == "__main__":
    main()
