"""`NeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.pyg.arguments import refuse, sampling_arguments, without_type
from graphzero.client.pyg.data import to_data
from graphzero.client.pyg.loading import BatchLoader
from graphzero.client.pyg.positions import Positions
from graphzero.client.seeds import resolve_seeds
from graphzero.client.source import Source, open_source
from torch_geometric.data import Data
from torch_geometric.sampler.base import SubgraphType


class NeighborLoader(BatchLoader):
    """torch_geometric.loader.NeighborLoader with its arguments, over a dataset on disk.

    data: a client, the directory of a dataset (a daemon is started if need be), or an address.
    input_nodes: ids, a bool mask, a slice, None for all nodes, or the name of a split.
    weight_attr: "edge_weight", the weights that the graph stores.
    input_id: what batches have as input_id instead of the position in input_nodes.
    columns: which columns of nodes and edges batches have; None for all.
    prefetch: batches that the daemon prepares ahead.

    The rest is DataLoader's: batch_size, shuffle, sampler, batch_sampler, drop_last, generator,
    timeout, pin_memory. Accepted and without effect, because the daemon does that work:
    num_workers, persistent_workers, prefetch_factor, is_sorted, filter_per_worker; and collate_fn,
    as with PyG's. What would run in workers (worker_init_fn, multiprocessing_context), time_attr
    and what belongs to it, neighbor_sampler, transform_sampler_output and custom_cls raise
    NotImplementedError. The loader does not divide its nodes among ranks: give each rank its own
    input_nodes or a DistributedSampler, as with PyG's.
    """

    def __init__(
        self,
        data: Source,
        num_neighbors: Any,
        input_nodes: Any = None,
        input_time: Any = None,
        replace: bool = False,
        subgraph_type: SubgraphType | str = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler: Any = None,
        directed: bool = True,
        *,
        input_id: Any = None,
        columns: list[str] | None = None,
        prefetch: int = 2,
        **kwargs: Any,
    ) -> None:
        refuse(
            input_time=input_time,
            time_attr=time_attr,
            temporal_strategy=temporal_strategy,
            transform_sampler_output=transform_sampler_output,
            neighbor_sampler=neighbor_sampler,
            custom_cls=kwargs.pop("custom_cls", None),
        )
        client = open_source(data)
        sampling = sampling_arguments(
            client,
            num_neighbors,
            replace=replace,
            subgraph_type=subgraph_type,
            disjoint=disjoint,
            weight_attr=weight_attr,
            directed=directed,
        )
        self.input_nodes = input_nodes
        self._nodes, own_id = _input_nodes(client, without_type(input_nodes, "input_nodes"))
        super().__init__(
            client,
            client.info().dataset.num_nodes if self._nodes is None else len(self._nodes),
            sampling,
            transform,
            input_id=own_id if input_id is None else input_id,
            columns=columns,
            prefetch=prefetch,
            **kwargs,
        )

    def _request(self, positions: Positions) -> Positions:
        return positions if self._nodes is None else self._nodes[positions]

    def _data(self, batch: Batch, positions: torch.Tensor, input_id: torch.Tensor) -> Data:
        return to_data(batch, input_id=input_id, batch_size=len(positions))


def _input_nodes(client: Client, input_nodes: Any) -> tuple[Positions | None, torch.Tensor | None]:
    """Ids, or None for all nodes; and what input_id is, or None for the position.

    PyG's input_id is the position in a list of nodes, but the node itself in a mask.
    """
    dataset = client.info().dataset
    link = client._pool.take(1)
    try:
        nodes = resolve_seeds(input_nodes, dataset, link, "input_nodes")
    finally:
        client._pool.give_back(link)
    if isinstance(input_nodes, str):
        is_mask = dataset.columns[input_nodes].role == "node"
    else:
        is_mask = input_nodes is not None and _is_bool(input_nodes)
    return nodes, torch.from_numpy(nodes) if is_mask and nodes is not None else None


def _is_bool(nodes: Any) -> bool:
    if isinstance(nodes, torch.Tensor):
        return nodes.dtype == torch.bool
    return not isinstance(nodes, slice) and bool(np.asarray(nodes).dtype == np.bool_)
