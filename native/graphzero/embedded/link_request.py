"""What a link-prediction batch asks for: links, negatives, and edges that a model must not see."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from graphzero.base.ids import id_array
from graphzero.embedded.results import Int64Array

NegativeKind: TypeAlias = Literal["pairs", "targets"]
NegativeWeights: TypeAlias = Literal["uniform", "degree"]
ExcludeSeedEdges: TypeAlias = bool | Literal["both", "pair", "own"]


@dataclass(frozen=True)
class Negatives:
    """Pairs that a model should tell from links, drawn by the engine.

    kind: "targets" draws further targets for the source of each link (PyG's triplet), "pairs" draws
    both ends (PyG's binary).
    amount: negatives per link; a whole number for "targets". The total is rounded up.
    weights: "uniform", or "degree": sources by their out-degree, targets by their in-degree.
    reject: draw a pair again if it is an edge of the graph, or a node with itself.
    candidates: nodes that targets are drawn from uniformly: ids, where an id that occurs twice is
    twice as likely, or a bool mask over the nodes. With a client also the name of a split or bool
    column; use that for many candidates, because ids are sent with every request. None: all nodes.
    Ids are numbers of nodes, even if links are given as original ids: find_nodes() translates.
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
        if self.weights not in ("uniform", "degree"):
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
        """How many negatives belong to this number of links."""
        return math.ceil(num_links * self.amount)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that ends of negatives are drawn from, in the form of a request: ids, the name of a
    column, or None for all nodes."""

    targets: Int64Array | str | None = None
    sources: Int64Array | str | None = None

    @classmethod
    def of(
        cls, negatives: Negatives | None, num_nodes: int, num_sources: int | None = None
    ) -> Candidates:
        """`num_nodes` is the number of nodes that may be targets, `num_sources` of those that may
        be sources, if it differs."""
        if negatives is None:
            return cls()
        if not isinstance(negatives, Negatives):
            raise TypeError(
                f"negatives is {negatives!r}, expected graphzero.Negatives, such as "
                'Negatives("targets", 4) or Negatives("pairs")'
            )
        return cls(
            _candidate_ids(negatives.candidates, num_nodes, "candidates"),
            _candidate_ids(
                negatives.source_candidates,
                num_nodes if num_sources is None else num_sources,
                "source_candidates",
            ),
        )

    @property
    def are_all_nodes(self) -> bool:
        return self.targets is None and self.sources is None

    def ids(self) -> tuple[Int64Array | None, Int64Array | None]:
        """Ids of target and of source candidates. Raises ValueError for the name of a column,
        because a graph has no columns."""
        for given in (self.targets, self.sources):
            if isinstance(given, str):
                raise ValueError(
                    f"candidates of negatives are called {given!r}, expected ids or a mask: a "
                    "graph has no columns; gz.FeatureStore reads one, and a client takes its name"
                )
        return self.targets, self.sources  # type: ignore[return-value]


def _as_candidates(given: Any, what: str) -> Any:
    """A name as it is, or a copy of an array of ids or of a mask."""
    if given is None or isinstance(given, str):
        return given
    array = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
    if array.dtype == np.bool_ and array.ndim == 1:
        return array.copy()
    return id_array(array, None, f"{what} of negatives").copy()


def _same_candidates(one: Any, other: Any) -> bool:
    """Whether two results of _as_candidates() are equal."""
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


ANY_EDGE = -1
"""In place of the id of an edge: all edges between its ends."""


@dataclass(frozen=True)
class LinkRequest:
    """Links with their negatives, times, and edges to leave out."""

    sources: Int64Array
    targets: Int64Array
    num_links: int
    """The first num_links of the sources and targets are links; the rest are negatives that the
    caller gives."""
    negative_kind: NegativeKind | None
    num_negatives: int
    """Number of negatives to draw for all links together; for "targets" a multiple of num_links."""
    negative_weights: NegativeWeights
    reject: bool
    exclude: ExcludeSeedEdges
    """Edges to leave out. False: none. True: edges from the source to the target of a link; "both":
    also edges from its target to its source; both out of the whole sample. "pair": all edges
    between the ends of a link, with times only out of the trees of that link. "own": like "pair",
    but only edges that did not exist before the time of the link; needs times."""
    candidates: Candidates = Candidates()
    relation: int = 0
    """The number of the links' relation."""
    times: Int64Array | None = None
    """One for each link and for each negative that the caller gives: the trees of its ends contain
    nothing later, and negatives drawn for a link exist at its time."""
    edge_ids: Int64Array | None = None
    """Ids of the links' own edges, one for each link, which are left out of their trees in place of
    those that `exclude` names: an edge that is older than its link must not count as history. Needs
    times. What else has these edges does not have their ids: in an inverse relation, and by
    `exclude` "own", "pair" and "both" in the other direction of a relation within one type, all
    edges between the ends are left out."""

    def __post_init__(self) -> None:
        given = max(len(self.sources), len(self.targets))
        if self.times is not None and len(self.times) != given:
            raise ValueError(
                f"{len(self.times)} times of links, expected {given}: one for each link, and for "
                "each negative that is given"
            )
        if self.times is None and (self.exclude == "own" or self.edge_ids is not None):
            raise ValueError(
                "the links' own edges are known by their time or their id, and left out of the "
                'trees of samples by time: expected times of the links, or exclude "pair"'
            )
        if self.edge_ids is not None and len(self.edge_ids) != self.num_links:
            raise ValueError(
                f"{len(self.edge_ids)} edge ids of links, expected {self.num_links}, one for each"
            )
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


def link_request(
    sources: Int64Array,
    targets: Int64Array,
    negatives: Negatives | None,
    exclude: ExcludeSeedEdges | None,
    candidates: Candidates,
    num_links: int | None = None,
    *,
    relation: int = 0,
    times: Int64Array | None = None,
    edge_ids: Int64Array | None = None,
) -> LinkRequest:
    """A request for these links. With num_links, pairs after the first num_links are negatives.

    `exclude` None is the default: without times nothing is left out; with times the links' own
    edges are left out, because they give the answer away.
    """
    if exclude is None:
        exclude = "own" if times is not None else False
    if num_links is None and len(sources) != len(targets):
        raise ValueError(f"found {len(sources)} sources and {len(targets)} targets of links")
    if not (isinstance(exclude, bool) or exclude in ("both", "pair", "own")):
        raise ValueError(
            f'exclude_seed_edges is {exclude!r}, expected False, True, "both", "pair" or "own"'
        )
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
        relation=relation,
        times=times,
        edge_ids=edge_ids,
    )
