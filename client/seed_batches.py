"""Where a loader's seeds come from: a list cut into batches, or batches that the user makes."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from graphzero.client.messages import Seeds, wire_ids
from graphzero.client.order import EpochPlan, SeedOrder
from graphzero.embedded.link_request import LinkRequest


@dataclass(frozen=True)
class Progress:
    """A place in a run: an epoch, and how many of its batches the user has got."""

    epoch: int
    handed_out: int


class SeedBatches(Protocol):
    """The batches of any epoch."""

    def num_batches(self) -> int:
        """Of a whole epoch."""

    def batches(self, start: Progress) -> Iterator[Seeds]:
        """The seeds of each batch from there to the end of the epoch."""

    def normal(self, progress: Progress) -> Progress:
        """The same place; the end of an epoch is the start of the next."""

    def digest(self) -> str:
        """Differs where other seeds would come."""

    def set_epoch(self, epoch: int) -> None:
        """Tells a user's sampler which epoch comes next."""

    def with_seed(self, seed: int) -> SeedBatches:
        """The same seeds in the order of another loader seed."""


@dataclass(frozen=True)
class OrderedBatches:
    """Seeds in the order of the epoch, cut by the plan."""

    plan: EpochPlan
    order: SeedOrder

    def num_batches(self) -> int:
        return self.plan.num_batches

    def batches(self, start: Progress) -> Iterator[Seeds]:
        for step in range(start.handed_out, self.plan.num_batches):
            yield self.order.seeds(start.epoch, self.plan.runs(step))

    def normal(self, progress: Progress) -> Progress:
        if progress.handed_out < self.plan.num_batches:
            return progress
        return Progress(progress.epoch + 1, 0)

    def digest(self) -> str:
        return self._digest

    @cached_property
    def _digest(self) -> str:
        ids = self.order.ids
        if ids is None:
            return f"all {self.order.num_seeds}"
        return hashlib.blake2b(np.ascontiguousarray(ids).data, digest_size=16).hexdigest()

    def set_epoch(self, epoch: int) -> None:
        pass

    def with_seed(self, seed: int) -> OrderedBatches:
        return replace(self, order=replace(self.order, seed=seed))


@dataclass(frozen=True)
class SamplerBatches:
    """Batches as a user's sampler gives them. A sampler that has set_epoch() is told the epoch."""

    sampler: Iterable[Any]

    def num_batches(self) -> int:
        if not isinstance(self.sampler, Sized):
            raise TypeError("this loader has no len(): its batch_sampler has none")
        return len(self.sampler)

    def batches(self, start: Progress) -> Iterator[Seeds]:
        self.set_epoch(start.epoch)
        for ids in itertools.islice(iter(self.sampler), start.handed_out, None):
            if isinstance(ids, LinkRequest):
                yield ids
            else:
                yield wire_ids(ids, "a batch of batch_sampler")

    def normal(self, progress: Progress) -> Progress:
        ended = isinstance(self.sampler, Sized) and progress.handed_out >= len(self.sampler)
        return Progress(progress.epoch + 1, 0) if ended else progress

    def digest(self) -> str:
        return "batch_sampler"

    def set_epoch(self, epoch: int) -> None:
        tell = getattr(self.sampler, "set_epoch", None)
        if tell is not None:
            tell(epoch)

    def with_seed(self, seed: int) -> SamplerBatches:
        return self
