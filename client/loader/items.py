"""Turns the items that a loader goes through, as users name them, into batches of its epochs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from graphzero.client.connection.connection import Connection
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.loader.order import EpochPlan, SeedOrder
from graphzero.client.loader.ranks import Place
from graphzero.client.loader.seed_batches import (
    BatchItems,
    OrderedBatches,
    SamplerBatches,
    SeedBatches,
)
from graphzero.client.requests.messages import TemporalOptions
from graphzero.client.requests.seeds import seed_list
from graphzero.client.requests.temporal import (
    TimedDraws,
    sampler_temporal_options,
    temporal_options,
)
from graphzero.embedded.typed_arguments import given_order


@dataclass(frozen=True)
class LoaderOptions:
    """How a loader goes through its items."""

    batch_size: int | None
    shuffle: bool
    seed: int
    drop_last: bool
    place: Place
    prefetch: int | None
    """None for as many as the daemon suggests."""
    timeout: float | None


class LoaderItems(Protocol):
    """Nodes, or links (link_loader.py)."""

    @property
    def name(self) -> str:
        """What the user calls them, in quotes; empty if that is no name, but ids for instance."""

    def resolve(
        self,
        dataset: DatasetInfo,
        connection: Connection,
        draws: TimedDraws,
        options: LoaderOptions,
    ) -> tuple[SeedBatches, TemporalOptions | None]:
        """The batches of the items, and how they are drawn by time. Raises errors that every batch
        would raise."""


@dataclass(frozen=True, eq=False)
class LoaderSeeds:
    """Nodes, in the order of an epoch or as the user's batch sampler gives them."""

    seeds: Any
    time: Any
    batch_sampler: Iterable[Any] | None

    @property
    def name(self) -> str:
        return name_text(self.seeds)

    def resolve(
        self,
        dataset: DatasetInfo,
        connection: Connection,
        draws: TimedDraws,
        options: LoaderOptions,
    ) -> tuple[SeedBatches, TemporalOptions | None]:
        if self.batch_sampler is not None:
            batches = self._sampler_batches(self.batch_sampler, dataset, options)
            return batches, sampler_temporal_options(dataset, self.time, draws)
        require_batch_size(options)
        deadline = connection.deadline(options.timeout)
        nodes = connection.run(seed_list(self.seeds, dataset, deadline))
        sizes = [(part.type, range(part.count)) for part in nodes.parts]
        order = given_order(dataset.schema, self.seeds)
        temporal, times = temporal_options(dataset, self.time, sizes, draws, order)
        return ordered_batches(replace(nodes, times=times), options), temporal

    def _sampler_batches(
        self, sampler: Iterable[Any], dataset: DatasetInfo, options: LoaderOptions
    ) -> SamplerBatches:
        given = {
            "seeds": self.seeds is not None,
            "batch_size": options.batch_size is not None,
            "shuffle": options.shuffle,
            "drop_last": options.drop_last,
        }
        for name in (name for name, is_given in given.items() if is_given):
            raise ValueError(f"batch_sampler and {name} exclude each other: it makes the batches")
        return SamplerBatches(sampler, dataset.schema)


def name_text(items: Any) -> str:
    """The name of a split or type, or (type, split), in quotes; empty for anything else."""
    parts = items if isinstance(items, tuple) else (items,)
    return repr(items) if all(isinstance(part, str) for part in parts) else ""


def require_batch_size(options: LoaderOptions) -> int:
    if options.batch_size is None:
        raise ValueError(
            "batch_size is missing: give the number of seeds in a batch, such as batch_size=1024"
        )
    return options.batch_size


def ordered_batches(
    items: BatchItems, options: LoaderOptions, what: str = "seeds"
) -> OrderedBatches:
    """`what` is the user's word for the items."""
    plan = EpochPlan(
        num_seeds=len(items),
        batch_size=require_batch_size(options),
        rank=options.place.rank,
        world_size=options.place.world_size,
        drop_last=options.drop_last,
        what=what,
    )
    return OrderedBatches(plan, SeedOrder(len(items), options.shuffle, options.seed), items)
