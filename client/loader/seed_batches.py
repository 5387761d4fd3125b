"""Where a loader's seeds come from: a list cut into batches, or batches that the user makes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from graphzero.base.text import count_text
from graphzero.client.errors import as_invalid_request
from graphzero.client.loader.order import EpochPlan, SeedOrder
from graphzero.client.requests.messages import NodeSeeds, Seeds, wire_ids
from graphzero.embedded.link_request import LinkRequest
from graphzero.embedded.typed_arguments import seeds_of_types
from graphzero.files.schema import Schema


@dataclass(frozen=True)
class Progress:
    """A place in a run: an epoch, and how many of its batches the user has got."""

    epoch: int
    handed_out: int


class SeedBatches(Protocol):
    """The batches of any epoch."""

    def num_batches(self) -> int:
        """Number of batches of a whole epoch."""

    def batches(self, start: Progress) -> Iterator[Seeds]:
        """The seeds of each batch from there to the end of the epoch."""

    def normal(self, progress: Progress) -> Progress:
        """The same place, with the end of an epoch as the start of the next."""

    def summary(self) -> str:
        """How many there are, for people."""

    def digest(self) -> str:
        """Differs for other seeds."""

    def set_epoch(self, epoch: int) -> None:
        """Tells a user's sampler which epoch comes next."""

    def with_seed(self, seed: int) -> SeedBatches:
        """The same seeds in the order of another loader seed."""

    def of_world(self, world_size: int) -> SeedBatches:
        """The batches of the first of `world_size` ranks."""


class BatchItems(Protocol):
    """What a loader goes through: seeds (SeedList) or links (LinkList) at positions 0, 1, ..."""

    def __len__(self) -> int: ...

    def at(self, positions: npt.NDArray[np.int64]) -> Seeds:
        """The batch of the items at these positions."""

    def digest(self) -> str:
        """Differs for other items."""


@dataclass(frozen=True)
class OrderedBatches:
    """Seeds or links in the order of the epoch, cut by the plan."""

    plan: EpochPlan
    order: SeedOrder
    items: BatchItems

    def num_batches(self) -> int:
        return self.plan.num_batches

    def batches(self, start: Progress) -> Iterator[Seeds]:
        for step in range(start.handed_out, self.plan.num_batches):
            yield self.items.at(self.order.positions(start.epoch, self.plan.runs(step)))

    def normal(self, progress: Progress) -> Progress:
        if progress.handed_out < self.plan.num_batches:
            return progress
        return Progress(progress.epoch + 1, 0)

    def summary(self) -> str:
        plan = self.plan
        batches = f"{count_text(plan.num_batches)} batch{'' if plan.num_batches == 1 else 'es'}"
        return f"{count_text(plan.num_seeds)} {plan.what}, {batches} of {plan.batch_size}"

    def digest(self) -> str:
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return self.items.digest()

    def set_epoch(self, epoch: int) -> None:
        pass

    def with_seed(self, seed: int) -> OrderedBatches:
        return replace(self, order=replace(self.order, seed=seed))

    def of_world(self, world_size: int) -> OrderedBatches:
        return replace(self, plan=replace(self.plan, rank=0, world_size=world_size))


@dataclass(frozen=True)
class SamplerBatches:
    """Batches as a user's sampler gives them. A sampler that has set_epoch() is told the epoch.

    They are copies: a batch may be asked for again after the sampler filled the same buffer anew.
    """

    sampler: Iterable[Any]
    schema: Schema

    def num_batches(self) -> int:
        if not isinstance(self.sampler, Sized):
            raise TypeError("this loader has no len(): its batch_sampler has none")
        return len(self.sampler)

    def batches(self, start: Progress) -> Iterator[Seeds]:
        self.set_epoch(start.epoch)
        for ids in itertools.islice(iter(self.sampler), start.handed_out, None):
            if isinstance(ids, LinkRequest | NodeSeeds):
                yield ids
            elif self.schema.typed:
                with as_invalid_request():
                    found = seeds_of_types(self.schema, ids, "a batch of batch_sampler")
                yield NodeSeeds(tuple((number, ids.copy()) for number, ids in found))
            else:
                yield wire_ids(ids, "a batch of batch_sampler").copy()

    def normal(self, progress: Progress) -> Progress:
        ended = isinstance(self.sampler, Sized) and progress.handed_out >= len(self.sampler)
        return Progress(progress.epoch + 1, 0) if ended else progress

    def summary(self) -> str:
        return "batches of a batch_sampler"

    def digest(self) -> str:
        return "batch_sampler"

    def set_epoch(self, epoch: int) -> None:
        tell = getattr(self.sampler, "set_epoch", None)
        if tell is not None:
            tell(epoch)

    def with_seed(self, seed: int) -> SamplerBatches:
        return self

    def of_world(self, world_size: int) -> SamplerBatches:
        return self
