"""Finds relations that have each other's edges in reverse.

Loaders of links leave out the edge that a model shall predict, in its relation and in the inverse
of that relation. If nobody knew that two relations are inverse, the answer would stay visible in
the second one. Libraries keep both as if they were unrelated, under any name and in any order, so
the edges themselves are compared.

One pass over each relation finds its Fingerprint, whose size does not depend on the number of
edges. A relation is read only if there is another one between the same types the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.streams import Array
from graphzero.conversion.tables.description import REVERSE_PREFIX
from graphzero.conversion.typed_plan import RelationName, RelationPlan
from graphzero.files.column_keys import relation_directory

Hashes = npt.NDArray[np.uint64]

# The smallest hashes of each relation that are kept. They are a uniform sample of its edges, the
# same one for all relations, and tell how many edges two relations have in common.
_SAMPLED = 1 << 16
# Relations that share a smaller part of their edges are taken for unrelated. In graphs of friends,
# followers and so on, some edges are always in two relations.
_WORTH_A_CAUTION = 0.1
_CONSEQUENCE = (
    "a loader of links leaves out the links' own edges in their relation and in its inverse only, "
    "so in the relations above a model can see the answer: to predict such links, give both "
    "relations the same edges, or leave one of them out"
)
# Edges that are hashed at a time: the arrays of one step stay in the processor's cache.
_STEP = 1 << 15


@dataclass(frozen=True)
class Pairing:
    """Relations that are inverse, and what to tell the user about those that are not."""

    inverses: list[tuple[RelationName, RelationName]]
    cautions: tuple[str, ...]
    # Of the inverses, those of which only the first has times of its edges. The second must get
    # them too: edges without a time are in every sample, also if they are of the future.
    half_timed: list[tuple[RelationName, RelationName]]


def pair_inverses(
    relations: Sequence[RelationPlan],
    declared: Mapping[Any, Any] | None = None,
    *,
    place: str = "inverses",
) -> Pairing:
    """Compares all relations between the same two types, or within one type.

    `declared` are pairs that the user named; it is an error if such a pair is not inverse. `place`
    is what messages call them. Of several relations that would do, `rev_NAME` is preferred, then
    the first.
    """
    named = _declared(relations, declared or {}, place)
    opposite = [
        (a, b)
        for a, b in combinations(relations, 2)
        if a.triple[0] == b.triple[2] and a.triple[2] == b.triple[0]
    ]
    prints = _Prints()
    partner: dict[RelationName, RelationName] = {}
    found: list[tuple[RelationName, RelationName]] = []

    def pair(a: RelationPlan, b: RelationPlan) -> None:
        partner[a.triple], partner[b.triple] = b.triple, a.triple
        found.append((a.triple, b.triple))

    for a, b in named:
        for own in (a.triple, b.triple):
            if own in partner:
                raise InputError(
                    f"{place}: found {_said(own)} as the inverse of two relations, expected one"
                )
        problem = prints.why_not_inverse(a, b)
        if problem is not None:
            raise InputError(
                f"{place}: {_said(b.triple)} is not {_said(a.triple)} in reverse: "
                f"{problem}; leave the pair out, or give both the same edges"
            )
        pair(a, b)
    by_name = [(a, b) for a, b in opposite if _named_reverse(a, b) or _named_reverse(b, a)]
    for candidates, may_be_empty in ((by_name, True), (opposite, False)):
        for a, b in candidates:
            if a.triple in partner or b.triple in partner:
                continue
            if prints.why_not_inverse(a, b) is None and (may_be_empty or prints.of(a).count):
                pair(a, b)
    order = {relation.triple: number for number, relation in enumerate(relations)}
    found.sort(key=lambda own: order[own[0]])
    cautions = tuple(
        caution
        for a, b in opposite
        if partner.get(a.triple) != b.triple and (caution := prints.caution(a, b)) is not None
    )
    timed = {relation.triple for relation in relations if relation.edges.timed}
    return Pairing(
        found,
        (*cautions, _CONSEQUENCE) if cautions else (),
        [pair if pair[0] in timed else pair[::-1] for pair in found if len(timed & {*pair}) == 1],
    )


def times_of_reverses(
    ends: tuple[Array, Array], times: npt.NDArray[np.int64], reverses: tuple[Array, Array]
) -> npt.NDArray[np.int64]:
    """The times of `reverses`, which are the same edges in reverse and in any order.

    Of parallel edges the first of one relation is taken for the first of the other, and so on:
    nothing else tells them apart. Takes 24 bytes of memory for each edge.
    """
    own = np.lexsort((ends[1], ends[0]))
    other = np.lexsort((reverses[0], reverses[1]))
    found = np.empty(len(times), np.int64)
    found[other] = times[own]
    return found


def _declared(
    relations: Sequence[RelationPlan], declared: Mapping[Any, Any], place: str
) -> list[tuple[RelationPlan, RelationPlan]]:
    """The pairs that the user named, each once, in the order of the user."""
    if not isinstance(declared, Mapping):
        raise InputError(
            f"{place}: found {type(declared).__name__}, expected a dict of relations: "
            "{relation: relation}"
        )
    found: list[tuple[RelationPlan, RelationPlan]] = []
    for key, value in declared.items():
        a, b = (_relation(relations, name, place) for name in (key, value))
        if (b, a) in found:
            continue  # named from both sides
        if a is b:
            raise InputError(
                f"{place}: found {_said(a.triple)} as its own inverse, expected two relations"
            )
        if (a.triple[0], a.triple[2]) != (b.triple[2], b.triple[0]):
            raise InputError(
                f"{place}: found {_said(b.triple)} for {_said(a.triple)}, expected a relation from "
                f"{a.triple[2]!r} to {a.triple[0]!r}"
            )
        found.append((a, b))
    return found


def _relation(relations: Sequence[RelationPlan], name: Any, place: str) -> RelationPlan:
    key = tuple(name) if isinstance(name, list) else name
    found = [
        own
        for own in relations
        if key in (own.triple, own.triple[1], relation_directory(*own.triple))
    ]
    if len(found) == 1:
        return found[0]
    known = ", ".join(_said(own.triple) for own in found or relations)
    what = "several relations of that name" if found else "no such relation"
    raise InputError(
        f"{place}: found {name!r}, {what}, expected one of {known}, as (source, name, target), "
        "SOURCE.NAME.TARGET or a NAME that no other relation has"
    )


def _named_reverse(a: RelationPlan, b: RelationPlan) -> bool:
    return b.triple[1] == f"{REVERSE_PREFIX}{a.triple[1]}"


def _said(triple: RelationName) -> str:
    return f"({', '.join(triple)})"


# --- Fingerprints ---


@dataclass(frozen=True)
class _Edges:
    """What edges have in common in whatever order they come: sums of two hashes of each edge.

    Different edges give equal sums with a probability of 2^-128.
    """

    sums: tuple[int, int]
    timed_sums: tuple[int, int] | None  # the same with the times of edges, if they have any
    sample: Hashes  # the smallest hashes, ascending, each once
    whole: bool  # the sample has all of them


@dataclass(frozen=True)
class _Fingerprint:
    count: int
    edges: _Edges  # between two types, from the type whose name comes first
    reverses: _Edges  # within one type, with the ends exchanged; else the same


class _Prints:
    """Fingerprints of relations, each found when it is first needed."""

    def __init__(self) -> None:
        self._known: dict[RelationName, _Fingerprint] = {}

    def of(self, relation: RelationPlan) -> _Fingerprint:
        if relation.triple not in self._known:
            self._known[relation.triple] = _fingerprint(relation)
        return self._known[relation.triple]

    def why_not_inverse(self, a: RelationPlan, b: RelationPlan) -> str | None:
        """Why one relation is not the inverse of the other; None: it is."""
        for own in (a, b):
            if own.symmetric:
                return f"{_said(own.triple)} is symmetric, it has its own reverses"
        counts = [own.edges.count or self.of(own).count for own in (a, b)]
        if counts[0] != counts[1]:
            return f"found {counts[1]} edges, expected {counts[0]}"
        if a.dedup != b.dedup:
            return "found repeated edges dropped in one of them, expected it in both or in none"
        edges, reverses = self.of(a).edges, self.of(b).reverses
        if edges.sums != reverses.sums:
            return "found other edges"
        both_timed = None not in (edges.timed_sums, reverses.timed_sums)
        if both_timed and edges.timed_sums != reverses.timed_sums:
            return "found other times of its edges"
        return None

    def caution(self, a: RelationPlan, b: RelationPlan) -> str | None:
        """What to tell about two relations that are not paired; None: they hardly share edges."""
        share = _share(self.of(a).edges, self.of(b).reverses)
        if share < _WORTH_A_CAUTION:
            return None
        problem = self.why_not_inverse(a, b) or "it is paired with another relation"
        return (
            f"{_said(b.triple)} has edges of {_said(a.triple)} in reverse, about {share:.0%} of "
            f"those of the smaller relation, but is not its inverse: {problem}"
        )


def _share(edges: _Edges, reverses: _Edges) -> float:
    """The part of the smaller relation's edges that the other one has too, from samples."""
    ends = [own.sample[-1] for own in (edges, reverses) if not own.whole]
    first, second = (
        own.sample if not ends else own.sample[own.sample <= min(ends)] for own in (edges, reverses)
    )
    smaller = min(len(first), len(second))
    return 0.0 if not smaller else len(np.intersect1d(first, second, True)) / smaller


