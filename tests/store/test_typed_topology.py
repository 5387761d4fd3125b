"""Typed and timed topologies: what FORMAT.md says of them is what the reader gives."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from damage_cases import TABLE, resealed
from graphzero import _engine
from graphzero.files.paths import find_problems
from typed_cases import (
    KNOWS,
    RATES,
    RELATIONS,
    TYPES,
    USERS,
    VIEWS,
    all_sections,
    typed_with,
    without,
)


def open_topology(image: rw.Image, directory: Path) -> _engine.Topology:
    return _engine.Topology.open(str(image.write(directory / "g.gl")))


def sound(image: rw.Image, directory: Path) -> _engine.Topology:
    topology = open_topology(image, directory)
    assert find_problems(topology) == []
    return topology


@pytest.fixture
def movies(tmp_path):
    image = rw.typed_topology(TYPES, RELATIONS, views=VIEWS, time_unit="s")
    return sound(image, tmp_path)


def rows(topology, what, direction, relation, count):
    return [getattr(topology, what)(n, direction, relation).tolist() for n in range(count)]


def test_types_and_relations_are_those_of_the_schema(movies):
    assert movies.typed
    assert [(t.name, t.count, t.has_times) for t in movies.types] == [
        ("user", 3, False),
        ("movie", 4, True),
    ]
    described = [
        (r.source, r.name, r.target, r.base, r.is_view, r.inverse, r.num_edges)
        for r in movies.relations
    ]
    assert described == [
        (0, "rates", 1, 0, False, None, 4),
        (0, "knows", 0, 1, False, None, 3),
        (1, "rated_by", 0, 0, True, None, 4),
    ]
    assert [r.weight_name for r in movies.relations] == ["stars", "", "stars"]
    assert [r.has_weights for r in movies.relations] == [True, False, True]
    assert [r.has_edge_ids for r in movies.relations] == [True, False, True]
    assert [r.has_times for r in movies.relations] == [True, False, True]
    assert [r.time_ordered for r in movies.relations] == [True, False, True]
    assert (movies.num_nodes, movies.num_edges, movies.edge_id_bound) == (7, 7, 4)
    assert movies.time_unit == "s"
    assert movies.node_times(1).tolist() == [10, 5, 5, 40]
    assert movies.node_times(0).tolist() == []


def test_timed_rows_are_in_the_order_of_slot_times(movies):
    # Edge 0 is older than movie 3 that it leads to: its slot among out-edges is as late as that.
    assert rows(movies, "neighbours", "out", 0, 3) == [[1, 1, 3], [], [0]]
    assert rows(movies, "slot_times", "out", 0, 3) == [[6, 7, 40], [], [30]]
    assert rows(movies, "times", "out", 0, 3) == [[6, 7, 20], [], [30]]
    assert rows(movies, "edge_ids", "out", 0, 3) == [[3, 1, 0], [], [2]]
    assert rows(movies, "weights", "out", 0, 3) == [[4, 2, 1], [], [3]]
    # Users have no times, so among in-edges the edges' own decide, and are not stored twice.
    assert rows(movies, "slot_times", "in", 0, 4) == [[30], [6, 7], [], [20]]
    kinds = [(s.name, s.relation) for s in movies.sections]
    assert ("out.slot_times", 0) in kinds
    assert ("in.slot_times", 0) not in kinds


def test_a_view_is_its_base_with_the_ends_exchanged(movies):
    for what in ("neighbours", "slot_times", "times", "edge_ids", "weights"):
        assert rows(movies, what, "in", 2, 3) == rows(movies, what, "out", 0, 3)
        assert rows(movies, what, "out", 2, 4) == rows(movies, what, "in", 0, 4)


def test_rows_without_times_are_sorted_by_neighbour(movies):
    assert rows(movies, "neighbours", "out", 1, 3) == [[1, 2], [1], []]
    assert rows(movies, "neighbours", "in", 1, 3) == [[], [0, 1], [0]]
    assert rows(movies, "slot_times", "out", 1, 3) == [[], [], []]


def test_a_graph_without_types_is_one_type_and_one_relation(tmp_path):
    topology = sound(rw.topology(3, rw.Edges([0, 0, 2], [1, 2, 0])), tmp_path)
    assert not topology.typed
    (only,) = topology.types
    assert (only.name, only.count, only.has_times) == ("", 3, False)
    (relation,) = topology.relations
    assert (relation.name, relation.source, relation.target) == ("", 0, 0)
    assert relation.has_out
    assert relation.has_in


def test_a_graph_without_types_may_have_times(tmp_path):
    edges = rw.Edges([0, 0, 2], [1, 2, 0], times=[30, -20, 10])
    image = rw.topology(3, edges, flags=rw.TIME_ORDERED, node_times=[-5, 0, 7], time_unit="ms")
    topology = sound(image, tmp_path)
    assert not topology.typed
    assert topology.time_unit == "ms"
    assert topology.node_times().tolist() == [-5, 0, 7]
    assert topology.neighbours(0, "out").tolist() == [2, 1]
    assert topology.slot_times(0, "out").tolist() == [7, 30]
    assert topology.relations[0].time_ordered
    assert not topology.sorted
    assert gz.Graph(tmp_path / "g.gl").get_neighbours(0).tolist() == [2, 1]


def test_edges_without_times_take_those_of_their_neighbours(tmp_path):
    knows = dataclasses.replace(KNOWS, name="likes", target=1, edges=rw.Edges([0, 0], [3, 1]))
    topology = sound(rw.typed_topology(TYPES, [knows]), tmp_path)
    assert topology.slot_times(0, "out").tolist() == [5, 40]
    assert topology.slot_times(1, "in").tolist() == []  # users have no times
    (relation,) = topology.relations
    assert relation.has_times
    assert not relation.has_edge_times


def test_inverses_are_declared_by_both(tmp_path):
    back = rw.Relation(1, "of", 0, rw.Edges([3], [0]))
    image = rw.typed_topology(TYPES, [RATES, KNOWS, back], inverses=[(0, 2)])
    topology = sound(image, tmp_path)
    assert [r.inverse for r in topology.relations] == [2, None, 0]


def test_empty_types_and_relations_are_files_too(tmp_path):
    types = [rw.NodeType("a", 0, times=[]), rw.NodeType("b", 2)]
    relations = [
        rw.Relation(0, "r", 0, rw.Edges([], [], times=[])),
        rw.Relation(0, "r", 1, rw.Edges([], [])),
        rw.Relation(1, "r", 1, rw.Edges([], [])),
    ]
    topology = sound(rw.typed_topology(types, relations), tmp_path)
    assert [r.num_edges for r in topology.relations] == [0, 0, 0]
    assert topology.degree(1, "out", 2) == 0
    with pytest.raises(IndexError, match="outside this graph"):
        topology.degree(0, "out", 0)


def test_names_may_be_any_text(tmp_path):
    types = [rw.NodeType("ключ", 1), rw.NodeType("a b/c.%", 1), rw.NodeType("😀" * 63, 1)]
    relations = [rw.Relation(0, "→", 1, rw.Edges([0], [0]))]
    topology = sound(rw.typed_topology(types, relations), tmp_path)
    assert [t.name for t in topology.types] == ["ключ", "a b/c.%", "😀" * 63]
    assert topology.relations[0].name == "→"


def test_a_typed_graph_has_no_adjacency_as_a_whole(movies, tmp_path):
    assert not movies.has_out
    assert not movies.has_in
    with pytest.raises(ValueError, match="relation"):
        gz.Graph(tmp_path / "g.gl").get_neighbours(0, direction="in")


def test_a_relation_or_type_that_does_not_exist_is_an_index_error(movies):
    with pytest.raises(IndexError, match="relation 3"):
        movies.degree(0, "out", 3)
    with pytest.raises(IndexError, match="type 2"):
        movies.node_times(2)


def test_relations_outlive_their_graph(tmp_path):
    image = rw.typed_topology(TYPES, RELATIONS, views=VIEWS)
    relations = open_topology(image, tmp_path).relations
    assert relations[2].has_weights
    assert relations[2].has_in


# --- what is refused


def refuse(image: rw.Image, directory: Path, match: str) -> None:
    with pytest.raises(gz.FormatError, match=match):
        open_topology(image, directory)


def damaged_schema(field: str, value: Any, *, record: int = 0, views=VIEWS, **options) -> rw.Image:
    """The schema of the movies with one number changed."""
    schema = bytearray(rw.schema_bytes(TYPES, RELATIONS, views))
    types_at = rw.SCHEMA_HEAD.size
    relations_at = types_at + len(TYPES) * rw.TYPE_RECORD.size
    layout, at = {
        "num_types": ("<I", 0),
        "num_relations": ("<I", 4),
        "num_views": ("<I", 8),
        "names_bytes": ("<I", 12),
        "count": ("<Q", types_at + record * rw.TYPE_RECORD.size),
        "type_name_offset": ("<I", types_at + record * rw.TYPE_RECORD.size + 8),
        "type_name_bytes": ("<I", types_at + record * rw.TYPE_RECORD.size + 12),
        "type_flags": ("<I", types_at + record * rw.TYPE_RECORD.size + 16),
        "type_reserved": ("<I", types_at + record * rw.TYPE_RECORD.size + 28),
        "source": ("<I", relations_at + record * rw.RELATION_RECORD.size),
        "target": ("<I", relations_at + record * rw.RELATION_RECORD.size + 4),
        "name_offset": ("<I", relations_at + record * rw.RELATION_RECORD.size + 8),
        "name_bytes": ("<I", relations_at + record * rw.RELATION_RECORD.size + 12),
        "flags": ("<I", relations_at + record * rw.RELATION_RECORD.size + 16),
        "base": ("<I", relations_at + record * rw.RELATION_RECORD.size + 20),
        "num_edges": ("<Q", relations_at + record * rw.RELATION_RECORD.size + 24),
        "edge_id_bound": ("<Q", relations_at + record * rw.RELATION_RECORD.size + 32),
        "inverse": ("<I", relations_at + record * rw.RELATION_RECORD.size + 40),
        "reserved": ("<I", relations_at + record * rw.RELATION_RECORD.size + 60),
    }[field]
    struct.pack_into(layout, schema, at, value)
    return rw.typed_topology(TYPES, RELATIONS, views=views, schema=bytes(schema), **options)


@pytest.mark.parametrize(
    ("field", "value", "record", "match"),
    [
        ("num_types", 0, 0, "schema"),
        ("num_types", 1025, 0, "at most 1024"),
        ("num_types", 2**32 - 1, 0, "at most 1024"),
        ("num_relations", 0, 0, "schema"),
        ("num_relations", 2**32 - 1, 0, "at most 1024"),
        ("num_views", 2**32 - 1, 0, "at most 1024"),
        ("num_views", 0, 0, "schema"),
        ("names_bytes", 2**32 - 1, 0, "bytes"),
        ("names_bytes", 0, 0, "bytes"),
        ("count", 2**63, 0, "in all types together"),
        ("count", 2**64 - 1, 1, "in all types together"),
        ("count", 4, 0, "sources"),
        ("type_name_offset", 1, 0, "a name of 4 bytes at 1"),
        ("type_name_offset", 2**32 - 1, 0, "at 4294967295"),
        ("type_name_bytes", 2**32 - 1, 1, "bytes at 4"),
        ("type_name_bytes", 0, 0, "schema type"),
        ("type_flags", 1, 0, "no section node_times of user"),
        ("type_flags", 2, 0, "ascending times of a type without times"),
        ("type_flags", 4, 0, "reserved"),
        ("type_flags", 3, 1, "a section nodes_by_time of movie"),
        ("type_flags", 0, 1, "a section node_times of movie"),
        ("type_reserved", 1, 0, "reserved"),
        ("source", 2, 0, "numbers below 2"),
        ("target", 2**32 - 1, 1, "numbers below 2"),
        ("target", 0, 0, "schema relation 2"),  # whose base then has other types
        ("source", 0, 2, "those of relation 0 exchanged"),
        ("name_offset", 0, 0, "a name of 5 bytes at 0"),
        ("name_bytes", 0, 0, "schema relation"),
        ("flags", 1, 0, "symmetric relation between two types"),
        ("flags", 16, 1, "flags 16"),
        ("flags", 8, 1, "slot times to order rows by"),
        ("flags", 2, 2, "a view with properties of its own"),
        ("base", 1, 0, "its own number"),
        ("base", 2, 2, "a stored relation, below 2"),
        ("base", 2**32 - 1, 2, "a stored relation, below 2"),
        ("base", 1, 2, "those of relation 1 exchanged"),
        ("num_edges", 5, 0, "view with properties|edges"),
        ("num_edges", 2**63, 1, "in all relations together"),
        ("num_edges", 2**64 - 1, 1, "in all relations together"),
        ("num_edges", 3, 2, "a view with properties of its own"),
        ("edge_id_bound", 2**64 - 1, 1, "edge_id_bound"),
        ("inverse", 0, 0, "another stored relation"),
        ("inverse", 1, 0, "between the same types the other way"),
        ("inverse", 2, 0, "another stored relation"),
        ("inverse", 0, 2, "a view with properties of its own"),
        ("reserved", 1, 0, "reserved"),
        ("reserved", 1 << 31, 2, "reserved"),
    ],
)
def test_a_schema_that_contradicts_itself_or_the_file_is_refused(
    field, value, record, match, tmp_path
):
    refuse(damaged_schema(field, value, record=record), tmp_path, match)


@pytest.mark.parametrize(
    "schema", [b"", bytes(15), bytes(16), rw.schema_bytes(TYPES, RELATIONS, VIEWS)[:-1]]
)
def test_a_schema_that_is_cut_short_is_refused(schema, tmp_path):
    image = rw.typed_topology(TYPES, RELATIONS, views=VIEWS, schema=schema)
    refuse(image, tmp_path, "schema")


def test_a_schema_with_bytes_after_its_end_is_refused(tmp_path):
    schema = rw.schema_bytes(TYPES, RELATIONS, VIEWS) + b"x"
    refuse(rw.typed_topology(TYPES, RELATIONS, views=VIEWS, schema=schema), tmp_path, "bytes")


def test_more_types_than_there_may_be_are_refused(tmp_path):
    types = [rw.NodeType(f"t{i}", 1) for i in range(1025)]
    image = rw.typed_topology(types, [rw.Relation(0, "r", 0, rw.Edges([0], [0]))])
    refuse(image, tmp_path, "at most 1024 of each")


@pytest.mark.parametrize(
    "name", [b"\xff", b"a\0", b"\x1f", b"\x7f", b"\xc2\x85", b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2"]
)
def test_a_name_that_is_no_clean_text_is_refused(name, tmp_path):
    types = [rw.NodeType("?" * len(name), 3)]
    relations = [rw.Relation(0, "r", 0, rw.Edges([0], [0]))]
    schema = rw.schema_bytes(types, relations)
    schema = schema.replace(b"?" * len(name), name)
    refuse(rw.typed_topology(types, relations, schema=schema), tmp_path, "control characters")


def test_a_name_of_256_bytes_is_refused_and_one_of_255_read(tmp_path):
    relations = [rw.Relation(0, "r", 0, rw.Edges([0], [0]))]
    sound(rw.typed_topology([rw.NodeType("x" * 255, 1)], relations), tmp_path)
    image = rw.typed_topology([rw.NodeType("x" * 256, 1)], relations)
    refuse(image, tmp_path, "1 to 255 bytes")


def test_two_types_or_relations_of_one_name_are_refused(tmp_path):
    image = rw.typed_topology([USERS, rw.NodeType("user", 1)], [KNOWS])
    refuse(image, tmp_path, "'user', which type 0 has too")
    refuse(rw.typed_topology(TYPES, [KNOWS, KNOWS]), tmp_path, "which relation 0 is too")
    back = rw.Relation(1, "rated_by", 0, rw.Edges([], []))
    image = rw.typed_topology(TYPES, [RATES, back], views=VIEWS)
    refuse(image, tmp_path, "which relation 1 is too")


def test_a_view_of_a_view_is_refused(tmp_path):
    views = [*VIEWS, rw.View("rates_again", 0)]
    image = damaged_schema("base", 2, record=3, views=views)
    refuse(image, tmp_path, "a view of relation 2")


@pytest.mark.parametrize(
    ("section", "match"),
    [
        (rw.array_section(16, np.zeros(4, np.uint64), relation=2), "out.indptr of relation 2"),
        (rw.array_section(17, np.zeros(4, np.uint64), relation=2**32 - 1), "of relation 4294"),
        (rw.array_section(rw.NODE_TIMES, np.zeros(1), relation=2), "node_times of type 2"),
        (
            rw.array_section(rw.SCHEMA, np.zeros(16, np.uint8), relation=1),
            "schema of relation 1, expected a number below 1",
        ),
    ],
)
def test_sections_of_relations_that_the_schema_does_not_have_are_refused(section, match, tmp_path):
    refuse(rw.typed_topology(TYPES, RELATIONS, extra=[section]), tmp_path, match)


def test_sections_of_unknown_relations_that_may_be_ignored_are_ignored(tmp_path):
    extra = rw.array_section(16, np.zeros(4, np.uint64), relation=7, must_understand=False)
    sound(rw.typed_topology(TYPES, RELATIONS, extra=[extra]), tmp_path)


def test_a_relation_without_an_adjacency_is_refused(tmp_path):
    nothing = dataclasses.replace(KNOWS, directions=(), flags=rw.SORTED)
    refuse(rw.typed_topology(TYPES, [nothing]), tmp_path, r"no adjacency of \(user, knows, user\)")


@pytest.mark.parametrize(
    ("kind", "relation", "match"),
    [
        (rw.NODE_TIMES, 1, "no section node_times of movie"),
        (rw.NODES_BY_TIME, 1, "no section nodes_by_time of movie"),
        (rw.TIMES_BY_TIME, 1, "no section times_by_time of movie"),
        (17, 1, r"no out\.indices of \(user, knows, user\)"),
        (20, 0, "times of one direction only"),
    ],
)
def test_a_section_that_is_missing_is_named(kind, relation, match, tmp_path):
    image = typed_with(TYPES, RELATIONS, lambda s: without(s, kind, relation))
    refuse(image, tmp_path, match)


def test_slot_times_that_are_left_out_are_refused_because_the_future_would_leak(tmp_path):
    likes = rw.Relation(0, "likes", 1, rw.Edges([0, 0], [3, 1]), flags=rw.SORTED)
    image = typed_with(TYPES, [likes], lambda s: without(s, 21, 0))
    refuse(image, tmp_path, "because its neighbours have times")


def test_slot_times_of_neighbours_without_times_are_refused(tmp_path):
    extra = rw.array_section(21, np.zeros(3, np.int64), relation=1)
    refuse(rw.typed_topology(TYPES, RELATIONS, extra=[extra]), tmp_path, "neighbours have no times")


@pytest.mark.parametrize("kind", [rw.NODE_TIMES, rw.NODES_BY_TIME, rw.TIMES_BY_TIME, 20, 21, 36])
@pytest.mark.parametrize("array", [np.zeros(3, np.int64), np.zeros(4, np.int32)])
def test_times_of_another_length_or_type_are_refused(kind, array, tmp_path):
    relation = 1 if kind >= 50 else 0
    wrong = rw.array_section(kind, array, relation=relation)
    image = typed_with(TYPES, RELATIONS, lambda s: [*without(s, kind, relation), wrong])
    refuse(image, tmp_path, rw_name(kind))


def rw_name(kind: int) -> str:
    return {
        rw.NODE_TIMES: "node_times of movie",
        rw.NODES_BY_TIME: "nodes_by_time of movie",
        rw.TIMES_BY_TIME: "times_by_time of movie",
        20: r"out\.times of \(user, rates, movie\)",
        21: r"out\.slot_times of \(user, rates, movie\)",
        36: r"in\.times of \(user, rates, movie\)",
    }[kind]


@pytest.mark.parametrize("flags", [1, 2, 4, 8])
def test_a_typed_graph_has_no_flags_in_the_header(flags, tmp_path):
    sections = list(all_sections(TYPES, [KNOWS]))
    properties = struct.pack("<4Q", 7, 7, 3, 3)
    image = rw.container(rw.TOPOLOGY_MAGIC, properties, sections, optional_flags=flags)
    refuse(image, tmp_path, "no flag of a topology")


@pytest.mark.parametrize("at", range(4))
def test_sums_in_the_header_that_are_not_those_of_the_schema_are_refused(at, tmp_path):
    numbers = [7, 7, 3, 3]
    for wrong in (numbers[at] + 1, 2**64 - 1):
        numbers[at] = wrong
        properties = struct.pack("<4Q", *numbers)
        sections = list(all_sections(TYPES, [KNOWS]))
        image = rw.container(rw.TOPOLOGY_MAGIC, properties, sections)
        refuse(image, tmp_path, "as the schema says")


@pytest.mark.parametrize("unit", ["h", "sec", "", "\0"])
def test_a_time_unit_that_nobody_knows_is_refused(unit, tmp_path):
    text = np.frombuffer(unit.encode(), np.uint8)
    extra = rw.array_section(rw.TIME_UNIT, text, must_understand=False)
    refuse(rw.typed_topology(TYPES, RELATIONS, extra=[extra]), tmp_path, "D, s, ms, us or ns")


def test_rows_claimed_sorted_and_time_ordered_are_refused(tmp_path):
    edges = rw.Edges([0, 0], [1, 2], times=[1, 2])
    image = rw.topology(3, edges, flags=rw.SORTED | rw.TIME_ORDERED)
    refuse(image, tmp_path, "sorted and time-ordered")
    image = rw.topology(3, rw.Edges([0], [1]), flags=rw.TIME_ORDERED)
    refuse(image, tmp_path, "slot times to order rows by")


def test_a_flat_graph_with_a_second_relation_is_refused(tmp_path):
    extra = rw.array_section(16, np.zeros(4, np.uint64), relation=1)
    image = rw.topology(3, rw.Edges([0], [1]), extra=[extra])
    refuse(image, tmp_path, "relation 1.*a newer one may read it")


def test_sections_that_lie_over_each_other_are_refused(tmp_path: Path) -> None:
    """Each of them is sound by itself, and all checksums of header and table are right."""
    image = rw.topology(3, rw.Edges([0, 0, 2], [1, 2, 0])).bytes()
    first, second = (TABLE + number * rw.ENTRY.size + 24 for number in (0, 1))  # their offsets
    changed = resealed(image, second, image[first : first + 8])
    (tmp_path / "graph.gl").write_bytes(changed)
    with pytest.raises(gz.FormatError, match=r"expected a place between \d+, where the one before"):
        gz.Graph(tmp_path / "graph.gl")
