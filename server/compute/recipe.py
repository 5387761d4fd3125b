"""What a sample asks for beside its seeds, looked up in the dataset and checked.

A loader asks for the same with every batch, and reading it out of a message takes longer than a
small sample: a session keeps what it was asked for lately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from graphzero.embedded.link_request import (
    Candidates,
    ExcludeSeedEdges,
    LinkRequest,
    NegativeKind,
    NegativeWeights,
)
from graphzero.embedded.sampling import as_fanout
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.files.topology_file import Direction
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible
from graphzero.server.compute.base import Ids, column_of
from graphzero.server.compute.candidates import candidate_column, read_candidates

# What the weights of the edges are called in a result.
WEIGHTS = "edge_weight"

T = TypeVar("T")
RowsOf: TypeAlias = Literal["node", "edge", "seed"]

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
_MAX_FANOUT = 1024
# Of samples that may count as small; numbers grow with each.
_MOST_HOPS = 8
# A session that asks for more different things, or for longer ones, has them read every time.
_MOST_KEPT = 32
_LONGEST_KEPT = 4096


class Gathered(NamedTuple):
    """A column of a batch, and whose rows it has."""

    of: RowsOf
    name: str
    column: ColumnFile
    dtype: str
    row_shape: tuple[int, ...]


@dataclass(frozen=True)
class SampleRecipe:
    fanout: list[int]
    replace: bool
    weighted: bool
    disjoint: bool
    direction: Direction | None
    subgraph: str
    links: pb.Links | None
    candidates: ColumnFile | None
    source_candidates: ColumnFile | None
    """Columns that negatives are drawn from."""
    gathered: tuple[Gathered, ...]
    replaces_weights: bool
    """A column takes the place of the graph's weights in the result."""
    nodes_per_seed: int | None
    """At most; None where nothing bounds the work (weights, whole rows, rejected negatives), and
    where it is no small number."""

    @classmethod
    def read(cls, dataset: Dataset, request: pb.Sample) -> SampleRecipe:
        if request.require_edge_ids and not dataset.graph.has_edge_ids:
            raise NotPossible("the graph stores no edge ids; convert it with --edge-ids")
        if len(request.fanout) > _MAX_FANOUT:
            raise ValueError(f"found {len(request.fanout)} hops, expected at most {_MAX_FANOUT}")
        fanout = as_fanout(request.fanout)
        subgraph = _known(_SUBGRAPHS, request.subgraph, "subgraph")
        links = request.links if request.HasField("links") else None
        gathered = _gathered(dataset, request)
        unbounded = request.weighted or subgraph == "induced" or links or min(fanout, default=0) < 0
        return cls(
            fanout=fanout,
            replace=request.replace,
            weighted=request.weighted,
            disjoint=request.disjoint,
            direction=_known(_DIRECTIONS, request.direction, "direction"),
            subgraph=subgraph,
            links=links,
            candidates=candidate_column(dataset, request.links.candidates_column),
            source_candidates=candidate_column(dataset, request.links.source_candidates_column),
            gathered=gathered,
            replaces_weights=any(column.name == WEIGHTS for column in gathered),
            nodes_per_seed=None if unbounded else _nodes_per_seed(fanout),
        )

    def link_request(self, ids: Ids) -> LinkRequest:
        """The links whose ends are `ids`: sources, then targets, then what negatives are drawn
        from."""
        links = self.links
        assert links is not None
        if links.num_sources > len(ids):
            raise ValueError(f"{links.num_sources} sources of links, but {len(ids)} ids")
        if links.num_negatives > _MAX_NEGATIVES:
            raise ValueError(
                f"{links.num_negatives} negatives, expected at most {_MAX_NEGATIVES} in one request"
            )
        listed = links.num_candidates + links.num_source_candidates
        last = len(ids) - listed
        if links.num_sources > last:
            raise ValueError(
                f"{links.num_sources} sources of links and {listed} candidates, but {len(ids)} ids"
            )
        middle = last + links.num_candidates
        return LinkRequest(
            sources=ids[: links.num_sources],
            targets=ids[links.num_sources : last],
            num_links=links.num_links,
            negative_kind=_known(_NEGATIVE_KINDS, links.negative_kind, "negative_kind"),
            num_negatives=links.num_negatives,
            negative_weights=_known(_NEGATIVE_WEIGHTS, links.negative_weights, "negative_weights"),
            reject=links.reject_edges,
            exclude=_known(_EXCLUDES, links.exclude, "exclude"),
            candidates=Candidates(
                _candidates(self.candidates, ids[last:middle], "candidates"),
                _candidates(self.source_candidates, ids[middle:], "source_candidates"),
            ),
        )


class Recipes:
    """Of one session and its dataset. Thread-safe: at worst, two threads read the same one."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._kept: dict[bytes, SampleRecipe] = {}

    def of(self, request: pb.Sample) -> SampleRecipe:
        """Raises what the request is to be refused with. Its seeds were taken out of it."""
        asked = pb.Sample()
        asked.CopyFrom(request)
        asked.ClearField("seed")
        key = asked.SerializeToString()
        recipe = self._kept.get(key)
        if recipe is None:
            recipe = SampleRecipe.read(self._dataset, asked)
            if len(key) <= _LONGEST_KEPT:
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = recipe
        return recipe


def _gathered(dataset: Dataset, request: pb.Sample) -> tuple[Gathered, ...]:
    for_all = [*_named(dataset, request.columns, ("node", "edge"))]
    for_seeds = [
        gathered._replace(of="seed")
        for gathered in _named(dataset, request.seed_columns, ("node",))
    ]
    both = {gathered.name for gathered in for_all} & {gathered.name for gathered in for_seeds}
    if both:
        raise ValueError(f"column {both.pop()!r} is asked for all nodes and for the seeds only")
    return (*for_all, *for_seeds)


def _named(dataset: Dataset, names: Sequence[str], roles: tuple[RowsOf, ...]) -> Iterator[Gathered]:
    for name in dict.fromkeys(names):
        column = column_of(dataset, name)
        role = next((role for role in roles if role == column.role), None)
        if role is None:
            expected = " or ".join(roles)
            raise ValueError(f"column {name!r} is by {column.role}, expected one by {expected}")
        if role == "edge" and not dataset.graph.has_edge_ids:
            raise NotPossible(
                f"column {name!r} is by edge id, and the graph stores none; convert it with "
                "--edge-ids"
            )
        yield Gathered(role, name, column, column.dtype.label, column.shape[1:])


def _candidates(column: ColumnFile | None, listed: Ids, what: str) -> Ids | None:
    """What ends of negatives are drawn from; None for all nodes."""
    if column is None:
        return listed if len(listed) else None
    if len(listed):
        raise ValueError(f"{what} of negatives are a column and {len(listed)} ids, expected one")
    nodes = read_candidates(column)
    if not len(nodes):
        raise ValueError(f"{what} of negatives: found no node in {column.path.name}")
    return nodes


def _nodes_per_seed(fanout: Sequence[int]) -> int | None:
    if len(fanout) > _MOST_HOPS:
        return None
    nodes = level = 1
    for edges in fanout:
        level *= edges
        nodes += level
    return nodes


def _known(table: Mapping[int, T], value: int, what: str) -> T:
    if value not in table:
        raise ValueError(f"{what} is {value}, expected one of the protocol's")
    return table[value]
