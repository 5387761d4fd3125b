"""Links as PyG describes them: turns them into requests, and batches into PyG's fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.client import Client
from graphzero.client.loader.own_edges import left_out
from graphzero.client.loader.relation_edges import NO_IDS
from graphzero.client.pyg.data import Stores
from graphzero.client.pyg.negatives import (
    IdArray,
    LinkEnds,
    NegativePlan,
    labels_of_pairs,
    link_ends,
)
from graphzero.client.pyg.parts import Key
from graphzero.client.requests.messages import NodeSeeds
from graphzero.embedded.link_request import (
    Candidates,
    ExcludeSeedEdges,
    LinkRequest,
    link_request,
)
from graphzero.files.schema import RelationName
from torch_geometric.sampler import EdgeSamplerInput


@dataclass(frozen=True, eq=False)
class EndsAsSeeds(NodeSeeds):
    """Links of a relation that the dataset does not have: their ends are sampled as mere nodes."""

    source_index: IdArray = field(default_factory=lambda: NO_IDS)
    """Local ids, as a batch around links has them."""
    target_index: IdArray = field(default_factory=lambda: NO_IDS)


class LinksOfSampler(EdgeSamplerInput):  # type: ignore[misc]
    """Links on PyG's way to a batch: PyG's items, with the ids of the edges that the links are."""

    def __init__(self, *fields: Any, edge_ids: torch.Tensor | None, **named: Any) -> None:
        super().__init__(*fields, **named)
        self.edge_ids = edge_ids

    def __getitem__(self, index: torch.Tensor | Any) -> LinksOfSampler:
        some = super().__getitem__(index)
        fields = (some.input_id, some.row, some.col, some.label, some.time, some.input_type)
        at = torch.as_tensor(index, dtype=torch.long)
        ids = None if self.edge_ids is None else self.edge_ids[at]
        return LinksOfSampler(*fields, edge_ids=ids)


@dataclass(frozen=True)
class LinkPlan:
    """How links become requests, and what batches have about their links."""

    ends: LinkEnds
    negatives: NegativePlan
    candidates: Candidates
    """The candidates of negatives.engine, which a client has checked."""

    @classmethod
    def of(
        cls,
        client: Client,
        relation: RelationName | None,
        negatives: NegativePlan,
        exclude: ExcludeSeedEdges | None,
        *,
        is_temporal: bool,
    ) -> LinkPlan:
        ends = link_ends(client.info().dataset, relation)
        if ends.relation_number is None:
            if exclude not in (None, False):
                known = client.info().dataset.schema.relations_text()
                raise ValueError(
                    f"exclude_seed_edges is {exclude!r}, but the dataset has no relation "
                    f"{ends.relation}, so that there is no edge to leave out; it has {known}; "
                    "expected one of these, or exclude_seed_edges=None"
                )
            negatives = negatives.without_edges()
        negatives.check(exclude, ends, is_temporal=is_temporal)
        candidates = client._candidates(negatives.engine, ends.relation_number or 0)
        return cls(ends, negatives, candidates)

    def request(
        self,
        sources: IdArray,
        targets: IdArray,
        times: IdArray | None,
        edge_ids: IdArray | None = None,
        *,
        exclude: ExcludeSeedEdges | None,
        disjoint: bool,
        seed: int | None = None,
    ) -> LinkRequest | EndsAsSeeds:
        """`edge_ids`: of the edges that the links are, for links that are later than these; None if
        a link's own edge is known by its time. `seed`: of draws that are made here; None takes them
        from torch's generator as it is."""
        count = len(sources)
        sources, targets = self.negatives.with_negatives(sources, targets, self.ends, seed)
        if self.ends.relation_number is None:
            return self._as_seeds(sources, targets, times, disjoint)
        given = max(len(sources), len(targets))
        exclude, edge_ids = left_out(exclude, edge_ids if exclude in (None, "own") else None)
        return link_request(
            sources,
            targets,
            self.negatives.engine,
            exclude,
            self.candidates,
            count,
            relation=self.ends.relation_number,
            times=None if times is None else times[np.arange(given) % count],
            edge_ids=edge_ids,
        )

    def _as_seeds(
        self, sources: IdArray, targets: IdArray, times: IdArray | None, disjoint: bool
    ) -> EndsAsSeeds:
        source, target = self.ends.types
        given = {source: [sources]}
        given.setdefault(target, []).append(targets)
        by_type: list[tuple[int, IdArray]] = []
        index: dict[int, IdArray] = {}
        for number, ids in sorted(given.items()):
            nodes = np.concatenate(ids)
            index[number] = np.arange(len(nodes))
            if not disjoint:
                nodes, index[number] = np.unique(nodes, return_inverse=True)
            by_type.append((number, nodes))
        seed_times = None
        if times is not None:
            of_links = [times[np.arange(len(ends)) % len(times)] for ends in (sources, targets)]
            seed_times = np.concatenate(of_links if source <= target else of_links[::-1])
        first = len(sources) if source == target else 0
        return EndsAsSeeds(
            tuple(by_type),
            seed_times,
            source_index=index[source][: len(sources)],
            target_index=index[target][first:],
        )

    def fields(
        self,
        batch: Batch | TypedBatch,
        request: LinkRequest | EndsAsSeeds,
        labels: torch.Tensor | None,
        times: torch.Tensor | None,
        num_links: int,
    ) -> LinkFields:
        """What a batch has about its links."""
        if isinstance(request, EndsAsSeeds):
            sources = torch.from_numpy(request.source_index)
            targets = torch.from_numpy(request.target_index)
        else:
            sources, targets = batch.source_index, batch.target_index
        source, target = self.ends.types
        first = len(sources) if source <= target else len(targets)
        trees = _links_of_nodes(batch, first, num_links)
        plan = self.negatives
        if not plan.is_triplet:
            return LinkFields(
                edge_label_index=torch.stack([sources, targets]),
                edge_label=labels_of_pairs(plan, labels, num_links, len(sources) - num_links),
                time=None if times is None else _repeated(times, len(sources)),
                batch=trees,
            )
        negatives = targets[num_links:]
        # In a disjoint sample, negative i belongs to the tree of link i modulo the number of links.
        # PyG orders its negatives in this way, and so do negatives that torch draws here.
        by_round = plan.given is not None and trees is not None
        rows = negatives.view(-1, num_links).t() if by_round else negatives.view(num_links, -1)
        return LinkFields(
            src_index=sources,
            dst_pos_index=targets[:num_links],
            dst_neg_index=rows.squeeze(-1),
            time=times,
            batch=trees,
        )


