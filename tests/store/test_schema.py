"""Types and relations by name and number, and where their columns lie."""

from __future__ import annotations

import pytest
from graphzero.base.errors import InputError
from graphzero.files.column_keys import (
    check_directory,
    check_schema_name,
    column_key,
    decode_name,
    encode_name,
    is_column_directory,
    relation_directory,
    split_key,
    type_directory,
)
from graphzero.files.schema import NodeType, Relation, Schema
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=40)


def movies() -> Schema:
    rates, rev = ("user", "rates", "movie"), ("movie", "rev_rates", "user")
    return Schema(
        (NodeType("user", 3), NodeType("movie", 2)),
        (
            Relation(0, "rates", 1, 0, rates, num_edges=5, edge_id_bound=5),
            Relation(0, "likes", 1, 1, ("user", "likes", "movie")),
            Relation(0, "likes", 0, 2, ("user", "likes", "user")),
            Relation(1, "rev_rates", 0, 0, rev, num_edges=5, edge_id_bound=5, is_view=True),
        ),
    )


@given(name=NAMES)
def test_any_name_becomes_a_plain_directory_and_comes_back(name: str) -> None:
    encoded = encode_name(name)
    assert decode_name(encoded) == name
    assert is_column_directory(encoded)
    assert not set(encoded) & set("./\\ ")
    assert encoded.isascii()


@given(triple=st.tuples(NAMES, NAMES, NAMES), other=st.tuples(NAMES, NAMES, NAMES))
def test_directories_of_different_relations_differ(
    triple: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    one, two = relation_directory(*triple), relation_directory(*other)
    assert (one == two) == (triple == other)
    assert is_column_directory(one)
    assert tuple(decode_name(part) for part in one.split(".")) == triple
    assert one not in (type_directory(name) for name in (*triple, *other))


@pytest.mark.parametrize("name", ["", ".", "..", "a.b", "a.b.c.d", "a b", "%2e", "%zz", "a/b"])
def test_other_names_are_no_directories_of_columns(name: str) -> None:
    assert not is_column_directory(name)


@pytest.mark.parametrize("text", ["", "%2", "%61", "a b", "%FF", "ä"])
def test_what_no_name_becomes_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no encoded name"):
        decode_name(text)


def test_keys_of_a_graph_without_types_are_names() -> None:
    assert relation_directory("", "", "") == type_directory("") == ""
    assert column_key("", "x") == "x"
    assert column_key("user", "x") == "user/x"
    assert split_key("user/x") == ("user", "x")
    assert split_key("x") == ("", "x")


@pytest.mark.parametrize(
    ("name", "message"), [("", "0 bytes"), ("ä" * 128, "256 bytes"), ("a\nb", "control")]
)
def test_names_that_no_type_can_have(name: str, message: str) -> None:
    with pytest.raises(InputError, match=f"table 3: .*{message}"):
        check_schema_name(name, "table 3")
    check_schema_name("ä" * 127, "table 3")


def test_names_too_long_for_a_directory_are_named() -> None:
    parts = ("ä" * 43, "b", "c")
    with pytest.raises(InputError, match=r"name of 262 bytes, expected at most 255"):
        check_directory(relation_directory(*parts), parts)
    check_directory(relation_directory("a" * 251, "b", "c"), parts)


def test_types_and_relations_are_found_by_name() -> None:
    schema = movies()
    assert schema.type_number("movie") == 1
    assert schema.relation_number(("user", "likes", "user")) == 2
    assert schema.relation_number(["movie", "rev_rates", "user"]) == 3
    assert schema.relation_number("rates") == 0
    assert schema.by_type({"movie": "m", "user": "u"}, "seeds") == {0: "u", 1: "m"}
    assert schema.by_relation({"rev_rates": 1, "rates": 2}, "fanout") == {0: 2, 3: 1}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.type_number("usr"), "type is 'usr', expected one of 'movie', 'user'"),
        (lambda s: s.type_number(3), "type is 3"),
        (lambda s: s.relation_number("likes"), "'likes', which several have: .*give one of these"),
        (lambda s: s.relation_number(("user", "rates")), r"\('user', 'rates'\), expected one of"),
        (lambda s: s.relation_number(3), "relation is 3"),
        (lambda s: s.relation_number(("a", "b", 3)), "expected one of"),
        (
            lambda s: s.by_relation({"rates": 1, ("user", "rates", "movie"): 2}, "fanout"),
            r"fanout has \('user', 'rates', 'movie'\) twice",
        ),
    ],
)
def test_unknown_names_are_quoted_with_the_known_ones(ask: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask(movies())  # type: ignore[operator]


def test_a_view_has_the_columns_of_its_base() -> None:
    schema = movies()
    assert schema.stored_key("movie.rev_rates.user/rating") == "user.rates.movie/rating"
    assert schema.stored_key("user.rates.movie/rating") == "user.rates.movie/rating"
    assert schema.stored_key("user/x") == "user/x"
    assert schema.stored_key("x") == "x"
    assert schema.owner_of("user") == ("type", 0)
    assert schema.owner_of("movie.rev_rates.user") == ("relation", 3)
    assert schema.owner_of("film") is None


def test_a_graph_without_types_has_one_of_each() -> None:
    schema = Schema.flat(7, num_edges=3)
    assert not schema.typed
    assert schema.type_names == [""]
    assert schema.relation_names == [("", "", "")]
    assert schema.types[0].count == 7
