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
    """What the ends of negatives are drawn from, as a request has it: ids, the name of a column, or
    None for all nodes."""

    targets: Int64Array | str | None = None
    sources: Int64Array | str | None = None

    @classmethod
    def of(
        cls, negatives: Negatives | None, num_nodes: int, num_sources: int | None = None
    ) -> Candidates:
        """`num_nodes` is how many may be targets; `num_sources`, if that is another number."""
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
    """How many of the sources and targets, from the first on, are links; the rest are negatives
    that the caller gives."""
    negative_kind: NegativeKind | None
    num_negatives: int
    """To be drawn: in all, for "targets" a multiple of num_links."""
    negative_weights: NegativeWeights
    reject: bool
    exclude: ExcludeSeedEdges
    """False: nothing. True: edges from the source to the target of a link; "both": and those from
    its target to its source. These are left out of the whole sample. "pair": all edges between the
    ends of a link, of the trees of that link only if there are times. "own": of those, the ones
    that did not exist before the time of the link, which needs times."""
    candidates: Candidates = Candidates()
    relation: int = 0
    """The number of the relation that the links are of."""
    times: Int64Array | None = None
    """One for each link and for each negative that the caller gives: nothing later is in the trees
    of their ends, and negatives that are drawn exist then."""
    edge_ids: Int64Array | None = None
    """Ids of the links' own edges, one for each, which are left out of their trees, and nothing
    else is. Needs times."""

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

    def excluded(self) -> tuple[Int64Array, Int64Array] | None:
        """Sources and targets of the edges that the whole sample must not have, in a graph without
        types."""
        if self.exclude is False or self.times is not None:
            return None
        sources, targets = self.sources[: self.num_links], self.targets[: self.num_links]
        if self.exclude is True:
            return sources, targets
        return np.concatenate([sources, targets]), np.concatenate([targets, sources])


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
    """For links as given; with num_links, what follows those are negatives as given.

    `exclude` is None for the default: links with times leave out their own edges, which give the
    answer away; others nothing.
    """
    if exclude is None:
        exclude = "own" if times is not None and edge_ids is None else False
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
