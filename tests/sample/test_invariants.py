"""What holds for every sample of every graph."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling_graphs import EdgeList, open_graph

REQUESTS = 4  # for each graph: writing its file takes longer than sampling it
FEW = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def edge_lists(draw):
    """Multigraphs with self-loops and isolated nodes; some weights are zero."""
    nodes = draw(st.integers(1, 12))
    node = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=60))
    weight = st.sampled_from([0.0, 0.5, 1.0, 1e-20, 1e20])
    weights = draw(st.lists(weight, min_size=len(pairs), max_size=len(pairs)))
    return EdgeList.of(nodes, pairs, weights)


@st.composite
def requests(draw, num_nodes):
    return {
        "seeds": draw(st.lists(st.integers(0, num_nodes - 1), max_size=8)),
        "fanout": draw(st.lists(st.sampled_from([-1, 0, 1, 2, 3, 7, 2**40]), max_size=3)),
        "weighted": draw(st.booleans()),
        "direction": draw(st.sampled_from(["in", "out"])),
        "seed": draw(st.integers(0, 2**64 - 1)),
        "edge_ids": True,
    }


def expected_count(edges, row, k, replace, weighted):
    if weighted:
        row = [edge for edge in row if edges.weights[edge] > 0]
    if k == -1 or not row:
        return len(row)
    return k if replace else min(k, len(row))


def check(edges, sample, request, replace):
    seeds, fanout = request["seeds"], request["fanout"]
    out = request["direction"] == "out"
    assert sample.batch_size == len(seeds)
    assert sample.n_id[: len(seeds)].tolist() == seeds
    assert len(sample.num_sampled_nodes) == len(fanout) + 1
    assert len(sample.num_sampled_edges) == len(fanout)
    assert sum(sample.num_sampled_nodes) == len(sample.n_id)
    assert sum(sample.num_sampled_edges) == sample.edge_index.shape[1] == len(sample.e_id)

    # Every id appears once, except for repeated seeds.
    found = sample.n_id[len(seeds) :].tolist()
    assert len(set(found)) == len(found)
    assert not set(found) & set(seeds)

    # Every edge is one of the graph's, in its own direction.
    source, target = sample.n_id[sample.edge_index]
    assert (source == edges.src[sample.e_id]).all()
    assert (target == edges.dst[sample.e_id]).all()
    assert (sample.edge_weight == edges.weights[sample.e_id]).all()

    # Rows are expanded in order; a neighbour that is a repeated seed is its first occurrence.
    expanded, neighbour = sample.edge_index[::-1] if not out else sample.edge_index
    assert (np.diff(expanded) >= 0).all()
    first = {}
    for position, node in enumerate(sample.n_id.tolist()):
        first.setdefault(node, position)
    assert set(neighbour.tolist()) <= set(first.values())

    # Each hop expands exactly the nodes that the hop before found, and discovery is in edge order.
    rows = {}
    for edge, end in enumerate(edges.src if out else edges.dst):
        rows.setdefault(int(end), []).append(edge)
    per_row = Counter(expanded.tolist())
    begin, next_new = 0, len(seeds)
    edge_begin = 0
    for hop, k in enumerate(fanout):
        end = begin + sample.num_sampled_nodes[hop]
        edge_end = edge_begin + sample.num_sampled_edges[hop]
        assert all(begin <= e < end for e in expanded[edge_begin:edge_end])
        for position in range(begin, end):
            row = rows.get(int(sample.n_id[position]), [])
            count = expected_count(edges, row, k, replace, request["weighted"])
            assert per_row[position] == count
            drawn = sample.e_id[expanded == position].tolist()
            assert set(drawn) <= set(row)
            assert replace or len(set(drawn)) == len(drawn)
            if request["weighted"]:
                assert all(edges.weights[edge] > 0 for edge in drawn)
        for local in neighbour[edge_begin:edge_end].tolist():
            assert local <= next_new
            next_new += local == next_new
        begin, edge_begin = end, edge_end


@st.composite
def walk_requests(draw, num_nodes):
    bias = st.sampled_from([1e-9, 0.25, 1.0, 4.0, 1e9])
    return {
        "starts": draw(st.lists(st.integers(0, num_nodes - 1), max_size=80)),
        "length": draw(st.integers(0, 6)),
        "p": draw(bias),
        "q": draw(bias),
        "restart": draw(st.sampled_from([0.0, 0.0, 0.3, 1.0])),
        "weighted": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**64 - 1)),
    }


def check_walks(edges, walks, request):
    starts, length = request["starts"], request["length"]
    usable = edges.weights > 0 if request["weighted"] else np.ones(len(edges.src), bool)
    pairs = set(zip(edges.src[usable].tolist(), edges.dst[usable].tolist(), strict=True))
    alive = {source for source, _ in pairs}
    assert walks.nodes.shape == (len(starts), length + 1)
    assert walks.nodes[:, 0].tolist() == starts
    for row, steps, start in zip(walks.nodes.tolist(), walks.lengths, starts, strict=True):
        for a, b in pairwise(row[: steps + 1]):
            assert (a, b) in pairs or (request["restart"] > 0 and b == start)
        assert row[steps:] == [row[steps]] * (length + 1 - steps)
        assert steps == length or row[steps] not in alive


@FEW
@given(st.data())
def test_samples(tmp_path, data):
    edges = data.draw(edge_lists())
    graph = open_graph(tmp_path / "g.gl", edges, edge_ids=True)
    for _ in range(REQUESTS):
        request = data.draw(requests(edges.num_nodes))
        check(edges, graph.sample(**request), request, replace=False)
        request["fanout"] = [min(k, 9) for k in request["fanout"]]
        check(edges, graph.sample(**request, replace=True), request, replace=True)


@FEW
@given(st.data())
def test_walks_follow_edges_and_end_only_at_dead_ends(tmp_path, data):
    edges = data.draw(edge_lists())
    graph = open_graph(tmp_path / "g.gl", edges)
    for _ in range(REQUESTS):
        request = data.draw(walk_requests(edges.num_nodes))
        check_walks(edges, graph.random_walk(**request), request)
