"""Which items make a batch: what torch's samplers say, without an int object for every item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler


def position_batches(batch_sampler: Any) -> Iterator[torch.Tensor]:
    """The batches of one epoch, int64.

    The samplers that DataLoader makes by itself are followed in whole pieces: the same positions
    from the same draws of torch, without their iterators. All others are iterated.
    """
    whole = _whole_order(batch_sampler.sampler) if type(batch_sampler) is BatchSampler else None
    if whole is None:
        for index in batch_sampler:
            yield torch.as_tensor(index, dtype=torch.int64, device="cpu")
        return
    size = batch_sampler.batch_size
    end = len(whole) // size * size if batch_sampler.drop_last else len(whole)
    for first in range(0, end, size):
        # A copy, so that who keeps it does not keep the whole order.
        yield torch.as_tensor(whole[first : first + size]).clone()
    _end_of_epoch(batch_sampler.sampler)


def _whole_order(sampler: Any) -> Any:
    """All positions of the epoch, a range or a tensor; None for samplers that are not known."""
    if type(sampler) is SequentialSampler:
        return _Counting(len(sampler))
    if type(sampler) is not RandomSampler or sampler.replacement:
        return None
    count = len(sampler.data_source)
    if sampler.num_samples != count:
        return None
    generator = sampler.generator
    if generator is None:
        generator = torch.Generator()
        generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
    return torch.randperm(count, generator=generator)


class _Counting:
    """0, 1, ... of which slices are tensors: the order of all nodes of a graph needs no list."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, piece: slice) -> torch.Tensor:
        return torch.arange(*piece.indices(self._count))


def _end_of_epoch(sampler: Any) -> None:
    # RandomSampler draws once more for what is left beyond whole rounds, which is nothing. So that
    # the next epoch of a generator of the user's is the one that torch would give:
    if type(sampler) is RandomSampler and sampler.generator is not None:
        torch.randperm(len(sampler.data_source), generator=sampler.generator)
