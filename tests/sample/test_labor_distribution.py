"""What LABOR samples promise about means and sums: unbiased for every node, and mutants are caught.

Rows of one sample share their numbers, so that draws are repeated with many seeds, and each node is
judged by itself: the mean of its estimates against the exact value, in standard errors. The bound
is that of sampling_statistics.py, for the worst of all nodes together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from labor_reference import LaborReference
from sampling_graphs import EdgeList, open_graph
from sampling_statistics import BOUND, inclusion_p
from scipy import stats
from typed_graphs import plain_graph

SEEDS = 3000
MUTANT_SEEDS = 400  # drawn by the reference, which is slow


class Engine:
    """LABOR samples of one hop, as arrays: target, place of the edge, scale."""

    def __init__(self, edges: EdgeList, path: Path) -> None:
        self.graph = open_graph(path / "g.gl", edges, edge_ids=True)

    def draw(self, targets: int, k: int, seed: int, weighted: bool) -> tuple[Any, Any, Any]:
        sample = self.graph.sample(
            np.arange(targets), [k], seed=seed, weighted=weighted, sampler="labor"
        )
        return sample.edge_index[1], sample.e_id, sample.edge_scale


class Reference:
    kind = LaborReference

    def __init__(self, edges: EdgeList, path: Path) -> None:
        self.sampler = self.kind(plain_graph(edges))

    def draw(self, targets: int, k: int, seed: int, weighted: bool) -> tuple[Any, Any, Any]:
        sample = self.sampler.sample({0: list(range(targets))}, [[k]], seed=seed, weighted=weighted)
        _, target, place = np.array(sample.edges[0], np.int64).reshape(-1, 3).T
        return target, place, np.array(self.sampler.scales[0])


def mutant(of: type[LaborReference]) -> type[Reference]:
    return type(of.__name__, (Reference,), {"kind": of})


class ParallelEdgesShareANumber(LaborReference):
    def number(self, key, kind, node, parallel):
        return super().number(key, kind, node, 0)


class SmallIdsComeFirst(LaborReference):
    """One number in four is that of the node's id."""

    def number(self, key, kind, node, parallel):
        found = super().number(key, kind, node, parallel)
        return node if found % 4 == 0 else found


class WeightInsteadOfScale(LaborReference):
    def scale(self, weight, inverse_tau, share):
        return weight


class TauOfTheLastTaken(LaborReference):
    """Divides by the k-th quotient in place of the (k+1)-th."""

    def smallest_by_weight(self, relation, row, numbers, weights, k, share):
        before = len(self.scales[relation])
        taken = super().smallest_by_weight(relation, row, numbers, weights, k, share)
        chosen = [row.index(slot) for slot in taken]
        last = max(((numbers[i] >> 11) + 1) * 2.0**-53 / weights[i] for i in chosen)
        if len(taken) == k:
            self.scales[relation][before:] = [max(weights[i], 1 / last) for i in chosen]
        return taken


def shared_neighbours(*, weighted: bool) -> tuple[EdgeList, int]:
    """Eight targets that share neighbours, with parallel edges, of degrees below and above k.

    Values of neighbours and weights go with their ids, so that taking some more often shows.
    """
    rng = np.random.default_rng(7)
    degrees = [3, 6, 9, 14, 20, 40, 40, 90]
    src = np.concatenate([8 + rng.integers(0, 60, degree) for degree in degrees])
    dst = np.repeat(np.arange(8), degrees)
    weights = None
    if weighted:
        weights = (rng.random(len(src)) ** 3 * 5).astype(np.float32)
        weights[::11] = 0
        weights[::17] = 20  # heavier than all others of its row together
    return EdgeList(68, src, dst, weights), 8


def worst_p(make: type, path: Path, *, weighted: bool, k: int = 6, seeds: int = SEEDS) -> float:
    """p of the largest deviation of a node's mean estimate from the exact value."""
    edges, targets = shared_neighbours(weighted=weighted)
    sampler = make(edges, path)
    # What a model would see of each edge: it depends on the neighbour, and on the edge.
    values = 1.0 + (edges.src % 13) + 0.01 * np.arange(len(edges.src))
    if weighted:
        exact = np.bincount(edges.dst, edges.weights * values, targets)
    else:
        exact = np.bincount(edges.dst, values, targets) / np.bincount(edges.dst, minlength=targets)
    estimates = np.empty((seeds, targets))
    for seed in range(seeds):
        target, place, scale = sampler.draw(targets, k, seed, weighted)
        if weighted:
            estimates[seed] = np.bincount(target, scale * values[place], targets)
        else:
            sums = np.bincount(target, values[place], targets)
            estimates[seed] = sums / np.bincount(target, minlength=targets)
    errors = np.abs(estimates.mean(0) - exact)
    deviation = estimates.std(0) / np.sqrt(seeds)
    # Rows that give all have no deviation but rounding.
    whole = deviation < 1e-9 * exact
    if (errors[whole] > 1e-5 * exact[whole]).any():
        return 0.0
    worst = (errors[~whole] / deviation[~whole]).max()
    return float(min(1.0, 2 * stats.norm.sf(worst) * (~whole).sum()))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_estimate_of_a_neighbourhood_is_unbiased_for_every_node(tmp_path, weighted):
    assert worst_p(Engine, tmp_path, weighted=weighted) > BOUND


