"""What the PyG loaders share: torch's DataLoader decides which items make a batch, a client's
Loader has the batches prepared ahead."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.pyg.arguments import SamplingArguments
from graphzero.client.requests import Seeds
from torch.utils.data import DataLoader
from torch_geometric.data import Data

Positions = npt.NDArray[np.int64]

# Arguments of DataLoader about processes that this loader does not need: the daemon is its worker.
_WITHOUT_EFFECT = ("num_workers", "persistent_workers", "prefetch_factor")
# Those that would have to run what the user wrote in such processes.
_NOT_SUPPORTED = ("worker_init_fn", "multiprocessing_context")


class BatchLoader(DataLoader[int]):
    """Batches of `num_items` items, which subclasses turn into requests and results into Data.

    `dataset` is the range of positions; order, batch size and the rest are DataLoader's, and its
    generator (torch's global one by default) also seeds the draws, so that torch.manual_seed()
    repeats an epoch. Each iter() is independent of the others.
    """

    def __init__(
        self,
        client: Client,
        num_items: int,
        sampling: SamplingArguments,
        transform: Callable[[Any], Any] | None,
        *,
        columns: list[str] | None,
        prefetch: int,
        **kwargs: Any,
    ) -> None:
        for name in _NOT_SUPPORTED:
            if kwargs.get(name) is not None:
                raise NotImplementedError(
                    f"{name} is not supported: this loader has no processes of its own, the daemon "
                    "prepares the batches; use transform= for work on each batch"
                )
        for name in (*_WITHOUT_EFFECT, "dataset", "collate_fn"):
            kwargs.pop(name, None)
        self.client = client
        self.data = (
            client  # by the name of the argument, as tools that rebuild a DataLoader want it
        )
        self.num_neighbors = list(sampling.fanout)
        self.sampling = sampling
        self.transform = transform
        self.columns = _all_columns(client) if columns is None else columns
        self.prefetch = prefetch
        super().__init__(range(num_items), **kwargs)  # type: ignore[arg-type]
        if self.batch_sampler is None:
            raise ValueError("batch_size is None, expected a number: samples are made for batches")

    def __iter__(self) -> Any:
        return _Epoch(self)

    def __call__(self, index: Any) -> Any:
        """The batch of the items at these positions."""
        return next(_Epoch(self, [index]))

    @abstractmethod
    def _request(self, positions: Positions) -> Seeds:
        """What the daemon is asked for."""

    @abstractmethod
    def _data(self, batch: Batch, positions: torch.Tensor) -> Data:
        """What the user gets."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Epoch:
    """The batches of one iter(), in order."""

    def __init__(self, loader: BatchLoader, batches: Any = None) -> None:
        self._loader = loader
        # Of the batches under way, in order. Not an attribute of what fills it: a cycle would keep
        # shared memory until the garbage collector comes.
        self._positions: deque[torch.Tensor] = deque()
        options = loader.sampling.as_options()
        self._batches = iter(
            loader.client.loader(
                None,
                options.pop("fanout"),
                batch_sampler=_requests(loader, batches or loader.batch_sampler, self._positions),
                seed=_draw_seed(loader.generator),
                prefetch=loader.prefetch if batches is None else 0,
                columns=loader.columns,
                timeout=loader.timeout or None,
                **options,
            )
        )

    def __iter__(self) -> _Epoch:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        batch = next(self._batches)
        data = self._loader._data(batch, self._positions.popleft())
        if self._loader.pin_memory and torch.cuda.is_available():
            data = data.pin_memory()
        return data if self._loader.transform is None else self._loader.transform(data)


def _requests(loader: BatchLoader, batches: Any, under_way: deque[torch.Tensor]) -> Iterator[Seeds]:
    for index in batches:
        positions = torch.as_tensor(index, dtype=torch.int64, device="cpu")
        under_way.append(positions)
        yield loader._request(positions.numpy())


def _all_columns(client: Client) -> list[str]:
    """Of nodes and, where the graph knows which is whose, of edges: what PyG's loaders slice."""
    info = client.info().dataset
    return [*info.node_columns, *(info.edge_columns if info.has_edge_ids else ())]


def _draw_seed(generator: torch.Generator | None) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())
