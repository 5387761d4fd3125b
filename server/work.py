"""What a request does, on a worker thread: draw, find room, fill it.

Each kind of request is a class with two steps. `draw` does the part whose size is not known before
(and checks the request); `fill` writes the arrays into a block. Between the two a request may have
to wait for shared memory, which must not cost a worker.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
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
from graphzero._sampling import Direction, draw, walk_into
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotFound, NotPossible
from graphzero.server.layout import Layout, Placement

T = TypeVar("T")
Ids = npt.NDArray[np.int64]
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


# What the event loop may do by itself: less than it takes to wake a worker and to be woken.
_BRIEF_NODES = 256
_BRIEF_HOPS = 8
_BRIEF_BYTES = 256 << 10


class Work(ABC):
    """One request's computation. `layout` is complete after draw(). An OSError is a file's."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.layout = Layout()

    @abstractmethod
    def draw(self) -> None: ...

    @abstractmethod
    def fill(self, block: Any) -> None: ...

    def describe(self, result: pb.Result) -> None:
        """Adds what the result says beside its tensors: nothing, for most."""
        return

    def _column(self, name: str) -> FeatureStore:
        column = self.dataset.columns.get(name)
        if column is None:
            known = ", ".join(sorted(self.dataset.columns)) or "none"
            raise NotFound(f"found column {name!r}, expected one of: {known}")
        return column


def make_work(dataset: Dataset, request: pb.SessionRequest, ids: Ids, max_edges: int) -> Work:
    kind = request.WhichOneof("body")
    if kind == "sample":
        return SampleWork(dataset, request.sample, ids, max_edges)
    if kind == "walk":
        return WalkWork(dataset, request.walk, ids)
    if kind == "find_nodes":
        return FindWork(dataset, request.find_nodes, ids)
    return GatherWork(dataset, request.gather, ids)


def is_brief(dataset: Dataset, request: pb.SessionRequest, ids: int) -> bool:
    """Whether it cannot cost more than a fraction of a millisecond, data in memory assumed."""
    kind = request.WhichOneof("body")
    if kind == "gather":
        column = dataset.columns.get(request.gather.column)
        return column is None or ids * column.row_bytes <= _BRIEF_BYTES
    # Weights, whole rows and rejected negatives: work that the sizes asked for do not bound.
    unbounded = request.sample.weighted or request.sample.subgraph == pb.SUBGRAPH_INDUCED
    if kind != "sample" or unbounded or request.sample.HasField("links"):
        return False
    if len(request.sample.fanout) > _BRIEF_HOPS:
        return False
    nodes = level = ids
    for edges in request.sample.fanout:
        if edges < 0 or nodes > _BRIEF_NODES:
            return False
        level *= edges
        nodes += level
    row_bytes = sum(
        dataset.columns[name].row_bytes
        for name in (*request.sample.columns, *request.sample.seed_columns)
        if name in dataset.columns
    )
    return nodes <= _BRIEF_NODES and nodes * row_bytes <= _BRIEF_BYTES


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
        n_id = np.empty(self._n_id.shape, np.int64)
        e_id = self._place_for_edge_ids(block)
        self._drawn.copy_to(
            n_id=n_id,
            edge_index=_array(block, self._edge_index),
            e_id=e_id,
            edge_weight=_array(block, self._weight) if self._weight else None,
            batch=_array(block, self._batch) if self._batch else None,
            threads=0,
        )
        for placement, index in self._link_ends:
            _array(block, placement)[:] = index
        _array(block, self._n_id)[:] = n_id
        if self._e_id and self._gathers_by_edge:
            _array(block, self._e_id)[:] = e_id
        ids = {"node": n_id, "edge": e_id, "seed": self._seeds}
        for column, placement, of in self._gathers:
            _gather(column, ids[of], block, placement)

    @property
    def _gathers_by_edge(self) -> bool:
        return any(of == "edge" for _, _, of in self._gathers)

    def _place_for_edge_ids(self, block: Any) -> Any:
        """In the block, unless they are needed afterwards."""
        if self._e_id is None:
            return None
        if self._gathers_by_edge:
            return np.empty(self._e_id.shape, np.int64)
        return _array(block, self._e_id)

    def describe(self, result: pb.Result) -> None:
        result.num_sampled_nodes.extend(self._drawn.num_sampled_nodes)
        result.num_sampled_edges.extend(self._drawn.num_sampled_edges)
        result.batch_size = self._drawn.batch_size
        result.seed = self._request.seed


class WalkWork(Work):
    def __init__(self, dataset: Dataset, request: pb.Walk, starts: Ids) -> None:
        super().__init__(dataset)
        self._request = request
        self._starts = starts

    def draw(self) -> None:
        walks = len(self._starts)
        self._nodes = self.layout.add("nodes", "int64", (walks, self._request.length + 1))
        self._lengths = self.layout.add("lengths", "int64", (walks,))

    def fill(self, block: Any) -> None:
        request = self._request
        walk_into(
            self.dataset.graph,
            self._starts,
            _array(block, self._nodes),
            _array(block, self._lengths),
            p=request.p,
            q=request.q,
            restart=request.restart,
            weighted=request.weighted,
            seed=request.seed,
        )

    def describe(self, result: pb.Result) -> None:
        result.seed = self._request.seed


class GatherWork(Work):
    def __init__(self, dataset: Dataset, request: pb.Gather, ids: Ids) -> None:
        super().__init__(dataset)
        self._name = request.column
        self._store = self._column(request.column)
        self._ids = ids

    def draw(self) -> None:
        shape = (len(self._ids), *self._store.shape[1:])
        self._placement = self.layout.add(self._name, self._store.dtype.label, shape)

    def fill(self, block: Any) -> None:
        _gather(self._store, self._ids, block, self._placement)


class FindWork(Work):
    """The nodes of original ids."""

    def __init__(self, dataset: Dataset, request: pb.FindNodes, ids: Ids) -> None:
        super().__init__(dataset)
        self._request = request
        self._ids = ids

    def draw(self) -> None:
        original = self.dataset.original_ids
        if original is None:
            raise NotPossible(
                f"dataset {self.dataset.name!r} has no original ids; convert it with --relabel"
            )
        texts = list(self._request.texts)
        if original.are_texts != bool(texts) and (texts or len(self._ids)):
            kinds = ("integers", "texts")
            raise ValueError(
                f"found {kinds[bool(texts)]} as original ids, expected {kinds[original.are_texts]}"
            )
        self._found = original.find(texts if original.are_texts else self._ids)
        self._n_id = self.layout.add("n_id", "int64", (len(self._found),))

    def fill(self, block: Any) -> None:
        _array(block, self._n_id)[:] = self._found


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


def _array(block: Any, placement: Placement) -> Any:
    return block.array(placement.offset, list(placement.shape), placement.dtype)


def _gather(column: FeatureStore, ids: Ids, block: Any, placement: Placement) -> None:
    column._rows.gather(ids, block.array(placement.offset, [placement.byte_size], "uint8"))
