"""Wrong requests and damaged files with types and times are errors that name what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from graphzero import _engine
from typed_engine import TypedEngine, ids
from typed_graphs import TypedEdges, TypedGraph
from typed_reference_sampler import Temporal

HUB = 600  # slots of one row, more than a block of a search


def hub_graph() -> TypedGraph:
    edges = TypedEdges(
        0, "to", 1, src=list(range(HUB)), dst=[0] * HUB, times=list(range(HUB)), weights=[1.0] * HUB
    )
    return TypedGraph([("a", HUB, None), ("b", 2, None)], [edges], views=[("from", 0)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return hub_graph().write(tmp_path / "g.gl")


def sample(path: Path, *, disk: bool = False, **options: Any) -> Any:
    topology = _engine.Topology.open(str(path))
    arguments: dict[str, Any] = {
        "seeds": [(1, ids([0]))],
        "fanout": [[2], [2]],
        "expand_targets": True,
        "replace": False,
        "weighted": False,
        "seed": 1,
        "max_edges": 10_000,
        "threads": 1,
        "disk": _engine.DiskTopology.open(topology) if disk else None,
    }
    return _engine.sample_typed(topology, **{**arguments, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": [(2, ids([0]))]}, "type 2 is not one of the graph, which has 2"),
        ({"seeds": [(1, ids([0])), (0, ids([0]))]}, "expected rising numbers"),
        ({"seeds": [(1, ids([2]))]}, "seed of type b 2 at position 0 is outside the graph"),
        ({"seeds": [(1, ids([-1]))]}, "seed of type b -1 at position 0 is outside the graph"),
        ({"fanout": [[2]]}, "fanout has 1 items, expected 2"),
        ({"fanout": [[2], [2, 2]]}, r"fanout of relation \(b, from, a\) has 2 hops, expected 1"),
        ({"fanout": [[2], [-2]]}, r"fanout of hop 0 of \(b, from, a\) is -2"),
        ({"fanout": [[2**62] * 2] * 2, "replace": True}, "more than the limit of 10000"),
        ({"times": ids([1, 2])}, "times has 2 items, expected 1"),
        ({"times": ids([-(2**63)])}, r"time of seed 0 is none \(NaT\)"),
        ({"times": ids([1]), "last": True, "replace": True}, "taken, not drawn"),
        ({"times": ids([1]), "last": True, "weighted": True}, "taken, not drawn"),
        ({"own_times": True}, "seeds of type b have no times of their own"),
        ({"exclude": [(7, ids([0]), ids([0]))]}, "relation 7 is not one of the graph"),
        ({"exclude": [(0, ids([0]), ids([]))]}, "1 sources of excluded edges, and 0 targets"),
        (
            {"exclude_in_trees": [(0, ids([0]), ids([0]), ids([0]), None)]},
            "the sample is not disjoint",
        ),
        (
            {"exclude_in_trees": [(0, ids([0]), ids([0]), ids([5]), None)], "disjoint": True},
            "number 5 at position 0 is outside the graph",
        ),
        ({"spare_history": True}, "history needs times of seeds"),
    ],
)
def test_wrong_requests_are_named(path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, IndexError), match=message):
        sample(path, **options)


def test_rows_in_no_order_of_time_are_refused_by_time_only(tmp_path: Path) -> None:
    edges = rw.Edges([0, 1], [0, 0], times=[7, 3])
    types = [rw.NodeType("a", 2), rw.NodeType("b", 1)]
    relation = rw.Relation(0, "to", 1, edges, flags=rw.SORTED)
    path = rw.typed_topology(types, [relation]).write(tmp_path / "g.gl")
    assert sample(path, fanout=[[-1]]).num_edges_of(0) == 2
    with pytest.raises(ValueError, match=r"rows of relation \(a, to, b\) have times, but are not"):
        sample(path, fanout=[[-1]], times=ids([5]))


@pytest.mark.parametrize("disk", [False, True])
def test_a_row_whose_times_fall_is_damage(path: Path, disk: bool) -> None:
    write_into(path, "in.times", HUB - 1, np.int64(-5))
    with pytest.raises(gz.FormatError, match=r"slot times of node 0 of relation \(a, to, b\)"):
        sample(path, disk=disk, times=ids([300]))


@pytest.mark.parametrize("disk", [False, True])
def test_damage_names_the_relation(path: Path, disk: bool) -> None:
    write_into(path, "in.indices", 0, np.uint32(HUB))
    with pytest.raises(gz.FormatError, match=r"of node 0 of relation \(a, to, b\).*neighbour 600"):
        sample(path, disk=disk, fanout=[[-1], [0]])


def write_into(path: Path, section: str, place: int, value: Any) -> None:
    found = next(s for s in _engine.Topology.open(str(path)).sections if s.name == section)
    with path.open("r+b") as file:
        file.seek(found.offset + place * value.nbytes)
        file.write(value.tobytes())


def test_a_relation_that_is_not_stored_that_way_round_needs_zeros(tmp_path: Path) -> None:
    edges = TypedEdges(0, "to", 1, src=[0], dst=[0], directions=("out",))
    path = TypedGraph([("a", 1, None), ("b", 1, None)], [edges]).write(tmp_path / "g.gl")
    with pytest.raises(ValueError, match=r"stores no in-edges of \(a, to, b\)"):
        sample(path, fanout=[[1]])
    assert sample(path, fanout=[[0]]).num_edges_of(0) == 0


@pytest.mark.parametrize("disk", [False, True])
def test_the_ends_of_the_scale_of_times_do_not_wrap(path: Path, disk: bool) -> None:
    engine = TypedEngine(path, disk=disk)
    first, last = -(2**63) + 1, 2**63 - 1
    for time, window, strict, expected in (
        (last, 0, False, HUB),
        (last, 2**63 - 1, False, HUB - 1),  # all but time 0
        (last, 2**63 - 1, True, HUB),
        (first, 0, False, 0),
        (first, 5, True, 0),
        (10, 2**63 - 1, False, 11),
        (10, 1, False, 1),
        (10, 1, True, 1),
        (10, 3, False, 3),
    ):
        temporal = Temporal([time], strict=strict, window=window)
        drawn = engine.draw({1: [0]}, [[-1], [0]], temporal=temporal)
        assert drawn.num_edges_of(0) == expected, (time, window, strict)
