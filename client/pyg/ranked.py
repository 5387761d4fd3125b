"""Epochs that several ranks share, for the PyG loaders: `rank` and `world_size`.

Ranks must agree on the order without asking each other, and a checkpoint of one must serve all. So
order and draws follow from a seed and the number of the epoch, as those of `Client.loader` do, and
not from torch's generator, which each rank has for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from graphzero.client.loader.order import EpochPlan, SeedOrder, batch_seed
from graphzero.client.loader.ranks import Place, Rank, place_of
from graphzero.client.loader.seed_batches import OrderedBatches, Progress
from graphzero.client.loader.state import OnResize, count_in_state, resumed_progress
from graphzero.client.pyg.positions import Positions
from graphzero.embedded.sampling import resolve_seed

_OF_DATA_LOADER = ("sampler", "batch_sampler", "generator")


class _Positions:
    """Items that are just positions; the loader knows what is at each."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def at(self, positions: npt.NDArray[np.int64]) -> Positions:
        return positions

    def digest(self) -> str:
        return ""


@dataclass
class RankedProgress:
    """A place in an epoch that ranks share."""

    epoch: int
    handed_out: int = 0


class RankedBatches:
    """The batch_sampler of a loader that is one of several ranks. Each iter() is the next epoch."""

    def __init__(
        self, batches: OrderedBatches, seed: int, place: Place, shuffle: bool, drop_last: bool
    ) -> None:
        self._batches = batches
        self._shuffle = shuffle
        self._drop_last = drop_last
        self.seed = seed
        self.place = place
        self.next_epoch = 0

    @classmethod
    def of(
        cls,
        num_items: int,
        rank: Rank | None,
        world_size: int | None,
        seed: int,
        options: dict[str, Any],
    ) -> RankedBatches:
        """Removes the options of DataLoader that it replaces from `options`."""
        place = place_of(rank, world_size)
        for name in _OF_DATA_LOADER:
            if options.get(name) is not None:
                raise ValueError(f"rank and {name} exclude each other: rank divides the epoch")
        resolve_seed(seed)  # checks its range
        shuffle = bool(options.pop("shuffle", False))
        drop_last = bool(options.pop("drop_last", False))
        plan = EpochPlan(
            num_seeds=num_items,
            batch_size=options.pop("batch_size", 1),
            rank=place.rank,
            world_size=place.world_size,
            drop_last=drop_last,
            what="items",
        )
        order = SeedOrder(num_items, shuffle, seed)
        batches = OrderedBatches(plan, order, _Positions(num_items))
        return cls(batches, seed, place, shuffle, drop_last)

    def __len__(self) -> int:
        return self._batches.num_batches()

    def __iter__(self) -> Iterator[Positions]:
        return self.positions(self.begin())

    def begin(self) -> RankedProgress:
        """Begins the next epoch."""
        self.next_epoch += 1
        return RankedProgress(self.next_epoch - 1)

    def positions(self, progress: RankedProgress) -> Iterator[Positions]:
        """The positions of each batch from there to the end of the epoch."""
        start = Progress(progress.epoch, progress.handed_out)
        return cast(Iterator[Positions], self._batches.batches(start))

    def set_epoch(self, epoch: int) -> None:
        """Makes `epoch` the epoch of the next iter()."""
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}, expected at least 0")
        self.next_epoch = epoch

    def draw_seed(self, epoch: int) -> int:
        """The seed of an epoch, the same on all ranks; the draws of a batch also depend on its rank
        and number."""
        return batch_seed(self.seed, epoch, 0, rank=0, world_size=1)

    def state(self, progress: RankedProgress | None) -> dict[str, Any]:
        """The same on every rank; without progress, the next epoch has not begun."""
        place = progress or RankedProgress(self.next_epoch)
        return {
            "seed": self.seed,
            "epoch": place.epoch,
            "batches": place.handed_out,
            "batch_size": self._batches.plan.batch_size,
            "shuffle": self._shuffle,
            "drop_last": self._drop_last,
            "world_size": self.place.world_size,
        }

    def resumed(self, state: Mapping[str, Any], on_resize: OnResize) -> RankedProgress:
        """Goes on as the state says; raises before anything is changed."""
        seed = resolve_seed(count_in_state(state, "seed"))
        batches = self._batches.with_seed(seed)
        found = resumed_progress(state, batches, self.place.world_size, on_resize)
        self._batches, self.seed = batches, seed
        self.next_epoch = found.epoch + 1
        return RankedProgress(found.epoch, found.handed_out)
