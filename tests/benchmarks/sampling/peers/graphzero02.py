"""GraphZero 0.2.0 from PyPI. It has no multi-hop sampling."""

import graphzero
from measure import LENGTH, NODE2VEC, ONE_HOP, ONE_HOP_SEEDS, WALKERS, Arguments, report

arguments = Arguments.read()
graph = graphzero.Graph(str(arguments.directory / "graph02.gl"))
starts = arguments.load("seeds")[:WALKERS].tolist()  # it takes lists


def one_hop(number: int) -> tuple[int, int]:
    return graph.batch_random_fanout(starts[:ONE_HOP_SEEDS], ONE_HOP).size, 0


def walk(number: int) -> tuple[int, int]:
    graph.batch_random_walk_uniform(starts, LENGTH + 1)
    return WALKERS * LENGTH, 0


def node2vec(number: int) -> tuple[int, int]:
    graph.batch_random_walk(starts, LENGTH + 1, NODE2VEC["p"], NODE2VEC["q"])
    return WALKERS * LENGTH, 0


for workload in (one_hop, walk, node2vec):
    report(workload.__name__, workload, arguments)
