"""Epochs divided among ranks: every seed once, as many batches on each rank, none empty."""

from __future__ import annotations

import itertools

import pytest
from graphzero.client.loader.order import EpochPlan, SeedOrder, batch_seed
from hypothesis import given
from hypothesis import strategies as st


def plans(num_seeds: int, batch_size: int, world_size: int, drop_last: bool) -> list[EpochPlan]:
    return [
        EpochPlan(num_seeds, batch_size, rank, world_size, drop_last) for rank in range(world_size)
    ]


def batches(plan: EpochPlan) -> list[list[int]]:
    return [
        [p for first, count in plan.runs(step) for p in range(first, first + count)]
        for step in range(plan.num_batches)
    ]


sizes = st.integers(1, 200).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(1, 40), st.integers(1, min(n, 9)))
)


@given(sizes)
def test_ranks_cover_the_epoch_exactly_once(size: tuple[int, int, int]) -> None:
    taken = [p for plan in plans(*size, False) for batch in batches(plan) for p in batch]
    assert sorted(taken) == list(range(size[0]))


@given(sizes, st.booleans())
def test_every_rank_has_as_many_batches_and_none_is_empty(
    size: tuple[int, int, int], drop_last: bool
) -> None:
    epochs = [batches(plan) for plan in plans(*size, drop_last)]
    assert len({len(epoch) for epoch in epochs}) == 1
    assert all(batch for epoch in epochs for batch in epoch)


@given(sizes)
def test_shares_differ_by_at_most_one_seed(size: tuple[int, int, int]) -> None:
    shares = [sum(map(len, batches(plan))) for plan in plans(*size, False)]
    assert max(shares) - min(shares) <= 1


@given(sizes)
def test_no_batch_exceeds_batch_size_where_it_can_be_split(size: tuple[int, int, int]) -> None:
    _, batch_size, world_size = size
    largest = max(len(batch) for plan in plans(*size, False) for batch in batches(plan))
    assert largest <= (batch_size if batch_size > 1 or world_size == 1 else 2)


@given(sizes)
def test_drop_last_cuts_to_full_batches_on_every_rank(size: tuple[int, int, int]) -> None:
    num_seeds, batch_size, world_size = size
    taken = [batch for plan in plans(*size, True) for batch in batches(plan)]
    assert all(len(batch) == batch_size for batch in taken)
    assert sorted(itertools.chain(*taken)) == list(
        range(num_seeds - num_seeds % (batch_size * world_size))
    )


def test_a_rank_that_would_be_short_splits_its_last_batch() -> None:
    first, second = plans(9, 4, 2, False)
    assert batches(first) == [[0, 1, 2, 3], [8]]
    assert batches(second) == [[4, 5], [6, 7]]


def test_batches_of_one_that_cannot_be_split_are_merged_instead() -> None:
    first, second = plans(3, 1, 2, False)
    assert batches(first) == [[0, 2]]
    assert batches(second) == [[1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 4, 0, 2), "1 seeds for 2 ranks"),
        ((0, 4, 0, 1), "0 seeds for 1 ranks"),
        ((9, 0, 0, 1), "batch_size is 0"),
        ((9, 4, 2, 2), "rank is 2, expected 0 to 1"),
        ((9, 4, 0, 0), "world_size is 0"),
    ],
)
def test_impossible_divisions_are_errors(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EpochPlan(*arguments, drop_last=False)


def test_order_without_shuffle_is_that_of_the_seeds() -> None:
    order = SeedOrder(10, shuffle=False, seed=3)
    assert order.positions(5, [(2, 3), (9, 1)]).tolist() == [2, 3, 4, 9]


def test_shuffled_order_changes_with_epoch_and_seed_and_repeats() -> None:
    def epoch(seed: int, number: int) -> list[int]:
        return SeedOrder(50, True, seed).positions(number, [(0, 50)]).tolist()

    assert sorted(epoch(1, 0)) == list(range(50))
    assert epoch(1, 0) == epoch(1, 0)
    assert len({tuple(epoch(1, 0)), tuple(epoch(1, 1)), tuple(epoch(2, 0))}) == 3


def test_batch_seeds_are_all_different() -> None:
    found = {
        batch_seed(seed, epoch, step, rank, 2)
        for seed, epoch, step, rank in itertools.product(range(5), range(5), range(20), range(2))
    }
    assert len(found) == 5 * 5 * 20 * 2


def test_batch_seed_is_part_of_the_contract() -> None:
    # A state_dict names only (seed, epoch, batch): other numbers here would break resuming.
    assert batch_seed(0, 0, 0, 0, 1) == 9135607053695091297
