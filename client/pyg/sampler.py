"""`GraphZeroSampler`: draws for PyG's NodeLoader and LinkLoader."""

from __future__ import annotations

from typing import Any

import torch
from graphzero._links import ExcludeSeedEdges, Negatives
from graphzero._sampling import resolve_seed
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.pyg.arguments import refuse, sampling_arguments
from graphzero.client.pyg.links import LinkFields, NegativePlan
from graphzero.client.source import OpenedSource, Source
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    NodeSamplerInput,
    SamplerOutput,
)
from torch_geometric.sampler.base import SubgraphType


class GraphZeroSampler(BaseSampler):  # type: ignore[misc]
    """A PyG sampler whose graph stays where it is, in the daemon.

    data: a client, the directory of a dataset (a daemon is started if need be), or an address.
    The other arguments are those of PyG's NeighborSampler; exclude_seed_edges is that of
    LinkNeighborLoader. Seeds come from torch's generator, so torch.manual_seed() repeats a run.

    Works in workers, forked or spawned: each connects for itself.
    """

    def __init__(
        self,
        data: Source,
        num_neighbors: Any,
        subgraph_type: SubgraphType | str = "directional",
        replace: bool = False,
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        is_sorted: bool = False,
        share_memory: bool = False,
        directed: bool = True,
        *,
        exclude_seed_edges: ExcludeSeedEdges = False,
    ) -> None:
        refuse(time_attr=time_attr, temporal_strategy=temporal_strategy)
        self._source = OpenedSource(data)
        self._exclude = exclude_seed_edges
        self._sampling = sampling_arguments(
            self.client,
            num_neighbors,
            replace=replace,
            subgraph_type=subgraph_type,
            disjoint=disjoint,
            weight_attr=weight_attr,
            directed=directed,
        )

    @property
    def client(self) -> Client:
        return self._source.client

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        if index.time is not None:
            refuse(input_time=index.time)
        batch = self.client.sample(
            index.node, **self._sampling.as_options(), columns=[], seed=_draw_seed()
        )
        output = _output(batch)
        output.metadata = (index.input_id, index.time)
        return output

    def sample_from_edges(
        self,
        index: EdgeSamplerInput,
        neg_sampling: NegativeSampling | Negatives | None = None,
    ) -> SamplerOutput:
        if index.time is not None:
            refuse(edge_label_time=index.time)
        plan = NegativePlan.of(neg_sampling)
        plan.check(self._exclude, self._source.info.dataset.num_nodes)
        batch = self._draw_links(index, plan)
        output = _output(batch)
        fields = LinkFields.of(batch, plan, index.label, len(index.row))
        output.batch = fields.batch
        if plan.is_triplet:
            ends = (fields.src_index, fields.dst_pos_index, fields.dst_neg_index)
            output.metadata = (index.input_id, *ends, index.time)
        else:
            pairs = (fields.edge_label_index, fields.edge_label)
            output.metadata = (index.input_id, *pairs, index.time)
        return output

    def _draw_links(self, index: EdgeSamplerInput, plan: NegativePlan) -> Batch:
        client = self.client
        client._require_features(["links"])
        request = plan.request(
            index.row.numpy(), index.col.numpy(), self._exclude, self._source.info.dataset.num_nodes
        )
        options = client._sample_options(**self._sampling.as_options(), columns=[])
        return client._pool.direct().wait(client._submit(request, options, _draw_seed(), None))


def _output(batch: Batch) -> SamplerOutput:
    # Copies: PyG keeps outputs as long as it likes, and their memory is the daemon's to lend.
    batch = batch.clone()
    by_hop = bool(batch.num_sampled_edges)
    return SamplerOutput(
        node=batch.n_id,
        row=batch.edge_index[0],
        col=batch.edge_index[1],
        edge=batch.e_id,
        batch=batch.batch,
        num_sampled_nodes=batch.num_sampled_nodes if by_hop else None,
        num_sampled_edges=batch.num_sampled_edges if by_hop else None,
    )


def _draw_seed() -> int:
    return resolve_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
