"""The links that a LinkNeighborLoader goes through: their ends, labels, times and negatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.client import Client
from graphzero.client.loader.earliest_link import require_negatives_of_earliest
from graphzero.client.loader.links import Links, ends_of_links
from graphzero.client.loader.own_edges import own_edge_ids, require_order
from graphzero.client.loader.relation_edges import EdgeFile
from graphzero.client.pyg.arguments import split_edge_label_index
from graphzero.client.pyg.data import Stores
from graphzero.client.pyg.links import EndsAsSeeds, LinkPlan, LinksOfSampler
from graphzero.client.pyg.negatives import IdArray, LinkEnds, NegativePlan, checked_labels
from graphzero.client.pyg.node_items import ids_of_items
from graphzero.client.pyg.parts import parts_of
from graphzero.client.pyg.topology import edges_by_id
from graphzero.embedded.link_request import ExcludeSeedEdges, LinkRequest
from graphzero.embedded.typed_arguments import time_array
from torch_geometric.sampler import EdgeSamplerInput


@dataclass(frozen=True)
class LinkItems:
    """Made by of(), which raises errors that every batch would raise."""

    plan: LinkPlan
    links: Links
    labels: torch.Tensor | None
    times: torch.Tensor | None
    """Times of the links."""
    input_id: torch.Tensor | None
    """What batches have as input_id; None for the position."""

    @classmethod
    def of(
        cls,
        client: Client,
        edge_label_index: Any,
        edge_label: Any,
        edge_label_time: Any,
        input_id: Any,
        negatives: NegativePlan,
        exclude: ExcludeSeedEdges | None,
        original_ids: bool,
    ) -> LinkItems:
        dataset = client.info().dataset
        relation, index = split_edge_label_index(dataset, edge_label_index)
        labels = checked_labels(negatives, edge_label)
        is_temporal = edge_label_time is not None
        plan = LinkPlan.of(client, relation, negatives, exclude, is_temporal=is_temporal)
        edge_ids = None
        if index is None:
            sources, targets, edge_ids = _every_link(client, plan.ends, edge_label)
        else:
            sources, targets = _given_links(client, plan.ends, index, original_ids)
        count = len(sources)
        if labels is not None and len(labels) != count:
            raise ValueError(
                f"edge_label has {len(labels)} items, expected {count}, one for each link of "
                "edge_label_index"
            )
        times = None
        if edge_label_time is not None:
            unit = dataset.schema.time_unit
            times = time_array(edge_label_time, count, unit, "edge_label_time", "link")
        own_id = None if input_id is None else ids_of_items(input_id, count)
        own_edges = _own_edges(client, plan.ends, times, edge_ids) if index is None else None
        links = Links(plan.ends.relation, sources, targets, times, own_edges)
        shown_times = None if times is None else torch.from_numpy(times)
        return cls(plan, links, labels, shown_times, own_id)

    def require_negatives(self, client: Client, exclude: ExcludeSeedEdges | None) -> None:
        """Raises InvalidRequest if there is no negative at the time of some link."""
        if self.links.times is None or self.plan.negatives.engine is None:
            return

        def request(positions: IdArray) -> LinkRequest:
            asked = self.request(positions, exclude, disjoint=False, seed=0)
            assert isinstance(asked, LinkRequest)  # the engine draws, so there is a relation
            return asked

        require_negatives_of_earliest(
            client._pool.run_aside,
            client.info().dataset,
            request,
            self.links.times,
            client._deadline(None),
            "link",
        )

    def __len__(self) -> int:
        return len(self.links)

    def request(
        self, positions: IdArray, exclude: ExcludeSeedEdges | None, disjoint: bool, seed: int
    ) -> LinkRequest | EndsAsSeeds:
        links = self.links
        return self.plan.request(
            links.sources[positions],
            links.targets[positions],
            None if links.times is None else links.times[positions],
            None if links.edge_ids is None else links.edge_ids[positions],
            exclude=exclude,
            disjoint=disjoint,
            seed=seed,
        )

    def sampler_input(self) -> EdgeSamplerInput:
        """All links, as PyG's loaders have their items."""
        ids = self.links.edge_ids
        return LinksOfSampler(
            input_id=self.input_id,
            row=torch.from_numpy(self.links.sources),
            col=torch.from_numpy(self.links.targets),
            label=self.labels,
            time=self.times,
            input_type=self.plan.ends.relation,
            edge_ids=None if ids is None else torch.from_numpy(ids),
        )

    def digest(self) -> str:
        """Differs for other links."""
        return self.links.digest()

    def fields(
        self, batch: Batch | TypedBatch, positions: IdArray, request: LinkRequest | EndsAsSeeds
    ) -> Stores:
        """Fields of a batch about its links, by PyG's names."""
        at = torch.from_numpy(positions)
        labels = None if self.labels is None else self.labels[at]
        times = None if self.times is None else self.times[at]
        ends = self.plan.ends
        found = self.plan.fields(batch, request, labels, times, len(at)).stores(ends)
        found[ends.relation]["input_id"] = at if self.input_id is None else self.input_id[at]
        return found


def _given_links(
    client: Client, ends: LinkEnds, index: Any, original_ids: bool
) -> tuple[IdArray, IdArray]:
    what = "edge_label_index" if ends.relation is None else "edge_label_index[1]"
    original = client._deadline(None) if original_ids else None
    dataset = client.info().dataset
    if original_ids:
        client._require_features(["find_nodes"])
    return client._pool.run_aside(ends_of_links(index, dataset, ends.types, original, what))


def _every_link(
    client: Client, ends: LinkEnds, labels: Any
) -> tuple[IdArray, IdArray, IdArray | None]:
    """Ends and ids of all edges, in the order of the input if the graph knows it, which is that of
    the labels. Ids are None if the graph does not store them."""
    if ends.relation_number is None:
        raise ValueError(
            f"edge_label_index is {ends.relation}, which the dataset does not have, without links; "
            "expected (relation, links)"
        )
    part = parts_of(client.info().dataset)[ends.relation].edges
    assert part is not None
    every = edges_by_id(client, part.relation, "edge_label_index=None")
    if every.e_id is None and labels is not None:
        raise ValueError(
            "edge_label is given without edge_label_index, and the graph stores no edge ids, so "
            "that nobody knows which label is whose: give edge_label_index, or convert with "
            "--edge-ids"
        )
    sources, targets = every.edge_index
    return sources, targets, every.e_id


def _own_edges(
    client: Client, ends: LinkEnds, times: IdArray | None, edge_ids: IdArray | None
) -> IdArray | None:
    """What own_edge_ids() says of links that are all edges of the relation, in the order of these
    ids. Raises InvalidRequest if they have no ids, but different times."""
    if times is None:
        return None
    assert ends.relation_number is not None
    dataset = client.info().dataset
    edges = replace(EdgeFile(dataset, ends.relation_number).all_edges(), ids=edge_ids)
    require_order(edges, times, "edge_label_time")
    return own_edge_ids(dataset, ends.relation_number, edges, times)
