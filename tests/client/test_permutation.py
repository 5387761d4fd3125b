"""The random order of an epoch: a bijection, computed in pieces, without visible structure."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from graphzero import _engine
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

EXACT = 4096  # up to here the whole order is shuffled, beyond it is a Feistel network
P_LIMIT = 1e-6  # seeds are fixed: a failure is a defect, not bad luck


def order(n: int, *, seed: int = 1, epoch: int = 0) -> npt.NDArray[np.int64]:
    return _engine.permute_range(n, seed=seed, epoch=epoch, first=0, count=n)


@settings(deadline=None)
@given(st.integers(1, 20_000), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_order_has_every_item_once(n: int, seed: int, epoch: int) -> None:
    assert np.array_equal(np.sort(order(n, seed=seed, epoch=epoch)), np.arange(n))


@pytest.mark.parametrize("n", [EXACT - 1, EXACT, EXACT + 1, 65_536, 65_537, 1_000_003])
def test_order_has_every_item_once_at_the_edges_of_its_cases(n: int) -> None:
    assert np.array_equal(np.sort(order(n)), np.arange(n))


@pytest.mark.parametrize("n", [1000, 100_000])
def test_pieces_are_parts_of_the_whole(n: int) -> None:
    whole = order(n)
    for first, count in [(0, 0), (0, 10), (n - 7, 7), (123, 456)]:
        piece = _engine.permute_range(n, seed=1, epoch=0, first=first, count=count)
        assert np.array_equal(piece, whole[first : first + count])


def test_positions_outside_the_order_are_errors() -> None:
    with pytest.raises(IndexError, match="outside an order of 10"):
        _engine.permute_range(10, seed=1, epoch=0, first=5, count=6)


def test_an_order_beyond_32_bits_has_valid_items() -> None:
    n = 3 * 2**40 + 1
    piece = _engine.permute_range(n, seed=1, epoch=0, first=n - 1000, count=1000)
    assert len(np.unique(piece)) == 1000
    assert piece.min() >= 0
    assert piece.max() < n


def test_every_order_of_few_items_is_equally_likely() -> None:
    n, rounds = 4, 24_000
    index = {p: i for i, p in enumerate(itertools.permutations(range(n)))}
    counts = np.zeros(len(index))
    for epoch in range(rounds):
        counts[index[tuple(order(n, epoch=epoch).tolist())]] += 1
    assert stats.chisquare(counts).pvalue > P_LIMIT


@pytest.mark.parametrize("n", [1000, 50_000])
def test_items_are_uniform_at_every_position(n: int) -> None:
    """Where an item lands, over many epochs: in each tenth of the order equally often."""
    rounds, watched = 2000, 50
    places = np.array(
        [_engine.permute_range(n, seed=9, epoch=e, first=0, count=watched) for e in range(rounds)]
    )
    for position in range(watched):
        counts = np.bincount(places[:, position] * 10 // n, minlength=10)
        assert stats.chisquare(counts).pvalue > P_LIMIT


@pytest.mark.parametrize("n", [1000, 50_000, 1_000_000])
def test_neighbouring_positions_are_not_related(n: int) -> None:
    """Differences of neighbours, modulo n, are uniform for a random order."""
    differences = np.diff(order(n, seed=4)) % n
    counts = np.bincount(differences * 100 // n, minlength=100)
    assert stats.chisquare(counts).pvalue > P_LIMIT


@pytest.mark.parametrize("n", [1000, 50_000])
def test_an_order_has_as_many_fixed_points_as_a_random_one(n: int) -> None:
    """Their number is Poisson with mean 1, so the sum over epochs is Poisson with theirs."""
    rounds = 200
    fixed = sum(int((order(n, epoch=e) == np.arange(n)).sum()) for e in range(rounds))
    assert stats.poisson.cdf(fixed, rounds) > P_LIMIT
    assert stats.poisson.sf(fixed - 1, rounds) > P_LIMIT


def test_epochs_and_seeds_give_unrelated_orders() -> None:
    """Rank correlation of n items has standard deviation 1 / sqrt(n - 1); six of them is far."""
    n = 50_000
    base = order(n, seed=1, epoch=0)
    for other in (order(n, seed=1, epoch=1), order(n, seed=2, epoch=0)):
        assert abs(np.corrcoef(base, other)[0, 1]) < 6 / np.sqrt(n - 1)


def test_order_is_part_of_the_contract() -> None:
    # Resuming a run depends on these numbers; a change of them raises the sampler version.
    assert order(8).tolist() == [0, 1, 6, 2, 7, 3, 4, 5]
    assert order(100_000)[:4].tolist() == [23424, 88843, 48496, 16620]
