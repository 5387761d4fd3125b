"""`Loader`: epochs of batches, prepared ahead by the daemon."""

from __future__ import annotations

import itertools
import os
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from graphzero.base.numbers import whole_number
from graphzero.client.batches.typed_batch import AnyBatch
from graphzero.client.errors import SessionEnded
from graphzero.client.loader.items import LoaderItems, LoaderOptions
from graphzero.client.loader.link_loader import LinksOfBatch, batch_of_links
from graphzero.client.loader.order import batch_seed
from graphzero.client.loader.ranks import require_same_on_all_ranks
from graphzero.client.loader.seed_batches import Progress
from graphzero.client.loader.state import (
    OnResize,
    count_in_state,
    drift_of,
    require_fitting_state,
    resumed_progress,
)
from graphzero.client.requests.messages import SampleOptions, Seeds, sample_messages
from graphzero.client.requests.request import RAN_OUT, Request, RequestFuture
from graphzero.client.requests.temporal import TimedDraws
from graphzero.embedded.sampling import resolve_seed

if TYPE_CHECKING:
    from graphzero.client.loader_calls import LoaderCalls

# The batch in use, and the one before it, which a loop variable holds until the next is bound.
_HELD_BY_USER = 2
# Batches ahead for which a loader needs sure memory, if its user does not say how many.
_PROMISED = 2

_STATE_VERSION = 1


