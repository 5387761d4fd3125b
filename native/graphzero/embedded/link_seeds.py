"""The seeds of a sample around links: the ends of links and of negatives, which are drawn here.

The daemon and `Graph.sample_links` both call `draw_links`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.embedded.link_request import ANY_EDGE, LinkRequest
from graphzero.embedded.results import Int64Array
from graphzero.embedded.sampling import thread_count
from graphzero.embedded.typed_arguments import TypedIds
from graphzero.embedded.typed_sampling import ExcludedInTrees, ExcludedPairs
from graphzero.files.schema import Schema
from graphzero.files.topology_file import TopologyFile

_WEIGHTS = {
    "uniform": _engine.NegativeWeights.UNIFORM,
    "degree": _engine.NegativeWeights.DEGREE,
}


@dataclass(frozen=True)
class LinkSeeds:
    """The seeds of a sample around links, and where each end is among them."""

    by_type: TypedIds
    """Seeds by the number of their type, in schema order."""
    source_index: Int64Array
    """Local ids of sources among the nodes of the source type: of links, then of negative pairs."""
    target_index: Int64Array
    """Local ids of targets among the nodes of the target type: of links, then of negatives.
    Negative targets of one link are adjacent."""
    times: Int64Array | None = None
    """Time of each seed, if links have times."""
    link_of_tree: tuple[Int64Array, Int64Array] | None = None
    """(numbers of seeds over all types, numbers of their links). A link's seeds are its ends, and
    the ends of negatives drawn for it. Only if links have times."""

    @property
    def seeds(self) -> Int64Array:
        """The seeds in a graph without types."""
        ((_, seeds),) = self.by_type
        return seeds

    def indices(self) -> dict[str, Int64Array]:
        """Both indices by their names in a batch."""
        return {"source_index": self.source_index, "target_index": self.target_index}


def draw_links(
    graph: TopologyFile,
    request: LinkRequest,
    *,
    disjoint: bool,
    seed: int,
    threads: int | None = None,
) -> LinkSeeds:
    """Draws the negatives. Seeds are the different ends of each type, sorted; if the sample is
    disjoint or has times, they are all ends, repeats included.

    Disjoint seeds are sources, then targets. Negative targets come in rounds, one of each link, so
    that (position - number of links) % number of links is the link.
    """
    relation = graph.schema.relations[request.relation]
    negatives = request.num_negatives
    num_sources = len(request.sources) + (negatives if request.negative_kind == "pairs" else 0)
    num_targets = len(request.targets) + negatives
    # All sources, then all targets. The engine allocates arrays of this size, so that they count
    # against the memory that a request may use.
    ends = _engine.work_ids(num_sources + num_targets)
    sources, targets = ends[:num_sources], ends[num_sources:]
    _copy(request.sources, sources[: len(request.sources)])
    _copy(request.targets, targets[: len(request.targets)])
    if negatives:
        drawn = sources[len(request.sources) :]  # none, if only targets are drawn
        _draw_negatives(graph, request, drawn, targets[-negatives:], seed, threads)
    one_type = relation.source == relation.target
    index = _engine.work_ids(len(ends))
    source_index, target_index = index[:num_sources], index[num_sources:]
    by_type: TypedIds
    if disjoint or request.times is not None:
        _fill(source_index, np.arange)
        before = num_sources if one_type else 0  # seeds of the same type before the targets
        _fill(target_index, _counting_from(before))
        if request.negative_kind == "targets" and negatives:
            _order_by_round(targets[-negatives:], target_index[-negatives:], request.num_links)
        by_type = [(relation.source, sources), (relation.target, targets)]
        by_type = [(relation.source, ends)] if one_type else sorted(by_type, key=lambda t: t[0])
    elif one_type:
        by_type = [(relation.source, _engine.number_ends(ends, index))]
    else:
        by_type = [
            (relation.source, _engine.number_ends(sources, source_index)),
            (relation.target, _engine.number_ends(targets, target_index)),
        ]
        by_type.sort(key=lambda t: t[0])
    result = LinkSeeds(by_type, source_index, target_index)
    if request.times is None:
        return result
    # Seeds are in the order of their types: targets come first if their type does.
    first = (0, num_sources) if relation.source <= relation.target else (num_targets, 0)
    return replace(result, **_times_of_seeds(request, num_sources, num_targets, first))


def _times_of_seeds(
    request: LinkRequest, num_sources: int, num_targets: int, first: tuple[int, int]
) -> dict[str, Any]:
    """The fields of LinkSeeds for links with times. `first` has the numbers, over all seeds, of the
    first source and of the first target."""
    assert request.times is not None
    given_times, num_links = request.times, request.num_links
    times = _engine.work_ids(num_sources + num_targets)
    trees = _engine.work_ids(num_sources + num_targets)
    links = _engine.work_ids(num_sources + num_targets)
    used = 0
    sides = (
        (first[0], len(request.sources), num_sources),
        (
            first[1],
            len(request.targets),
            num_targets,
        ),
    )
    for offset, given, count in sides:
        _copy(given_times[:given], times[offset : offset + given])
        # Drawn negatives come in rounds over the links.
        _fill(
            times[offset + given : offset + count],
            lambda begin, end: given_times[np.arange(begin, end) % num_links],
        )
        for begin, size in ((offset, num_links), (offset + given, count - given)):
            _fill(trees[used : used + size], _counting_from(begin))
            _fill(links[used : used + size], lambda begin, end: np.arange(begin, end) % num_links)
            used += size
    return {"times": times, "link_of_tree": (trees[:used], links[:used])}


@dataclass(frozen=True)
class LinkExclusions:
    """Arguments of draw_typed() that leave out edges."""

    exclude: list[ExcludedPairs] = field(default_factory=list)
    exclude_in_trees: list[ExcludedInTrees] = field(default_factory=list)
    spare_history: bool = False


def link_exclusions(schema: Schema, request: LinkRequest, seeds: LinkSeeds) -> LinkExclusions:
    """The edges that a sample around links must not have: those of the links in their relation, in
    its view (or the relation that it is a view of) and in its declared inverse."""
    if request.exclude is False and request.edge_ids is None:
        return LinkExclusions()
    found = schema.relations[request.relation]
    if request.edge_ids is not None:
        check_edge_ids(schema, request.relation, request.edge_ids)
    both = request.exclude in ("both", "pair", "own")
    # An undirected edge is its own reverse. In graphs without types and times, callers choose with
    # `exclude` whether reverses are left out.
    both |= found.symmetric and (schema.typed or request.times is not None)
    places = _same_edges(schema, request.relation, both=both and found.source == found.target)
    ends = request.sources[: request.num_links], request.targets[: request.num_links]
    if seeds.link_of_tree is None:
        return LinkExclusions(
            exclude=_merged([(place.relation, *_turned(ends, place.turned)) for place in places])
        )
    trees, links = seeds.link_of_tree
    in_trees = []
    for number in sorted({place.relation for place in places}):
        here = [place for place in places if place.relation == number]
        ways = [_turned(ends, place.turned) for place in here]
        edge_ids = None
        # An inverse numbers its edges in its own way. Nobody knows which of its edges between these
        # ends is the link's, so all of them are left out. So are those the other way in a relation
        # within one type, which may list each edge in both directions.
        if request.edge_ids is not None and schema.relations[number].base == found.base:
            any_edge = np.broadcast_to(np.int64(ANY_EDGE), len(request.edge_ids))
            of_way = [
                any_edge if place.is_other_way and not found.symmetric else request.edge_ids
                for place in here
            ]
            edge_ids = _joined([(ids, links) for ids in of_way])
        in_trees.append(
            ExcludedInTrees(
                number,
                _joined([(sources, links) for sources, _ in ways]),
                _joined([(targets, links) for _, targets in ways]),
                _joined([(trees, None)] * len(ways)),
                edge_ids,
            )
        )
    by_time = request.exclude == "own" and request.edge_ids is None
    return LinkExclusions(exclude_in_trees=in_trees, spare_history=by_time)


def excluded_pairs(schema: Schema, pairs: list[ExcludedPairs]) -> list[ExcludedPairs]:
    """The edges between pairs of a graph with types, in every relation that has the same edges: a
    view (or the relation that it is a view of) and a declared inverse. An undirected edge is left
    out in both directions."""
    found: list[ExcludedPairs] = []
    for number, *ends in pairs:
        places = _same_edges(schema, number, both=schema.relations[number].symmetric)
        found += [(place.relation, *_turned((ends[0], ends[1]), place.turned)) for place in places]
    return _merged(found)


def check_edge_ids(schema: Schema, relation: int, edge_ids: Int64Array) -> None:
    """Raises InputError for an id that no edge of the relation has. The engine would find no such
    edge, and leave nothing out. Ids of edges with other ends are not found out here: that would
    take as long as to read the rows of all links."""
    found = schema.relations[relation]
    if not found.has_edge_ids:
        return  # the engine says so
    outside = np.flatnonzero((edge_ids < 0) | (edge_ids >= found.edge_id_bound))
    if outside.size:
        whose = f" of {found.triple}" if schema.typed else ""
        raise InputError(
            f"link_edge_ids[{outside[0]}] is {edge_ids[outside[0]]}, expected 0 to "
            f"{found.edge_id_bound - 1}: ids of edges{whose}, as e_id of a sample has them"
        )


class _SameEdges(NamedTuple):
    """A relation that has the same edges."""

    relation: int
    turned: bool  # source and target are exchanged
    is_other_way: bool = False  # these are the edges from target to source


def _same_edges(schema: Schema, relation: int, *, both: bool) -> list[_SameEdges]:
    """Relations that have the same edges; with `both`, each relation both ways."""
    own = schema.relations[relation]
    base = schema.relations[own.base]
    found = []
    for number, other in enumerate(schema.relations):
        turned = other.is_view != own.is_view
        is_inverse = other.base == base.inverse or schema.relations[other.base].inverse == own.base
        if other.base == own.base or is_inverse:
            found.append(_SameEdges(number, turned != (other.base != own.base)))
            if both:
                found.append(_SameEdges(number, turned == (other.base != own.base), True))
    return found


def _turned(ends: tuple[Int64Array, Int64Array], turned: bool) -> tuple[Int64Array, Int64Array]:
    return (ends[1], ends[0]) if turned else ends


def _merged(pairs: list[ExcludedPairs]) -> list[ExcludedPairs]:
    """One entry for each relation."""
    by_relation: dict[int, list[ExcludedPairs]] = {}
    for pair in pairs:
        by_relation.setdefault(pair[0], []).append(pair)
    return [
        (number, _joined([(p[1], None) for p in of]), _joined([(p[2], None) for p in of]))
        for number, of in by_relation.items()
    ]


# Ids that are copied between two checks whether the call must stop. Temporary arrays of this size
# do not count against the memory of the request, because they are small.
_COPIED_AT_ONCE = 1 << 17


def _copy(source: Int64Array, to: Int64Array) -> None:
    _fill(to, lambda begin, end: source[begin:end])


def _counting_from(first: int) -> Callable[[int, int], Int64Array]:
    return lambda begin, end: np.arange(first + begin, first + end)


def _joined(pieces: list[tuple[Int64Array, Int64Array | None]]) -> Int64Array:
    """Concatenates arrays; of an array with `places`, only the items at these places."""
    sizes = [len(values if places is None else places) for values, places in pieces]
    joined = _engine.work_ids(sum(sizes))
    at = 0
    for (values, places), size in zip(pieces, sizes, strict=True):
        _fill(joined[at : at + size], _items_at(values, places))
        at += size
    return joined


def _items_at(values: Int64Array, places: Int64Array | None) -> Callable[[int, int], Int64Array]:
    if places is None:
        return lambda begin, end: values[begin:end]
    return lambda begin, end: values[places[begin:end]]


def _fill(to: Int64Array, items: Callable[[int, int], Int64Array]) -> None:
    """Fills to[begin:end] with items(begin, end), a piece at a time."""
    for begin in range(0, len(to), _COPIED_AT_ONCE):
        _engine.check_stopped()
        end = min(begin + _COPIED_AT_ONCE, len(to))
        to[begin:end] = items(begin, end)


def _order_by_round(targets: Int64Array, index: Int64Array, links: int) -> None:
    """Reorders targets from link by link to rounds; index[i] becomes the new place of target i."""
    each = len(targets) // links
    first = int(index[0])
    by_link = _engine.work_ids(len(targets))
    _copy(targets, by_link)
    # Without a loop over rounds: a single link can have millions of them.

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
    """Fills the arrays; `sources` is empty if only targets are drawn."""
    given: Int64Array = np.empty(0, np.int64)
    if request.negative_kind == "targets":
        given = _engine.work_ids(request.num_negatives)
        each = request.num_negatives // request.num_links
        _fill(given, lambda begin, end: request.sources[np.arange(begin, end) // each])
        sources = given  # the engine writes the given sources back
    times = None
    if request.times is not None:
        times = _engine.work_ids(request.num_negatives)
        _fill(times, lambda begin, end: _times_of_drawn(request, np.arange(begin, end)))
    target_candidates, source_candidates = request.candidates.ids()
    _engine.draw_negatives(
        graph.topology,
        relation=request.relation,
        symmetric=graph.symmetric and not graph.schema.typed,
        times=times,
        links=request.num_links,
        given_sources=given,
        weights=_WEIGHTS[request.negative_weights],
        reject=request.reject,
        seed=seed,
        threads=thread_count(threads),
        sources=sources,
        targets=targets,
        target_candidates=target_candidates,
        source_candidates=source_candidates,
        disk=graph.disk,
    )


def _times_of_drawn(request: LinkRequest, numbers: Int64Array) -> Int64Array:
    """Times of drawn negatives: targets are drawn link by link, pairs in rounds over the links."""
    assert request.times is not None
    if request.negative_kind == "targets":
        return request.times[numbers // (request.num_negatives // request.num_links)]
    return request.times[numbers % request.num_links]
