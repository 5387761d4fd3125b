"""Neighbourhoods of nodes, or of the ends of links, with the columns of what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from graphzero._dataset import Dataset
from graphzero._features import FeatureStore
from graphzero._links import (
    ExcludeSeedEdges,
    LinkRequest,
    LinkSeeds,
    NegativeKind,
    NegativeWeights,
    draw_links,
)
from graphzero._sampling import Direction, draw
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible
from graphzero.server.work.base import Ids, Work, array_in, gather_into

T = TypeVar("T")
_DIRECTIONS: dict[int, Direction | None] = {
    pb.DIRECTION_UNSPECIFIED: None,
    pb.DIRECTION_IN: "in",
    pb.DIRECTION_OUT: "out",
}
_SUBGRAPHS: dict[int, str] = {
    pb.SUBGRAPH_UNSPECIFIED: "directional",
    pb.SUBGRAPH_BIDIRECTIONAL: "bidirectional",
    pb.SUBGRAPH_INDUCED: "induced",
}
_NEGATIVE_KINDS: dict[int, NegativeKind | None] = {
    pb.NEGATIVE_KIND_UNSPECIFIED: None,
    pb.NEGATIVE_KIND_PAIRS: "pairs",
    pb.NEGATIVE_KIND_TARGETS: "targets",
}
_NEGATIVE_WEIGHTS: dict[int, NegativeWeights] = {
    pb.NEGATIVE_WEIGHTS_UNSPECIFIED: "uniform",
    pb.NEGATIVE_WEIGHTS_DEGREE: "degree",
}
_EXCLUDES: dict[int, ExcludeSeedEdges] = {
    pb.EXCLUDE_LINKS_UNSPECIFIED: False,
    pb.EXCLUDE_LINKS_FORWARD: True,
    pb.EXCLUDE_LINKS_BOTH: "both",
}
# Ends of links that a request may add to those it brings: each is a seed.
_MAX_NEGATIVES = 1 << 26


class SampleWork(Work):
    def __init__(self, dataset: Dataset, request: pb.Sample, seeds: Ids, max_edges: int) -> None:
        super().__init__(dataset)
        self._request = request
        self._seeds = seeds
        self._max_edges = max_edges
        self._columns = self._named(request.columns, ("node", "edge"))
        self._seed_columns = self._named(request.seed_columns, ("node",))
        both = {name for name, _ in self._columns} & {name for name, _ in self._seed_columns}
        if both:
            raise ValueError(f"column {both.pop()!r} is asked for all nodes and for the seeds only")

    def _named(
        self, names: Sequence[str], roles: tuple[str, ...]
    ) -> list[tuple[str, FeatureStore]]:
        columns = [(name, self._column(name)) for name in dict.fromkeys(names)]
        for name, column in columns:
            if column.role not in roles:
                expected = " or ".join(roles)
                raise ValueError(f"column {name!r} is by {column.role}, expected one by {expected}")
            if column.role == "edge" and not self.dataset.graph.has_edge_ids:
                raise NotPossible(
                    f"column {name!r} is by edge id, and the graph stores none; convert it with "
                    "--edge-ids"
                )
        return columns

    def draw(self) -> None:
        request, graph = self._request, self.dataset.graph
        direction = _known(_DIRECTIONS, request.direction, "direction")
        subgraph = _known(_SUBGRAPHS, request.subgraph, "subgraph")
        if request.require_edge_ids and not graph.has_edge_ids:
            raise NotPossible("the graph stores no edge ids; convert it with --edge-ids")
        links: LinkSeeds | None = None
        excluded = None
        if request.HasField("links"):
            asked = _link_request(request.links, self._seeds)
            excluded = asked.excluded()
            links = draw_links(graph, asked, disjoint=request.disjoint, seed=request.seed)
            self._seeds = links.seeds
        self._drawn = draw(
            graph,
            self._seeds,
            request.fanout,
            replace=request.replace,
            weighted=request.weighted,
            direction=direction,
            seed=request.seed,
            max_edges=self._max_edges,
            disjoint=request.disjoint,
            subgraph=subgraph,
            exclude=excluded,
        )
        nodes, edges = self._drawn.num_nodes, self._drawn.num_edges
        add = self.layout.add
        self._n_id = add("n_id", "int64", (nodes,))
        self._edge_index = add("edge_index", "int64", (2, edges))
        self._e_id = add("e_id", "int64", (edges,)) if self._drawn.has_edge_ids else None
        self._weight = add("edge_weight", "float32", (edges,)) if self._drawn.has_weights else None
        rows = {"node": nodes, "edge": edges, "seed": len(self._seeds)}
        wanted = [(column.role, name, column) for name, column in self._columns]
        wanted += [("seed", name, column) for name, column in self._seed_columns]
        self._batch = add("batch", "int64", (nodes,)) if request.disjoint else None
        ends = (
            {"source_index": links.source_index, "target_index": links.target_index}
            if links
            else {}
        )
        self._link_ends = [(add(name, "int64", (len(of),)), of) for name, of in ends.items()]
        self._gathers = [
            (column, add(name, column.dtype.label, (rows[of], *column.shape[1:])), of)
            for of, name, column in wanted
        ]

    def fill(self, block: Any) -> None:
        # The trainer can write to the block at any time, so nothing is read back from it: gathering
        # by ids that change after they were checked would read wherever they point.
        e_id = self._place_for_edge_ids(block)
        self._drawn.copy_to(
            n_id=array_in(block, self._n_id),
            edge_index=array_in(block, self._edge_index),
            e_id=e_id,
            edge_weight=array_in(block, self._weight) if self._weight else None,
            batch=array_in(block, self._batch) if self._batch else None,
            threads=0,
        )
        for placement, index in self._link_ends:
            array_in(block, placement)[:] = index
        if self._e_id and self._gathers_by_edge:
            array_in(block, self._e_id)[:] = e_id
        ids = {"node": self._drawn.nodes, "edge": e_id, "seed": self._seeds}
        for column, placement, of in self._gathers:
            gather_into(column, ids[of], block, placement)

    @property
    def _gathers_by_edge(self) -> bool:
        return any(of == "edge" for _, _, of in self._gathers)

    def _place_for_edge_ids(self, block: Any) -> Any:
        """In the block, unless they are needed afterwards."""
        if self._e_id is None:
            return None
        if self._gathers_by_edge:
            return np.empty(self._e_id.shape, np.int64)
        return array_in(block, self._e_id)

    def describe(self, result: pb.Result) -> None:
        result.num_sampled_nodes.extend(self._drawn.num_sampled_nodes)
        result.num_sampled_edges.extend(self._drawn.num_sampled_edges)
        result.batch_size = self._drawn.batch_size
        result.seed = self._request.seed


def _link_request(links: pb.Links, ids: Ids) -> LinkRequest:
    if links.num_sources > len(ids):
        raise ValueError(f"{links.num_sources} sources of links, but {len(ids)} ids")
    if links.num_negatives > _MAX_NEGATIVES:
        raise ValueError(
            f"{links.num_negatives} negatives, expected at most {_MAX_NEGATIVES} in one request"
        )
    return LinkRequest(
        sources=ids[: links.num_sources],
        targets=ids[links.num_sources :],
        num_links=links.num_links,
        negative_kind=_known(_NEGATIVE_KINDS, links.negative_kind, "negative_kind"),
        num_negatives=links.num_negatives,
        negative_weights=_known(_NEGATIVE_WEIGHTS, links.negative_weights, "negative_weights"),
        reject=links.reject_edges,
        exclude=_known(_EXCLUDES, links.exclude, "exclude"),
    )


def _known(table: Mapping[int, T], value: int, what: str) -> T:
    if value not in table:
        raise ValueError(f"{what} is {value}, expected one of the protocol's")
    return table[value]
