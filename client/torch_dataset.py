"""`BatchDataset`: a loader's batches for torch's DataLoader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from graphzero.client.batches.typed_batch import AnyBatch
from graphzero.client.client import Client
from graphzero.client.loader.loader import Loader
from graphzero.client.loader.ranks import place_of
from graphzero.client.portable_client import ClientOrPlace, PortableClient
from graphzero.client.signatures import require_arguments
from torch.utils.data import IterableDataset, get_worker_info


class BatchDataset(IterableDataset[AnyBatch]):
    """An IterableDataset whose items are batches:

        dataset = BatchDataset("products", "train", fanout=[10, 5], batch_size=1024, shuffle=True)
        for batch in torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2): ...

    data: a client, the directory of a dataset (a daemon is started if need be), or an address.
    The other arguments are those of Client.loader().

    Each pass is the next epoch, and its batches come once and in the order of Client.loader() with
    the same arguments, however many workers there are: worker w of W makes batches w, w + W, ...,
    and DataLoader takes from its workers in turn. Workers are not needed for speed, since the
    daemon works ahead anyway, and a batch that comes from one is a copy; they are for what a worker
    does to it, such as a costly transform.
    """

    def __init__(self, data: ClientOrPlace, /, *args: Any, **options: Any) -> None:
        require_arguments("BatchDataset", Client.loader, (data, *args), options)
        self._portable_client = PortableClient(data)
        place = place_of(options.get("rank"), options.get("world_size"))
        # Fixed here: a worker that was spawned has neither torch's process group nor Ray's context.
        self._arguments = args, {**options, "rank": place.rank, "world_size": place.world_size}
        self._loader: Loader | None = self._portable_client.client.loader(*args, **options)
        self._length = len(self._loader)
        self._epochs = _EpochClock()
        self._passes = 0  # of this worker

    def __len__(self) -> int:
        return self._length

    def set_epoch(self, epoch: int) -> None:
        """Makes `epoch` that of the next pass."""
        self._epochs.set_next(epoch)

    def __iter__(self) -> Iterator[AnyBatch]:
        worker = get_worker_info()
        loader = self._own_loader()
        if worker is None:
            return loader.share(self._epochs.next_epoch(), 0, 1)
        # This number is the same for all workers of one DataLoader iterator, and another for every
        # other iterator, unless torch is seeded alike for both. Persistent workers keep it, and do
        # one pass after the other.
        pass_seed = worker.seed - worker.id
        epoch = self._epochs.epoch_of(pass_seed, self._passes, worker.num_workers)
        self._passes += 1
        return loader.share(epoch, worker.id, worker.num_workers)

    def _own_loader(self) -> Loader:
        if self._loader is None:  # in a process that was spawned
            arguments, options = self._arguments
            self._loader = self._portable_client.client.loader(*arguments, **options)
        return self._loader

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loader": None}


class _EpochClock:
    """Which epoch is next, for a process and its workers together.

    A worker has a copy of its parent's dataset, made for one pass of a DataLoader or for several,
    so the count is in shared memory.
    """

    def __init__(self) -> None:
        # A lock for spawned processes fits all: one for forked processes cannot go to spawned ones.
        self._lock = torch.multiprocessing.get_context("spawn").Lock()
        # The next epoch. Then about the pass that workers began last: its epoch, its seed, how many
        # passes its workers did before, and how many of its workers have not begun it yet.
        self._state = torch.zeros(5, dtype=torch.int64)
        self._state.share_memory_()  # type: ignore[no-untyped-call]

    def set_next(self, epoch: int) -> None:
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}, expected at least 0")
        with self._lock:
            self._state[0] = epoch

    def next_epoch(self) -> int:
        with self._lock:
            self._state[0] += 1
            return int(self._state[0]) - 1

    def epoch_of(self, pass_seed: int, passes_before: int, workers: int) -> int:
        """The epoch of the pass that one of its workers begins: the next epoch for the first of
        them, and the same for the others."""
        with self._lock:
            coming, epoch, seed, passes, missing = self._state.tolist()
            if pass_seed != seed or passes_before > passes or not missing:
                epoch, passes, missing = coming, passes_before, workers
                coming += 1
            # A slow worker may have yet to begin a pass that was left early. Its batches are
            # dropped, so any epoch will do.
            missing -= passes_before == passes
            self._state[:] = torch.tensor([coming, epoch, pass_seed, passes, missing])
            return int(epoch)
