"""`GraphZeroSampler`: draws for PyG's NodeLoader and LinkLoader, and for the loaders here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
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
from graphzero.client.pyg.links import LinkPlan
from graphzero.client.pyg.negatives import NegativePlan
from graphzero.client.pyg.outputs import Output, output_of
from graphzero.client.pyg.served_data import AnyServedData, served
from graphzero.client.pyg.times import check_strategy, check_time_attr
from graphzero.client.requests.messages import Seeds
from graphzero.client.requests.temporal import (
    GIVEN_TIMES,
    GivenTimes,
    TimedDraws,
    sampler_temporal_options,
)
from graphzero.embedded.labor import Labor, Sampler, labor_of_loader
from graphzero.embedded.link_request import ExcludeSeedEdges, Negatives
from graphzero.embedded.sampling import resolve_seed
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    NeighborSampler,
    NodeSamplerInput,
    NumNeighbors,
)
from torch_geometric.sampler.base import DataType, SubgraphType


class GraphZeroSampler(NeighborSampler):  # type: ignore[misc]
    """PyG's NeighborSampler over a graph that stays where it is, in the daemon.

    data: a client, the directory of a dataset (a daemon is started if need be), an address, or a
    ServedData or ServedHeteroData.
    sampler: "labor", or a gz.Labor, makes nodes of a hop draw the same neighbours where possible.
    The other arguments are those of PyG's; exclude_seed_edges is that of LinkNeighborLoader.
    Attributes can be changed later, as Lightning does for evaluation: num_neighbors, replace,
    subgraph_type, disjoint, temporal_strategy, weight_attr, sample_direction and sampler hold from
    the next sample on. is_sorted and share_memory have no meaning here: the files are sorted, by
    time where there are times, and all processes share them.
    Seeds come from torch's generator, so torch.manual_seed() repeats a run.

    Works in workers, forked or spawned: each connects for itself.
    """

    # PyG's sampler takes these from its data and holds them; here the daemon has them.
    node_time = None
    edge_time = None
    edge_weight = None
    # Edges have the numbers that they have in the input.
    perm = None

    def __init__(
        self,
        data: ClientOrPlace | AnyServedData,
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
        exclude_seed_edges: ExcludeSeedEdges | None = None,
        sampler: Sampler = "neighbour",
    ) -> None:
        # NeighborSampler.__init__ is not called: it copies the graph and needs PyG's native
        # libraries.
        view = served(data)
        self._portable_client = view.portable_client
        dataset = self._portable_client.info.dataset
        self.num_nodes: Any
        if dataset.schema.typed:
            self.data_type = DataType.heterogeneous
            self.node_types = dataset.schema.type_names
            self.edge_types = dataset.schema.relation_names
            self.num_nodes = {found.name: found.count for found in dataset.schema.types}
        else:
            self.data_type = DataType.homogeneous
            self.num_nodes = dataset.num_nodes
        if time_attr is not None:
            check_time_attr(self.client, time_attr)
        self._time_attr = time_attr
        self.exclude_seed_edges = exclude_seed_edges
        self.temporal_strategy = temporal_strategy
        self.keep_orig_edges = False
        self.replace = replace
        self.disjoint = disjoint
        self.num_neighbors = num_neighbors
        self.subgraph_type = induced_if_undirected(directed, subgraph_type)
        self.sample_direction = sample_direction
        self.weight_attr = weight_attr
        view.require_drawn_by(time_attr, weight_attr)
        self.sampler = sampler

    @property
    def client(self) -> Client:
        return self._portable_client.client

    @property
    def is_temporal(self) -> bool:
        return self._time_attr is not None

    @property
    def time_attr(self) -> str | None:
        """The attribute that the times of the dataset are; None for samples that are not by
        time."""
        return self._time_attr

    @property
    def temporal_strategy(self) -> str:
        return self._temporal_strategy

    @temporal_strategy.setter
    def temporal_strategy(self, temporal_strategy: str) -> None:
        check_strategy(temporal_strategy, self._time_attr)
        self._temporal_strategy = temporal_strategy

    @property
    def num_neighbors(self) -> NumNeighbors:
        return self._num_neighbors

    @num_neighbors.setter
    def num_neighbors(self, num_neighbors: Any) -> None:
        self._fanout = fanout_of(num_neighbors, self._portable_client.info.dataset)
        is_pyg_s = isinstance(num_neighbors, NumNeighbors)
        self._num_neighbors = num_neighbors if is_pyg_s else NumNeighbors(self._fanout)

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

    @property
    def sampler(self) -> Sampler:
        return self._sampler

    @sampler.setter
    def sampler(self, sampler: Sampler) -> None:
        self._labor = labor_of_loader(sampler)
        self._sampler: Sampler = sampler

    @property
    def labor(self) -> Labor | None:
        """How LABOR draws; None if every node draws independently."""
        return self._labor

    @property
    def adds_reverses(self) -> bool:
        """Whether the sample of the daemon becomes bidirectional in this process: for a graph with
        types, where PyG decides which relations are each other's reverse."""
        return self.is_hetero and self._subgraph_type is SubgraphType.bidirectional

    def options(self) -> dict[str, Any]:
        """How it draws at this moment, as arguments of Client.sample()."""
        refuse(keep_orig_edges=self.keep_orig_edges)
        if self._labor is not None and self._weight_attr is not None and self.adds_reverses:
            raise ValueError(
                f"sampler is {self._sampler!r} with weight_attr={self._weight_attr!r} and "
                "subgraph_type='bidirectional', expected 'directional': there is a scale for each "
                "edge that was drawn, and none for its reverse"
            )
        return {
            "fanout": self._fanout,
            "replace": bool(self.replace),
            "disjoint": self.disjoint,
            "subgraph": "directional" if self.adds_reverses else self._subgraph_type.value,
            "weighted": self._weight_attr is not None,
            "direction": direction_of(self._sample_direction),
            "sampler": self._sampler,
        } | ({"temporal_strategy": self._temporal_strategy} if self.is_temporal else {})

    def sample_from_nodes(self, inputs: NodeSamplerInput, **kwargs: Any) -> Output:
        seeds, times = inputs.node, inputs.time
        if inputs.input_type is not None:
            seeds = {inputs.input_type: seeds}
            times = None if times is None else {inputs.input_type: times}
        output = self._with_reverses(self._sample(seeds, times))
        output.metadata = (inputs.input_id, inputs.time)
        return output

    def sample_from_edges(
        self,
        inputs: EdgeSamplerInput,
        neg_sampling: NegativeSampling | Negatives | None = None,
    ) -> Output:
        negatives = NegativePlan.of(neg_sampling)
        self._require_times(inputs.time, "edge_label_time")
        plan = LinkPlan.of(
            self.client,
            inputs.input_type,
            negatives,
            self.exclude_seed_edges,
            is_temporal=inputs.time is not None,
        )
        edge_ids = getattr(inputs, "edge_ids", None)  # of LinksOfSampler
        request = plan.request(
            inputs.row.numpy(),
            inputs.col.numpy(),
            None if inputs.time is None else inputs.time.numpy(),
            None if edge_ids is None else edge_ids.numpy(),
            exclude=self.exclude_seed_edges,
            disjoint=self.disjoint,
        )
        batch = self._draw(request, GIVEN_TIMES if inputs.time is not None else None)
        output = self._with_reverses(output_of(batch))
        fields = plan.fields(batch, request, inputs.label, inputs.time, len(inputs.row))
        if fields.batch is not None:
            output.batch = fields.batch.get(None, fields.batch)
        output.metadata = (inputs.input_id, *fields.links(plan.negatives), fields.time)
        return output

    def _sample(self, seed: Any, seed_time: Any = None, **kwargs: Any) -> Output:
        """What PyG's BidirectionalNeighborSampler and the like build on."""
        self._require_times(seed_time, "input_time")
        seeds = (
            {name: torch.as_tensor(ids).to(torch.int64) for name, ids in seed.items()}
            if isinstance(seed, Mapping)
            else torch.as_tensor(seed).to(torch.int64)
        )
        time = "own" if self.is_temporal and seed_time is None else seed_time
        options = self._own_options() | ({} if time is None else {"time": time})
        return output_of(self.client.sample(seeds, **options, columns=[], seed=_draw_seed()))

    def _own_options(self) -> dict[str, Any]:
        """options() for a sample that is no numbered batch of a loader."""
        if self._labor is not None and self._labor.batch_dependency > 1:
            raise ValueError(
                f"sampler is {self._sampler!r}, expected a batch_dependency of 1: this sample is "
                "one by itself. Batches that follow from each other are those of "
                "graphzero.pyg.NeighborLoader and LinkNeighborLoader, where the daemon makes them "
                "(no worker processes, no transform_sampler_output, no filter_fn)"
            )
        return self.options()

    def _require_times(self, given: Any, what: str) -> None:
        if given is not None and not self.is_temporal:
            raise ValueError(
                f"{what} is given without time_attr; expected the name of the attribute that the "
                "times of the dataset are"
            )

    def _with_reverses(self, output: Output) -> Output:
        return output.to_bidirectional() if self.adds_reverses else output

    def _draw(self, request: Seeds, time: GivenTimes | None) -> Batch | TypedBatch:
        """Draws one batch as a loader would."""
        client = self.client
        client._require_features(["links"])
        draws = self._own_options()
        del draws["sampler"]
        by_time = TimedDraws(strategy=draws.pop("temporal_strategy", "uniform"))
        temporal = sampler_temporal_options(client.info().dataset, time, by_time) if time else None
        options = client._sample_options(**draws, labor=self._labor, columns=[], temporal=temporal)
        asked = client._batch_request(request, options, _draw_seed(), client._deadline(None))
        return client._pool.direct().submit(asked).wait()


