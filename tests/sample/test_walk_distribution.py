"""Walks take every step with its probability: first order, restart, node2vec."""

from itertools import pairwise

import graphzero as gz
import numpy as np
import pytest
from sampling_graphs import EdgeList, open_graph, write_legacy_graph
from sampling_statistics import BOUND, frequency_p

# Triangles, a path, a multi-edge, a self-loop, a one-way edge and a dead end (node 7).
PAIRS = [
    *[(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2), (2, 3), (3, 2), (3, 4), (4, 3)],
    *[(4, 0), (0, 5), (5, 0), (5, 5), (0, 1), (6, 2), (2, 6), (4, 7)],
]
WEIGHTS = [1, 2, 3, 0.5, 1, 4, 2, 2, 1, 1, 5, 1, 2, 3, 2, 1, 0.25, 0.5]
EDGES = EdgeList.of(8, PAIRS, WEIGHTS)
WALKERS, LENGTH = 20_000, 5


def open_version1(path):
    return open_graph(path, EDGES)


def open_unsorted_legacy(path):
    return gz.Graph(write_legacy_graph(path, EDGES))


def transitions(walks):
    """Counts of (before, from, to); before is -1 in a first step."""
    counts = np.zeros((9, 8, 8))
    for row, steps in zip(walks.nodes, walks.lengths, strict=True):
        before = -1
        for a, b in pairwise(row[: steps + 1]):
            counts[before, a, b] += 1
            before = a
    return counts


def probabilities(before, node, p, q, weighted):
    """Of the next node, from the definition of node2vec."""
    neighbours = {int(EDGES.dst[e]) for e in np.flatnonzero(EDGES.src == before)}
    values = np.zeros(8)
    for e in np.flatnonzero(EDGES.src == node):
        x = int(EDGES.dst[e])
        bias = 1.0 if before < 0 or x in neighbours else 1 / q
        if x == before:
            bias = 1 / p
        values[x] += bias * (EDGES.weights[e] if weighted else 1)
    return values / values.sum()


def transition_p(counts, p, q, weighted):
    """The smallest p of any state that was seen often enough, times their number."""
    ps = []
    for before in range(-1, 8):
        for node in range(8):
            if counts[before, node].sum() >= 200:
                expected = probabilities(before, node, p, q, weighted)
                if np.count_nonzero(expected) > 1:
                    ps.append(frequency_p(counts[before, node], expected))
    assert len(ps) >= 8
    return min(1.0, min(ps) * len(ps))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("p", "q"),
    [(1, 1), (0.25, 1), (4, 1), (1, 0.5), (1, 4), (0.25, 4), (4, 0.25), (1e-4, 1e-4), (1e4, 1e4)],
)
@pytest.mark.parametrize("open_file", [open_version1, open_unsorted_legacy])
def test_steps_have_the_probabilities_of_node2vec(tmp_path, open_file, p, q, weighted):
    graph = open_file(tmp_path / "g.gl")
    starts = np.arange(WALKERS) % 8
    walks = graph.random_walk(starts, LENGTH, p=p, q=q, weighted=weighted, seed=17)
    assert transition_p(transitions(walks), p, q, weighted) > BOUND


@pytest.mark.parametrize(
    ("drawn", "claimed"),
    [((1, 1), (1, 0.5)), ((4, 1), (0.25, 1)), ((0.25, 4), (4, 0.25))],
)
def test_a_walk_with_other_parameters_fails(tmp_path, drawn, claimed):
    graph = open_version1(tmp_path / "g.gl")
    walks = graph.random_walk(np.arange(WALKERS) % 8, LENGTH, p=drawn[0], q=drawn[1], seed=17)
    assert transition_p(transitions(walks), *claimed, weighted=False) < BOUND


def test_a_walk_that_ignores_weights_fails(tmp_path):
    graph = open_version1(tmp_path / "g.gl")
    walks = graph.random_walk(np.arange(WALKERS) % 8, LENGTH, weighted=False, seed=17)
    assert transition_p(transitions(walks), 1, 1, weighted=True) < BOUND


@pytest.mark.parametrize(("p", "q"), [(1, 1), (0.5, 2)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("restart", [0.1, 0.7])
def test_restart_has_its_probability(tmp_path, restart, p, q, weighted):
    # On a cycle of 50 the start is two steps away at most by a restart.
    cycle = EdgeList.of(50, [(i, (i + 1) % 50) for i in range(50)], [1.0] * 50)
    graph = open_graph(tmp_path / "g.gl", cycle)
    walks = graph.random_walk(
        np.zeros(5_000, int), 10, p=p, q=q, restart=restart, weighted=weighted, seed=5
    )
    restarts = int((walks.nodes[:, 1:] == 0).sum())
    moves = walks.nodes[:, 1:].size - restarts
    assert frequency_p([restarts, moves], [restart, 1 - restart]) > BOUND


def test_after_a_restart_the_step_is_first_order(tmp_path):
    graph = open_version1(tmp_path / "g.gl")
    walks = graph.random_walk(np.full(WALKERS, 3), 3, p=100, q=0.01, restart=0.5, seed=9)
    # 3 -> 2 or 4, back to 3 by restart or by an edge; p = 100 makes going back rare.
    returned = walks.nodes[:, 2] == 3
    third = walks.nodes[returned, 3]
    stepped = third[third != 3]
    assert frequency_p([(stepped == 2).sum(), (stepped == 4).sum()], [0.5, 0.5]) > BOUND


def test_hub_steps_are_uniform(tmp_path):
    star = EdgeList.of(501, [(0, leaf) for leaf in range(1, 501)])
    graph = open_graph(tmp_path / "g.gl", star)
    walks = graph.random_walk(np.zeros(50_000, int), 2, seed=1)
    assert (walks.lengths == 1).all()
    counts = np.bincount(walks.nodes[:, 1], minlength=501)[1:]
    assert frequency_p(counts, np.full(500, 1 / 500)) > BOUND


def test_second_order_steps_from_hubs_search_long_rows(tmp_path):
    # Two hubs share every third leaf: near and far candidates both occur, found by halving.
    pairs = [(0, 1), (1, 0)]
    pairs += [(0, leaf) for leaf in range(2, 602)] + [(1, leaf) for leaf in range(2, 602, 3)]
    pairs += [(1, leaf) for leaf in range(602, 702)]
    graph = open_graph(tmp_path / "g.gl", EdgeList.of(702, pairs))
    walks = graph.random_walk(np.zeros(400_000, int), 2, p=1, q=0.25, seed=3)
    through_1 = walks.nodes[walks.nodes[:, 1] == 1, 2]
    near = np.isin(through_1, np.arange(2, 602, 3)).sum()
    far = (through_1 >= 602).sum()
    back = (through_1 == 0).sum()
    total = 1 + 200 + 4 * 100
    assert frequency_p([back, near, far], [1 / total, 200 / total, 400 / total]) > BOUND
