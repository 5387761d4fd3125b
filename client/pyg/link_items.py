"""The links that a LinkNeighborLoader goes through: their ends, their labels, their negatives."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from graphzero.client.batch import Batch
from graphzero.client.client import Client
from graphzero.client.pyg.links import IdArray, LinkFields, NegativePlan, checked_labels
from graphzero.client.pyg.topology import edges_by_id
from graphzero.client.seeds import node_ids
from graphzero.embedded.link_request import Candidates, ExcludeSeedEdges, LinkRequest


@dataclass(frozen=True)
class LinkItems:
    """Made by of(), which checks all that every batch would stumble over."""

    sources: IdArray
    targets: IdArray
    labels: torch.Tensor | None
    plan: NegativePlan
    num_nodes: int
    candidates: Candidates

    @classmethod
    def of(
        cls,
        client: Client,
        edge_label_index: Any,
        edge_label: Any,
        plan: NegativePlan,
        exclude: ExcludeSeedEdges,
        original_ids: bool,
    ) -> LinkItems:
        labels = checked_labels(plan, edge_label)
        num_nodes = client.info().dataset.num_nodes
        plan.check(exclude, num_nodes)
        candidates = client._candidates(plan.engine)
        if edge_label_index is None:
            sources, targets = _every_link(client, edge_label)
        else:
            sources, targets = _given_links(client, edge_label_index, original_ids)
        if labels is not None and len(labels) != len(sources):
            raise ValueError(
                f"edge_label has {len(labels)} items, expected {len(sources)}, one for each link "
                "of edge_label_index"
            )
        return cls(sources, targets, labels, plan, num_nodes, candidates)

    def __len__(self) -> int:
        return len(self.sources)

    def request(self, positions: IdArray, exclude: ExcludeSeedEdges, seed: int) -> LinkRequest:
        return self.plan.request(
            self.sources[positions],
            self.targets[positions],
            exclude,
            self.num_nodes,
            self.candidates,
            seed,
        )

    def digest(self) -> str:
        """Differs for other links."""
        digest = hashlib.blake2b(np.ascontiguousarray(self.sources).data, digest_size=16)
        digest.update(np.ascontiguousarray(self.targets).data)
        return digest.hexdigest()

    def fields(self, batch: Batch, positions: torch.Tensor) -> dict[str, Any]:
        """What a batch tells about its links, by PyG's names."""
        labels = None if self.labels is None else self.labels[positions]
        found = vars(LinkFields.of(batch, self.plan, labels, len(positions)))
        return {name: value for name, value in found.items() if value is not None}


def _given_links(
    client: Client, edge_label_index: Any, original_ids: bool
) -> tuple[IdArray, IdArray]:
    if isinstance(edge_label_index, str) or not hasattr(edge_label_index, "__len__"):
        raise TypeError(f"edge_label_index is {edge_label_index!r}, expected ids in two rows")
    if len(edge_label_index) != 2:
        raise ValueError(
            f"edge_label_index has {len(edge_label_index)} rows, expected 2: sources and targets"
        )
    if original_ids:
        sources, targets = (
            client._pool.run_aside(client._original_nodes(ends)) for ends in edge_label_index
        )
    else:
        dataset = client.info().dataset
        sources = node_ids(edge_label_index[0], dataset, "edge_label_index[0]")
        targets = node_ids(edge_label_index[1], dataset, "edge_label_index[1]")
    if len(sources) != len(targets):
        raise ValueError(f"edge_label_index has {len(sources)} sources, {len(targets)} targets")
    return sources, targets


def _every_link(client: Client, labels: Any) -> tuple[IdArray, IdArray]:
    """In the order of the input where the graph knows it, which is the order of its labels."""
    every = edges_by_id(client, "edge_label_index=None")
    if every.e_id is None and labels is not None:
        raise ValueError(
            "edge_label is given without edge_label_index, and the graph stores no edge ids, so "
            "that nobody knows which label is whose: give edge_label_index, or convert with "
            "--edge-ids"
        )
    sources, targets = every.edge_index
    return sources, targets
