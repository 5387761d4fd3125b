"""DGL 2.1.0: GraphBolt on the graph with types, without times and by time.

    python dgl21_typed.py FOLDER THREADS CALLERS SECONDS calls|loader 32|64

calls: the two steps of a hop that GraphBolt's own samplers take are called directly, in our order
of fanouts. loader: its DataLoader, with as many workers as there are callers; a caller takes the
next batch. The graph has no edge ids, so GraphBolt makes none, as ours. It draws for every node of
a hop again in the next one, so that its batches have more edges. By time, it takes edges before the
time of a seed and not those at it, and gives every drawn edge a node of its own, where ours has
each node once for each seed.
"""

import gc
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import dgl.graphbolt as gb
import numpy as np
import torch
from measure import BATCH, TYPED_FANOUT, TYPES, Arguments, SeedTimes, serve, typed_batch

RELATIONS = ("user:likes:item", "item:liked_by:user", "user:follows:user", "item:similar:item")

arguments = Arguments.read()
how, ids = sys.argv[5:7]
number_type = torch.int32 if ids == "32" else torch.int64
torch.set_num_threads(arguments.threads)
seeds = arguments.load("seeds")
seed_times = SeedTimes(seeds)
indptr = torch.from_numpy(arguments.load("indptr"))
nodes_of_a_type = (len(indptr) - 1) // len(TYPES)
graph = gb.fused_csc_sampling_graph(
    indptr,
    torch.from_numpy(arguments.load("indices32" if ids == "32" else "indices")),
    node_type_offset=torch.arange(len(TYPES) + 1) * nodes_of_a_type,
    type_per_edge=torch.from_numpy(arguments.load("relation")),
    node_type_to_id={name: number for number, name in enumerate(TYPES)},
    edge_type_to_id={name: number for number, name in enumerate(RELATIONS)},
    edge_attributes={"time": torch.from_numpy(arguments.load("times"))},
)
fanouts = [torch.full((len(RELATIONS),), edges) for edges in TYPED_FANOUT]


def tensors(by_type: dict[str, np.ndarray], kind: torch.dtype) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(values).to(kind) for name, values in by_type.items()}


def count(edges: dict[str, Any]) -> int:
    return sum(len(matrix.indices) for matrix in edges.values())


def count_nodes(nodes: dict[str, torch.Tensor]) -> int:
    return sum(map(len, nodes.values()))


def typed(number: int) -> tuple[int, int]:
    nodes = tensors(typed_batch(seeds, number), number_type)
    edges = 0
    for fanout in fanouts:
        drawn = graph.sample_neighbors(nodes, fanout)
        nodes, compacted = gb.unique_and_compact_csc_formats(drawn.sampled_csc, nodes)
        edges += count(compacted)
    return edges, count_nodes(nodes)


def timed(number: int) -> tuple[int, int]:
    chosen = typed_batch(seeds, number)
    nodes = tensors(chosen, number_type)
    times = tensors(seed_times.of(chosen), torch.int64)
    edges = 0
    for fanout in fanouts:
        drawn = graph.temporal_sample_neighbors(
            nodes, times, fanout, edge_timestamp_attr_name="time"
        )
        nodes, compacted, times = gb.compact_csc_format(drawn.sampled_csc, nodes, times)
        edges += count(compacted)
    return edges, count_nodes(nodes)


def batches(*, by_time: bool) -> Iterator[Any]:
    everything = typed_batch(seeds, 0, len(seeds) - 1)
    items: dict[str, Any] = tensors(everything, number_type)
    names: Any = "seed_nodes"
    if by_time:
        times = tensors(seed_times.of(everything), torch.int64)
        items, names = {name: (items[name], times[name]) for name in items}, (names, "timestamp")
    item_set = gb.ItemSetDict({name: gb.ItemSet(own, names=names) for name, own in items.items()})
    # GraphBolt reads fanouts from the input layer to the seeds.
    reverse = fanouts[::-1]
    while True:
        pipe = gb.ItemSampler(item_set, batch_size=BATCH, shuffle=True, drop_last=True)
        if by_time:
            pipe = pipe.temporal_sample_neighbor(graph, reverse, edge_timestamp_attr_name="time")
        else:
            pipe = pipe.sample_neighbor(graph, reverse)
        # It fetches nothing; the DataLoader gives to its workers what comes before a fetch_feature.
        pipe = pipe.fetch_feature(gb.BasicFeatureStore({}))
        yield from gb.DataLoader(pipe, num_workers=arguments.callers)


class Loader:
    """Takes batches from a DataLoader, whose workers live from its begin to its end."""

    def __init__(self, *, by_time: bool) -> None:
        self._by_time = by_time
        self._lock = threading.Lock()

    def __enter__(self) -> Callable[[int], tuple[int, int]]:
        self._batches = batches(by_time=self._by_time)
        self.take(0)  # starts the workers, which is not to be measured
        return self.take

    def take(self, number: int) -> tuple[int, int]:
        with self._lock:
            taken = next(self._batches)
        edges = sum(count(hop.sampled_csc) for hop in taken.sampled_subgraphs)
        # Of all hops: what the first layer of a model reads.
        return edges, count_nodes(taken.sampled_subgraphs[0].original_row_node_ids)

    def __exit__(self, *_: object) -> None:
        self._batches.close()
        del self._batches
        gc.collect()
        while multiprocessing.active_children():
            time.sleep(0.01)


if how == "calls":
    serve({"typed": nullcontext(typed), "timed": nullcontext(timed)}, arguments)
else:
    serve({"typed": Loader(by_time=False), "timed": Loader(by_time=True)}, arguments)
