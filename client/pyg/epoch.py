"""One iter() of a PyG loader: its order, its batches, and how to begin it again."""

from __future__ import annotations

import base64
import itertools
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from graphzero.base.lazy_torch import has_accelerator
from graphzero.client.loader.order import batch_seed
from graphzero.client.loader.ranks import Place
from graphzero.client.loader.state import drift_of
from graphzero.client.pyg.positions import Positions, position_batches
from graphzero.client.pyg.ranked import RankedBatches, RankedProgress
from graphzero.client.requests.messages import Seeds

if TYPE_CHECKING:
    from graphzero.client.pyg.loading import BatchLoader


@dataclass
class EpochProgress:
    """An epoch that can be begun again: it follows from the state of torch's generator before."""

    generator_state: torch.Tensor
    handed_out: int = 0

    def encoded_state(self) -> str:
        """As text, so that a checkpoint of plain values can have it."""
        return base64.b85encode(self.generator_state.numpy().tobytes()).decode()

    @classmethod
    def decoded(cls, state: Any, handed_out: int) -> EpochProgress | None:
        """The progress in a checkpoint; None if no epoch was under way."""
        if state is None:
            return None
        try:
            numbers = np.frombuffer(base64.b85decode(state), np.uint8)
            generator_state = torch.from_numpy(numbers.copy())
            torch.Generator().set_state(generator_state)  # checks it
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"the generator of the state is not what state_dict() writes: {error}"
            ) from error
        return cls(generator_state, handed_out)


_ALONE = Place(0, 1)


@dataclass
class _Order:
    """The positions of an epoch's batches from some batch on, and the seed of its draws."""

    positions: Iterator[Positions]
    seed: int
    first: int
    progress: EpochProgress | RankedProgress
    place: Place


def new_order(loader: BatchLoader, batch_sampler: Any = None) -> _Order:
    """The next epoch, as DataLoader would begin it; or an epoch of another batch_sampler."""
    if loader.ranked is not None and batch_sampler is None:
        return _ranked_order(loader.ranked, loader.ranked.begin())
    progress = EpochProgress(_generator_of(loader).get_state())
    seed = _draw_seed(loader.generator)
    positions = position_batches(batch_sampler or loader.batch_sampler)
    return _Order(positions, seed, 0, progress, _ALONE)


def _ranked_order(ranked: RankedBatches, progress: RankedProgress) -> _Order:
    seed, first = ranked.draw_seed(progress.epoch), progress.handed_out
    return _Order(ranked.positions(progress), seed, first, progress, ranked.place)


def resumed_order(loader: BatchLoader, progress: EpochProgress | RankedProgress) -> _Order:
    """The rest of an epoch, or the next one if nothing of it is left.

    Repeats the draws that the epoch made before. A generator of the loader is then in the state in
    which it was. The state of torch's global generator stays as it is: the user restores it.
    Epochs of ranks draw from neither.
    """
    if isinstance(progress, RankedProgress):
        assert loader.ranked is not None
        return _ranked_order(loader.ranked, progress)
    own = loader.generator is not None
    context: AbstractContextManager[Any] = nullcontext() if own else torch.random.fork_rng([])
    with context:
        _generator_of(loader).set_state(progress.generator_state)
        seed = _draw_seed(loader.generator)
        positions = position_batches(loader.batch_sampler)
        for _ in itertools.islice(positions, progress.handed_out):
            pass
        following = list(itertools.islice(positions, 1))
    if not following:
        return new_order(loader)
    progress = EpochProgress(progress.generator_state, progress.handed_out)
    rest = itertools.chain(following, positions)
    return _Order(rest, seed, progress.handed_out, progress, _ALONE)


class Epoch:
    """The batches of one iter(), in order, prepared ahead by the daemon."""

    def __init__(self, loader: BatchLoader, order: _Order, prefetch: int | None) -> None:
        if loader.pin_memory and not has_accelerator(torch):
            warnings.warn(
                "pin_memory=True has no effect: torch finds no accelerator to copy to",
                stacklevel=3,
            )
        self._loader = loader
        self._progress = order.progress
        self._changes = loader._data_changes()
        # Positions and requests of the batches under way, in order. The generator that fills it has
        # no reference to this object: a cycle would keep shared memory until the garbage collector
        # runs.
        self._under_way: deque[tuple[Positions, Seeds]] = deque()
        batches = loader.client.loader(
            None,
            **loader.neighbor_sampler.options(),
            time=loader._time(),
            batch_sampler=_numbered(loader, _requests(loader, order, self._under_way)),
            seed=order.seed,
            rank=order.place.rank,
            world_size=order.place.world_size,
            prefetch=prefetch,
            columns=loader._clients_columns(self._changes),
            timeout=loader.timeout or None,
        )
        if order.first:
            batches.load_state_dict({**batches.state_dict(), "batches": order.first})
        self._batches = iter(batches)

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        try:
            batch: Any = next(self._batches)
        except StopIteration:
            self._loader._epoch_ended(self._progress)
            raise
        try:
            data = self._loader._finished(batch, *self._under_way.popleft(), self._changes)
        except Exception:
            # A loop that goes on after an error of its transform has the next batch, not this one.
            self._progress.handed_out += 1
            raise
        self._progress.handed_out += 1
        return data


def _requests(
    loader: BatchLoader, order: _Order, under_way: deque[tuple[Positions, Seeds]]
) -> Iterator[Seeds | None]:
    yield from itertools.repeat(None, order.first)  # a resumed loader skips these
    for step, positions in enumerate(order.positions, order.first):
        seed = batch_seed(order.seed, 0, step, order.place.rank, order.place.world_size)
        request = loader._request(positions, seed)
        under_way.append((positions, request))
        yield request


@dataclass
class _Counted:
    """Requests whose number is known."""

    requests: Iterator[Seeds | None]
    count: int

    def __iter__(self) -> Iterator[Seeds | None]:
        return self.requests

    def __len__(self) -> int:
        return self.count


def _numbered(loader: BatchLoader, requests: Iterator[Seeds | None]) -> Iterable[Seeds | None]:
    """With a batch_dependency a client's Loader numbers the batches of all its epochs, and must
    know how many batches an epoch has. Here each iter() is a run of its own."""
    return _Counted(requests, len(loader)) if drift_of(loader._labor()) else requests


def _generator_of(loader: BatchLoader) -> torch.Generator:
    return torch.default_generator if loader.generator is None else loader.generator


def _draw_seed(generator: torch.Generator | None) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
