"""The most work that one seed can lead to, for requests whose work is bounded and small."""

from __future__ import annotations

from collections.abc import Sequence

from graphzero.files.schema import Schema
from graphzero.files.topology_file import Direction

# Samples with more hops or relations never count as small: the bound of their work grows with each.
_MOST_HOPS = 8
_MOST_RELATIONS = 64  # and at most as many types


def work_per_seed(
    nodes_per_seed: list[tuple[int, ...]] | None, columns: Sequence[tuple[bool, int, int]]
) -> list[tuple[int, int]] | None:
    """For a seed of each type, the most nodes that it leads to and the most bytes of their rows.
    `columns` says of each gathered column whether it is by edge, the number of its type or
    relation, and the bytes of a row."""
    if nodes_per_seed is None:
        return None
    work = []
    for nodes in nodes_per_seed:
        edges = sum(nodes)  # each node but the seed was found along an edge
        size = sum(
            (edges if by_edge else nodes[owner]) * row_bytes
            for by_edge, owner, row_bytes in columns
        )
        work.append((edges, size))
    return work


def nodes_per_seed(
    schema: Schema, fanout: Sequence[Sequence[int]], direction: Direction | None
) -> list[tuple[int, ...]] | None:
    """For a seed of each type, the most nodes of each type that it leads to; None if that number is
    not small, or nothing bounds it."""
    hops = len(fanout[0]) if fanout else 0
    too_many = hops > _MOST_HOPS or max(len(schema.relations), len(schema.types)) > _MOST_RELATIONS
    if too_many or any(edges < 0 for of_relation in fanout for edges in of_relation):
        return None
    ends = [(r.source, r.target) for r in schema.relations]
    if direction != "out":  # from targets to sources
        ends = [(target, source) for source, target in ends]
    types = len(schema.types)
    return [_nodes_of_seed(number, types, fanout, ends) for number in range(types)]


def _nodes_of_seed(
    seed: int, types: int, fanout: Sequence[Sequence[int]], ends: Sequence[tuple[int, int]]
) -> tuple[int, ...]:
    level = [int(number == seed) for number in range(types)]
    nodes = list(level)
    for hop in range(len(fanout[0]) if fanout else 0):
        found = [0] * types
        for of_relation, (begin, end) in zip(fanout, ends, strict=True):
            found[end] += level[begin] * of_relation[hop]
        level = found
        nodes = [had + new for had, new in zip(nodes, level, strict=True)]
    return tuple(nodes)
