"""The seeds of a sample around links: their ends, and those of negatives, which are drawn here.

The daemon and `Graph.sample_links` both call `draw_links`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphzero import _engine
from graphzero.embedded.link_request import LinkRequest
from graphzero.embedded.results import Int64Array
from graphzero.embedded.sampling import thread_count
from graphzero.files.topology_file import TopologyFile

_WEIGHTS = {
    "uniform": _engine.NegativeWeights.UNIFORM,
    "degree": _engine.NegativeWeights.DEGREE,
}


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
    # All sources, then all targets. The engine allocates arrays of this size, so that they count
    # against the memory that a request may use.
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


# How many ids are copied before the call looks again whether it is to stop. Arrays of this size are
# made on the way, without counting against the memory of the request: they are small.
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
        disk=graph.disk,
    )
