"""Which seeds each batch of an epoch has, on each rank.

An epoch is an order of the positions [0, n) of the seeds. Step k of rank r takes the k * W + r-th
run of B positions (W ranks, batches of B) for as long as every rank gets a full one. What is left,
fewer than B * W, is divided evenly:

- at least one for each rank: a last batch each, whose sizes differ by at most one;
- fewer than ranks: each of the first ranks gets a last batch of one, and the others split their
  last full batch in two, so that all have as many batches and none is empty. Batches of one cannot
  be split: there the first ranks' last batch has two seeds.

Every position is in exactly one batch of one rank, the shares of two ranks differ by at most one,
and the number of batches is the same on all of them: collectives never wait for a rank that is
done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.base.numbers import whole_number

Run = tuple[int, int]
"""First position and number of positions."""


@dataclass(frozen=True)
class EpochPlan:
    """The division of an epoch into batches. All of it follows from these numbers."""

    num_seeds: int
    batch_size: int
    rank: int
    world_size: int
    drop_last: bool
    what: str = "seeds"
    """What error messages call the seeds."""

    def __post_init__(self) -> None:
        whole_number(self.batch_size, "batch_size", least=1)
        require_rank(self.rank, self.world_size)
        if self.num_seeds < self.world_size:
            raise ValueError(
                f"{self.num_seeds} {self.what} for {self.world_size} ranks: expected at least one "
                "each"
            )

    @property
    def num_batches(self) -> int:
        """The same on every rank."""
        return self._full_steps + (1 if self._has_extra_step else 0)

    def runs(self, step: int) -> list[Run]:
        """The positions of this rank's batch number `step`, as one or two runs."""
        if not 0 <= step < self.num_batches:
            raise IndexError(f"batch {step} of an epoch of {self.num_batches}")
        if step == self._full_steps:
            return [self._half(1) if self._splits else self._rest()]
        if step == self._full_steps - 1 and self._splits:
            return [self._half(0)]
        full = (self._full_run(step), self.batch_size)
        return [full, self._rest()] if self._merges and step == self._full_steps - 1 else [full]

    @property
    def _full_steps(self) -> int:
        return self.num_seeds // (self.batch_size * self.world_size)

    @property
    def _left_over(self) -> int:
        return 0 if self.drop_last else self.num_seeds % (self.batch_size * self.world_size)

    @property
    def _has_extra_step(self) -> bool:
        merged = self.batch_size == 1 and self._left_over < self.world_size
        return self._left_over > 0 and not merged

    @property
    def _splits(self) -> bool:
        return self._has_extra_step and self.rank >= self._left_over

    @property
    def _merges(self) -> bool:
        return not self._has_extra_step and self.rank < self._left_over

    def _full_run(self, step: int) -> int:
        return (step * self.world_size + self.rank) * self.batch_size

    def _half(self, number: int) -> Run:
        first = self._full_run(self._full_steps - 1)
        middle = (self.batch_size + 1) // 2
        return (first, middle) if number == 0 else (first + middle, self.batch_size - middle)

    def _rest(self) -> Run:
        """This rank's part of the positions that the full steps leave."""
        each, more = divmod(self._left_over, self.world_size)
        first = self._full_steps * self.batch_size * self.world_size
        start = first + self.rank * each + min(self.rank, more)
        return start, each + (1 if self.rank < more else 0)


def require_rank(rank: int, world_size: int) -> None:
    whole_number(world_size, "world_size", least=1)
    if not 0 <= whole_number(rank, "rank", least=0) < world_size:
        raise ValueError(f"rank is {rank}, expected 0 to {world_size - 1}")


@dataclass(frozen=True)
class SeedOrder:
    """The positions of the seeds in the order of an epoch, computed piece by piece."""

    num_seeds: int
    shuffle: bool
    seed: int

    def positions(self, epoch: int, runs: list[Run]) -> npt.NDArray[np.int64]:
        pieces = [self._piece(epoch, first, count) for first, count in runs]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _piece(self, epoch: int, first: int, count: int) -> npt.NDArray[np.int64]:
        if not self.shuffle:
            return np.arange(first, first + count, dtype=np.int64)
        return _engine.permute_range(
            self.num_seeds, seed=self.seed, epoch=epoch, first=first, count=count
        )


def batch_seed(loader_seed: int, epoch: int, step: int, rank: int, world_size: int) -> int:
    """The seed of a batch's draws, a function of its number among the batches of all ranks."""
    return _engine.batch_seed(loader_seed, epoch, step * world_size + rank)
