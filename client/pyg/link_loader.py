"""`LinkNeighborLoader`: PyG's, over a daemon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from graphzero._links import ExcludeSeedEdges, LinkRequest, Negatives
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.pyg.arguments import refuse, sampling_arguments
from graphzero.client.pyg.data import to_data
from graphzero.client.pyg.links import IdArray, LinkFields, NegativePlan, checked_labels
from graphzero.client.pyg.loading import BatchLoader, Positions
from graphzero.client.pyg.topology import whole_topology
from graphzero.client.requests import wire_ids
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
        self._plan = NegativePlan.of(neg_sampling, neg_sampling_ratio)
        self._labels = checked_labels(self._plan, edge_label)
        self._exclude = exclude_seed_edges
        self._num_nodes = client.info().dataset.num_nodes
        self._sources, self._targets = _links(client, edge_label_index, edge_label)
        if self._labels is not None and len(self._labels) != len(self._sources):
            raise ValueError(
                f"edge_label has {len(self._labels)} items, expected {len(self._sources)}, one for "
                "each link of edge_label_index"
            )
        self._plan.check(exclude_seed_edges, self._num_nodes)
        super().__init__(
            client,
            len(self._sources),
            sampling,
            transform,
            columns=columns,
            prefetch=prefetch,
            **kwargs,
        )

    def _request(self, positions: Positions) -> LinkRequest:
        return self._plan.request(
            self._sources[positions], self._targets[positions], self._exclude, self._num_nodes
        )

    def _data(self, batch: Batch, positions: torch.Tensor) -> Data:
        data = to_data(batch)
        labels = None if self._labels is None else self._labels[positions]
        fields = LinkFields.of(batch, self._plan, labels, len(positions))
        for name, value in vars(fields).items():
            if value is not None:
                data[name] = value
        data.input_id = positions
        return data


def _links(client: Client, edge_label_index: Any, labels: Any) -> tuple[IdArray, IdArray]:
    if edge_label_index is None:
        return _every_link(client, labels)
    if len(edge_label_index) != 2:
        raise ValueError(
            f"edge_label_index has {len(edge_label_index)} rows, expected 2: sources and targets"
        )
    sources = wire_ids(edge_label_index[0], "edge_label_index[0]")
    targets = wire_ids(edge_label_index[1], "edge_label_index[1]")
    if len(sources) != len(targets):
        raise ValueError(f"edge_label_index has {len(sources)} sources, {len(targets)} targets")
    return sources, targets


def _every_link(client: Client, labels: Any) -> tuple[IdArray, IdArray]:
    """In the order of the input where the graph knows it, which is the order of its labels."""
    every = whole_topology(client, "edge_label_index=None")
    source, target = every.edge_index
    if every.e_id is not None:
        order = np.argsort(every.e_id, kind="stable")
        return source[order], target[order]
    if labels is not None:
        raise ValueError(
            "edge_label is given without edge_label_index, and the graph stores no edge ids, so "
            "that nobody knows which label is whose: give edge_label_index, or convert with "
            "--edge-ids"
        )
    return source, target
