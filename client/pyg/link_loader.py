"""`LinkNeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from graphzero.client.batch import Batch
from graphzero.client.portable_client import ClientOrPlace
from graphzero.client.pyg.arguments import refuse, without_type
from graphzero.client.pyg.link_items import LinkItems
from graphzero.client.pyg.links import NegativePlan
from graphzero.client.pyg.loading import BatchLoader
from graphzero.client.pyg.positions import Positions
from graphzero.client.pyg.sampler import GraphZeroSampler, sampler_of
from graphzero.client.pyg.served_data import ServedData, served
from graphzero.embedded.link_request import ExcludeSeedEdges, LinkRequest, Negatives
from torch_geometric.loader import LinkNeighborLoader as PygLinkNeighborLoader
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    SamplerOutput,
)
from torch_geometric.sampler.base import SubgraphType


class LinkNeighborLoader(BatchLoader, PygLinkNeighborLoader):  # type: ignore[misc]
    """torch_geometric.loader.LinkNeighborLoader, a subclass of it, over a dataset on disk.

    data: as in NeighborLoader.
    edge_label_index: (2, links) global ids; None for all edges, which must then fit in memory.
    original_ids: they are original ids of a relabelled dataset: integers, or two lists of texts.
    neg_sampling: as PyG takes it, or graphzero.Negatives, which can also draw by degree or from
    candidates, and reject what is an edge. The daemon draws, unless NegativeSampling has weights:
    then torch does, here.
    exclude_seed_edges: True leaves edges that are links of a batch out of its sample, "both" their
    reverses too. PyG leaves them in, where a model can read the answer from them.

    The rest is as in NeighborLoader.
    """

    def __init__(
        self,
        data: ClientOrPlace | ServedData,
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
        exclude_seed_edges: ExcludeSeedEdges = False,
        columns: list[str] | None = None,
        prefetch: int = 2,
        **kwargs: Any,
    ) -> None:
        refuse(
            edge_label_time=edge_label_time,
            time_attr=time_attr,
            temporal_strategy=temporal_strategy,
            custom_cls=kwargs.pop("custom_cls", None),
        )
        view = served(data)
        view.client._require_features(["links"])
        if neighbor_sampler is not None and exclude_seed_edges is not False:
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
            weight_attr=weight_attr,
            directed=directed,
            exclude_seed_edges=exclude_seed_edges,
        )
        # Under the names of arguments, as tools that rebuild a DataLoader want them.
        self.edge_label_index = edge_label_index
        self.edge_label = edge_label
        self.original_ids = original_ids
        plan = NegativePlan.of(neg_sampling, neg_sampling_ratio)
        self.neg_sampling = plan.asked
        self._links = LinkItems.of(
            view.client,
            without_type(edge_label_index, "edge_label_index"),
            edge_label,
            plan,
            exclude_seed_edges,
            original_ids,
        )
        super().__init__(
            view,
            sampler,
            len(self._links),
            transform,
            num_neighbors=num_neighbors,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            input_id=input_id,
            own_input_id=None,
            columns=columns,
            prefetch=prefetch,
            **kwargs,
        )

    @property
    def link_sampler(self) -> BaseSampler:
        return self.neighbor_sampler

    @link_sampler.setter
    def link_sampler(self, sampler: BaseSampler) -> None:
        self.neighbor_sampler = sampler

    @property
    def exclude_seed_edges(self) -> ExcludeSeedEdges:
        if isinstance(self.neighbor_sampler, GraphZeroSampler):
            return self.neighbor_sampler.exclude_seed_edges
        return False

    @cached_property
    def input_data(self) -> EdgeSamplerInput:
        """What PyG's collate_fn() takes its items from."""
        return EdgeSamplerInput(
            input_id=self._input_id,
            row=torch.from_numpy(self._links.sources),
            col=torch.from_numpy(self._links.targets),
            label=self._links.labels,
        )

    def _request(self, positions: Positions, seed: int) -> LinkRequest:
        return self._links.request(positions, self.exclude_seed_edges, seed)

    def _link_or_node_fields(
        self, batch: Batch, positions: torch.Tensor, input_id: torch.Tensor
    ) -> dict[str, Any]:
        return {"input_id": input_id, **self._links.fields(batch, positions)}

    def _metadata(self, out: SamplerOutput) -> dict[str, Any]:
        names = (
            ("input_id", "src_index", "dst_pos_index", "dst_neg_index", "seed_time")
            if self._links.plan.is_triplet
            else ("input_id", "edge_label_index", "edge_label", "edge_label_time")
        )
        return dict(zip(names, out.metadata, strict=False))

    def _digest(self) -> str:
        return self._links.digest()
