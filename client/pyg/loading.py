"""What the PyG loaders share: torch's DataLoader decides which items make a batch, and a client's
Loader lets the daemon prepare the batches ahead."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import torch
from graphzero.base.lazy_torch import has_accelerator
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.client import Client
from graphzero.client.loader.ranks import Rank, require_same_on_all_ranks
from graphzero.client.loader.state import (
    OnResize,
    count_in_state,
    drift_of,
    require_fitting_state,
)
from graphzero.client.pyg.columns import asked_columns
from graphzero.client.pyg.data import Stores, data_of, make_bidirectional, stores_of
from graphzero.client.pyg.epoch import Epoch, EpochProgress, new_order, resumed_order
from graphzero.client.pyg.outputs import Output, of_drawn_edges, stores_of_output
from graphzero.client.pyg.parts import SCALES, WEIGHTS, Key, parts_of
from graphzero.client.pyg.positions import Positions
from graphzero.client.pyg.ranked import RankedBatches, RankedProgress
from graphzero.client.pyg.sampler import GraphZeroSampler
from graphzero.client.pyg.served_data import AnyServedData, DataChanges
from graphzero.client.requests.messages import Seeds
from graphzero.client.requests.temporal import GivenTimes
from graphzero.client.signatures import require_arguments
from graphzero.embedded.labor import Labor
from torch.utils.data import DataLoader
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.loader.mixin import WorkerInitWrapper
from torch_geometric.sampler import BaseSampler

# Arguments that tools which rebuild a DataLoader pass on; PyG drops them too.
_REBUILT = ("dataset", "collate_fn")
_PYG_COLLATES = (NodeLoader.collate_fn, LinkLoader.collate_fn)

_STATE_VERSION = 1


class BatchLoader(DataLoader[int]):
    """Batches of `num_items` items. Subclasses turn items into requests, and results into Data.

    Subclasses inherit from PyG's loaders too, whose constructors are not called: this one sets what
    they set. `dataset` is the range of positions; order, batch size and the rest are DataLoader's,
    and its generator (torch's global one by default) also seeds the draws, so that
    torch.manual_seed() repeats an epoch. Each iter() is independent of the others.

    There are two ways to a batch. Usually the daemon prepares batches with their columns ahead, and
    the process that iterates does the rest. If the user's own code must run between sampling and
    gathering, or in worker processes, the loader follows PyG's way instead: collate_fn() samples
    and filter_fn() gathers, in num_workers processes of torch.

    Picklable: the copy connects for itself.
    """

    def __init__(
        self,
        data: AnyServedData,
        sampler: BaseSampler,
        num_items: int,
        transform: Callable[[Any], Any] | None,
        /,
        *,
        num_neighbors: Any,
        transform_sampler_output: Callable[[Any], Any] | None,
        filter_per_worker: bool | None,
        input_id: Any,
        columns: Any,
        prefetch: int | None,
        rank: Rank | None,
        world_size: int | None,
        seed: int,
        **kwargs: Any,
    ) -> None:
        # Under the names of arguments, as tools that rebuild a DataLoader want them.
        self.data = data
        self.neighbor_sampler = sampler
        self.__dict__["num_neighbors"] = num_neighbors
        self.transform = transform
        self.transform_sampler_output = transform_sampler_output
        self.filter_per_worker = filter_per_worker is not False
        self.columns = columns
        self.prefetch = prefetch
        self.input_id = input_id
        self._num_items = num_items
        self._parts = parts_of(data.portable_client.info.dataset)
        self._columns = asked_columns(self.client.info().dataset, self._parts, columns)
        if num_items == 0 and kwargs.get("shuffle"):
            raise ValueError("shuffle=True, but there is nothing to shuffle: no item was given")
        self.ranked: RankedBatches | None = None
        if rank is not None or world_size is not None:
            self.ranked = RankedBatches.of(num_items, rank, world_size, seed, kwargs)
            kwargs["batch_sampler"] = self.ranked
        self._init_data_loader(num_items, **kwargs)
        if self.batch_sampler is None:
            raise ValueError("batch_size is None, expected a number: samples are made for batches")
        self._transforms_in_workers = bool(filter_per_worker and transform and self.num_workers)
        self._resume_at: EpochProgress | RankedProgress | None = None
        self._progress: EpochProgress | RankedProgress | None = None
        self._meet_ranks()
        if transform is not None and self.num_workers and not self._goes_pyg_s_way():
            warnings.warn(
                f"transform runs in this process, not in num_workers={self.num_workers} others: "
                "the daemon prepares the batches, so that no workers are started. If the transform "
                "is costly, filter_per_worker=True starts them for it",
                stacklevel=3,
            )

    def _init_data_loader(
        self,
        num_items: int,
        num_workers: int = 0,
        persistent_workers: bool = False,
        prefetch_factor: int | None = None,
        multiprocessing_context: Any = None,
        **kwargs: Any,
    ) -> None:
        """Calls DataLoader's constructor without the arguments about workers, as these may never
        start."""
        if not isinstance(num_workers, int) or num_workers < 0:
            raise ValueError(f"num_workers is {num_workers!r}, expected a number of at least 0")
        options = {name: value for name, value in kwargs.items() if name not in _REBUILT}
        require_arguments(type(self).__name__, DataLoader.__init__, (self, ()), options)
        DataLoader.__init__(self, range(num_items), **options)  # type: ignore[arg-type]
        del self.__dict__["collate_fn"]  # torch's default, in whose place the method is used
        if num_workers:
            self.num_workers = num_workers
            self.prefetch_factor = prefetch_factor or 2  # torch's default
            self.__dict__["persistent_workers"] = persistent_workers  # torch forbids to set it
        self.multiprocessing_context = multiprocessing_context

    @property
    def client(self) -> Client:
        return self.data.client

    @property
    def num_neighbors(self) -> Any:
        if isinstance(self.neighbor_sampler, GraphZeroSampler):
            return self.neighbor_sampler.num_neighbors.values
        return self.__dict__["num_neighbors"]

    @num_neighbors.setter
    def num_neighbors(self, num_neighbors: Any) -> None:
        self.neighbor_sampler.num_neighbors = num_neighbors
        self.__dict__["num_neighbors"] = num_neighbors

    def __iter__(self) -> Any:
        if self._goes_pyg_s_way():
            return DataLoader.__iter__(self)
        self._meet_ranks()
        resume_at, self._resume_at = self._resume_at, None
        order = new_order(self) if resume_at is None else resumed_order(self, resume_at)
        self._progress = order.progress
        return Epoch(self, order, self.prefetch)

    def __call__(self, index: Any) -> Any:
        """The batch of the items at these positions."""
        if not self._goes_pyg_s_way():
            return next(Epoch(self, new_order(self, [index]), prefetch=0))
        out = self.collate_fn(index)
        return out if self.filter_per_worker else self.filter_fn(out)

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is, in plain values: in the middle of its last iter(), or at its end.

        Epochs follow from the state of torch's generator. This has the generator's state of an
        epoch that has begun; later epochs are the same after a restart if the loader has a
        generator of its own, or if torch's state is part of the checkpoint (torch.get_rng_state()).
        A sampler or batch_sampler that was given keeps its own state. Epochs of a loader with a
        rank follow from its seed, and the state is the same on every rank.
        """
        self._require_daemon_s_way("state_dict()")
        info = self.client.info()
        common = {
            "version": _STATE_VERSION,
            "dataset": info.dataset.fingerprint,
            "sampler_version": info.sampler_version,
            "items": self._digest(),
            **drift_of(self._labor()),
        }
        progress = self._progress
        if self.ranked is not None:
            assert not isinstance(progress, EpochProgress)
            return {**common, **self.ranked.state(progress)}
        assert not isinstance(progress, RankedProgress)
        if progress is None and self.generator is not None:
            progress = EpochProgress(self.generator.get_state())
        return {
            **common,
            "batches": 0 if progress is None else progress.handed_out,
            "generator": None if progress is None else progress.encoded_state(),
            "batch_size": self.batch_size,
            "drop_last": self.drop_last,
            "sampler": type(self.sampler).__name__,
        }

    def load_state_dict(self, state: dict[str, Any], *, on_resize: OnResize = "error") -> None:
        """Makes the next iter() go on after the last batch that the saved loader handed out.

        on_resize: for a loader with a rank, as in Loader.load_state_dict().

        Raises DatasetChanged if the data or the sampler is another one, ValueError if this loader
        goes through other items or in another way: the next batch could not be the same.
        """
        way = "sampler" if self.ranked is None else "shuffle"
        require_fitting_state(
            state,
            self.state_dict(),
            same=("batch_size", "drop_last", way, *drift_of(self._labor())),
            digest="items",
            loader=type(self).__name__,
        )
        if self.ranked is not None:
            self._progress = self._resume_at = self.ranked.resumed(state, on_resize)
            return
        self._progress = self._resume_at = EpochProgress.decoded(
            state["generator"], count_in_state(state, "batches")
        )

    def set_epoch(self, epoch: int) -> None:
        """For a loader with a rank: makes `epoch` the epoch of the next iter(), which has its rest
        after load_state_dict() in the middle of that very epoch."""
        if self.ranked is None:
            raise ValueError("this loader has no rank: its epochs follow from torch's generator")
        resume_at = self._resume_at
        if isinstance(resume_at, RankedProgress) and resume_at.epoch == epoch:
            return
        self.ranked.set_epoch(epoch)
        self._resume_at = self._progress = None

    def _meet_ranks(self) -> None:
        """If rank="auto" found the ranks: raises unless all of them begin in the same place."""
        if self.ranked is None or not self.ranked.place.found or self._goes_pyg_s_way():
            return
        resume_at = self._resume_at
        assert not isinstance(resume_at, EpochProgress)
        if self.ranked.place.world_size > 1:
            require_same_on_all_ranks({**self.state_dict(), **self.ranked.state(resume_at)})

    def filter_fn(self, out: Output) -> Any:
        """Gathers columns for what collate_fn() sampled: PyG's way to a batch, see the class."""
        if self.transform_sampler_output is not None:
            out = self.transform_sampler_output(out)
        stores = stores_of_output(out, self.neighbor_sampler.edge_permutation, self._parts)
        changes = self._data_changes()
        for key, names in self._asked_columns(changes).items():
            part, fields = self._parts[key], stores[key]
            for name in names:
                of_nodes = part.nodes is not None and name in part.nodes.columns
                rows = fields.get("n_id" if of_nodes else "e_id")
                if rows is not None:
                    fields[name] = self.client.gather(part.columns[name].name, rows)
            drawn = of_drawn_edges(out, key) if part.edges else {}
            if SCALES in drawn:
                fields[SCALES] = drawn[SCALES]
            if part.edges and part.edges.has_weight_field and WEIGHTS not in fields:
                weights = drawn.get(WEIGHTS)
                if weights is None and "e_id" in fields:  # other code chose these edges
                    weights = self.data.weights_of(stores, key)
                if weights is not None:
                    fields[WEIGHTS] = weights
        changes.apply(stores)
        return self._transformed(self._data(stores, changes, self._metadata(out)))

    @abstractmethod
    def _request(self, positions: Positions, seed: int) -> Seeds:
        """The request to the daemon for these items; `seed` is for draws made in this process."""

    @abstractmethod
    def _time(self) -> GivenTimes | Literal["own"] | None:
        """Where the times of seeds come from; None for samples that are not by time."""

    @abstractmethod
    def _link_or_node_fields(
        self, batch: Batch | TypedBatch, positions: Positions, request: Any
    ) -> Stores:
        """Fields of a batch beside the sample and its columns. `request` is what it answers."""

    @abstractmethod
    def _metadata(self, out: Output) -> Stores:
        """The same fields, from the output of a PyG sampler."""

    @abstractmethod
    def _digest(self) -> str:
        """Differs for other items."""

    def _labor(self) -> Labor | None:
        sampler = self.neighbor_sampler
        return sampler.labor if isinstance(sampler, GraphZeroSampler) else None

    def _goes_pyg_s_way(self) -> bool:
        """Whether the user asked for something that needs PyG's way to a batch, see the class."""
        kind: Any = type(self)
        init_fn = self.worker_init_fn
        if isinstance(init_fn, WorkerInitWrapper):  # left behind by a context manager of PyG
            init_fn = init_fn.func
        return (
            init_fn is not None
            or self.multiprocessing_context is not None
            or self.transform_sampler_output is not None
            or self._transforms_in_workers
            or not isinstance(self.neighbor_sampler, GraphZeroSampler)
            or kind.filter_fn is not BatchLoader.filter_fn
            or kind.collate_fn not in _PYG_COLLATES
        )

    def _require_daemon_s_way(self, what: str) -> None:
        if self._goes_pyg_s_way():
            raise NotImplementedError(
                f"{what} is not supported where worker processes or own code make the batches "
                "(worker_init_fn, multiprocessing_context, transform_sampler_output, "
                "filter_per_worker=True with transform, another sampler, an own filter_fn)"
            )

    def _data_changes(self) -> DataChanges:
        """How self.data differs from the dataset by now. Raises NotImplementedError for changes
        that the daemon does not know of, and that it would have to draw by."""
        sampler = self.neighbor_sampler
        if isinstance(sampler, GraphZeroSampler):
            self.data.require_drawn_by(sampler.time_attr, sampler.weight_attr)
        return self.data.changes

    def _asked_columns(self, changes: DataChanges) -> dict[Key, list[str]]:
        hidden = {key: found.hidden for key, found in changes.by_key.items()}
        return {
            key: [name for name in names if name not in hidden[key]]
            for key, names in self._columns.items()
        }

    def _clients_columns(self, changes: DataChanges) -> Any:
        """The same, as the argument `columns` of Client.loader()."""
        asked = self._asked_columns(changes)
        return asked.get(None, asked)

    def _finished(
        self, batch: Batch | TypedBatch, positions: Positions, request: Seeds, changes: DataChanges
    ) -> Any:
        stores = stores_of(batch)
        for key, part in self._parts.items():
            # The daemon calls all weights edge_weight.
            named_otherwise = part.edges and not part.edges.has_weight_field
            if named_otherwise and WEIGHTS not in self._columns[key]:
                stores[key].pop(WEIGHTS, None)
        changes.apply(stores)
        sampler = self.neighbor_sampler
        if isinstance(sampler, GraphZeroSampler) and sampler.adds_reverses:
            make_bidirectional(stores, {k: c.others.keys() for k, c in changes.by_key.items()})
        more = self._link_or_node_fields(batch, positions, request)
        data = self._data(stores, changes, more)
        if self.pin_memory and has_accelerator(torch):
            data = data.pin_memory()
        return self._transformed(data)

    @staticmethod
    def _data(stores: Stores, changes: DataChanges, more: Stores) -> Data | HeteroData:
        for key, fields in more.items():
            # A missing key is that of links whose relation the dataset does not have.
            stores.setdefault(key, {}).update(fields)
        return data_of(stores, changes.of_all)

    def _transformed(self, data: Data | HeteroData) -> Any:
        return data if self.transform is None else self.transform(data)

    def _epoch_ended(self, progress: EpochProgress | RankedProgress) -> None:
        if self._progress is progress:
            self._progress = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