class Loader:
    """An iterable of batches; each iter() is an epoch. Made by Client.loader() and link_loader().

    The first iter() is epoch 0, the next one epoch 1, and so on, unless set_epoch() says otherwise.
    Order and draws of an epoch follow from the loader's seed and the epoch's number alone.

    Ranks share an epoch: every seed or link is in exactly one batch of one rank, and all ranks have
    the same number of batches, none empty. order.py has the rule.

    One epoch at a time: iter() ends the one before, and an iterator that is dropped, by `break` for
    instance, cancels what was prepared ahead. Loaders of one client do not disturb each other.

    state_dict() counts the batches handed out; a loader that loads it goes on with the very next.
    """

    def __init__(
        self,
        client: LoaderCalls,
        items: LoaderItems,
        sample: SampleOptions,
        draws: TimedDraws,
        options: LoaderOptions,
    ) -> None:
        if options.prefetch is not None:
            whole_number(options.prefetch, "prefetch", least=0)
        resolve_seed(options.seed)  # checks its range
        self._client = client
        self._options = options
        self._seed = options.seed
        self._name = items.name
        if options.prefetch is not None:
            self._prefetch = promised = options.prefetch
        else:
            # What the daemon suggests is used as far as there is memory, and not promised: other
            # trainers need memory, too.
            self._prefetch, promised = client.info().suggested_prefetch, _PROMISED
        self._connection = client._pool.take(max(promised, 1) + _HELD_BY_USER)
        self._timeout = options.timeout
        if self._timeout is None:
            # Batches that are read from a disk together are ready at the same time, so the first
            # one takes as long as all of them.
            self._timeout = self._connection.timeout * max(1, self._prefetch / _PROMISED)
        self._finalizer = weakref.finalize(self, client._pool.give_back, self._connection)
        self._seed_batches, temporal = items.resolve(
            client.info().dataset, self._connection, draws, options
        )
        self._sample = replace(sample, temporal=temporal)
        if drift_of(self._sample.labor):
            len(self)  # raises if unknown: then batches cannot be numbered over all epochs
        self._progress = Progress(epoch=0, handed_out=0)
        self._resume_at: Progress = self._progress
        self._running: weakref.ref[LoaderIterator] | None = None
        self._made_in = os.getpid()
        self._meet_ranks(self._progress)

    def __repr__(self) -> str:
        dataset = repr(self._client.info().dataset.name)
        whole = f"{self._name} of {dataset}" if self._name else dataset
        place, sample = self._options.place, self._sample
        fanout = "by relation" if sample.relation_fanout else list(sample.fanout)
        return (
            f"Loader({whole}: {self._seed_batches.summary()}, fanout {fanout}, "
            f"rank {place.rank} of {place.world_size})"
        )

    def __len__(self) -> int:
        """Batches of a whole epoch: the same on every rank."""
        return self._seed_batches.num_batches()

    def __iter__(self) -> LoaderIterator:
        self._end_running("a newer iter() of this loader ended this one")
        start = self._resume_at
        self._meet_ranks(start)
        self._progress = start
        self._resume_at = Progress(start.epoch + 1, 0)
        iterator = LoaderIterator(self, start)
        self._running = weakref.ref(iterator)
        return iterator

    def share(self, epoch: int, worker: int, workers: int) -> LoaderIterator:
        """Batches worker, worker + workers, ... of an epoch, for processes that divide it.

        Changes nothing about this loader: neither its next epoch nor its state_dict().
        """
        return LoaderIterator(self, Progress(epoch, 0), worker=worker, workers=workers)

    def set_epoch(self, epoch: int) -> None:
        """Makes `epoch` the epoch of the next iter().

        After load_state_dict() in the middle of that very epoch, the next iter() has its rest.
        """
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}, expected at least 0")
        if epoch != self._resume_at.epoch:
            self._resume_at = Progress(epoch, 0)
        self._seed_batches.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is, in plain values: the same on every rank at the same step."""
        return {
            "version": _STATE_VERSION,
            "dataset": self._client.info().dataset.fingerprint,
            "sampler_version": self._client.info().sampler_version,
            "seed": self._seed,
            "epoch": self._progress.epoch,
            "batches": self._progress.handed_out,
            "batch_size": self._options.batch_size,
            "shuffle": self._options.shuffle,
            "drop_last": self._options.drop_last,
            "world_size": self._options.place.world_size,
            "seeds": self._seed_batches.digest(),
            **drift_of(self._sample.labor),
        }

    def load_state_dict(self, state: dict[str, Any], *, on_resize: OnResize = "error") -> None:
        """Makes the next iter() go on after the last batch that the saved loader handed out.

        A state of another number of ranks is accepted if it is from the end of an epoch. One from
        the middle raises ValueError, or with on_resize="next_epoch" leaves out the rest of that
        epoch.

        Raises DatasetChanged if the data or the sampler is another one, ValueError if this loader
        goes through other seeds or in another way: the next batch could not be the same.
        """
        require_fitting_state(
            state,
            self.state_dict(),
            same=("batch_size", "shuffle", "drop_last", *drift_of(self._sample.labor)),
            digest="seeds",
            loader="Loader",
        )
        seed = resolve_seed(count_in_state(state, "seed"))
        batches = self._seed_batches.with_seed(seed)
        progress = resumed_progress(state, batches, self._options.place.world_size, on_resize)
        self._end_running("load_state_dict() of this loader ended this iterator")
        self._seed = seed
        self._seed_batches = batches
        self._progress = self._resume_at = progress

    def _meet_ranks(self, start: Progress) -> None:
        """If rank="auto" found the ranks: raises unless all of them begin in the same place."""
        place = self._options.place
        # A forked child has the parent's process group, and must not use it.
        if place.found and place.world_size > 1 and os.getpid() == self._made_in:
            own = {**self.state_dict(), "epoch": start.epoch, "batches": start.handed_out}
            require_same_on_all_ranks(own)

    def _end_running(self, reason: str) -> None:
        running = self._running() if self._running is not None else None
        if running is not None:
            running.close(reason)

    def _submit(self, seeds: Seeds, epoch: int, step: int) -> RequestFuture[AnyBatch]:
        place = self._options.place
        drawn_by = batch_seed(self._seed, epoch, step, place.rank, place.world_size)
        messages = sample_messages(seeds, self._sample_of(epoch, step), drawn_by)
        deadline = self._connection.deadline(self._timeout)
        make = self._client._make_batch
        if isinstance(seeds, LinksOfBatch):
            make = partial(batch_of_links, make, seeds.fields)
        return self._connection.submit(Request(messages, make, deadline))

    def _sample_of(self, epoch: int, step: int) -> SampleOptions:
        """The options of one batch: LABOR's include its number among the batches of all epochs."""
        labor = self._sample.labor
        if labor is None or labor.batch_dependency == 1:
            return self._sample
        place = self._options.place
        number = (epoch * len(self) + step) * place.world_size + place.rank
        return replace(self._sample, labor=labor.of_batch(self._seed, number))


@dataclass
class _Ahead:
    """A batch on its way; without a future if it could not be asked for yet."""

    step: int
    seeds: Seeds
    future: RequestFuture[AnyBatch] | None = None
    refused: SessionEnded | None = None
    """Set if asking for it told that the session was ended, which is told only once."""


