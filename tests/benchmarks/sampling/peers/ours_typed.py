"""This project: samples of one graph with types, times and weights, beside plain ones.

Plain samples follow the same edges without types, with twice the fanout of a relation: a node of
the typed graph draws from two. A workload is named after what it asks for.
"""

from contextlib import nullcontext
from typing import Any

import graphzero as gz
import numpy as np
from graphzero import _engine
from measure import TYPED_FANOUT, Arguments, SeedTimes, batch, serve, typed_batch

arguments = Arguments.read()
_engine.set_thread_limit(arguments.threads * arguments.callers)
seeds = arguments.load("seeds")
seed_times = SeedTimes(seeds)
graphs = {file.stem: gz.Graph(file, io="mapped") for file in arguments.directory.glob("*.gl")}


def plain(number: int) -> tuple[int, int]:
    sample = graphs["plain"].sample(
        batch(seeds, number),
        [2 * edges for edges in TYPED_FANOUT],
        seed=number,
        threads=arguments.threads,
    )
    return sample.edge_index.shape[1], len(sample.n_id)


def typed(
    number: int,
    name: str = "typed",
    chosen: dict[str, np.ndarray] | None = None,
    **options: Any,
) -> tuple[int, int]:
    sample = graphs[name].sample(
        typed_batch(seeds, number) if chosen is None else chosen,
        TYPED_FANOUT,
        seed=number,
        threads=arguments.threads,
        **options,
    )
    edges = sum(sample[relation].num_edges for relation in sample.edge_types)
    return edges, sum(len(sample[name].n_id) for name in sample.node_types)


def timed(number: int, name: str = "timed", **options: Any) -> tuple[int, int]:
    chosen = typed_batch(seeds, number)
    # Seeds are numbered over all types, in their order.
    times = np.concatenate(list(seed_times.of(chosen).values()))
    return typed(number, name, chosen, time=times, **options)


workloads = {
    "plain": plain,
    "typed": typed,
    "disjoint": lambda n: typed(n, disjoint=True),
    "timed": timed,
    "last": lambda n: timed(n, temporal_strategy="last"),
    "weighted": lambda n: typed(n, "weighted", weighted=True, disjoint=True),
    "weighted_timed": lambda n: timed(n, "weighted_timed", weighted=True),
}
serve({name: nullcontext(call) for name, call in workloads.items()}, arguments)
