"""Every way of drawing gives every outcome its probability, and mutants are caught."""

from itertools import combinations

import numpy as np
import pytest
from graphzero import _engine
from mutant_samplers import (
    FloydWithoutReplacing,
    IgnoresWeights,
    OffByOne,
    SameSeedEveryEpoch,
    WeightsOnlyTheFirstDraw,
    below_by_modulo,
    below_without_rejection,
)
from reference_sampler import ReferenceSampler, mix, request_draws
from sampling_graphs import fan_edges, open_graph
from sampling_statistics import BOUND, frequency_p, inclusion_p, subset_p, subset_probabilities

WEIGHTS = [5.0, 1.0, 0.0, 2.0, 3.0, 1e-3]


def engine_sampler(edges, path):
    return open_graph(path, edges)


def mutant_sampler(mutant):
    return lambda edges, path: mutant(edges)


def draw_positions(sampler, centres, k, *, seed=11, **options):
    """Positions that each of `centres` equal rows drew, as an array of (row, position)."""
    sample = sampler.sample(list(range(centres)), [k], seed=seed, **options)
    n_id = np.asarray(sample.n_id)
    source, target = np.asarray(sample.edge_index)
    return target, n_id[source] - centres


def as_subsets(rows, positions, centres):
    subsets = [set() for _ in range(centres)]
    for row, position in zip(rows.tolist(), positions.tolist(), strict=True):
        subsets[row].add(position)
    return [frozenset(s) for s in subsets]


def uniform_subsets_p(make, path, *, degree=6, k=3, centres=4_000):
    sampler = make(fan_edges(centres, degree), path)
    drawn = as_subsets(*draw_positions(sampler, centres, k), centres)
    possible = [frozenset(s) for s in combinations(range(degree), k)]
    return subset_p(drawn, dict.fromkeys(possible, 1 / len(possible)))


def inclusion_counts_p(make, path, *, degree, k, centres):
    sampler = make(fan_edges(centres, degree), path)
    _, positions = draw_positions(sampler, centres, k)
    return inclusion_p(np.bincount(positions, minlength=degree), centres, k)


def replacement_p(make, path, *, degree=7, k=5, centres=3_000):
    sampler = make(fan_edges(centres, degree), path)
    _, positions = draw_positions(sampler, centres, k, replace=True)
    return frequency_p(np.bincount(positions, minlength=degree), np.full(degree, 1 / degree))


def weighted_subsets_p(make, path, *, k=2, centres=4_000):
    sampler = make(fan_edges(centres, len(WEIGHTS), WEIGHTS), path)
    rows, positions = draw_positions(sampler, centres, k, weighted=True)
    return subset_p(as_subsets(rows, positions, centres), subset_probabilities(WEIGHTS, k))


def weighted_replacement_p(make, path, *, centres=3_000):
    sampler = make(fan_edges(centres, len(WEIGHTS), WEIGHTS), path)
    _, positions = draw_positions(sampler, centres, 4, weighted=True, replace=True)
    counts = np.bincount(positions, minlength=len(WEIGHTS))
    return frequency_p(counts, np.array(WEIGHTS) / sum(WEIGHTS))


def epochs_p(make, path, *, degree=40, k=4, epochs=1_500):
    """One hub, asked for once an epoch with the seed that a loader would give it."""
    sampler = make(fan_edges(1, degree), path)
    counts = np.zeros(degree)
    for epoch in range(epochs):
        _, positions = draw_positions(sampler, 1, k, seed=mix(epoch))
        counts += np.bincount(positions, minlength=degree)
    return inclusion_p(counts, epochs, k)