class LoaderIterator:
    """The batches of one epoch. Not thread-safe."""

    def __init__(
        self, loader: Loader, start: Progress, *, worker: int = 0, workers: int | None = None
    ) -> None:
        """`workers`: that many iterators share the epoch, and this is number `worker` of them."""
        self._ahead: deque[_Ahead] = deque()
        self._ended: str | None = None
        self._sampler_error: Exception | None = None  # raised after the batches ahead
        self._loader = loader
        self._connection = loader._connection
        self._generation = self._connection.generation
        self._epoch = start.epoch
        self._handed_out = start.handed_out
        self._reports = workers is None
        self._coming: Iterator[tuple[int, Seeds]] = itertools.islice(
            enumerate(loader._seed_batches.batches(start), start=start.handed_out),
            worker,
            None,
            workers or 1,
        )
        self._top_up(loader._prefetch)

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> AnyBatch:
        if self._ended is not None:
            raise RuntimeError(self._ended)
        self._renew_after_fork()
        self._top_up(max(1, self._loader._prefetch))
        if not self._ahead and self._sampler_error is None:
            self._report(Progress(self._epoch + 1, 0))
            raise StopIteration
        try:
            batch = self._wait_for_first()
        except BaseException:
            self.close("the epoch ended with an error")
            raise
        # Before the batch is counted: if it is interrupted, the user does not get the batch.
        self._top_up(self._loader._prefetch)
        self._handed_out += 1
        self._report(Progress(self._epoch, self._handed_out))
        return batch

    def close(self, reason: str = "the iterator was closed") -> None:
        """Cancels the batches that are prepared ahead, so that their memory is free at once."""
        self._ended = self._ended or reason
        if self._generation != self._connection.generation:
            self._ahead.clear()  # they are the parent's, whose threads may hold a future's lock
        while self._ahead:
            future = self._ahead.popleft().future
            if future is not None:
                future.cancel()

    def __del__(self) -> None:
        self.close()

    def _wait_for_first(self) -> AnyBatch:
        if not self._ahead:
            assert self._sampler_error is not None
            raise self._sampler_error
        first = self._ahead.popleft()
        if first.refused is not None:
            # A copy: one that this frame refers to would keep the frame alive by its traceback.
            raise SessionEnded(*first.refused.args)
        future = first.future
        if future is None or (future.done() and isinstance(future.exception(), RAN_OUT)):
            # There was no session or no memory for the batch while the user was busy elsewhere.
            # Asks for it again, and this time an error is raised.
            self._take_back()
            future = self._loader._submit(first.seeds, self._epoch, first.step)
            self._ask_again()
        return future.wait()

    def _take_back(self) -> None:
        """Gives up the batches ahead, before an earlier one is asked for again. The daemon gives
        memory to requests in the order in which they came: these would get all of it, and keep it
        until the earlier batch is there."""
        for ahead in self._ahead:
            if ahead.future is not None:
                ahead.future.cancel()
                ahead.future = None

    def _ask_again(self) -> None:
        for ahead in self._ahead:
            if ahead.refused is None:
                self._ask_for(ahead)
            if ahead.future is None:
                return  # later batches could not be asked for either

    def _top_up(self, count: int) -> None:
        try:
            self._ask_ahead(count)
        except BaseException:
            # An interrupt may have ended the generator of the batches, or lost one of them. Going
            # on would then hand out less than the epoch has.
            self.close("the epoch was interrupted")
            raise

    def _ask_ahead(self, count: int) -> None:
        while len(self._ahead) < count and self._sampler_error is None:
            if self._ahead and self._ahead[-1].future is None:
                return  # later batches could not be asked for either
            try:
                coming = next(self._coming, None)
            except Exception as error:
                self._sampler_error = error
                return
            if coming is None:
                return
            step, seeds = coming
            ahead = _Ahead(step, seeds)
            self._ahead.append(ahead)
            self._ask_for(ahead)

    def _ask_for(self, ahead: _Ahead) -> None:
        try:
            ahead.future = self._loader._submit(ahead.seeds, self._epoch, ahead.step)
        except SessionEnded as error:
            ahead.refused = error.with_traceback(None)
        except Exception:
            pass  # raised when the batch is waited for, if it happens again

    def _renew_after_fork(self) -> None:
        """In a forked child, asks for the batches ahead again: requests under way are the
        parent's."""
        if self._generation == self._connection.generation:
            return
        self._generation = self._connection.generation
        for ahead in self._ahead:
            ahead.future = ahead.refused = None
        self._ask_again()

    def _report(self, progress: Progress) -> None:
        if self._reports:
            self._loader._progress = progress
