"""This project."""

import graphzero as gz
from graphzero import _engine
from measure import (
    FANOUT,
    LENGTH,
    NODE2VEC,
    ONE_HOP,
    ONE_HOP_SEEDS,
    WALKERS,
    Arguments,
    batch,
    report,
)

arguments = Arguments.read()
graph = gz.Graph(arguments.directory / "graph.gl")
seeds = arguments.load("seeds")
_engine.set_thread_limit(arguments.threads * arguments.callers)
threads = arguments.threads


def multi_hop(number: int) -> tuple[int, int]:
    sample = graph.sample(batch(seeds, number), FANOUT, seed=number, threads=threads)
    return sample.edge_index.shape[1], len(sample.n_id)


def one_hop(number: int) -> tuple[int, int]:
    sample = graph.sample(seeds[:ONE_HOP_SEEDS], [ONE_HOP], seed=number, threads=threads)
    return sample.edge_index.shape[1], len(sample.n_id)


def walk(number: int) -> tuple[int, int]:
    graph.random_walk(seeds[:WALKERS], LENGTH, seed=number, threads=threads)
    return WALKERS * LENGTH, 0


def node2vec(number: int) -> tuple[int, int]:
    graph.random_walk(seeds[:WALKERS], LENGTH, **NODE2VEC, seed=number, threads=threads)
    return WALKERS * LENGTH, 0


for workload in (multi_hop, one_hop, walk, node2vec):
    report(workload.__name__, workload, arguments)
