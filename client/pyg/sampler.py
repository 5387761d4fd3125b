"""`GraphZeroSampler`: draws for PyG's NodeLoader and LinkLoader, and for the loaders here."""

from __future__ import annotations

from typing import Any

import torch
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.portable_client import ClientOrPlace
from graphzero.client.pyg.arguments import (
    SampleDirection,
    check_weights,
    direction_of,
    fanout_of,
    induced_if_undirected,
    refuse,
    subgraph_of,
)
from graphzero.client.pyg.links import LinkFields, NegativePlan
from graphzero.client.pyg.served_data import ServedData, served
from graphzero.embedded.link_request import ExcludeSeedEdges, Negatives
from graphzero.embedded.sampling import resolve_seed
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    NeighborSampler,
    NodeSamplerInput,
    NumNeighbors,
    SamplerOutput,
)
from torch_geometric.sampler.base import DataType, SubgraphType


class GraphZeroSampler(NeighborSampler):  # type: ignore[misc]
    """PyG's NeighborSampler over a graph that stays where it is, in the daemon.

    data: a client, the directory of a dataset (a daemon is started if need be), an address, or a
    ServedData.
    The other arguments are those of PyG's; exclude_seed_edges is that of LinkNeighborLoader. What
    they set can be changed later, as Lightning does for evaluation: num_neighbors, replace,
    subgraph_type, disjoint, weight_attr and sample_direction hold from the next sample on.
    Seeds come from torch's generator, so torch.manual_seed() repeats a run.

    Works in workers, forked or spawned: each connects for itself.
    """

    # What PyG's own finds out about its data. Times and types are not there.
    data_type = DataType.homogeneous
    node_time = None
    edge_time = None
    edge_weight = None
    # Edges have the numbers that they have in the input.
    perm = None

    def __init__(
        self,
        data: ClientOrPlace | ServedData,
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
        sample_direction: SampleDirection = "forward",
        *,
        exclude_seed_edges: ExcludeSeedEdges = False,
    ) -> None:
        refuse(time_attr=time_attr, temporal_strategy=temporal_strategy)
        # Not NeighborSampler.__init__, which copies the graph and asks for PyG's native libraries.
        self._portable_client = served(data).portable_client
        self.num_nodes = self._portable_client.info.dataset.num_nodes
        self.exclude_seed_edges = exclude_seed_edges
        self.temporal_strategy = temporal_strategy
        self.keep_orig_edges = False
        self.replace = replace
        self.disjoint = disjoint
        self.num_neighbors = num_neighbors
        self.subgraph_type = induced_if_undirected(directed, subgraph_type)
        self.sample_direction = sample_direction
        self.weight_attr = weight_attr

    @property
    def client(self) -> Client:
        return self._portable_client.client

    @property
    def num_neighbors(self) -> NumNeighbors:
        return self._num_neighbors

    @num_neighbors.setter
    def num_neighbors(self, num_neighbors: Any) -> None:
        self._num_neighbors = NumNeighbors(fanout_of(num_neighbors))

    @property
    def subgraph_type(self) -> SubgraphType:
        return self._subgraph_type

    @subgraph_type.setter
    def subgraph_type(self, subgraph_type: SubgraphType | str) -> None:
        self._subgraph_type = subgraph_of(subgraph_type)

    @property
    def sample_direction(self) -> SampleDirection:
        return self._sample_direction

    @sample_direction.setter
    def sample_direction(self, sample_direction: SampleDirection) -> None:
        direction_of(sample_direction)
        self._sample_direction: SampleDirection = sample_direction

    @property
    def weight_attr(self) -> str | None:
        return self._weight_attr

    @weight_attr.setter
    def weight_attr(self, weight_attr: str | None) -> None:
        check_weights(self._portable_client.info.dataset, weight_attr)
        self._weight_attr = weight_attr

    def options(self) -> dict[str, Any]:
        """How it draws at this moment, in the words of Client.sample()."""
        refuse(keep_orig_edges=self.keep_orig_edges)
        return {
            "fanout": self._num_neighbors.values,
            "replace": bool(self.replace),
            "disjoint": bool(self.disjoint),
            "subgraph": self._subgraph_type.value,
            "weighted": self._weight_attr is not None,
            "direction": direction_of(self._sample_direction),
        }

    def sample_from_nodes(self, inputs: NodeSamplerInput, **kwargs: Any) -> SamplerOutput:
        if inputs.time is not None:
            refuse(input_time=inputs.time)
        output = self._sample(inputs.node)
        output.metadata = (inputs.input_id, inputs.time)
        return output

    def sample_from_edges(
        self,
        inputs: EdgeSamplerInput,
        neg_sampling: NegativeSampling | Negatives | None = None,
    ) -> SamplerOutput:
        if inputs.time is not None:
            refuse(edge_label_time=inputs.time)
        plan = NegativePlan.of(neg_sampling)
        plan.check(self.exclude_seed_edges, self.num_nodes)
        batch = self._draw_links(inputs, plan)
        output = _output(batch)
        fields = LinkFields.of(batch, plan, inputs.label, len(inputs.row))
        output.batch = fields.batch
        if plan.is_triplet:
            ends = (fields.src_index, fields.dst_pos_index, fields.dst_neg_index)
            output.metadata = (inputs.input_id, *ends, inputs.time)
        else:
            pairs = (fields.edge_label_index, fields.edge_label)
            output.metadata = (inputs.input_id, *pairs, inputs.time)
        return output

    def _sample(self, seed: Any, seed_time: Any = None, **kwargs: Any) -> SamplerOutput:
        """What PyG's BidirectionalNeighborSampler and the like build on."""
        if seed_time is not None:
            refuse(input_time=seed_time)
        ids = torch.as_tensor(seed).to(torch.int64)
        options = self.options()
        return _output(self.client.sample(ids, **options, columns=[], seed=_draw_seed()))

    def _draw_links(self, inputs: EdgeSamplerInput, plan: NegativePlan) -> Batch:
        client = self.client
        client._require_features(["links"])
        request = plan.request(
            inputs.row.numpy(),
            inputs.col.numpy(),
            self.exclude_seed_edges,
            self.num_nodes,
            client._candidates(plan.engine),
        )
        options = client._sample_options(**self.options(), columns=[])
        deadline = client._deadline(None)
        asked = client._batch_request(request, options, _draw_seed(), deadline)
        return client._pool.direct().submit(asked).wait()


