"""`NeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.portable_client import ClientOrPlace
from graphzero.client.pyg.arguments import refuse, without_type
from graphzero.client.pyg.loading import BatchLoader
from graphzero.client.pyg.positions import Positions
from graphzero.client.pyg.sampler import sampler_of
from graphzero.client.pyg.served_data import ServedData, served
from graphzero.client.seeds import resolve_seeds
from torch_geometric.loader import NeighborLoader as PygNeighborLoader
from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput
from torch_geometric.sampler.base import SubgraphType


class NeighborLoader(BatchLoader, PygNeighborLoader):  # type: ignore[misc]
    """torch_geometric.loader.NeighborLoader, a subclass of it, over a dataset on disk.

    data: a client, the directory of a dataset (a daemon is started if need be), an address, or a
    ServedData. `loader.data` is a ServedData: what a script adds to it, replaces or deletes shows
    in the batches, as with PyG's.
    input_nodes: ids, a bool mask, a slice, None for all nodes, or the name of a split.
    original_ids: input_nodes are original ids of a relabelled dataset.
    weight_attr: "edge_weight", the weights that the graph stores.
    input_id: what batches have as input_id instead of the position in input_nodes.
    columns: which columns of nodes and edges batches have; None for all.
    prefetch: batches that the daemon prepares ahead.

    The rest is DataLoader's: batch_size, shuffle, sampler, batch_sampler, drop_last, generator,
    timeout, pin_memory. Accepted and without effect, because the daemon does that work:
    num_workers, persistent_workers, prefetch_factor, is_sorted; and collate_fn, as with PyG's.

    Worker processes start where there is something for them to do: with worker_init_fn,
    multiprocessing_context, PyG's enable_cpu_affinity() and enable_multithreading(), and a
    transform with filter_per_worker=True. They, transform_sampler_output, another neighbor_sampler
    and a filter_fn() of a subclass make the loader work as PyG's does: a sample, then its columns.

    time_attr and what belongs to it, and custom_cls raise NotImplementedError. The loader does not
    divide its nodes among ranks: give each rank its own input_nodes or a DistributedSampler, as
    with PyG's.
    """

    def __init__(
        self,
        data: ClientOrPlace | ServedData,
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
        neighbor_sampler: BaseSampler | None = None,
        directed: bool = True,
        *,
        input_id: Any = None,
        original_ids: bool = False,
        columns: list[str] | None = None,
        prefetch: int = 2,
        **kwargs: Any,
    ) -> None:
        refuse(
            input_time=input_time,
            time_attr=time_attr,
            temporal_strategy=temporal_strategy,
            custom_cls=kwargs.pop("custom_cls", None),
        )
        view = served(data)
        sampler = sampler_of(
            view,
            neighbor_sampler,
            num_neighbors,
            subgraph_type=subgraph_type,
            replace=replace,
            disjoint=disjoint,
            weight_attr=weight_attr,
            directed=directed,
        )
        self.input_nodes = input_nodes
        self.original_ids = original_ids
        self._nodes, own_id = _input_nodes(
            view.client, without_type(input_nodes, "input_nodes"), original_ids
        )
        num_nodes = view.portable_client.info.dataset.num_nodes
        super().__init__(
            view,
            sampler,
            num_nodes if self._nodes is None else len(self._nodes),
            transform,
            num_neighbors=num_neighbors,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            input_id=input_id,
            own_input_id=own_id,
            columns=columns,
            prefetch=prefetch,
            **kwargs,
        )

    @property
    def node_sampler(self) -> BaseSampler:
        return self.neighbor_sampler

    @node_sampler.setter
    def node_sampler(self, sampler: BaseSampler) -> None:
        self.neighbor_sampler = sampler

    @cached_property
    def input_data(self) -> NodeSamplerInput:
        """What PyG's collate_fn() takes its items from: a list of all nodes, made when needed."""
        nodes = torch.arange(self._num_items) if self._nodes is None else self._nodes
        return NodeSamplerInput(input_id=self._input_id, node=torch.as_tensor(nodes))

    def _request(self, positions: Positions, seed: int) -> Positions:
        return positions if self._nodes is None else self._nodes[positions]

    def _link_or_node_fields(
        self, batch: Batch, positions: torch.Tensor, input_id: torch.Tensor
    ) -> dict[str, Any]:
        return {"input_id": input_id, "batch_size": len(positions)}

    def _metadata(self, out: SamplerOutput) -> dict[str, Any]:
        input_id, seed_time = out.metadata[:2]
        return {"input_id": input_id, "seed_time": seed_time, "batch_size": len(input_id)}

    def _digest(self) -> str:
        if self._nodes is None:
            return f"all {self._num_items}"
        return hashlib.blake2b(np.ascontiguousarray(self._nodes).data, digest_size=16).hexdigest()


def _input_nodes(
    client: Client, input_nodes: Any, original_ids: bool
) -> tuple[Positions | None, torch.Tensor | None]:
    """Ids, or None for all nodes; and what input_id is, or None for the position.

    PyG's input_id is the position in a list of nodes, but the node itself in a mask.
    """
    if original_ids and input_nodes is not None:
        return client._pool.run_aside(client._original_nodes(input_nodes)), None
    dataset = client.info().dataset
    nodes = client._pool.run_aside(
        resolve_seeds(input_nodes, dataset, client._deadline(None), "input_nodes")
    )
    if isinstance(input_nodes, str):
        is_mask = dataset.columns[input_nodes].role == "node"
    else:
        is_mask = input_nodes is not None and _is_bool(input_nodes)
    return nodes, torch.from_numpy(nodes) if is_mask and nodes is not None else None


def _is_bool(nodes: Any) -> bool:
    if isinstance(nodes, torch.Tensor):
        return nodes.dtype == torch.bool
    return not isinstance(nodes, slice) and bool(np.asarray(nodes).dtype == np.bool_)
