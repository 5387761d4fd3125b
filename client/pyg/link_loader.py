"""`LinkNeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from graphzero._links import ExcludeSeedEdges, LinkRequest, Negatives
from graphzero.client.batch import Batch
from graphzero.client.pyg.arguments import refuse, sampling_arguments, without_type
from graphzero.client.pyg.data import to_data
from graphzero.client.pyg.link_items import LinkItems
from graphzero.client.pyg.links import NegativePlan
from graphzero.client.pyg.loading import BatchLoader
from graphzero.client.pyg.positions import Positions
from graphzero.client.source import Source, open_source
from torch_geometric.data import Data
from torch_geometric.sampler import NegativeSampling
from torch_geometric.sampler.base import SubgraphType


class LinkNeighborLoader(BatchLoader):
    """torch_geometric.loader.LinkNeighborLoader with its arguments, over a dataset on disk.

    data: a client, the directory of a dataset (a daemon is started if need be), or an address.
    edge_label_index: (2, links) global ids; None for all edges, which must then fit in memory.
    neg_sampling: as PyG takes it, or graphzero.Negatives, which can also draw by degree and reject
    what is an edge. The daemon draws, unless NegativeSampling has weights: then torch does, here.
    exclude_seed_edges: True leaves edges that are links of a batch out of its sample, "both" their
    reverses too. PyG leaves them in, where a model can read the answer from them.

    The rest is as in NeighborLoader.
    """

    def __init__(
        self,
        data: Source,
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
        neighbor_sampler: Any = None,
        directed: bool = True,
        *,
        input_id: Any = None,
        exclude_seed_edges: ExcludeSeedEdges = False,
        columns: list[str] | None = None,
        prefetch: int = 2,
        **kwargs: Any,
    ) -> None:
        refuse(
            edge_label_time=edge_label_time,
            time_attr=time_attr,
            temporal_strategy=temporal_strategy,
            transform_sampler_output=transform_sampler_output,
            neighbor_sampler=neighbor_sampler,
            custom_cls=kwargs.pop("custom_cls", None),
        )
        client = open_source(data)
        client._require_features(["links"])
        sampling = sampling_arguments(
            client,
            num_neighbors,
            replace=replace,
            subgraph_type=subgraph_type,
            disjoint=disjoint,
            weight_attr=weight_attr,
            directed=directed,
        )
        self.edge_label_index = edge_label_index
        self._links = LinkItems.of(
            client,
            without_type(edge_label_index, "edge_label_index"),
            edge_label,
            NegativePlan.of(neg_sampling, neg_sampling_ratio),
            exclude_seed_edges,
        )
        super().__init__(
            client,
            len(self._links),
            sampling,
            transform,
            input_id=input_id,
            columns=columns,
            prefetch=prefetch,
            **kwargs,
        )

    def _request(self, positions: Positions) -> LinkRequest:
        return self._links.request(positions)

    def _data(self, batch: Batch, positions: torch.Tensor, input_id: torch.Tensor) -> Data:
        return to_data(batch, input_id=input_id, **self._links.fields(batch, positions))
