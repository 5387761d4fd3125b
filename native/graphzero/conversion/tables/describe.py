"""Reads the description of tables from a TOML file, or from a dict of the same form.

Everything that can be known without opening a table is checked here: keys, kinds of values and, by
`clashes`, names.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from graphzero.base.errors import InputError
from graphzero.base.object_store import is_uri
from graphzero.conversion.tables.clashes import check_columns, check_tables
from graphzero.conversion.tables.description import (
    EDGE_FEATURES,
    FEATURES,
    LABEL,
    NUMERIC,
    REVERSE_PREFIX,
    SPLITS,
    Direction,
    EdgeEnds,
    MatrixDescription,
    Reference,
    SplitDescription,
    TableDescription,
    TablesDescription,
    TimeDescription,
    TimePoint,
)
from graphzero.conversion.tables.values import Place, one_of
from graphzero.files.column_keys import check_schema_name
from graphzero.files.column_types import COLUMN_TYPES, TIME_UNITS, TimeUnit
from graphzero.files.publish import StrPath

_TOP = ("tables", "time_unit", "missing", "missing_texts", "reverse", "inverses")
_ANY_TABLE = (
    "file", "data", "time", "features", "label", "labels", "categories", "split", "missing",
    "missing_texts", "reverse",
)  # fmt: skip
_NODES = (*_ANY_TABLE, "key", "references")
_EDGES = (*_ANY_TABLE, "edges", "name", "weight", "dedup", "edge_ids", "direction", "undirected")
_REFERENCE = ("table", "name", "reverse", "missing", "direction")
_MATRIX = ("column", "columns", "type", "fill")


def as_description(facts: Any) -> Mapping[str, Any]:
    """The argument of import_tables() in the form of a TOML file. Users may pass that form, or only
    what it has below `tables`."""
    if not isinstance(facts, Mapping):
        raise TypeError(
            f"import_tables(tables, out): found {type(facts).__name__}, expected a dict of tables "
            "by name, or the path of a TOML file"
        )
    inner = facts.get("tables")
    whole = (
        set(facts) <= set(_TOP)
        and isinstance(inner, Mapping)
        and all(isinstance(value, Mapping) for value in inner.values())
        and not set(inner) & {"file", "data", "key", "time", "features", "edges", "references"}
    )
    return facts if whole else {"tables": facts}


def read_description(path: StrPath) -> TablesDescription:
    """Reads the description in a TOML file. Paths in it are relative to its folder."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    name = os.fspath(path)
    try:
        facts = tomllib.loads(Path(path).read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: not readable as TOML: {error}") from error
    return describe_tables(facts, name=name, folder=Path(path).parent)


def describe_tables(
    facts: Mapping[str, Any], *, name: str, folder: Path | None = None
) -> TablesDescription:
    """Checks `facts`, which are as in a TOML file. `name` is what messages call them; paths of
    tables are relative to `folder`."""
    place = Place(name)
    top = place.mapping(facts, _TOP)
    tables = place.at("tables").mapping(top.get("tables", {}))
    if not tables:
        raise InputError(f"{name}: found no [tables.NAME], expected one for each table")
    general = _General(
        place.at("missing").missing(top.get("missing", "error")),
        place.at("missing_texts").texts(top.get("missing_texts", [])),
        place.at("reverse").boolean(top.get("reverse", True)),
    )
    found = [
        _Table(place.at("tables", table), table, folder, general).describe(value)
        for table, value in tables.items()
    ]
    unit = top.get("time_unit")
    if unit is not None:
        unit = one_of(place.at("time_unit"), unit, TIME_UNITS)
    description = TablesDescription(
        name,
        tuple(table for table in found if table.edges is None),
        tuple(table for table in found if table.edges is not None),
        cast("TimeUnit | None", unit),
        tuple(
            relation
            for table in found
            for relation in (table.references if table.edges is None else (table.edges,))
        ),
        place.at("inverses").mapping(top.get("inverses", {})),
    )
    check_tables(description)
    return description


@dataclass(frozen=True)
class _General:
    """What holds for tables that do not say otherwise."""

    drop_missing: bool
    missing_texts: tuple[str, ...]
    reverse: bool


@dataclass(frozen=True)
class _Table:
    """One table of the description."""

    place: Place
    name: str
    folder: Path | None
    general: _General

    def describe(self, value: Any) -> TableDescription:
        is_edges = isinstance(value, Mapping) and "edges" in value
        facts = self.place.mapping(value, _EDGES if is_edges else _NODES)
        check_schema_name(self.name, str(self.place))
        own = facts.get("missing")
        drop = self.general.drop_missing if own is None else self.place.at("missing").missing(own)
        features = EDGE_FEATURES if is_edges else FEATURES
        table = TableDescription(
            self.name,
            self._source(facts, required=is_edges),
            key=self._column(facts, "key"),
            references=() if is_edges else self._references(facts, drop),
            edges=self._edges(facts, drop) if is_edges else None,
            time=self._time(facts),
            matrices=tuple(self._matrices(facts, features)),
            split=self._split(facts),
            drop_missing=drop,
            missing_texts=(
                *self.general.missing_texts,
                *self.place.at("missing_texts").texts(facts.get("missing_texts", [])),
            ),
        )
        if table.source is None:
            self._check_without_rows(table)
        check_columns(table, str(self.place))
        return table

    def _source(self, facts: Mapping[str, Any], *, required: bool) -> Any:
        file, data = facts.get("file"), facts.get("data")
        if file is not None and data is not None:
            raise InputError(f"{self.place}: found file and data, expected one of them")
        if data is not None:
            return data
        if file is None:
            if required:
                raise InputError(f"{self.place}: found no file, expected file = PATH")
            return None
        if not isinstance(file, str | os.PathLike) or not os.fspath(file):
            raise self.place.at("file").unlike(file, "the path of a table")
        path = os.fspath(file)
        return path if self.folder is None or is_uri(path) else str(self.folder / path)

    def _check_without_rows(self, table: TableDescription) -> None:
        """A table without a file has the keys that references to it name, and nothing else."""
        given = {
            "key": table.key,
            "references": table.references,
            "time": table.time,
            "features, labels or categories": table.matrices,
            "split": table.split,
        }
        for what, value in given.items():
            if value:
                raise InputError(
                    f"{self.place}: found {what} and no file, expected file = PATH; a table "
                    "without one has a row for each key that references to it name, and nothing "
                    "else"
                )

    def _column(self, facts: Mapping[str, Any], key: str) -> str | None:
        return None if key not in facts else self.place.at(key).text(facts[key], "a column")

    def _references(self, facts: Mapping[str, Any], drop: bool) -> tuple[Reference, ...]:
        place = self.place.at("references")
        reverse = self.place.at("reverse").boolean(facts.get("reverse", self.general.reverse))
        return tuple(
            self._reference(place.at(column), column, value, drop, reverse)
            for column, value in place.mapping(facts.get("references", {})).items()
        )

    def _reference(
        self, place: Place, column: str, value: Any, drop: bool, reverse: bool
    ) -> Reference:
        named = {"table": value} if isinstance(value, str) else value
        facts = place.mapping(named, _REFERENCE, "the name of a table, or { table = NAME, ... }")
        if "table" not in facts:
            raise InputError(f"{place}: found no table, expected the one that it refers to")
        name = place.at("name").text(facts.get("name", column), "the name of a relation")
        own = facts.get("missing")
        direction = place.at("direction").direction(facts.get("direction", "both"))
        target = place.at("table").text(facts["table"], "the name of a table")
        view = _view(place, name, facts, reverse, direction)
        # Within one table, a reference leads both ways unless its reverse has a name of its own.
        undirected = (
            target == self.name and view is not None and not isinstance(facts.get("reverse"), str)
        )
        return Reference(
            source=self.name,
            name=name,
            target=target,
            drop_missing=drop if own is None else place.at("missing").missing(own),
            reverse=None if undirected else view,
            direction=direction,
            undirected=undirected,
            column=column,
        )

    def _edges(self, facts: Mapping[str, Any], drop: bool) -> EdgeEnds:
        place = self.place.at("edges")
        ends = place.mapping(facts["edges"], ("source", "target"))
        columns, tables = [], []
        for end in ("source", "target"):
            if end not in ends:
                raise InputError(
                    f"{place}: found no {end}, expected {end} = {{ column = NAME, table = NAME }}"
                )
            expected = "{ column = NAME, table = NAME }"
            own = place.at(end).mapping(ends[end], ("column", "table"), expected)
            for part in ("column", "table"):
                if part not in own:
                    raise InputError(
                        f"{place.at(end)}: found no {part}, expected {{ column = NAME, table = "
                        "NAME }"
                    )
            columns.append(place.at(end, "column").text(own["column"], "a column"))
            tables.append(place.at(end, "table").text(own["table"], "the name of a table"))
        edge_ids = self._edge_ids(facts)
        name = self.place.at("name").text(facts.get("name", self.name), "the name of a relation")
        direction = self.place.at("direction").direction(facts.get("direction", "both"))
        view = _view(self.place, name, facts, self.general.reverse, direction)
        undirected = self._undirected(facts, tables)
        return EdgeEnds(
            source=tables[0],
            name=name,
            target=tables[1],
            drop_missing=drop,
            reverse=None if undirected else view,
            direction=direction,
            undirected=undirected,
            source_column=columns[0],
            target_column=columns[1],
            weight=self._column(facts, "weight"),
            dedup=self.place.at("dedup").boolean(facts.get("dedup", False)),
            edge_ids=edge_ids,
        )

    def _edge_ids(self, facts: Mapping[str, Any]) -> bool | None:
        """Whether edge ids are stored; None: if they are needed."""
        place, value = self.place.at("edge_ids"), facts.get("edge_ids")
        if value is None:
            return None
        if not place.boolean(value) and "split" in facts:
            raise place.unlike(value, "true, or nothing: a split lists edges by their ids")
        return place.boolean(value)

    def _undirected(self, facts: Mapping[str, Any], tables: list[str]) -> bool:
        """Whether every edge is stored both ways."""
        place = self.place.at("undirected")
        if not place.boolean(facts.get("undirected", False)):
            return False
        if tables[0] != tables[1]:
            raise place.unlike(
                True, f"false for edges from {tables[0]!r} to {tables[1]!r}, which have a reverse"
            )
        for key in ("reverse", "direction"):
            value = facts.get(key)
            if isinstance(value, str) and value != "both":
                raise self.place.at(key).unlike(
                    value, "none beside undirected = true: every edge is stored both ways"
                )
        return True

    def _time(self, facts: Mapping[str, Any]) -> TimeDescription | None:
        value, place = facts.get("time"), self.place.at("time")
        if value is None:
            return None
        if isinstance(value, str):
            return TimeDescription(place.text(value, "a column"))
        own = place.mapping(
            value, ("column", "unit"), "a column, or { column = NAME, unit = UNIT }"
        )
        unit = own.get("unit")
        if unit is not None:
            one_of(place.at("unit"), unit, TIME_UNITS)
        return TimeDescription(place.at("column").text(own.get("column"), "a column"), unit)

    def _matrices(self, facts: Mapping[str, Any], features: str) -> list[MatrixDescription]:
        found = []
        place = self.place.at("features")
        value = facts.get("features", [])
        if value == NUMERIC:
            found.append(MatrixDescription(features, (), is_list=True))
        elif isinstance(value, Mapping):
            found += [_matrix(place.at(name), name, own) for name, own in value.items()]
        elif columns := place.texts(value):
            found.append(MatrixDescription(features, columns, is_list=True))
        if "label" in facts:
            found.append(_matrix(self.place.at("label"), LABEL, facts["label"], is_label=True))
        place = self.place.at("labels")
        found += [
            _matrix(place.at(name), name, own, is_label=True)
            for name, own in place.mapping(facts.get("labels", {})).items()
        ]
        place, value = self.place.at("categories"), facts.get("categories", [])
        if not isinstance(value, Mapping):
            value = {column: column for column in place.texts(value)}
        for name, own in value.items():
            matrix = _matrix(place.at(name), name, own)
            if matrix.type not in (None, "category"):
                raise place.at(name, "type").unlike(matrix.type, "'category', or none")
            found.append(MatrixDescription(name, matrix.columns, "category", matrix.fill))
        return found

    def _split(self, facts: Mapping[str, Any]) -> SplitDescription | None:
        if "split" not in facts:
            return None
        place = self.place.at("split")
        own = place.mapping(facts["split"], ("at", "names", "column"))
        if ("at" in own) == ("column" in own):
            raise InputError(
                f"{place}: expected at = [TIME, TIME] to divide by time, or column = NAME"
            )
        if "column" in own:
            if "names" in own:
                raise InputError(f"{place}: found names beside a column, which has them itself")
            return SplitDescription(column=place.at("column").text(own["column"], "a column"))
        if "time" not in facts:
            raise InputError(f"{place}: found no time of {self.name!r}, expected time = COLUMN")
        points = place.at("at").sequence(own["at"])
        if not points:
            raise place.at("at").unlike(own["at"], "points in time, one less than splits")
        at = tuple(_time_point(place.at("at"), point) for point in points)
        default = SPLITS if len(at) == len(SPLITS) - 1 else (SPLITS[0], SPLITS[-1])
        names = place.at("names").texts(own.get("names", default))
        if len(names) != len(at) + 1:
            raise InputError(
                f"{place}: found {len(at)} points in time and {len(names)} names, expected one "
                "name more: names = [...] gives them"
            )
        return SplitDescription(at, names)


def _view(
    place: Place, name: str, facts: Mapping[str, Any], general: bool, direction: Direction
) -> str | None:
    """The name of the reverse of a relation, which needs both directions; None: there is no
    reverse."""
    reverse = place.at("reverse").reverse(facts.get("reverse", general))
    if direction != "both":
        if "reverse" in facts and reverse:
            raise place.at("reverse").unlike(
                reverse, f"false beside direction = {direction!r}: a reverse needs both directions"
            )
        return None
    if isinstance(reverse, str):
        return reverse
    return f"{REVERSE_PREFIX}{name}" if reverse else None


def _matrix(place: Place, name: str, value: Any, *, is_label: bool = False) -> MatrixDescription:
    """Reads "COLUMN", a list of columns, or a table that also says how to store them."""
    if isinstance(value, str):
        return MatrixDescription(name, (value,), is_label=is_label)
    if not isinstance(value, Mapping):
        columns = place.texts(value)
        if not columns:
            raise place.unlike(value, "a column, or several")
        return MatrixDescription(name, columns, is_label=is_label, is_list=not is_label)
    own = place.mapping(value, _MATRIX)
    if ("column" in own) == ("columns" in own):
        raise InputError(f"{place}: expected column = NAME, or columns = [NAME, ...]")
    columns = (
        (place.at("column").text(own["column"], "a column"),)
        if "column" in own
        else place.at("columns").texts(own["columns"])
    )
    asked, fill = own.get("type"), own.get("fill")
    if asked is not None:
        one_of(place.at("type"), asked, COLUMN_TYPES)
    if isinstance(fill, datetime.date):
        fill = fill.isoformat()
    if fill is not None and (isinstance(fill, bool) or not isinstance(fill, int | float | str)):
        raise place.at("fill").unlike(fill, "a number or text, or 'mean'")
    is_list = "columns" in own and not is_label
    return MatrixDescription(name, columns, asked, fill, is_label, is_list)


def _time_point(place: Place, value: Any) -> TimePoint:
    if isinstance(value, datetime.date):  # which a datetime is too
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise place.unlike(value, "a date such as 2013-01-31, or an integer")
    return value
