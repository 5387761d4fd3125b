"""Positions of items in batches: those of torch's DataLoader, from the same draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")

from graphzero.client.pyg.positions import position_batches
from torch.utils.data import DataLoader, RandomSampler, SubsetRandomSampler

EPOCHS = 3


def torch_s_order(loader: Any) -> list[list[int]]:
    return [batch.tolist() for _ in range(EPOCHS) for batch in loader]


def our_order(loader: Any) -> list[list[int]]:
    found = []
    for _ in range(EPOCHS):
        torch.empty((), dtype=torch.int64).random_(
            generator=loader.generator
        )  # as an iterator does
        for batch in position_batches(loader.batch_sampler):
            assert batch.dtype == np.int64
            found.append(batch.tolist())
    return found


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("own_generator", [False, True])
@pytest.mark.parametrize("size", [1, 7, 10, 100])
@pytest.mark.parametrize("order", ["shuffled", "in order", "replacement", "part", "subset"])
def test_the_order_is_that_of_torch(
    order: str, size: int, own_generator: bool, drop_last: bool
) -> None:
    def loader() -> Any:
        torch.manual_seed(11)
        items = range(50)
        generator = torch.Generator().manual_seed(12) if own_generator else None
        options: dict[str, Any] = {
            "shuffled": {"shuffle": True},
            "in order": {},
            "replacement": {"sampler": RandomSampler(items, True, generator=generator)},
            "part": {"sampler": RandomSampler(items, num_samples=120, generator=generator)},
            "subset": {"sampler": SubsetRandomSampler([4, 8, 15, 16, 23, 42], generator)},
        }[order]
        return DataLoader(
            items, batch_size=size, drop_last=drop_last, generator=generator, **options
        )

    assert our_order(loader()) == torch_s_order(loader())


@pytest.mark.parametrize("buffer", [np.empty(2, np.int64), torch.empty(2, dtype=torch.int64)])
def test_a_sampler_may_fill_the_same_buffer_for_every_batch(buffer: Any) -> None:
    def batches() -> Iterator[Any]:
        for first in range(0, 6, 2):
            buffer[0], buffer[1] = first, first + 1
            yield buffer

    found = list(position_batches(batches()))
    assert [batch.tolist() for batch in found] == [[0, 1], [2, 3], [4, 5]]


def test_a_batch_does_not_keep_the_whole_order() -> None:
    loader: Any = DataLoader(range(1000), batch_size=10, shuffle=True)
    batch = next(position_batches(loader.batch_sampler))
    assert batch.base is None  # it owns its memory
