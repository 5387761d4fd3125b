"""What the PyG loaders share: torch's DataLoader decides which items make a batch, a client's
Loader has the batches prepared ahead."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from graphzero._torch import has_accelerator
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.pyg.arguments import SamplingArguments
from graphzero.client.pyg.positions import Positions, position_batches
from graphzero.client.requests import Seeds
from torch.utils.data import DataLoader
from torch_geometric.data import Data

# Arguments of DataLoader about processes that this loader does not need: the daemon is its worker.
# dataset and collate_fn are what tools that rebuild a DataLoader pass on; PyG drops them too.
_WITHOUT_EFFECT = (
    "num_workers", "persistent_workers", "prefetch_factor", "dataset", "collate_fn",
)  # fmt: skip
# Those that would have to run what the user wrote in such processes.
_NOT_SUPPORTED = ("worker_init_fn", "multiprocessing_context")


class BatchLoader(DataLoader[int]):
    """Batches of `num_items` items, which subclasses turn into requests and results into Data.

    `dataset` is the range of positions; order, batch size and the rest are DataLoader's, and its
    generator (torch's global one by default) also seeds the draws, so that torch.manual_seed()
    repeats an epoch. Each iter() is independent of the others.

    Picklable: the copy connects for itself.
    """

    def __init__(
        self,
        client: Client,
        num_items: int,
        sampling: SamplingArguments,
        transform: Callable[[Any], Any] | None,
        *,
        input_id: Any,
        columns: list[str] | None,
        prefetch: int,
        **kwargs: Any,
    ) -> None:
        self.client = client
        # By the name of the argument too, as tools that rebuild a DataLoader want it.
        self.data = client
        self.num_neighbors = list(sampling.fanout)
        self.sampling = sampling
        self.transform = transform
        self.columns = _all_columns(client) if columns is None else columns
        client._sample_options(**sampling.as_options(), columns=self.columns)  # checks them
        self.prefetch = prefetch
        self.input_id = input_id
        self._input_id = _ids_of_items(input_id, num_items)
        if num_items == 0 and kwargs.get("shuffle"):
            raise ValueError("shuffle=True, but there is nothing to shuffle: no item was given")
        super().__init__(range(num_items), **_without_workers(kwargs))  # type: ignore[arg-type]
        if self.batch_sampler is None:
            raise ValueError("batch_size is None, expected a number: samples are made for batches")

    def __iter__(self) -> Any:
        return _Epoch(self, position_batches(self.batch_sampler), self.prefetch)

    def __call__(self, index: Any) -> Any:
        """The batch of the items at these positions."""
        return next(_Epoch(self, position_batches([index]), prefetch=0))

    @abstractmethod
    def _request(self, positions: Positions) -> Seeds:
        """What the daemon is asked for."""

    @abstractmethod
    def _data(self, batch: Batch, positions: torch.Tensor, input_id: torch.Tensor) -> Data:
        """What the user gets."""

    def _finished(self, batch: Batch, positions: torch.Tensor) -> Any:
        input_id = positions if self._input_id is None else self._input_id[positions]
        data = self._data(batch, positions, input_id)
        if self.pin_memory and has_accelerator(torch):
            data = data.pin_memory()
        return data if self.transform is None else self.transform(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Epoch:
    """The batches of one iter(), in order."""

    def __init__(self, loader: BatchLoader, batches: Iterator[Positions], prefetch: int) -> None:
        if loader.pin_memory and not has_accelerator(torch):
            warnings.warn(
                "pin_memory=True has no effect: torch finds no accelerator to copy to",
                stacklevel=3,
            )
        self._loader = loader
        # Of the batches under way, in order. Not an attribute of what fills it: a cycle would keep
        # shared memory until the garbage collector comes.
        self._positions: deque[Positions] = deque()
        self._batches = iter(
            loader.client.loader(
                None,
                **loader.sampling.as_options(),
                batch_sampler=_requests(loader, batches, self._positions),
                seed=_draw_seed(loader.generator),
                prefetch=prefetch,
                columns=loader.columns,
                timeout=loader.timeout or None,
            )
        )

    def __iter__(self) -> _Epoch:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        batch = next(self._batches)
        return self._loader._finished(batch, torch.from_numpy(self._positions.popleft()))


def _requests(
    loader: BatchLoader, batches: Iterable[Positions], under_way: deque[Positions]
) -> Iterator[Seeds]:
    for positions in batches:
        under_way.append(positions)
        yield loader._request(positions)


def _without_workers(kwargs: dict[str, Any]) -> dict[str, Any]:
    """What is left for DataLoader."""
    for name in _NOT_SUPPORTED:
        if kwargs.get(name) is not None:
            raise NotImplementedError(
                f"{name} is not supported: this loader has no processes of its own, the daemon "
                "prepares the batches; use transform= for work on each batch"
            )
    workers = kwargs.get("num_workers", 0)
    if not isinstance(workers, int) or workers < 0:
        raise ValueError(f"num_workers is {workers!r}, expected a number of at least 0")
    return {name: value for name, value in kwargs.items() if name not in _WITHOUT_EFFECT}


def _ids_of_items(input_id: Any, num_items: int) -> torch.Tensor | None:
    if input_id is None:
        return None
    given: torch.Tensor = torch.as_tensor(input_id).cpu()
    if given.shape != (num_items,):
        raise ValueError(
            f"input_id has shape {tuple(given.shape)}, expected ({num_items},): one for each item"
        )
    return given


def _all_columns(client: Client) -> list[str]:
    """Of nodes and, where the graph knows which is whose, of edges: what PyG's loaders slice."""
    info = client.info().dataset
    return [*info.node_columns, *(info.edge_columns if info.has_edge_ids else ())]


def _draw_seed(generator: torch.Generator | None) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
