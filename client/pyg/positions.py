"""Which items make a batch, as torch's samplers say, but without an int object for every item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from graphzero.client.requests.messages import wire_ids
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

Positions = npt.NDArray[np.int64]


def position_batches(batch_sampler: Any) -> Iterator[Positions]:
    """The batches of one epoch.

    The samplers that DataLoader makes by itself are not iterated: their positions are computed in
    whole pieces, from the same draws of torch. All others are iterated.
    """
    if type(batch_sampler) is BatchSampler:
        sampler, size = batch_sampler.sampler, batch_sampler.batch_size
        if type(sampler) is SequentialSampler:
            return _in_order(len(sampler), size, batch_sampler.drop_last)
        if type(sampler) is RandomSampler and _is_permutation(sampler):
            return _shuffled(sampler, size, batch_sampler.drop_last)
    # Copies: a sampler may fill the same buffer for its next batch, before this one is made.
    return (wire_ids(index, "the positions of a batch").copy() for index in batch_sampler)


def _in_order(count: int, size: int, drop_last: bool) -> Iterator[Positions]:
    for first in _first_positions(count, size, drop_last):
        yield np.arange(first, min(first + size, count))


def _is_permutation(sampler: RandomSampler) -> bool:
    return not sampler.replacement and sampler.num_samples == len(sampler.data_source)


def _shuffled(sampler: RandomSampler, size: int, drop_last: bool) -> Iterator[Positions]:
    count = len(sampler.data_source)
    generator = sampler.generator
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
    order: Positions = torch.randperm(count, generator=generator).numpy()
    for first in _first_positions(count, size, drop_last):
        # A copy, which does not keep the whole order alive.
        yield order[first : first + size].copy()
    if sampler.generator is not None:
        # RandomSampler draws once more for items beyond whole rounds, of which there are none. This
        # repeats that draw: the next epoch is torch's only if the generator is left as torch does.
        torch.randperm(count, generator=generator)


def _first_positions(count: int, size: int, drop_last: bool) -> range:
    return range(0, count // size * size if drop_last else count, size)
