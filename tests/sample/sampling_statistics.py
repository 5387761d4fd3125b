"""Chi-square tests with fixed seeds.

The bound of 1e-6 on p means: a correct sampler would fail one of a million such tests, and with
fixed seeds it either always passes or never does. The mutants show what the tests can see.
"""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
from scipy import stats

BOUND = 1e-6


def frequency_p(observed: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """p of independent outcomes that were counted, under the probabilities they should have."""
    counts = np.asarray(observed, float)
    expected = np.asarray(probabilities, float) * counts.sum()
    impossible = expected == 0
    if counts[impossible].any():
        return 0.0
    counts, expected = counts[~impossible], expected[~impossible]
    return float(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))


def inclusion_p(observed: npt.ArrayLike, rows: int, k: int) -> float:
    """p of how often each of n positions was among the k drawn without replacement, in `rows` rows.

    Counts of one row are negatively correlated, so plain chi-square comes out too small by
    (n - k) / (n - 1), and would not notice a bias; the correction restores its law.
    """
    counts = np.asarray(observed, float)
    n = len(counts)
    expected = rows * k / n
    statistic = ((counts - expected) ** 2).sum() / expected * (n - 1) / (n - k)
    return float(stats.chi2.sf(statistic, n - 1))


def subset_probabilities(weights: list[float], k: int) -> dict[frozenset[int], float]:
    """Probability of each set of k positions when drawn one by one in proportion to weight."""
    exact = [Fraction(weight) for weight in weights]
    positions = [i for i, weight in enumerate(exact) if weight > 0]
    result = {frozenset(subset): 0.0 for subset in combinations(positions, k)}
    for order in permutations(positions, k):
        left = sum(exact)
        probability = Fraction(1)
        for position in order:
            probability *= exact[position] / left
            left -= exact[position]
        result[frozenset(order)] += float(probability)
    return result


def subset_p(drawn: list[frozenset[int]], probabilities: dict[frozenset[int], float]) -> float:
    """p of the sets that rows gave. Sees marginals and dependence between positions alike."""
    if not set(drawn) <= set(probabilities):
        return 0.0
    counts = dict.fromkeys(probabilities, 0)
    for subset in drawn:
        counts[subset] += 1
    return frequency_p(list(counts.values()), list(probabilities.values()))