def sampler_of(
    data: AnyServedData, given: BaseSampler | None, num_neighbors: Any, **arguments: Any
) -> BaseSampler:
    """The sampler of a loader: one that was given, else one with the loader's arguments."""
    if given is None:
        return GraphZeroSampler(data, num_neighbors, **arguments)
    if not isinstance(given, BaseSampler):
        raise TypeError(
            f"neighbor_sampler is {given!r}, expected a sampler of PyG's, such as GraphZeroSampler"
        )
    return given


def neighbour_sampler(arguments: dict[str, Any], given: BaseSampler | None) -> Sampler:
    """Takes `sampler` out of a loader's arguments for torch, if it says how neighbours are drawn.

    torch has an argument of the same name, for a list of items or the like, whose values are none
    of those that are meant here.
    """
    sampler: Any = arguments.get("sampler")
    if not isinstance(sampler, str | Labor):
        return "neighbour"
    if given is not None:
        raise ValueError(
            f"sampler is {sampler!r} beside neighbor_sampler, which samples by its own arguments; "
            "give it to GraphZeroSampler"
        )
    del arguments["sampler"]
    labor_of_loader(sampler)  # raises first if it is no valid sampler
    return sampler  # type: ignore[return-value]


def _draw_seed() -> int:
    return resolve_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