@pytest.mark.parametrize(
    ("biased", "weighted"),
    [
        (SmallIdsComeFirst, False),
        (WeightInsteadOfScale, True),
        (TauOfTheLastTaken, True),
    ],
)
def test_a_biased_mutant_is_caught(tmp_path, biased, weighted):
    assert worst_p(mutant(biased), tmp_path, weighted=weighted, seeds=MUTANT_SEEDS) < BOUND


def test_the_reference_itself_passes_with_as_few_seeds(tmp_path):
    assert worst_p(Reference, tmp_path, weighted=True, seeds=MUTANT_SEEDS) > BOUND


def parallel_pairs_p(make: type, path: Path, seeds: int) -> float:
    """p of how often both of two parallel edges are among 2 taken of 6 edges, which is 1 in 15."""
    edges = EdgeList.of(10, [(2, 0), (2, 0), (5, 0), (6, 0), (7, 0), (8, 0)])
    sampler = make(edges, path)
    both = sum(
        set(np.asarray(sampler.draw(1, 2, seed, False)[1]).tolist()) == {0, 1}
        for seed in range(seeds)
    )
    return float(stats.binomtest(both, seeds, 1 / 15).pvalue)


def test_parallel_edges_have_numbers_of_their_own(tmp_path):
    assert parallel_pairs_p(Engine, tmp_path, SEEDS) > BOUND
    assert parallel_pairs_p(mutant(ParallelEdgesShareANumber), tmp_path, MUTANT_SEEDS) < BOUND


@pytest.mark.parametrize("weighted", [False, True])
def test_the_row_of_a_hub_is_unbiased_through_its_window(tmp_path, weighted):
    """9000 edges, of which a sample looks at 640, or by weight at 4096: the mean place, or the sum
    of weights."""
    degree, k, seeds = 9000, 40, 2500
    rng = np.random.default_rng(2)
    weights = (0.1 + rng.random(degree)).astype(np.float32) if weighted else None
    edges = EdgeList(degree + 1, np.arange(1, degree + 1), np.zeros(degree, np.int64), weights)
    sampler = Engine(edges, tmp_path)
    sums = np.empty(seeds)
    for seed in range(seeds):
        _, place, scale = sampler.draw(1, k, seed, weighted)
        sums[seed] = scale.sum() if weighted else place.mean()
    exact = float(weights.sum()) if weights is not None else (degree - 1) / 2
    error = abs(sums.mean() - exact) / (sums.std() / np.sqrt(seeds))
    assert 2 * stats.norm.sf(error) > BOUND


@pytest.mark.parametrize(("degree", "k"), [(40, 4), (4096, 64), (200, 150)])
def test_every_slot_of_a_row_is_as_likely(tmp_path, degree, k):
    edges = EdgeList(degree + 1, np.arange(1, degree + 1), np.zeros(degree, np.int64))
    sampler = Engine(edges, tmp_path)
    counts = np.zeros(degree)
    for seed in range(SEEDS):
        counts[sampler.draw(1, k, seed, False)[1]] += 1
    assert inclusion_p(counts, SEEDS, k) > BOUND


@pytest.mark.parametrize("kappa", [4, 50])
def test_every_batch_of_a_run_is_unbiased(tmp_path, kappa):
    """Over many runs, the numbers of any one batch are as fresh as those of a single sample."""
    degree, k = 60, 6
    edges = EdgeList(degree + 1, np.arange(1, degree + 1), np.zeros(degree, np.int64))
    graph = Engine(edges, tmp_path).graph
    counts = np.zeros(degree)
    for seed in range(SEEDS):
        labor = gz.Labor(batch_dependency=kappa, batch=13, run_seed=seed)
        counts[graph.sample([0], [k], seed=0, sampler=labor).e_id] += 1
    assert inclusion_p(counts, SEEDS, k) > BOUND
