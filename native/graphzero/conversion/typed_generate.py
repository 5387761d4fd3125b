"""Synthetic datasets with types, relations and times, of any size.

A description in TOML or as a dict says which types and relations there are. It may also be the name
of a built-in description:

    classes = 8                                      # shared by all types
    time = { from = "2020-01-01", to = "2024-01-01" }

    [types.user]
    nodes = "100k"
    dim = 32

    [types.review]
    nodes = "1M"
    dim = 16
    time = "ascending"                               # or "random"
    label = true                                     # y, and splits

    [[relations]]
    source = "review"
    name = "by"
    target = "user"
    each = 1                                         # or edges = "2M" in all
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.quantities import parse_count
from graphzero.conversion.inputs.streams import (
    EdgeChunk,
    EdgeStream,
    RowChunk,
    RowStream,
    rows_per_chunk,
)
from graphzero.conversion.plan import ColumnSource
from graphzero.conversion.tables.description import REVERSE_PREFIX, SPLITS, TimePoint
from graphzero.conversion.tables.times import time_points
from graphzero.conversion.tables.values import Place, one_of
from graphzero.conversion.typed_plan import (
    PlannedSource,
    RelationName,
    RelationPlan,
    TypedPlan,
    TypePlan,
)
from graphzero.files.column_keys import check_schema_name
from graphzero.files.column_types import TIME_UNITS, TimeUnit
from graphzero.files.description import ColumnDescription

_TOP = ("classes", "time", "types", "relations")
_TYPE = ("nodes", "dim", "time", "label")
_RELATION = (
    "source", "name", "target", "edges", "each", "time", "homophily", "source_skew", "target_skew",
    "reverse", "edge_ids",
)  # fmt: skip
_CLASSES, _HOMOPHILY, _SKEW = 8, 0.6, 2
_TIMES = {
    "ascending": _engine.NodeTimes.ASCENDING,
    "random": _engine.NodeTimes.RANDOM,
}
# The part of the rows, or of the range of times, before valid and before test.
_CUTS = (0.6, 0.8)

# Visits and reviews in a shop: a review names one user and one item, and says little by itself.
_SHOP: dict[str, Any] = {
    "classes": 8,
    "time": {"from": "2020-01-01", "to": "2024-01-01"},
    "types": {
        "user": {"nodes": 100_000, "dim": 32},
        "item": {"nodes": 20_000, "dim": 64},
        "review": {"nodes": 500_000, "dim": 16, "time": "ascending", "label": True},
    },
    "relations": [
        {"source": "review", "name": "by", "target": "user", "each": 1},
        {"source": "review", "name": "about", "target": "item", "each": 1},
        {"source": "user", "name": "visits", "target": "item", "edges": 2_000_000, "time": True},
        {"source": "item", "name": "like", "target": "item", "edges": 100_000},
    ],
}
PRESETS = {"shop": _SHOP}


@dataclass(frozen=True)
class _Type:
    name: str
    nodes: int
    dim: int
    time: str | None
    label: bool


@dataclass(frozen=True)
class _Relation:
    triple: RelationName
    edges: int
    each: bool
    timed: bool
    homophily: float
    source_skew: int
    target_skew: int
    reverse: str | None
    edge_ids: bool

    @property
    def within(self) -> bool:
        return self.triple[0] == self.triple[2]


@dataclass(frozen=True)
class _Schema:
    classes: int
    times: tuple[int, int]
    unit: TimeUnit | None
    types: list[_Type]
    relations: list[_Relation]


def synthetic_source(
    schema: str | os.PathLike[str] | Mapping[str, Any], *, scale: float, seed: int, threads: int
) -> PlannedSource:
    """`schema`: the name of a built-in schema, a TOML file, or a dict with its content. `scale`:
    multiplies all counts of nodes and edges."""
    name, facts = _facts_of(schema)
    parsed = _parse(Place(name), facts, scale)
    model = _engine.TypedModel(
        seed=seed,
        classes=parsed.classes,
        first_time=parsed.times[0],
        last_time=parsed.times[1],
        types=[_nodes(own) for own in parsed.types],
        relations=[_edges(own, parsed.types) for own in parsed.relations],
    )
    planning = _Planning(parsed, model, threads)
    return PlannedSource(name, planning.plan())


def _facts_of(schema: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[str, Any]:
    if isinstance(schema, Mapping):
        return "schema", schema
    name = os.fspath(schema)
    if name in PRESETS:
        return name, PRESETS[name]
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        raise InputError(
            f"schema {name!r}: found no such file, expected a TOML file or one of "
            f"{', '.join(PRESETS)}"
        )
    try:
        return name, tomllib.loads(path.read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: not readable as TOML: {error}") from error


# --- The description ---


def _parse(place: Place, facts: Any, scale: float) -> _Schema:
    top = place.mapping(facts, _TOP)
    types = place.at("types").mapping(top.get("types"))
    if not types:
        raise InputError(f"{place}: found no type, expected [types.NAME] for each of them")
    found = [_parse_type(place.at("types", name), name, own, scale) for name, own in types.items()]
    relations = [
        _parse_relation(place.at(f"relations[{at}]"), own, [own.name for own in found], scale)
        for at, own in enumerate(place.at("relations").sequence(top.get("relations", [])))
    ]
    times, unit = _parse_times(place.at("time"), top.get("time"))
    classes = _count(place.at("classes"), top.get("classes", _CLASSES))
    for own in found:
        if own.nodes < classes:
            raise InputError(
                f"{place.at('types', own.name)}: found {own.nodes} nodes, expected at least "
                f"{classes}, one of each class"
            )
    return _Schema(classes, times, unit, found, relations)


def _parse_type(place: Place, name: str, value: Any, scale: float) -> _Type:
    check_schema_name(name, str(place))
    facts = place.mapping(value, _TYPE)
    if "nodes" not in facts:
        raise InputError(f"{place}: found no nodes, expected how many there are")
    time = facts.get("time")
    if time is not None:
        one_of(place.at("time"), time, tuple(_TIMES))
    return _Type(
        name,
        _scaled(_count(place.at("nodes"), facts["nodes"]), scale),
        _count(place.at("dim"), facts.get("dim", 0)),
        time,
        place.at("label").boolean(facts.get("label", False)),
    )


def _parse_relation(place: Place, value: Any, types: list[str], scale: float) -> _Relation:
    facts = place.mapping(value, _RELATION)
    for key in ("source", "name", "target"):
        if key not in facts:
            raise InputError(f"{place}: found no {key}, expected source, name and target")
    source, target = (one_of(place.at(end), facts[end], types) for end in ("source", "target"))
    name = place.at("name").text(facts["name"], "the name of a relation")
    check_schema_name(name, str(place.at("name")))
    if ("edges" in facts) == ("each" in facts):
        raise InputError(f"{place}: expected edges = COUNT in all, or each = COUNT of each source")
    each = "each" in facts
    count = _count(place.at("each" if each else "edges"), facts["each" if each else "edges"])
    reverse = place.at("reverse").reverse(facts.get("reverse", True))
    timed = place.at("time").boolean(facts.get("time", False))
    edge_ids = place.at("edge_ids").boolean(facts.get("edge_ids", timed))
    homophily = facts.get("homophily", _HOMOPHILY)
    if isinstance(homophily, bool) or not isinstance(homophily, int | float):
        raise place.at("homophily").unlike(homophily, "a number from 0 to 1")
    if not 0 <= homophily <= 1:
        raise place.at("homophily").unlike(homophily, "a number from 0 to 1")
    source_skew, target_skew = (
        _skew(place.at(f"{end}_skew"), facts.get(f"{end}_skew", _SKEW))
        for end in ("source", "target")
    )
    return _Relation(
        (source, name, target),
        count if each else _scaled(count, scale),
        each,
        timed,
        float(homophily),
        source_skew,
        target_skew,
        reverse if isinstance(reverse, str) else f"{REVERSE_PREFIX}{name}" if reverse else None,
        edge_ids,
    )


def _skew(place: Place, value: Any) -> int:
    if value not in (0, 1, 2) or isinstance(value, bool):
        raise place.unlike(value, "0 (none), 1 or 2 (a power law)")
    return int(value)


def _parse_times(place: Place, value: Any) -> tuple[tuple[int, int], TimeUnit | None]:
    if value is None:
        return (0, 10**6), None
    facts = place.mapping(value, ("from", "to", "unit"))
    for key in ("from", "to"):
        if key not in facts:
            raise InputError(f"{place}: found no {key}, expected from and to")
    points = [_point(place.at(key), facts[key]) for key in ("from", "to")]
    unit = facts.get("unit")
    if unit is not None:
        one_of(place.at("unit"), unit, TIME_UNITS)
    elif any(isinstance(point, str) for point in points):
        unit = "s"
    first, last = time_points(str(place), points, cast("TimeUnit | None", unit))
    return (first, last), cast("TimeUnit | None", unit)


def _point(place: Place, value: Any) -> TimePoint:
    import datetime

    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise place.unlike(value, "a date such as 2013-01-31, or an integer")
    return value


def _count(place: Place, value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_count(value)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise place.unlike(value, "a count such as 1000 or '20M'")
    return value


def _scaled(count: int, scale: float) -> int:
    return count if scale == 1 else round(count * scale)


# --- The plan that is made from it ---


def _nodes(own: _Type) -> _engine.TypedNodes:
    times = _engine.NodeTimes.NONE if own.time is None else _TIMES[own.time]
    return _engine.TypedNodes(nodes=own.nodes, dim=own.dim, times=times)


def _edges(own: _Relation, types: list[_Type]) -> _engine.TypedEdges:
    names = [each.name for each in types]
    return _engine.TypedEdges(
        source=names.index(own.triple[0]),
        target=names.index(own.triple[2]),
        edges=own.edges,
        each=own.each,
        source_skew=own.source_skew,
        target_skew=own.target_skew,
        homophily=own.homophily,
        timed=own.timed,
    )


class _Planning:
    def __init__(self, schema: _Schema, model: _engine.TypedModel, threads: int) -> None:
        self._schema = schema
        self._model = model
        self._threads = threads

    def plan(self) -> TypedPlan:
        return TypedPlan(
            [self._type(number, own) for number, own in enumerate(self._schema.types)],
            [self._relation(number, own) for number, own in enumerate(self._schema.relations)],
            time_unit=self._schema.unit or "",
        )

    def _type(self, number: int, own: _Type) -> TypePlan:
        columns = []
        if own.time is not None:
            times = self._rows(own, "time", (), "int64", self._of(self._model.times, number))
            about = ColumnDescription(unit=self._schema.unit).to_json()
            columns.append(ColumnSource("time", times, "int64", description=about))
        if own.dim:
            features = self._of(self._model.features, number)
            columns.append(ColumnSource("x", self._rows(own, "x", (own.dim,), "float32", features)))
        if own.label:
            labels = self._rows(own, "y", (), "int64", self._of(self._model.labels, number))
            columns.append(ColumnSource("y", labels, "int64"))
            columns += [
                ColumnSource(name, self._split(number, own, at), role="ids")
                for at, name in enumerate(SPLITS)
            ]
        return TypePlan(own.name, own.nodes, columns, "time" if own.time is not None else None)

    def _of(self, make: Callable[..., Any], number: int) -> Callable[[int, int], Any]:
        return lambda first, count: make(number, first, count, threads=self._threads)

    def _rows(
        self,
        own: _Type,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        make: Callable[[int, int], Any],
    ) -> RowStream:
        def chunks() -> Iterator[RowChunk]:
            for first, count in _pieces(own.nodes, 8 * max(own.dim, 1)):
                yield RowChunk(None, make(first, count))

        return RowStream(f"{name} of {own.name}", chunks, shape, dtype, rows=own.nodes)

    def _split(self, number: int, own: _Type, at: int) -> RowStream:
        """Cut by time if the nodes have times, else at random."""
        values: Callable[[int, int], Any]
        if own.time is not None:
            first_time, last_time = self._schema.times
            points = [first_time + int((last_time - first_time) * part) for part in _CUTS]
            values = self._of(self._model.times, number)
        else:
            points = [int(part * 2**32) for part in _CUTS]
            values = self._of(self._model.split_numbers, number)

        def chunks() -> Iterator[RowChunk]:
            for first, count in _pieces(own.nodes, 8):
                found = np.searchsorted(points, values(first, count), side="right") == at
                yield RowChunk(first + np.flatnonzero(found), np.empty(0))

        return RowStream(f"{SPLITS[at]} of {own.name}", chunks, (), "int64", has_ids=True)

    def _relation(self, number: int, own: _Relation) -> RelationPlan:
        count = self._model.num_edges(number)

        def chunks() -> Iterator[EdgeChunk]:
            for first, size in _pieces(count, 24):
                src, dst, times = cast(
                    "tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Any]",
                    self._model.edges(number, first, size, threads=self._threads),
                )
                yield EdgeChunk(src, dst, None, times=times)

        name = " - ".join(own.triple)
        return RelationPlan(
            own.triple,
            EdgeStream(name, chunks, weighted=False, count=count, timed=own.timed),
            view=None if own.within else own.reverse,
            symmetric=own.within and own.reverse is not None,
            edge_ids=own.edge_ids,
        )


def _pieces(total: int, row_bytes: int) -> Iterator[tuple[int, int]]:
    """(first, count) of consecutive pieces."""
    step = rows_per_chunk(row_bytes)
    for first in range(0, total, step):
        yield first, min(step, total - first)