@dataclass(frozen=True)
class LinkFields:
    """Fields that PyG's loaders set about the links of a batch; None for those they do not set."""

    edge_label_index: torch.Tensor | None = None
    edge_label: torch.Tensor | None = None
    src_index: torch.Tensor | None = None
    dst_pos_index: torch.Tensor | None = None
    dst_neg_index: torch.Tensor | None = None
    time: torch.Tensor | None = None
    """Times of the links, and of the negatives among edge_label_index."""
    batch: dict[Key, torch.Tensor] | None = None
    """The number of the link that each node was found from, by type."""

    def links(self, plan: NegativePlan) -> tuple[torch.Tensor | None, ...]:
        """As PyG's samplers list them."""
        if plan.is_triplet:
            return self.src_index, self.dst_pos_index, self.dst_neg_index
        return self.edge_label_index, self.edge_label

    def stores(self, ends: LinkEnds) -> Stores:
        """The fields by PyG's names, in the stores where PyG puts them."""
        stores: Stores = {key: {} for key in (ends.relation, ends.source_key, ends.target_key)}
        if self.edge_label_index is not None:
            stores[ends.relation] |= {
                "edge_label_index": self.edge_label_index,
                "edge_label": self.edge_label,
                "edge_label_time": self.time,
            }
        else:
            stores[ends.source_key] |= {"src_index": self.src_index, "seed_time": self.time}
            stores[ends.target_key] |= {
                "dst_pos_index": self.dst_pos_index,
                "dst_neg_index": self.dst_neg_index,
                "seed_time": self.time,
            }
        for key, trees in (self.batch or {}).items():
            stores.setdefault(key, {})["batch"] = trees
        return {
            key: {name: value for name, value in fields.items() if value is not None}
            for key, fields in stores.items()
        }


def _links_of_nodes(
    batch: Batch | TypedBatch, first: int, num_links: int
) -> dict[Key, torch.Tensor] | None:
    """For every node of a disjoint sample, the number of the link in whose tree it is.

    Seeds are all sources, then all targets, or targets first if their type comes first; `first` is
    how many there are of whichever comes first. The ends of negative i belong to link i modulo the
    number of links.
    """
    trees: dict[Key, Any] = (
        {name: batch[name].batch for name in batch.node_types}
        if isinstance(batch, TypedBatch)
        else {None: batch.batch}
    )
    if any(tree is None for tree in trees.values()):
        return None
    return {
        key: torch.where(tree < first, tree, tree - first) % max(num_links, 1)
        for key, tree in trees.items()
    }


def _repeated(times: torch.Tensor, count: int) -> torch.Tensor:
    """The times of `count` pairs: pair i has that of link i modulo the number of links."""
    return times if len(times) == count else times[torch.arange(count) % len(times)]
