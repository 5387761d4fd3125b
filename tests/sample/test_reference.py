"""The engine draws exactly what its README says: the plain Python sampler gives the same bytes."""

import zlib

import numpy as np
import pytest
from graphzero import _engine
from reference_sampler import ReferenceSampler, request_draws
from sampling_graphs import open_graph, random_edges

SHUFFLES = 5


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("fanout", [[3, 2], [-1, 4, 1], [0, 5], [60]])
def test_engine_and_reference_give_the_same_bytes(tmp_path, fanout, replace, weighted):
    edges = random_edges(400, 8_000, seed=5, weighted=True)
    graph = open_graph(tmp_path / "g.gl", edges, edge_ids=True)
    reference = ReferenceSampler(edges)
    seeds = [0, 1, 7, 399, 7, 50, 7, 0]
    for seed in (0, 1, 2**64 - 1):
        ours = graph.sample(seeds, fanout, replace=replace, weighted=weighted, seed=seed)
        theirs = reference.sample(seeds, fanout, replace=replace, weighted=weighted, seed=seed)
        assert ours.n_id.tolist() == theirs.n_id
        assert ours.edge_index.tolist() == list(theirs.edge_index)
        assert ours.e_id is not None
        assert ours.e_id.tolist() == theirs.e_id
        assert ours.num_sampled_nodes == theirs.num_sampled_nodes
        assert ours.num_sampled_edges == theirs.num_sampled_edges


@pytest.mark.parametrize("bound", [1, 2, 10, 2**32 + 1, 3 << 62, 2**64 - 1])
def test_bounded_numbers_are_those_of_the_reference(bound):
    out = np.empty(100, np.uint64)
    _engine.draw_below(9, bound, out)
    draws = request_draws(9, SHUFFLES)
    assert out.tolist() == [draws.below(bound) for _ in range(100)]


def test_a_change_of_draws_needs_a_new_sampler_version(tmp_path):
    # If this fails, draws have changed: raise kSamplerVersion, then the numbers here.
    edges = random_edges(100, 2_000, seed=1, weighted=True)
    graph = open_graph(tmp_path / "g.gl", edges)
    starts = np.arange(0, 100, 9)
    drawn = [
        graph.sample(starts, [3, 2], seed=42).n_id,
        graph.sample(starts, [3, 2], seed=42, weighted=True).n_id,
        graph.random_walk(starts, 8, seed=42, restart=0.1).nodes,
        graph.random_walk(starts, 8, seed=42, p=0.5, q=2).nodes,
        graph.random_walk(starts, 8, seed=42, p=0.5, q=2, weighted=True).nodes,
        graph.batch_random_fanout(starts, 5, seed=42),
    ]
    checksums = [zlib.crc32(array.tobytes()) for array in drawn]
    assert _engine.SAMPLER_VERSION == 1
    assert checksums == [3873979915, 1807232561, 3791243917, 3389825169, 978019280, 2082508431]