def below_p(below, *, draws=20_000):
    """Numbers below 3/4 of 2^64: modulo and plain multiply-shift favour a third of them twice."""
    bound = 3 << 62
    generator = request_draws(3, 5)
    thirds = [below(generator, bound) // (1 << 62) for _ in range(draws)]
    folded = [below(generator, bound) % 3 for _ in range(draws)]
    third = np.full(3, 1 / 3)
    return min(
        frequency_p(np.bincount(thirds, minlength=3), third),
        frequency_p(np.bincount(folded, minlength=3), third),
    )


@pytest.mark.parametrize(("degree", "k"), [(6, 3), (5, 4), (7, 2), (9, 1)])
def test_every_subset_is_equally_likely(tmp_path, degree, k):
    assert uniform_subsets_p(engine_sampler, tmp_path / "g.gl", degree=degree, k=k) > BOUND


@pytest.mark.parametrize(
    ("degree", "k", "centres"),
    [
        (15, 10, 4_000),  # k < degree < 2k
        (2_000, 15, 2_000),  # a hub, scanned list
        (300, 100, 500),  # bitmap
        (20_000, 60, 300),  # hash set
    ],
)
def test_hub_draws_are_uniform(tmp_path, degree, k, centres):
    options = {"degree": degree, "k": k, "centres": centres}
    assert inclusion_counts_p(engine_sampler, tmp_path / "g.gl", **options) > BOUND


@pytest.mark.parametrize("kind", list(_engine.SetKind))
def test_a_forced_set_draws_the_same(tmp_path, kind):
    graph = open_graph(tmp_path / "g.gl", fan_edges(50, 500))
    options = {
        "adjacency": "in",
        "expand_targets": True,
        "replace": False,
        "weighted": False,
        "seed": 1,
        "max_edges": 10**6,
        "threads": 1,
    }
    drawn = []
    for forced in (None, kind):
        sample = _engine.sample_neighbours(
            graph._file.topology, np.arange(50), [40], **options, forced_set=forced
        )
        n_id = np.empty(sample.num_nodes, np.int64)
        edge_index = np.empty((2, sample.num_edges), np.int64)
        sample.copy_to(n_id=n_id, edge_index=edge_index)
        drawn.append(n_id[edge_index].tobytes())
    assert drawn[0] == drawn[1]


def test_a_row_no_longer_than_k_is_taken_whole(tmp_path):
    graph = open_graph(tmp_path / "g.gl", fan_edges(20, 5))
    for k in (5, 6, 2**62):
        rows, positions = draw_positions(graph, 20, k)
        assert as_subsets(rows, positions, 20) == [frozenset(range(5))] * 20
        assert len(positions) == 100


def test_replacement_is_uniform(tmp_path):
    assert replacement_p(engine_sampler, tmp_path / "g.gl") > BOUND


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_weighted_draws_are_proportional_among_the_rest(tmp_path, k):
    assert weighted_subsets_p(engine_sampler, tmp_path / "g.gl", k=k) > BOUND


def test_weighted_replacement_is_proportional(tmp_path):
    assert weighted_replacement_p(engine_sampler, tmp_path / "g.gl") > BOUND


def test_weighted_draws_from_a_long_row_are_proportional(tmp_path):
    degree, centres = 1_000, 800
    weights = np.linspace(1, 10, degree, dtype=np.float32).tolist()
    sampler = engine_sampler(fan_edges(centres, degree, weights), tmp_path / "g.gl")
    _, positions = draw_positions(sampler, centres, 20, weighted=True, replace=True)
    counts = np.bincount(positions, minlength=degree)
    assert frequency_p(counts, np.array(weights) / sum(weights)) > BOUND


def test_a_heavy_edge_does_not_hide_the_light_ones(tmp_path):
    weights = [1e30, 1.0, 1.0, 1.0, 0.0]
    sampler = engine_sampler(fan_edges(3_000, 5, weights), tmp_path / "g.gl")
    rows, positions = draw_positions(sampler, 3_000, 2, weighted=True)
    assert subset_p(as_subsets(rows, positions, 3_000), subset_probabilities(weights, 2)) > BOUND


def test_repeated_seeds_draw_independently(tmp_path):
    occurrences, degree, k = 4_000, 6, 3
    graph = open_graph(tmp_path / "g.gl", fan_edges(1, degree))
    sample = graph.sample([0] * occurrences, [k], seed=2)
    rows, positions = sample.edge_index[1], sample.n_id[sample.edge_index[0]] - 1
    drawn = as_subsets(rows, positions, occurrences)
    possible = [frozenset(s) for s in combinations(range(degree), k)]
    assert subset_p(drawn, dict.fromkeys(possible, 1 / len(possible))) > BOUND


def test_a_hub_is_uniform_over_the_seeds_of_many_epochs(tmp_path):
    assert epochs_p(engine_sampler, tmp_path / "g.gl") > BOUND


def test_bounded_numbers_are_unbiased():
    assert below_p(lambda draws, bound: draws.below(bound)) > BOUND


@pytest.mark.parametrize(
    ("test", "mutant"),
    [
        (weighted_subsets_p, IgnoresWeights),
        (weighted_subsets_p, WeightsOnlyTheFirstDraw),
        (weighted_replacement_p, IgnoresWeights),
        (uniform_subsets_p, OffByOne),
        (uniform_subsets_p, FloydWithoutReplacing),
        (replacement_p, OffByOne),
        (epochs_p, SameSeedEveryEpoch),
    ],
)
def test_mutant_fails(tmp_path, test, mutant):
    assert test(mutant_sampler(mutant), tmp_path / "g.gl") < BOUND


@pytest.mark.parametrize("mutant", [below_by_modulo, below_without_rejection])
def test_biased_bounded_numbers_fail(mutant):
    assert below_p(mutant) < BOUND


@pytest.mark.parametrize(
    "test", [weighted_subsets_p, weighted_replacement_p, uniform_subsets_p, replacement_p, epochs_p]
)
def test_reference_without_a_mutation_passes(tmp_path, test):
    assert test(mutant_sampler(ReferenceSampler), tmp_path / "g.gl") > BOUND
