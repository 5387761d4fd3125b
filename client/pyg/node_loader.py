"""`NeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.loader.ranks import Rank
from graphzero.client.portable_client import ClientOrPlace
from graphzero.client.pyg.arguments import refuse
from graphzero.client.pyg.data import Stores
from graphzero.client.pyg.loading import BatchLoader
from graphzero.client.pyg.node_items import NodeItems
from graphzero.client.pyg.outputs import Output
from graphzero.client.pyg.positions import Positions
from graphzero.client.pyg.sampler import neighbour_sampler, sampler_of
from graphzero.client.pyg.served_data import AnyServedData, served
from graphzero.client.requests.messages import Seeds
from graphzero.client.requests.temporal import GivenTimes
from torch_geometric.loader import NeighborLoader as PygNeighborLoader
from torch_geometric.sampler import BaseSampler, NodeSamplerInput
from torch_geometric.sampler.base import SubgraphType


class NeighborLoader(BatchLoader, PygNeighborLoader):  # type: ignore[misc]
    """torch_geometric.loader.NeighborLoader, a subclass of it, over a dataset on disk.

    data: a client, the directory of a dataset (a daemon is started if need be), an address, or a
    ServedData or ServedHeteroData. `loader.data` is one of these: what a script adds to it,
    replaces or deletes shows in the batches, as with PyG's. Batches of a dataset with types are
    HeteroData.
    input_nodes: ids, a bool mask, a slice, None for all nodes, or the name of a split. Of a dataset
    with types, (type, nodes), or a mapping {type: nodes} of several: then batches have input_id,
    batch_size and seed_time for each type, and the arguments input_time and input_id are by type.
    original_ids: input_nodes are original ids of a relabelled dataset.
    weight_attr: "edge_weight", the weights that the graph stores. Relations without weights draw
    uniformly, if at least one relation with neighbours to draw has weights.
    time_attr: the attribute that the times of the dataset were made of. Then samples are by time: a
    tree has nothing later than its seed's time (t <= T), which is input_time or the node's own.
    input_id: what batches have as input_id instead of the position in input_nodes.
    columns: which columns of nodes and edges batches have; None for all. Of a dataset with types
    also by type and relation.
    prefetch: batches that the daemon prepares ahead; None for as many as suit the dataset.
    sampler: "labor", or a gz.Labor, makes nodes of a hop draw the same neighbours where possible:
    the same fanout, far fewer different nodes. Any other value is a sampler of torch, which decides
    the order of items. For both at once: neighbor_sampler=GraphZeroSampler(..., sampler="labor").
    rank, world_size: this trainer's place among those that share an epoch, or rank="auto", as in
    Client.loader(). Order and draws then follow from `seed` and the number of the epoch, and not
    from torch's generator. None: the loader does not divide its nodes, as PyG's does not; give each
    rank its own input_nodes or a DistributedSampler.

    The rest is DataLoader's: batch_size, shuffle, sampler, batch_sampler, drop_last, generator,
    timeout, pin_memory. Accepted and without effect, because the daemon does that work:
    num_workers, persistent_workers, prefetch_factor; is_sorted, because a dataset is sorted anyway,
    by time if it has times; and collate_fn, as with PyG's.

    Worker processes start only if there is something for them to do: with worker_init_fn,
    multiprocessing_context, PyG's enable_cpu_affinity() and enable_multithreading(), and a
    transform with filter_per_worker=True. They, transform_sampler_output, another neighbor_sampler
    and a filter_fn() of a subclass make the loader work as PyG's does: a sample, then its columns.

    custom_cls raises NotImplementedError.
    """

    def __init__(
        self,
        data: ClientOrPlace | AnyServedData,
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
        columns: Any = None,
        prefetch: int | None = None,
        rank: Rank | None = None,
        world_size: int | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        refuse(custom_cls=kwargs.pop("custom_cls", None))
        neighbours = neighbour_sampler(kwargs, neighbor_sampler)
        if input_time is not None and time_attr is None and neighbor_sampler is None:
            raise ValueError(
                "input_time is given without time_attr; expected the name of the attribute that "
                "the times of the dataset are"
            )
        view = served(data)
        sampler = sampler_of(
            view,
            neighbor_sampler,
            num_neighbors,
            subgraph_type=subgraph_type,
            replace=replace,
            disjoint=disjoint,
            temporal_strategy=temporal_strategy,
            time_attr=time_attr,
            weight_attr=weight_attr,
            directed=directed,
            sampler=neighbours,
        )
        # Under the names of arguments, as tools that rebuild a DataLoader want them.
        self.input_nodes = input_nodes
        self.input_time = input_time
        self.original_ids = original_ids
        self._items = NodeItems.of(
            view.client,
            input_nodes,
            input_time,
            input_id,
            original_ids=original_ids,
            is_temporal=getattr(sampler, "is_temporal", False),
        )
        super().__init__(
            view,
            sampler,
            len(self._items),
            transform,
            num_neighbors=num_neighbors,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            input_id=input_id,
            columns=columns,
            prefetch=prefetch,
            rank=rank,
            world_size=world_size,
            seed=seed,
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
        return self._items.sampler_input()

    def _request(self, positions: Positions, seed: int) -> Seeds:
        return self._items.seeds.at(positions)

    def _time(self) -> GivenTimes | Literal["own"] | None:
        return self._items.time

    def _link_or_node_fields(
        self, batch: Batch | TypedBatch, positions: Positions, request: Any
    ) -> Stores:
        timed = self._items.time is not None
        return self._items.fields(positions, batch.seed_time if timed else None)

    def _metadata(self, out: Output) -> Stores:
        input_id, seed_time = out.metadata[:2]
        key = self.input_data.input_type
        fields = {"input_id": input_id, "batch_size": len(input_id)}
        return {key: fields if seed_time is None else {**fields, "seed_time": seed_time}}

    def _digest(self) -> str:
        return self._items.seeds.digest()
