"""`verify` proves what a typed or timed file says, also where its checksums are right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import reference_writer as rw
from graphzero.files.paths import find_problems, open_file
from typed_cases import KNOWS, RATES, RELATIONS, TYPES, typed_with, without

NO_TIME = -(2**63)
OUT, IN = 16, 32


def problems(image: rw.Image, directory: Path) -> list[str]:
    return find_problems(open_file(image.write(directory / "g.gl")))


def spoiled(
    kind: int,
    relation: int,
    values: Sequence[int],
    *,
    types: Sequence[rw.NodeType] = TYPES,
    relations: Sequence[rw.Relation] = RELATIONS,
) -> rw.Image:
    """The typed graph with another content of one section."""

    def edit(sections: list[rw.Section]) -> list[rw.Section]:
        (old,) = [s for s in sections if (s.kind, s.relation) == (kind, relation)]
        dtype = {code: name for name, code in rw.DTYPES.items()}[old.dtype]
        new = rw.array_section(kind, np.array(values, dtype), relation=relation)
        return [new if s is old else s for s in sections]

    return typed_with(types, relations, edit)


@pytest.mark.parametrize(
    ("kind", "relation", "values", "expected"),
    [
        # Rows of out-edges are [6, 7, 40], [], [30]; of in-edges [30], [6, 7], [], [20].
        (
            OUT + rw.SLOT_TIMES,
            0,
            [6, 7, 39, 30],
            "out.slot_times of (user, rates, movie) slot 2: found 39, expected 40, the later",
        ),
        (
            OUT + rw.SLOT_TIMES,
            0,
            [6, 7, NO_TIME, 30],
            "out.slot_times of (user, rates, movie) item 2: found the smallest int64",
        ),
        (
            OUT + rw.SLOT_TIMES,
            0,
            [7, 6, 40, 30],
            "out.indices of (user, rates, movie) row 0 slot 1: found slot time 6 after 7, "
            "expected rows sorted by (slot time, edge id, neighbour)",
        ),
        (
            OUT + rw.TIMES,
            0,
            [6, 7, NO_TIME, 30],
            "out.times of (user, rates, movie) item 2: found the smallest int64, expected a time",
        ),
        (
            IN + rw.TIMES,
            0,
            [30, 6, 8, 20],
            "out.indices and in.indices of (user, rates, movie): found different edges",
        ),
        (IN + rw.TIMES, 0, [30, 7, 6, 20], "row 1 slot 2: found slot time 6 after 7"),
        (rw.NODE_TIMES, 1, [10, 5, 6, 40], "nodes_by_time of movie item 1: found node 2, expected"),
        (rw.NODE_TIMES, 1, [10, 5, NO_TIME, 40], "node_times of movie item 2: found the smallest"),
        (rw.TIMES_BY_TIME, 1, [5, 6, 10, 40], "nodes_by_time of movie item 1: found node 2"),
        (rw.NODES_BY_TIME, 1, [2, 1, 0, 3], "item 1: found node 1, expected nodes sorted by"),
        (rw.NODES_BY_TIME, 1, [1, 1, 0, 3], "item 1: found node 1, expected nodes sorted by"),
        (rw.NODES_BY_TIME, 1, [1, 4, 0, 3], "nodes_by_time of movie slot 1: found 4, expected bel"),
        (OUT + rw.INDICES, 1, [2, 1, 1], "out.indices of (user, knows, user) row 0 slot 1"),
        (OUT + rw.INDICES, 1, [1, 3, 1], "slot 1: found 3, expected below 3"),
        (IN + rw.INDICES, 1, [0, 1, 1], "out.indices and in.indices of (user, knows, user)"),
        (OUT + rw.EDGE_IDS, 0, [3, 1, 4, 2], "out.edge_ids of (user, rates, movie) slot 2"),
    ],
)
def test_what_checksums_cannot_tell_is_named(kind, relation, values, expected, tmp_path):
    found = problems(spoiled(kind, relation, values), tmp_path)
    assert any(expected in problem for problem in found), found


def test_equal_times_are_in_the_order_of_edge_ids(tmp_path):
    edges = rw.Edges([0, 0], [1, 2], edge_ids=[0, 1], times=[5, 5])
    relation = rw.Relation(0, "r", 0, edges)
    image = spoiled(OUT + rw.EDGE_IDS, 0, [1, 0], types=TYPES[:1], relations=[relation])
    assert "slot 1: found slot time 5 after 5" in "\n".join(problems(image, tmp_path))


def test_times_that_should_ascend_and_do_not_are_named(tmp_path):
    types = [rw.NodeType("a", 3, times=[1, 2, 3])]
    relations = [rw.Relation(0, "r", 0, rw.Edges([0], [0]))]
    image = spoiled(rw.NODE_TIMES, 0, [1, 3, 2], types=types, relations=relations)
    (problem,) = problems(image, tmp_path)
    assert "node_times of a item 2: found 2 after 3, expected ascending times" in problem


def test_a_neighbour_later_than_its_edge_needs_slot_times(tmp_path):
    """Without them the edge's own time would show a node that was not there yet."""
    image = typed_with(TYPES, [RATES], lambda s: without(s, OUT + rw.SLOT_TIMES, 0))
    (problem,) = problems(image, tmp_path)
    assert "out.times of (user, rates, movie) slot 2: found 20, expected 40, the later" in problem


