"""A loader of links: turns the links that it goes through into the requests of its batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.typed_batch import TypedBatch
from graphzero.client.connection.connection import Connection
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import as_invalid_request
from graphzero.client.loader.earliest_link import require_negatives_of_earliest
from graphzero.client.loader.items import (
    LoaderOptions,
    name_text,
    ordered_batches,
    require_batch_size,
)
from graphzero.client.loader.links import Links, labels_of_links, named_links, times_of_links
from graphzero.client.loader.own_edges import left_out, own_edge_ids
from graphzero.client.loader.relation_edges import NO_IDS, RelationEdges
from graphzero.client.loader.seed_batches import SeedBatches
from graphzero.client.memory.results import Reply
from graphzero.client.memory.tensors import users_array
from graphzero.client.requests.messages import TemporalOptions, wire_ids
from graphzero.client.requests.temporal import TimedDraws, temporal_options
from graphzero.embedded.link_request import (
    Candidates,
    ExcludeSeedEdges,
    LinkRequest,
    Negatives,
    link_request,
)
from graphzero.embedded.link_seeds import check_edge_ids

IdArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LinkDraws:
    """What is drawn around links, and what is left out."""

    relation: int
    negatives: Negatives | None
    candidates: Candidates
    """The nodes that negatives are drawn from, which a client has checked."""
    exclude: ExcludeSeedEdges | None

    def request(self, links: Links, positions: IdArray) -> LinkRequest:
        """The request for the links at these positions."""
        edge_ids = None if links.edge_ids is None else links.edge_ids[positions]
        exclude, edge_ids = left_out(self.exclude, edge_ids)
        return link_request(
            links.sources[positions],
            links.targets[positions],
            self.negatives,
            exclude,
            self.candidates,
            relation=self.relation,
            times=None if links.times is None else links.times[positions],
            edge_ids=edge_ids,
        )


@dataclass(frozen=True)
class LinksOfBatch(LinkRequest):
    """The links of one batch of a loader."""

    fields: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Fields of the batch about its links that do not come from the daemon."""


@dataclass(frozen=True, eq=False)
class LinkList:
    """Links at positions 0, 1, ..."""

    links: Links
    draws: LinkDraws
    labels: npt.NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.links)

    def at(self, positions: IdArray) -> LinksOfBatch:
        fields: dict[str, npt.NDArray[Any]] = {"input_id": positions}
        if self.labels is not None:
            fields["edge_label"] = self.labels[positions]
        if self.links.times is not None:
            fields["edge_label_time"] = self.links.times[positions]
        return LinksOfBatch(**vars(self.draws.request(self.links, positions)), fields=fields)

    def digest(self) -> str:
        return self.links.digest()


@dataclass(frozen=True, eq=False)
class LoaderLinks:
    """Links as users name them. `draws` has their relation."""

    links: Any
    label: Any
    time: Any
    edge_ids: Any
    original_ids: bool
    draws: LinkDraws

    @property
    def name(self) -> str:
        return name_text(self.links)

    def resolve(
        self,
        dataset: DatasetInfo,
        connection: Connection,
        draws: TimedDraws,
        options: LoaderOptions,
    ) -> tuple[SeedBatches, TemporalOptions | None]:
        require_batch_size(options)
        number = self.draws.relation
        relation = dataset.schema.relations[number]
        deadline = connection.deadline(options.timeout)
        edges = connection.run(
            named_links(dataset, number, self.links, self.original_ids, deadline)
        )
        times = times_of_links(dataset, edges, self.time)
        temporal, _ = temporal_options(dataset, times, [(relation.source, edges.sources)], draws)
        labels = connection.run(labels_of_links(dataset, number, edges, self.label, deadline))
        links = Links(
            relation.triple if dataset.schema.typed else None,
            edges.sources,
            edges.targets,
            times,
            self._own_edges(dataset, edges, times),
        )
        self.draws.request(_none_of(links), NO_IDS)  # raises the error that every batch would raise
        if times is not None:
            require_negatives_of_earliest(
                connection.run, dataset, partial(self.draws.request, links), times, deadline, "link"
            )
        items = LinkList(links, self.draws, labels)
        return ordered_batches(items, options, "links"), temporal

    def _own_edges(
        self, dataset: DatasetInfo, edges: RelationEdges, times: IdArray | None
    ) -> IdArray | None:
        """Ids of the links' own edges, if these are to be left out; None if their times tell."""
        count = len(edges.sources)
        if self.edge_ids is not None:
            given = wire_ids(self.edge_ids, "link_edge_ids")
            if len(given) != count:
                raise ValueError(f"{len(given)} link_edge_ids, expected {count}, one for each link")
            with as_invalid_request():
                check_edge_ids(dataset.schema, self.draws.relation, given)
            return given
        if self.draws.exclude not in (None, "own") or isinstance(self.time, str):
            return None  # no link is later than its edge if it has the edge's time
        return own_edge_ids(dataset, self.draws.relation, edges, times)


def _none_of(links: Links) -> Links:
    times = None if links.times is None else NO_IDS
    edge_ids = None if links.edge_ids is None else NO_IDS
    return replace(links, sources=NO_IDS, targets=NO_IDS, times=times, edge_ids=edge_ids)


def batch_of_links(
    make: Callable[[Reply], Batch | TypedBatch], fields: dict[str, npt.NDArray[Any]], reply: Reply
) -> Batch | TypedBatch:
    """The batch of a reply, with fields of a loader's links."""
    batch = make(reply)
    batch._set_link_fields({name: users_array(array) for name, array in fields.items()})
    return batch
