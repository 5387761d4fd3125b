"""A small typed and timed graph, and ways to spoil it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import reference_writer as rw

USERS = rw.NodeType("user", 3)
MOVIES = rw.NodeType("movie", 4, times=[10, 5, 5, 40])  # which do not ascend
RATES = rw.Relation(
    0,
    "rates",
    1,
    rw.Edges(
        src=[0, 0, 2, 0],
        dst=[3, 1, 0, 1],
        weights=[1.0, 2.0, 3.0, 4.0],
        edge_ids=[0, 1, 2, 3],
        times=[20, 7, 30, 6],
    ),
    weight_name="stars",
)
KNOWS = rw.Relation(0, "knows", 0, rw.Edges(src=[0, 0, 1], dst=[2, 1, 1]))
TYPES = [USERS, MOVIES]
RELATIONS = [RATES, KNOWS]
VIEWS = [rw.View("rated_by", 0)]


def without(sections: Sequence[rw.Section], kind: int, relation: int) -> list[rw.Section]:
    return [s for s in sections if (s.kind, s.relation) != (kind, relation)]


def typed_with(
    types: Sequence[rw.NodeType],
    relations: Sequence[rw.Relation],
    edit: Callable[[list[rw.Section]], Sequence[rw.Section]],
) -> rw.Image:
    """A typed graph whose sections were edited."""
    sections = list(all_sections(types, relations))
    nodes = sum(t.count for t in types)
    edges = sum(len(r.edges.src) for r in relations)
    properties = struct.pack("<4Q", nodes, nodes, edges, max(r.bound for r in relations))
    return rw.container(rw.TOPOLOGY_MAGIC, properties, edit(sections))


def all_sections(
    types: Sequence[rw.NodeType], relations: Sequence[rw.Relation], views: Sequence[rw.View] = ()
) -> Iterator[rw.Section]:
    schema = np.frombuffer(rw.schema_bytes(types, relations, views), np.uint8)
    yield rw.array_section(rw.SCHEMA, schema)
    for number, node_type in enumerate(types):
        yield from rw.node_time_sections(node_type.times, number)
    for number, relation in enumerate(relations):
        yield from rw.relation_sections(number, relation, types)