def _fingerprint(relation: RelationPlan) -> _Fingerprint:
    """Reads all edges once."""
    source, _, target = relation.triple
    timed = relation.edges.timed
    one = _Sums(timed)
    other = _Sums(timed) if source == target else None
    count = 0
    for chunk in relation.edges.open():
        src, dst = (np.asarray(end) for end in (chunk.src, chunk.dst))
        for first in range(0, len(src), _STEP):
            piece = slice(first, first + _STEP)
            ends = _bits(src[piece]), _bits(dst[piece])
            times = None if chunk.times is None else _bits(chunk.times[piece])
            if other is not None:
                one.add(ends[0], ends[1], times)
                other.add(ends[1], ends[0], times)
            else:
                one.add(*(ends if source < target else ends[::-1]), times)
        count += len(src)
    edges = one.edges()
    return _Fingerprint(count, edges, edges if other is None else other.edges())


class _Sums:
    def __init__(self, timed: bool) -> None:
        self._sums = [0, 0]
        self._timed_sums = [0, 0] if timed else None
        self._sample: Hashes = np.empty(0, np.uint64)
        self._waiting: list[Hashes] = []  # may belong to the sample
        self._whole = True

    def add(self, first: Hashes, second: Hashes, times: Hashes | None) -> None:
        hashes = _mixed(_mixed(first) + second)
        _sum(hashes, self._sums)
        self._keep_smallest(hashes)
        if self._timed_sums is not None and times is not None:
            _sum(_mixed(hashes ^ _mixed(times)), self._timed_sums)

    def _keep_smallest(self, hashes: Hashes) -> None:
        if not self._whole:
            hashes = hashes[hashes < self._sample[-1]]
        self._waiting.append(hashes)
        if sum(map(len, self._waiting)) > _SAMPLED:
            self._merge()

    def _merge(self) -> None:
        sample = np.unique(np.concatenate([self._sample, *self._waiting]))
        self._waiting.clear()
        self._whole &= len(sample) <= _SAMPLED
        self._sample = sample[:_SAMPLED]

    def edges(self) -> _Edges:
        self._merge()
        timed = None if self._timed_sums is None else (self._timed_sums[0], self._timed_sums[1])
        return _Edges((self._sums[0], self._sums[1]), timed, self._sample, self._whole)


def _sum(hashes: Hashes, into: list[int]) -> None:
    for which, values in enumerate((hashes, _mixed(~hashes))):
        into[which] = (into[which] + int(values.sum(dtype=np.uint64))) % 2**64


def _bits(values: Array) -> Hashes:
    return np.ascontiguousarray(values, np.int64).view(np.uint64)


def _mixed(values: Hashes) -> Hashes:
    """A hash of each value: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed
