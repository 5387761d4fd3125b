"""`NeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.pyg.arguments import refuse, sampling_arguments
from graphzero.client.pyg.data import to_data
from graphzero.client.pyg.loading import BatchLoader, Positions
from graphzero.client.seeds import resolve_seeds
from graphzero.client.source import Source, open_source
from torch_geometric.data import Data
from torch_geometric.sampler.base import SubgraphType


class NeighborLoader(BatchLoader):
    """torch_geometric.loader.NeighborLoader with its arguments, over a dataset on disk.

    data: a client, the directory of a dataset (a daemon is started if need be), or an address.
    input_nodes: ids, a bool mask, None for all nodes, or the name of a split.
    weight_attr: "edge_weight", the weights that the graph stores.
    columns: which columns of nodes and edges batches have; None for all.
    prefetch: batches that the daemon prepares ahead.

    num_workers, persistent_workers and prefetch_factor are accepted and without effect, as are
    is_sorted and filter_per_worker: the daemon does that work. time_attr and what belongs to it
    raise NotImplementedError. The loader does not divide its nodes among ranks: give each rank its
    own input_nodes or a DistributedSampler, as with PyG's.
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
        self._nodes, self._input_id = _input_nodes(client, input_nodes)
        num_items = client.info().dataset.num_nodes if self._nodes is None else len(self._nodes)
        super().__init__(
            client, num_items, sampling, transform, columns=columns, prefetch=prefetch, **kwargs
        )

    def _request(self, positions: Positions) -> Positions:
        return positions if self._nodes is None else self._nodes[positions]

    def _data(self, batch: Batch, positions: torch.Tensor) -> Data:
        data = to_data(batch)
        data.input_id = positions if self._input_id is None else self._input_id[positions]
        data.batch_size = len(positions)
        return data


def _input_nodes(client: Client, input_nodes: Any) -> tuple[Positions | None, torch.Tensor | None]:
    """Ids, or None for all nodes; and what input_id is, or None for the position.

    PyG's input_id is the position in a list of nodes, but the node itself in a mask.
    """
    dataset = client.info().dataset
    link = client._pool.take(1)
    try:
        nodes = resolve_seeds(input_nodes, dataset, link)
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
    return bool(np.asarray(nodes).dtype == np.bool_)