def sampler_of(
    data: ServedData, given: BaseSampler | None, num_neighbors: Any, **arguments: Any
) -> BaseSampler:
    """The sampler of a loader: one that was given, else one with the loader's arguments."""
    if given is None:
        return GraphZeroSampler(data, num_neighbors, **arguments)
    if not isinstance(given, BaseSampler):
        raise TypeError(
            f"neighbor_sampler is {given!r}, expected a sampler of PyG's, such as GraphZeroSampler"
        )
    return given


def _output(batch: Batch) -> SamplerOutput:
    # Copies: PyG keeps outputs as long as it likes, and their memory is the daemon's to lend.
    batch = batch.clone()
    by_hop = bool(batch.num_sampled_edges)
    output = SamplerOutput(
        node=batch.n_id,
        row=batch.edge_index[0],
        col=batch.edge_index[1],
        edge=batch.e_id,
        batch=batch.batch,
        num_sampled_nodes=batch.num_sampled_nodes if by_hop else None,
        num_sampled_edges=batch.num_sampled_edges if by_hop else None,
    )
    # PyG's outputs have no place for weights.
    output._weighted = (output.row, batch.edge_weight)
    return output


def weights_of(output: SamplerOutput) -> torch.Tensor | None:
    """The weights of the edges, if these are still the edges that were drawn here."""
    row, weights = getattr(output, "_weighted", (None, None))
    return weights if output.row is row else None


def _draw_seed() -> int:
    return resolve_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
