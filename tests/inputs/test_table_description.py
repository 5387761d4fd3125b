"""Descriptions of tables: what is taken from them, and what a mistake in one is answered with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from graphzero import InputError
from graphzero.conversion.tables.describe import as_description, describe_tables, read_description
from graphzero.conversion.tables.description import EdgeEnds, Reference, TablesDescription

AIRPORTS: dict[str, Any] = {"file": "airports.csv", "key": "faa"}


def described(**tables: Any) -> TablesDescription:
    return describe_tables({"tables": tables}, name="t.toml")


def problem(**tables: Any) -> str:
    with pytest.raises(InputError) as caught:
        described(**tables)
    return str(caught.value)


def flights(**more: Any) -> dict[str, Any]:
    return {"file": "flights.csv", **more}


# --- What is taken ---


def test_the_description_of_the_guide_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "flights.toml"
    file.write_text(
        """
        time_unit = "s"
        [tables.flights]
        file = "flights.csv"
        time = "time_hour"
        references = { origin = "airports", dest = { table = "airports", name = "lands_at" } }
        features = ["distance", "sched_dep_time"]
        label = "arr_delay"
        split = { at = [2013-10-01, 2013-11-01] }
        [tables.airports]
        file = "airports.csv"
        key = "faa"
        features = { x = ["lat", "lon"], z = { column = "alt", type = "float64", fill = "mean" } }
        categories = ["tzone"]
        """
    )
    found = read_description(file)
    own, airports = found.nodes
    assert found.time_unit == "s"
    assert own.source == str(tmp_path / "flights.csv")
    assert own.time is not None
    assert own.time.column == "time_hour"
    assert [relation.triple for relation in found.relations] == [
        ("flights", "origin", "airports"),
        ("flights", "lands_at", "airports"),
    ]
    assert [relation.reverse for relation in found.relations] == ["rev_origin", "rev_lands_at"]
    assert [(matrix.name, matrix.columns) for matrix in own.matrices] == [
        ("x", ("distance", "sched_dep_time")),
        ("y", ("arr_delay",)),
    ]
    assert own.label is not None
    assert own.label.name == "y"
    assert own.split is not None
    assert own.split.at == ("2013-10-01", "2013-11-01")
    assert own.split.names == ("train", "valid", "test")
    x, z, tzone = airports.matrices
    assert (x.columns, z.type, z.fill, tzone.type) == (
        ("lat", "lon"),
        "float64",
        "mean",
        "category",
    )
    assert airports.key == "faa"


def test_a_table_can_be_edges() -> None:
    found = described(
        users={"file": "users.csv", "key": "id"},
        movies={},
        ratings={
            "file": "ratings.csv",
            "edges": {
                "source": {"column": "user", "table": "users"},
                "target": {"column": "movie", "table": "movies"},
            },
            "name": "rates",
            "time": {"column": "timestamp", "unit": "ms"},
            "weight": "rating",
            "features": ["rating"],
        },
    )
    edges = found.relations[0]
    assert isinstance(edges, EdgeEnds)
    assert edges.triple == ("users", "rates", "movies")
    assert (edges.source_column, edges.target_column, edges.weight) == ("user", "movie", "rating")
    assert found.edges[0].matrices[0].name == "edge_attr"
    assert found.edges[0].time is not None
    assert found.edges[0].time.unit == "ms"


@pytest.mark.parametrize(
    ("general", "table", "own", "expected"),
    [
        (True, {}, "airports", "rev_origin"),
        (False, {}, "airports", None),
        (True, {"reverse": False}, "airports", None),
        (False, {"reverse": True}, "airports", "rev_origin"),
        (True, {}, {"table": "airports", "reverse": False}, None),
        (False, {}, {"table": "airports", "reverse": "departures"}, "departures"),
        (True, {}, {"table": "airports", "direction": "in"}, None),
    ],
)
def test_reverses_are_chosen_by_the_nearest_word(
    general: bool, table: Any, own: Any, expected: str | None
) -> None:
    tables = {"flights": flights(references={"origin": own}, **table), "airports": AIRPORTS}
    found = describe_tables({"tables": tables, "reverse": general}, name="t.toml")
    assert found.relations[0].reverse == expected


@pytest.mark.parametrize(
    ("general", "table", "own", "expected"),
    [
        ("error", {}, {}, False),
        ("drop", {}, {}, True),
        ("drop", {"missing": "error"}, {}, False),
        ("error", {"missing": "drop"}, {}, True),
        ("error", {"missing": "drop"}, {"missing": "error"}, False),
    ],
)
def test_what_is_missing_is_dropped_by_the_nearest_word(
    general: str, table: Any, own: Any, expected: bool
) -> None:
    references = {"origin": {"table": "airports", **own}}
    tables = {"flights": flights(references=references, **table), "airports": AIRPORTS}
    found = describe_tables({"tables": tables, "missing": general}, name="t.toml")
    relation = found.relations[0]
    assert isinstance(relation, Reference)
    assert relation.drop_missing is expected


def test_two_splits_need_no_names_and_others_do() -> None:
    def names(at: list[int], **more: Any) -> tuple[str, ...]:
        table = flights(time="t", split={"at": at, **more}, references={"a": "airports"})
        split = described(t=table, airports=AIRPORTS).nodes[0].split
        assert split is not None
        return split.names

    assert names([5]) == ("train", "test")
    assert names([5, 6]) == ("train", "valid", "test")
    assert names([5, 6], names=["a", "b", "c"]) == ("a", "b", "c")
    assert "found 3 points in time and 2 names" in problem(
        t=flights(time="t", split={"at": [1, 2, 3]})
    )


def test_a_dict_of_tables_and_a_whole_description_are_told_apart() -> None:
    tables = {"flights": flights()}
    assert as_description(tables) == {"tables": tables}
    whole = {"tables": tables, "time_unit": "s"}
    assert as_description(whole) is whole
    called_tables = {"tables": {"file": "tables.csv", "key": "id"}}
    assert as_description(called_tables) == {"tables": called_tables}
    with pytest.raises(TypeError, match="expected a dict of tables by name"):
        as_description([1])


# --- Mistakes ---

EDGES: dict[str, Any] = {
    "file": "e.csv",
    "edges": {
        "source": {"column": "a", "table": "airports"},
        "target": {"column": "b", "table": "airports"},
    },
}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"refrences": {}},
            "t.toml: tables.flights: found key 'refrences', expected one of file, data, time, "
            "features, label, labels, categories, split, missing, missing_texts, reverse, key, "
            "references; did you mean 'references'?",
        ),
        ({"data": {}}, "t.toml: tables.flights: found file and data, expected one of them"),
        ({"key": ""}, "t.toml: tables.flights.key: found '', expected a column"),
        ({"key": ["a"]}, "t.toml: tables.flights.key: found ['a'], expected a column"),
        ({"features": "a"}, "t.toml: tables.flights.features: found 'a', expected a list of texts"),
        ({"features": [1]}, "t.toml: tables.flights.features: found [1], expected a list of texts"),
        (
            {"features": ["a", "a"]},
            "t.toml: tables.flights.features: found 'a' twice, expected it once",
        ),
        (
            {"features": {"x": []}},
            "t.toml: tables.flights.features.x: found [], expected a column, or several",
        ),
        (
            {"features": {"x": {"type": "float32"}}},
            "t.toml: tables.flights.features.x: expected column = NAME, or columns = [NAME, ...]",
        ),
        (
            {"features": {"x": {"column": "a", "type": "flot32"}}},
            "t.toml: tables.flights.features.x.type: found 'flot32', expected one of float32, "
            "float64, float16, bfloat16, int8, uint8, int16, int32, int64, bool, q8, q8[float16], "
            "category, date[D], date[s], date[ms], date[us], date[ns]; did you mean 'float32'?",
        ),
        (
            {"features": {"x": {"column": "a", "fill": []}}},
            "tables.flights.features.x.fill: found [], expected a number or text, or 'mean'",
        ),
        (
            {"features": {"n_id": "a"}},
            "t.toml: tables.flights: column 'n_id': this is a field of every batch",
        ),
        (
            {"features": {"a b": "a"}},
            "t.toml: tables.flights: column 'a b': expected a letter, then up to 63 letters",
        ),
        (
            {"features": {"y": "a"}, "label": "b"},
            "t.toml: tables.flights: found two columns or splits that would be called 'y', "
            "expected one of a name",
        ),
        (
            {"features": {"time": "a"}, "time": "b"},
            "found two columns or splits that would be called 'time'",
        ),
        (
            {"categories": {"c": {"column": "c", "type": "int64"}}},
            "t.toml: tables.flights.categories.c.type: found 'int64', expected 'category', or none",
        ),
        (
            {"missing": "skip"},
            "t.toml: tables.flights.missing: found 'skip', expected one of error, drop",
        ),
        ({"reverse": 1}, "t.toml: tables.flights.reverse: found 1, expected true or false"),
        (
            {"time": {"colum": "a"}},
            "t.toml: tables.flights.time: found key 'colum', expected one of column, unit; did "
            "you mean 'column'?",
        ),
        (
            {"time": {"column": "a", "unit": "h"}},
            "t.toml: tables.flights.time.unit: found 'h', expected one of D, s, ms, us, ns",
        ),
        (
            {"time": 5},
            "t.toml: tables.flights.time: found 5, expected a column, or { column = NAME",
        ),
        (
            {"split": {"at": [1, 2]}},
            "t.toml: tables.flights.split: found no time of 'flights', expected time = COLUMN",
        ),
        (
            {"split": {}},
            "t.toml: tables.flights.split: expected at = [TIME, TIME] to divide by time, or column "
            "= NAME",
        ),
        (
            {"split": {"column": "a", "names": ["b"]}},
            "t.toml: tables.flights.split: found names beside a column, which has them itself",
        ),
        (
            {"time": "t", "split": {"at": [True]}},
            "t.toml: tables.flights.split.at: found True, expected a date such as 2013-01-31, or "
            "an integer",
        ),
        (
            {"time": "t", "split": {"at": []}},
            "t.toml: tables.flights.split.at: found [], expected points in time, one less than "
            "splits",
        ),
        (
            {"references": ["a"]},
            "t.toml: tables.flights.references: found ['a'], expected a table of keys and values",
        ),
        (
            {"references": {"a": {}}},
            "t.toml: tables.flights.references.a: found no table, expected the one that it refers "
            "to",
        ),
        (
            {"references": {"a": {"table": "airports", "nam": "b"}}},
            "found key 'nam', expected one of table, name, reverse, missing, direction; did you "
            "mean 'name'?",
        ),
        (
            {"references": {"a": "airport"}},
            "t.toml: relation 'a': found no table 'airport', expected one of 'flights', "
            "'airports'; [tables.airport] without a file is one whose rows are only known by "
            "references",
        ),
        (
            {"references": {"a": {"table": "airports", "direction": "up"}}},
            "t.toml: tables.flights.references.a.direction: found 'up', expected one of in, out, "
            "both",
        ),
        (
            {"references": {"a": {"table": "airports", "direction": "in", "reverse": True}}},
            "t.toml: tables.flights.references.a.reverse: found True, expected false beside "
            "direction = 'in': a reverse needs both directions",
        ),
        (
            {"references": {"a": "airports", "b": {"table": "airports", "name": "a"}}},
            "t.toml: found flights a airports twice, as relation and as relation, expected "
            "different names; name = NAME gives a relation another, reverse = false leaves out "
            "its reverse",
        ),
        (
            {"references": {"a": "airports", "b": {"table": "airports", "reverse": "rev_a"}}},
            "t.toml: found airports rev_a flights twice, as reverse of 'a' and as reverse of 'b'",
        ),
        (
            {"references": {"a": {"table": "airports", "name": "x\ny"}}},
            "found control characters in 'x\\ny'",
        ),
        (
            {"references": {"a": {"table": "airports", "name": "ä" * 120}}},
            "their directory would have a name of",
        ),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_place(table: dict[str, Any], message: str) -> None:
    assert message in problem(flights=flights(**table), airports=AIRPORTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": "a"}, "t.toml: tables.e: found key 'key', expected one of file, data, time"),
        (
            {"edges": {"source": {"column": "a", "table": "airports"}}},
            "t.toml: tables.e.edges: found no target, expected target = { column = NAME, table = "
            "NAME }",
        ),
        (
            {"edges": {"source": {"column": "a"}, "target": {"column": "b", "table": "airports"}}},
            "t.toml: tables.e.edges.source: found no table, expected { column = NAME, table = NAME",
        ),
        ({"edges": "a"}, "t.toml: tables.e.edges: found 'a', expected a table of keys and values"),
        ({"dedup": "yes"}, "t.toml: tables.e.dedup: found 'yes', expected true or false"),
        ({"edge_ids": 1}, "t.toml: tables.e.edge_ids: found 1, expected true or false"),
        ({"weight": 1}, "t.toml: tables.e.weight: found 1, expected a column"),
        ({"undirected": 1}, "t.toml: tables.e.undirected: found 1, expected true or false"),
        (
            {"undirected": True, "reverse": "back"},
            "t.toml: tables.e.reverse: found 'back', expected none beside undirected = true",
        ),
        (
            {"undirected": True, "direction": "in"},
            "t.toml: tables.e.direction: found 'in', expected none beside undirected = true",
        ),
        ({"file": None}, "t.toml: tables.e: found no file, expected file = PATH"),
        ({"features": {"e_id": "a"}}, "t.toml: tables.e: column 'e_id': this is a field of every"),
    ],
)
def test_a_mistake_in_a_table_of_edges_is_named(change: dict[str, Any], message: str) -> None:
    assert message in problem(e={**EDGES, **change}, airports=AIRPORTS)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"tables": {}}, "t.toml: found no [tables.NAME], expected one for each table"),
        ({}, "t.toml: found no [tables.NAME], expected one for each table"),
        ({"table": {}}, "t.toml: found key 'table', expected one of tables, time_unit, missing"),
        ({"tables": {"a": 1}}, "t.toml: tables.a: found 1, expected a table of keys and values"),
        (
            {"tables": {"a": {"file": "a"}}, "time_unit": "h"},
            "t.toml: time_unit: found 'h', expected one of D, s, ms, us, ns",
        ),
        (
            {"tables": {"a": {"file": 5}}},
            "t.toml: tables.a.file: found 5, expected the path of a table",
        ),
        (
            {"tables": {"a": {}, "airports": AIRPORTS, "e": EDGES}},
            "t.toml: tables.a: found no file and no reference to it, expected one of them",
        ),
        (
            {"tables": {"a": {"file": "a"}}},
            "t.toml: found no references and no table of edges, expected one relation at least",
        ),
        (
            {"tables": {"a": {"key": "b"}}},
            "t.toml: tables.a: found key and no file, expected file = PATH; a table without one "
            "has a row for each key that references to it name, and nothing else",
        ),
        (
            {"tables": {"b" * 256: {"file": "a"}}},
            "found a name of 256 bytes, expected 1 to 255",
        ),
        (
            {
                "tables": {
                    "e": EDGES,
                    "airports": AIRPORTS,
                    "n": {"file": "n", "references": {"c": "e"}},
                }
            },
            "t.toml: relation 'c': refers to table 'e', which has edges, expected one of nodes",
        ),
    ],
)
def test_a_mistake_in_the_whole_is_named(facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        describe_tables(facts, name="t.toml")
    assert message in str(caught.value)


def test_a_file_that_is_no_toml_is_named_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[tables.a\nfile = 1")
    with pytest.raises(InputError, match=r"bad\.toml: not readable as TOML: .*line 1"):
        read_description(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not readable as TOML"):
        read_description(file)
