"""Samples around links: negatives, seeds, and which edges a model must not see.

`LinkRequest` is what a link-prediction batch asks for; `draw_links` makes the seeds of its sample,
in the daemon and in `Graph.sample_links` alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from graphzero import _engine
from graphzero.base.ids import Ids, id_array
from graphzero.embedded.sampling import (
    Int64Array,
    SampledSubgraph,
    SamplingMixin,
    Subgraph,
    draw,
    place,
    resolve_seed,
    thread_count,
)
from graphzero.files.topology_file import Direction, TopologyFile

NegativeKind: TypeAlias = Literal["pairs", "targets"]
NegativeWeights: TypeAlias = Literal["uniform", "degree"]
ExcludeSeedEdges: TypeAlias = bool | Literal["both"]

_WEIGHTS = {
    "uniform": _engine.NegativeWeights.UNIFORM,
    "degree": _engine.NegativeWeights.DEGREE,
}


@dataclass(frozen=True)
class Negatives:
    """Pairs that are to be told from links, drawn by the engine.

    kind: "targets" draws further targets for the source of each link (PyG's triplet), "pairs" draws
    both ends (PyG's binary).
    amount: for each link; a whole number for targets. The total is rounded up.
    weights: "uniform", or "degree": sources by their out-degree, targets by their in-degree.
    reject: draw again what is an edge of the graph, or a node with itself.
    candidates: nodes that targets are drawn from, uniformly: ids, of which one that occurs twice is
    twice as likely, or a bool mask over the nodes; of a client also the name of a split or bool
    column, which is the way to give many: ids travel with every request. None: all nodes. Ids are
    those of the graph, also beside links in original ids: find_nodes() translates.
    source_candidates: the same for the sources of pairs.
    """

    kind: NegativeKind
    amount: float = 1.0
    weights: NegativeWeights = "uniform"
    reject: bool = False
    candidates: Any = field(default=None, compare=False)
    source_candidates: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in ("pairs", "targets"):
            raise ValueError(f'kind of negatives is {self.kind!r}, expected "pairs" or "targets"')
        if self.weights not in _WEIGHTS:
            raise ValueError(
                f'weights of negatives is {self.weights!r}, expected "uniform" or "degree"'
            )
        if not isinstance(self.amount, (int, float, np.number)):
            raise TypeError(f"amount of negatives is {self.amount!r}, expected a number")
        if not 0 < self.amount < 2**31:
            raise ValueError(f"amount of negatives is {self.amount}, expected more than 0")
        if self.kind == "targets" and self.amount != int(self.amount):
            raise ValueError(
                f"amount of negatives is {self.amount}, expected a whole number of targets"
            )
        if self.source_candidates is not None and self.kind == "targets":
            raise ValueError(
                "source_candidates of negative targets: their sources are those of the links, "
                'expected None, or negatives of kind "pairs"'
            )
        for name in ("candidates", "source_candidates"):
            given = getattr(self, name)
            if given is not None and self.weights != "uniform":
                raise ValueError(
                    f"{name} of negatives are drawn uniformly, found weights {self.weights!r}; "
                    "leave one of them out"
                )
            object.__setattr__(self, name, _as_candidates(given, name))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Negatives):
            return NotImplemented
        mine, theirs = (
            (each.kind, each.amount, each.weights, each.reject) for each in (self, other)
        )
        return (
            mine == theirs
            and _same_candidates(self.candidates, other.candidates)
            and _same_candidates(self.source_candidates, other.source_candidates)
        )

    def count(self, num_links: int) -> int:
        """How many for so many links."""
        return math.ceil(num_links * self.amount)


@dataclass(frozen=True, eq=False)
class Candidates:
    """What the ends of negatives are drawn from, as a request has it: ids, the name of a column, or
    None for all nodes."""

    targets: Int64Array | str | None = None
    sources: Int64Array | str | None = None

    @classmethod
    def of(cls, negatives: Negatives | None, num_nodes: int) -> Candidates:
        if negatives is None:
            return cls()
        if not isinstance(negatives, Negatives):
            raise TypeError(
                f"negatives is {negatives!r}, expected graphzero.Negatives, such as "
                'Negatives("targets", 4) or Negatives("pairs")'
            )
        return cls(
            _candidate_ids(negatives.candidates, num_nodes, "candidates"),
            _candidate_ids(negatives.source_candidates, num_nodes, "source_candidates"),
        )

    @property
    def are_all_nodes(self) -> bool:
        return self.targets is None and self.sources is None

    def ids(self) -> tuple[Int64Array | None, Int64Array | None]:
        """Of targets and of sources. Raises ValueError for a name, which a graph does not know."""
        for given in (self.targets, self.sources):
            if isinstance(given, str):
                raise ValueError(
                    f"candidates of negatives are called {given!r}, expected ids or a mask: a "
                    "graph has no columns; gz.FeatureStore reads one, and a client takes its name"
                )
        return self.targets, self.sources  # type: ignore[return-value]


def _as_candidates(given: Any, what: str) -> Any:
    """A name, an array of ids or a mask, in memory of its own."""
    if given is None or isinstance(given, str):
        return given
    array = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
    if array.dtype == np.bool_ and array.ndim == 1:
        return array.copy()
    return id_array(array, None, f"{what} of negatives").copy()


def _same_candidates(one: Any, other: Any) -> bool:
    """Whether two that _as_candidates() has made are the same."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and not isinstance(one, np.ndarray) and bool(one == other)


def _candidate_ids(given: Any, num_nodes: int, what: str) -> Int64Array | str | None:
    if given is None or isinstance(given, str):
        return given
    if given.dtype == np.bool_:
        if len(given) != num_nodes:
            raise ValueError(
                f"{what} of negatives: found a mask of {len(given)} values, expected {num_nodes}, "
                "one for each node"
            )
        given = np.flatnonzero(given).astype(np.int64, copy=False)
    ids: Int64Array = given
    if not len(ids):
        raise ValueError(f"{what} of negatives: found none, expected nodes to draw from")
    return ids


@dataclass(frozen=True)
class LinkRequest:
    """Links, and what belongs to them."""

    sources: Int64Array
    targets: Int64Array
    num_links: int
    """The first so many sources and targets are links; what follows are negatives as given."""
    negative_kind: NegativeKind | None
    num_negatives: int
    """To be drawn: in all, for "targets" a multiple of num_links."""
    negative_weights: NegativeWeights
    reject: bool
    exclude: ExcludeSeedEdges
    candidates: Candidates = Candidates()

    def __post_init__(self) -> None:
        if self.num_links > min(len(self.sources), len(self.targets)):
            raise ValueError(
                f"{self.num_links} links, but {len(self.sources)} sources and "
                f"{len(self.targets)} targets"
            )
        if self.num_negatives and self.negative_kind is None:
            raise ValueError(f"{self.num_negatives} negatives of no kind")
        if self.candidates.sources is not None and self.negative_kind == "targets":
            raise ValueError("candidates for the sources of negative targets, expected none")
        if not self.candidates.are_all_nodes and self.negative_weights != "uniform":
            raise ValueError(
                f"negatives from candidates with weights {self.negative_weights!r}, expected "
                '"uniform"'
            )
        uneven = self.num_negatives and (not self.num_links or self.num_negatives % self.num_links)
        if self.negative_kind == "targets" and uneven:
            raise ValueError(
                f"{self.num_negatives} negative targets for {self.num_links} links, expected as "
                "many for each"
            )

    def excluded(self) -> tuple[Int64Array, Int64Array] | None:
        """Sources and targets of the edges that the sample must not have."""
        if self.exclude is False:
            return None
        sources, targets = self.sources[: self.num_links], self.targets[: self.num_links]
        if self.exclude is True:
            return sources, targets
        return np.concatenate([sources, targets]), np.concatenate([targets, sources])


@dataclass(frozen=True)
class LinkSeeds:
    """The seeds of a sample around links, and where each end is among them."""

    seeds: Int64Array
    source_index: Int64Array
    """Local ids: of the links, then of negative pairs."""
    target_index: Int64Array
    """Local ids: of the links, then of the negatives; those of link i come together."""

    def indices(self) -> dict[str, Int64Array]:
        """By the names that they have in a batch."""
        return {"source_index": self.source_index, "target_index": self.target_index}


@dataclass(frozen=True, eq=False)
class SampledLinks:
    """What `Graph.sample_links` drew."""

    sample: SampledSubgraph
    """Around the ends of the links and negatives."""
    source_index: Int64Array
    """Local ids of sources: of the links, then of negative pairs."""
    target_index: Int64Array
    """Local ids of targets: of the links, then of the negatives."""
    num_links: int


class LinkSamplingMixin(SamplingMixin):
    """Sampling around links, for a class that has an open topology."""

    def sample_links(
        self,
        sources: Ids,
        targets: Ids,
        fanout: Sequence[int],
        *,
        negatives: Negatives | None = None,
        exclude_seed_edges: ExcludeSeedEdges = False,
        replace: bool = False,
        weighted: bool = False,
        direction: Direction | None = None,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        seed: int | None = None,
        threads: int | None = None,
        max_edges: int = _engine.DEFAULT_MAX_EDGES,
    ) -> SampledLinks:
        """Samples around the ends of links and of negatives, which are drawn for them.

        exclude_seed_edges: True leaves edges that are links of this call out of the sample, "both"
        their reverses too: a model would otherwise see the answer. The rest is as in sample().
        """
        request = link_request(
            id_array(sources, None, "sources"),
            id_array(targets, None, "targets"),
            negatives,
            exclude_seed_edges,
            Candidates.of(negatives, self._file.num_nodes),
        )
        resolved = resolve_seed(seed)
        seeds = draw_links(self._file, request, disjoint=disjoint, seed=resolved, threads=threads)
        drawn = draw(
            self._file,
            seeds.seeds,
            fanout,
            replace=replace,
            weighted=weighted,
            direction=direction,
            seed=resolved,
            max_edges=max_edges,
            threads=threads,
            disjoint=disjoint,
            subgraph=subgraph,
            exclude=request.excluded(),
        )
        return SampledLinks(
            sample=place(drawn, resolved, threads),
            source_index=seeds.source_index,
            target_index=seeds.target_index,
            num_links=request.num_links,
        )


def link_request(
    sources: Int64Array,
    targets: Int64Array,
    negatives: Negatives | None,
    exclude: ExcludeSeedEdges,
    candidates: Candidates,
    num_links: int | None = None,
) -> LinkRequest:
    """For links as given; with num_links, what follows those are negatives as given."""
    if num_links is None and len(sources) != len(targets):
        raise ValueError(f"found {len(sources)} sources and {len(targets)} targets of links")
    if not (isinstance(exclude, bool) or exclude == "both"):
        raise ValueError(f'exclude_seed_edges is {exclude!r}, expected False, True or "both"')
    links = len(sources) if num_links is None else num_links
    return LinkRequest(
        sources=sources,
        targets=targets,
        num_links=links,
        negative_kind=negatives.kind if negatives else None,
        num_negatives=negatives.count(links) if negatives else 0,
        negative_weights=negatives.weights if negatives else "uniform",
        reject=bool(negatives and negatives.reject),
        exclude=exclude,
        candidates=candidates,
    )


def draw_links(
    graph: TopologyFile,
    request: LinkRequest,
    *,
    disjoint: bool,
    seed: int,
    threads: int | None = None,
) -> LinkSeeds:
    """Draws the negatives. Seeds are the sorted different ends, or, if disjoint, all of them.

    Disjoint seeds are sources, then targets; negative targets come link by link in rounds, so that
    (position - number of links) % number of links is the link.
    """
    negatives = request.num_negatives
    num_sources = len(request.sources) + (negatives if request.negative_kind == "pairs" else 0)
    num_targets = len(request.targets) + negatives
    # All sources, then all targets. Arrays of this size are the engine's, which counts them.
    ends = _engine.work_ids(num_sources + num_targets)
    _copy(request.sources, ends[: len(request.sources)])
    _copy(request.targets, ends[num_sources : num_sources + len(request.targets)])
    if negatives:
        sources = ends[len(request.sources) : num_sources]  # none, if only targets are drawn
        _draw_negatives(graph, request, sources, ends[-negatives:], seed, threads)
    index = _engine.work_ids(len(ends))
    if disjoint:
        _fill(index, np.arange)
        if request.negative_kind == "targets" and negatives:
            _order_by_round(ends[-negatives:], index[-negatives:], request.num_links)
        seeds = ends
    else:
        seeds = _engine.number_ends(ends, index)
    return LinkSeeds(seeds, index[:num_sources], index[num_sources:])


# Ids that are copied between two looks at whether the call is to end. Arrays of this size are made
# on the way, and nobody counts those.
_COPIED_AT_ONCE = 1 << 17


def _copy(source: Int64Array, to: Int64Array) -> None:
    _fill(to, lambda begin, end: source[begin:end])


def _fill(to: Int64Array, items: Callable[[int, int], Int64Array]) -> None:
    """Puts items(begin, end) at these places, a piece at a time."""
    for begin in range(0, len(to), _COPIED_AT_ONCE):
        _engine.check_stopped()
        end = min(begin + _COPIED_AT_ONCE, len(to))
        to[begin:end] = items(begin, end)


def _order_by_round(targets: Int64Array, index: Int64Array, links: int) -> None:
    """Reorders targets that come link by link; index[i] becomes the place of the i-th of them."""
    each = len(targets) // links
    first = int(index[0])
    by_link = _engine.work_ids(len(targets))
    _copy(targets, by_link)
    # Not turn by turn: that would be a loop in Python over millions of them for a single link.

    def in_rounds(begin: int, end: int) -> Int64Array:
        at = np.arange(begin, end)
        return by_link[at % links * each + at // links]

    def places(begin: int, end: int) -> Int64Array:
        at = np.arange(begin, end)
        return first + at % each * links + at // each

    _fill(targets, in_rounds)
    _fill(index, places)


def _draw_negatives(
    graph: TopologyFile,
    request: LinkRequest,
    sources: Int64Array,
    targets: Int64Array,
    seed: int,
    threads: int | None,
) -> None:
    """Fills the arrays; `sources` is empty where only targets are drawn."""
    given: Int64Array = np.empty(0, np.int64)
    if request.negative_kind == "targets":
        given = _engine.work_ids(request.num_negatives)
        each = request.num_negatives // request.num_links
        _fill(given, lambda begin, end: request.sources[np.arange(begin, end) // each])
        sources = given  # the engine writes back what it was given
    target_candidates, source_candidates = request.candidates.ids()
    stored = "out" if graph.topology.has_out else "in"
    _engine.draw_negatives(
        graph.topology,
        adjacency=stored,
        rows_are_sources=stored == "out",
        given_sources=given,
        weights=_WEIGHTS[request.negative_weights],
        reject=request.reject,
        seed=seed,
        threads=thread_count(threads),
        sources=sources,
        targets=targets,
        target_candidates=target_candidates,
        source_candidates=source_candidates,
        staged=graph.staged,
    )