@pytest.mark.parametrize("between", [[], [2]])
def test_repeats_at_one_time_are_named_where_none_should_be(tmp_path, between):
    count = len(between) + 2
    for times, expected in (([7] * count, 1), (list(range(count)), 0)):
        edges = rw.Edges([0] * count, [1, *between, 1], times=times)
        relation = rw.Relation(
            0, "r", 0, edges, directions=["out"], extra_flags=rw.MULTI_EDGES_DROPPED
        )
        found = problems(rw.typed_topology(TYPES, [relation]), tmp_path)
        assert len(found) == expected
        assert all("neighbour 1 twice at one time, expected no repeats" in p for p in found)


def test_a_symmetric_relation_needs_the_reverse_at_the_same_time(tmp_path):
    for times, expected in (([7, 7], 0), ([7, 8], 1)):
        relation = rw.Relation(
            0,
            "r",
            0,
            rw.Edges([0, 1], [1, 0], times=times),
            directions=["out"],
            extra_flags=rw.SYMMETRIC,
        )
        found = problems(rw.typed_topology(TYPES, [relation]), tmp_path)
        assert len(found) == expected
        assert all(
            "out.indices of (user, r, user): found an edge without its rev" in p for p in found
        )


def test_a_damaged_relation_does_not_hide_another(tmp_path):
    image = typed_with(
        TYPES,
        [RATES, KNOWS],
        lambda sections: [
            rw.array_section(s.kind, np.zeros(s.count, np.uint64), relation=s.relation)
            if s.kind == OUT + rw.INDPTR
            else s
            for s in sections
        ],
    )
    found = "\n".join(problems(image, tmp_path))
    assert "out.indptr of (user, rates, movie)" in found
    assert "out.indptr of (user, knows, user)" in found


def test_rows_over_the_edges_of_blocks_are_proved_too(tmp_path):
    """A row of several blocks of a MiB, and a run of one time that spans two of them."""
    count, per_block = 400_000, 262_144
    times = np.sort(np.random.default_rng(0).integers(0, 50, count))
    run = np.flatnonzero(times == times[per_block - 1])
    assert run[0] < per_block <= run[-1]
    types = [rw.NodeType("a", 1), rw.NodeType("b", count, times=range(-count, 0))]

    def image(neighbours: list[int]) -> rw.Image:
        edges = rw.Edges([0] * count, neighbours, edge_ids=range(count), times=times.tolist())
        flag = rw.MULTI_EDGES_DROPPED
        relation = rw.Relation(0, "r", 1, edges, directions=["out"], extra_flags=flag)
        return rw.typed_topology(types, [relation])

    neighbours = list(range(count))
    assert problems(image(neighbours), tmp_path) == []
    neighbours[run[-1]] = neighbours[run[0]]
    (problem,) = problems(image(neighbours), tmp_path)
    assert f"row 0 slot {run[0]}: found neighbour {run[0]} twice at one time" in problem
