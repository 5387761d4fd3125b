"""`LinkNeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.loader.ranks import Rank
from graphzero.client.portable_client import ClientOrPlace
from graphzero.client.pyg.arguments import refuse
from graphzero.client.pyg.data import Stores
from graphzero.client.pyg.link_items import LinkItems
from graphzero.client.pyg.links import EndsAsSeeds, LinkFields
from graphzero.client.pyg.loading import BatchLoader
from graphzero.client.pyg.negatives import NegativePlan
from graphzero.client.pyg.outputs import Output
from graphzero.client.pyg.positions import Positions
from graphzero.client.pyg.sampler import GraphZeroSampler, neighbour_sampler, sampler_of
from graphzero.client.pyg.served_data import AnyServedData, served
from graphzero.client.requests.temporal import GIVEN_TIMES, GivenTimes
from graphzero.embedded.link_request import ExcludeSeedEdges, LinkRequest, Negatives
from torch_geometric.loader import LinkNeighborLoader as PygLinkNeighborLoader
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
)
from torch_geometric.sampler.base import SubgraphType


class LinkNeighborLoader(BatchLoader, PygLinkNeighborLoader):  # type: ignore[misc]
    """torch_geometric.loader.LinkNeighborLoader, a subclass of it, over a dataset on disk.

    data: as in NeighborLoader.
    edge_label_index: (2, links) global ids; None for all edges, which must then fit in memory. Of a
    dataset with types, (relation, links), or the relation alone for all its edges.
    edge_label_time: the time of each link, with time_attr: nothing later is in its tree. Drawn
    negatives exist at that time too.
    original_ids: edge_label_index has original ids of a relabelled dataset: integers, or two lists
    of texts.
    neg_sampling: as PyG takes it, or graphzero.Negatives, which can also draw by degree or from
    candidates, and reject pairs that are edges. The daemon draws, unless NegativeSampling has
    weights: then torch does, in this process.
    exclude_seed_edges: True leaves edges that are links of a batch out of its sample, "both" their
    reverses too. PyG leaves them in, where a model can read the answer from them. For links with
    times, "own" leaves out of the trees of a link all edges between its ends that did not exist
    before its time, in every direction; "pair" leaves out all edges between its ends. The default,
    None, is "own" for links with times and False for others. Links of a relation that the dataset
    does not have are sampled around, but anything except None and False is then an error.

    The rest is as in NeighborLoader.
    """

    def __init__(
        self,
        data: ClientOrPlace | AnyServedData,
        num_neighbors: Any,
        edge_label_index: Any = None,
        edge_label: Any = None,
        edge_label_time: Any = None,
        replace: bool = False,
        subgraph_type: SubgraphType | str = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        neg_sampling: NegativeSampling | Negatives | dict[str, Any] | str | None = None,
        neg_sampling_ratio: float | None = None,
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
        exclude_seed_edges: ExcludeSeedEdges | None = None,
        columns: Any = None,
        prefetch: int | None = None,
        rank: Rank | None = None,
        world_size: int | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        refuse(custom_cls=kwargs.pop("custom_cls", None))
        neighbours = neighbour_sampler(kwargs, neighbor_sampler)
        if neighbor_sampler is None and (edge_label_time is None) != (time_attr is None):
            given, missing = ("time_attr", "edge_label_time")[:: -1 if time_attr is None else 1]
            raise ValueError(
                f"'{given}' is set, but '{missing}' is not set: samples by time need both, the "
                "attribute that the times of the dataset are, and the time of each link"
            )
        view = served(data)
        view.client._require_features(["links"])
        if neighbor_sampler is not None and exclude_seed_edges is not None:
            raise ValueError(
                f"exclude_seed_edges is {exclude_seed_edges!r} beside neighbor_sampler, which "
                "samples by its own arguments; give it to GraphZeroSampler"
            )
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
            exclude_seed_edges=exclude_seed_edges,
            sampler=neighbours,
        )
        # Under the names of arguments, as tools that rebuild a DataLoader want them.
        self.edge_label_index = edge_label_index
        self.edge_label = edge_label
        self.edge_label_time = edge_label_time
        self.original_ids = original_ids
        negatives = NegativePlan.of(neg_sampling, neg_sampling_ratio)
        self.neg_sampling = negatives.asked
        self._links = LinkItems.of(
            view.client,
            edge_label_index,
            edge_label,
            edge_label_time,
            input_id,
            negatives,
            exclude_seed_edges,
            original_ids,
        )
        if isinstance(sampler, GraphZeroSampler):  # others draw negatives by their own rules
            self._links.require_negatives(view.client, exclude_seed_edges)
        super().__init__(
            view,
            sampler,
            len(self._links),
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
    def link_sampler(self) -> BaseSampler:
        return self.neighbor_sampler

    @link_sampler.setter
    def link_sampler(self, sampler: BaseSampler) -> None:
        self.neighbor_sampler = sampler

    @property
    def exclude_seed_edges(self) -> ExcludeSeedEdges | None:
        if isinstance(self.neighbor_sampler, GraphZeroSampler):
            return self.neighbor_sampler.exclude_seed_edges
        return None

    @cached_property
    def input_data(self) -> EdgeSamplerInput:
        """What PyG's collate_fn() takes its items from."""
        return self._links.sampler_input()

    def _request(self, positions: Positions, seed: int) -> LinkRequest | EndsAsSeeds:
        disjoint = self.neighbor_sampler.disjoint
        return self._links.request(positions, self.exclude_seed_edges, disjoint, seed)

    def _time(self) -> GivenTimes | None:
        return None if self._links.times is None else GIVEN_TIMES

    def _link_or_node_fields(
        self, batch: Batch | TypedBatch, positions: Positions, request: Any
    ) -> Stores:
        return self._links.fields(batch, positions, request)

    def _metadata(self, out: Output) -> Stores:
        input_id, *links, time = out.metadata
        names = (
            ("src_index", "dst_pos_index", "dst_neg_index")
            if self._links.plan.negatives.is_triplet
            else ("edge_label_index", "edge_label")
        )
        ends = self._links.plan.ends
        stores = LinkFields(**dict(zip(names, links, strict=True)), time=time).stores(ends)
        stores[ends.relation]["input_id"] = input_id
        return stores

    def _digest(self) -> str:
        return self._links.digest()
