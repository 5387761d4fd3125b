"""Typed and timed graphs: every byte is what the reference writer makes of the same edges."""

from __future__ import annotations

import dataclasses
import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from edge_reference import ample, tiny
from graphzero import _engine
from graphzero.conversion.compile_graph import GraphOptions, compile_edges
from graphzero.conversion.compile_typed import NodeType, RelationEdges, compile_typed_graph
from graphzero.conversion.inputs.streams import EdgeChunk, EdgeStream
from graphzero.files.paths import find_problems, open_file
from hypothesis import given, settings
from hypothesis import strategies as st
from typed_reference import RelationCase, compile_cases, expected_bytes, expected_flat, node_types

KIB = 1 << 10
LARGEST, SMALLEST = 2**63 - 1, -(2**63) + 1  # of the times there are
TYPES = [rw.NodeType("user", 3), rw.NodeType("movie", 4, [10, 5, 5, 40])]
RATES = RelationCase(
    0, "rates", 1, [0, 0, 2, 0], [3, 1, 0, 1], [1, 2, 3, 4], [20, 7, 30, 6], weight_name="stars"
)
KNOWS = RelationCase(0, "knows", 0, [0, 0, 1], [2, 1, 1])

edge_times = st.one_of(
    st.integers(-3, 3), st.sampled_from([SMALLEST, LARGEST, SMALLEST + 1, LARGEST - 1, 0])
)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """Types of which some have no nodes, times that tie and reach the ends, parallel edges, self
    relations, empty relations, views, inverses."""
    types = []
    for number in range(draw(st.integers(1, 3))):
        count = draw(st.integers(0, 4))
        timed = draw(st.booleans())
        times = draw(st.lists(edge_times, min_size=count, max_size=count)) if timed else None
        types.append(rw.NodeType(f"t{number}", count, times))
    cases: list[RelationCase] = []
    for number in range(draw(st.integers(1, 4))):
        source, target = (draw(st.integers(0, len(types) - 1)) for _ in range(2))
        room = min(types[source].count, types[target].count)
        size = draw(st.integers(0, 8)) if room else 0
        ends = [
            draw(st.lists(st.integers(0, max(types[t].count, 1) - 1), min_size=size, max_size=size))
            for t in (source, target)
        ]
        times = draw(st.lists(edge_times, min_size=size, max_size=size))
        cases.append(
            RelationCase(
                source,
                f"r{number}",
                target,
                *ends,
                weights=draw(st.sampled_from([None, [float(i % 3) for i in range(size)]])),
                times=draw(st.sampled_from([None, times])),
                undirected=source == target and draw(st.booleans()),
                dedup=draw(st.booleans()),
                edge_ids=draw(st.booleans()),
                direction=draw(st.sampled_from(["in", "out", "both"])),
            )
        )
    views = [
        rw.View(f"rev_r{number}", number)
        for number in range(len(cases))
        if not cases[number].undirected and draw(st.booleans())
    ]
    pairs = [
        (a, b)
        for a in range(len(cases))
        for b in range(a)
        if (cases[a].source, cases[a].target) == (cases[b].target, cases[b].source)
    ]
    inverses = draw(st.sampled_from([[], pairs[:1]]))
    unit = draw(st.sampled_from(["", "s", "ns"]))
    return {
        "types": types,
        "cases": cases,
        "views": views,
        "inverses": inverses,
        "time_unit": unit,
    }


@pytest.mark.slow
@settings(max_examples=300)
@given(graph=graphs())
def test_compiled_graphs_are_what_the_reference_writer_makes(graph: dict[str, Any]) -> None:
    types, cases = graph.pop("types"), graph.pop("cases")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "g.gl"
        compile_cases(path, types, cases, ample(Path(directory)), **graph)
        assert path.read_bytes() == expected_bytes(types, cases, **graph)
        assert find_problems(open_file(path)) == []


@settings(max_examples=100)
@given(data=st.data())
def test_flat_timed_graphs_are_what_the_reference_writer_makes(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 5))
    size = data.draw(st.integers(0, 10))
    node = st.lists(st.integers(0, nodes - 1), min_size=size, max_size=size)
    times = st.lists(edge_times, min_size=size, max_size=size)
    node_times = st.lists(edge_times, min_size=nodes, max_size=nodes)
    case = RelationCase(
        0,
        "",
        0,
        data.draw(node),
        data.draw(node),
        weights=data.draw(st.sampled_from([None, [0.5] * size])),
        times=data.draw(st.none() | times),
        undirected=data.draw(st.booleans()),
        dedup=data.draw(st.booleans()),
        edge_ids=data.draw(st.booleans()),
        direction=data.draw(st.sampled_from(["in", "out", "both"])),
    )
    of_nodes = data.draw(st.none() | node_times)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "g.gl"
        gz.write_graph(
            path,
            case.src,
            case.dst,
            weights=case.weights,
            times=case.times,
            node_times=of_nodes,
            time_unit="ms",
            num_nodes=nodes,
            undirected=case.undirected,
            direction=case.direction,
            dedup=case.dedup,
            edge_ids=case.edge_ids,
        )
        assert path.read_bytes() == expected_flat(nodes, case, of_nodes, "ms")
        assert find_problems(open_file(path)) == []


# --- independence of limits

COUNT = 12_000


def timed_case(rng: np.random.Generator, kind: str, **options: Any) -> RelationCase:
    """Many edges of 2,000 nodes to 3,000 others, in shapes that are hard to divide."""
    src = rng.integers(0, 2_000, COUNT)
    dst = rng.integers(0, 3_000, COUNT)
    times = rng.integers(-(10**9), 10**9, COUNT)
    if kind == "hub":  # one row that exceeds a leaf many times
        dst[rng.random(COUNT) < 0.8] = 77
    if kind == "one moment":  # which exceeds one too
        dst[rng.random(COUNT) < 0.8] = 77
        times[rng.random(COUNT) < 0.9] = 5
    if kind == "all times":  # the widest range that can be divided
        dst[:] = 77
        times[:2] = [SMALLEST, LARGEST]
    if kind == "one edge":
        src[rng.random(COUNT) < 0.9] = 5
        dst[:] = 77
        times[:] = 3
    return RelationCase(0, kind, 1, src.tolist(), dst.tolist(), None, times.tolist(), **options)


LIMITS = [(1, 256 * KIB, False), (3, 512 * KIB, False), (2, 512 * KIB, True)]


@pytest.mark.parametrize("kind", ["spread", "hub", "one moment", "all times", "one edge"])
@pytest.mark.parametrize("node_times", [False, True])
def test_bytes_do_not_depend_on_memory_or_threads(tmp_path, kind, node_times):
    rng = np.random.default_rng(3)
    times = rng.integers(-(10**9), 10**9, 2_000).tolist() if node_times else None
    types = [rw.NodeType("a", 2_000, times), rw.NodeType("b", 3_000, sorted(range(3_000)))]
    cases = [
        timed_case(rng, kind, edge_ids=True),
        dataclasses.replace(timed_case(rng, kind), name="dedup", dedup=True),
        dataclasses.replace(timed_case(rng, kind), name="untimed", times=None),
        dataclasses.replace(timed_case(rng, kind), name="untimed dedup", times=None, dedup=True),
        RelationCase(1, "back", 0, [2_999], [1_999], times=[1]),
    ]
    expected = expected_bytes(types, cases)
    for number, (threads, memory, wide) in enumerate(LIMITS):
        path = tmp_path / f"{number}.gl"
        compile_cases(path, types, cases, tiny(tmp_path, threads, memory, wide))
        assert path.read_bytes() == expected, (threads, memory, wide)
    assert find_problems(open_file(path)) == []
    assert [p.suffix for p in tmp_path.iterdir()] == [".gl"] * len(LIMITS)


def test_node_times_of_the_widest_range_are_sorted_in_little_memory(tmp_path):
    times = np.random.default_rng(5).permutation(20_000)
    times[[17, 4_000]] = SMALLEST, LARGEST
    types = [rw.NodeType("a", 20_000, times.tolist())]
    cases = [RelationCase(0, "r", 0, [0], [1])]
    compile_cases(tmp_path / "g.gl", types, cases, tiny(tmp_path, 1, 256 * KIB))
    assert (tmp_path / "g.gl").read_bytes() == expected_bytes(types, cases)


def test_all_relations_share_one_budget_and_spill_beyond_it(tmp_path):
    rng = np.random.default_rng(4)
    cases = [timed_case(rng, f"r{i}") for i in range(6)]
    types = [rw.NodeType("a", 2_000), rw.NodeType("b", 3_000)]
    result = _engine.compile_typed_topology(
        str(tmp_path / "g.gl"),
        types=[_engine.TypeSpec.make(t.name, t.count) for t in types],
        relations=[_engine.RelationSpec.make(0, c.name, 1, c.arrays()) for c in cases],
        resources=tiny(tmp_path, 2, 512 * KIB),
    )
    assert result.spilled_bytes > 6 * COUNT * 28
    assert (tmp_path / "g.gl").read_bytes() == expected_bytes(types, cases)


# --- where edges come from


def chunks_of(case: RelationCase, **options: Any) -> EdgeStream:
    def chunks() -> Iterator[EdgeChunk]:
        for at in range(0, len(case.src), 3):
            part = slice(at, at + 3)
            yield EdgeChunk(
                np.array(case.src[part], np.int32),
                np.array(case.dst[part], np.uint16),
                None if case.weights is None else np.array(case.weights[part], np.float32),
                times=None if case.times is None else np.array(case.times[part], np.int64),
            )

    return EdgeStream(
        case.name, chunks, case.weights is not None, timed=case.times is not None, **options
    )


def text_of(case: RelationCase, path: Path) -> _engine.EdgeInput:
    columns = [c for c in (case.src, case.dst, case.weights, case.times) if c is not None]
    lines = [",".join(map(str, line)) for line in zip(*columns, strict=True)]
    path.write_text("\n".join(["# text", *lines]) + "\n")
    return _engine.EdgeInput.text(str(path), timed=case.times is not None)


@pytest.mark.parametrize("weights", [None, RATES.weights])
@pytest.mark.parametrize("times", [None, RATES.times, [SMALLEST, LARGEST, -1, 0]])
def test_edges_may_come_from_arrays_chunks_text_or_a_graph(tmp_path, weights, times):
    case = dataclasses.replace(RATES, weights=weights, times=times, edge_ids=True)
    expected = expected_bytes(TYPES, [case, KNOWS])
    resources = ample(tmp_path)

    def made_from(name: str, rates: Any, knows: Any) -> bytes:
        path = tmp_path / f"{name}.gl"
        compile_cases(path, TYPES, [case, KNOWS], resources, edges=[rates, knows])
        return path.read_bytes()

    assert made_from("arrays", case.arrays(), KNOWS.arrays()) == expected
    assert made_from("chunks", chunks_of(case), chunks_of(KNOWS)) == expected
    text = text_of(case, tmp_path / "rates.csv"), text_of(KNOWS, tmp_path / "knows.csv")
    assert made_from("text", *text) == expected
    graph = _engine.Topology.open(str(tmp_path / "text.gl"))
    again = _engine.EdgeInput.graph(graph, 0), _engine.EdgeInput.graph(graph, 1)
    assert made_from("graph", *again) == expected


def test_edges_of_a_view_are_those_of_its_base_turned_round(tmp_path):
    case = dataclasses.replace(RATES, edge_ids=True)
    compile_cases(tmp_path / "g.gl", TYPES, [case], ample(tmp_path), views=[rw.View("by", 0)])
    graph = _engine.Topology.open(str(tmp_path / "g.gl"))
    turned = dataclasses.replace(case, source=1, name="by", target=0, src=case.dst, dst=case.src)
    compile_cases(
        tmp_path / "h.gl",
        TYPES,
        [turned],
        ample(tmp_path),
        edges=[_engine.EdgeInput.graph(graph, 1)],
    )
    assert (tmp_path / "h.gl").read_bytes() == expected_bytes(TYPES, [turned])


def test_strided_times_and_mapped_node_times_are_read_where_they_lie(tmp_path):
    both = np.array([RATES.times, [0] * 4], np.int64).T
    np.save(tmp_path / "t.npy", np.array(TYPES[1].times, np.int64))
    mapped = np.load(tmp_path / "t.npy", mmap_mode="r")
    edges = _engine.EdgeInput.arrays(
        "edges", np.array(RATES.src), np.array(RATES.dst), np.array(RATES.weights, "f4"), both[:, 0]
    )
    compile_typed_graph(
        tmp_path / "g.gl",
        [NodeType("user", 3), NodeType("movie", 4, mapped)],
        [RelationEdges("user", "rates", "movie", edges, weight_name="stars")],
        ample(tmp_path),
    )
    assert (tmp_path / "g.gl").read_bytes() == expected_bytes(TYPES, [RATES])


def test_arrays_live_as_long_as_what_reads_them(tmp_path):
    spec = _engine.RelationSpec.make(0, "r", 0, KNOWS.arrays())
    types = [_engine.TypeSpec.make("t", 5, np.arange(5)[::-1].copy())]
    gc.collect()
    np.full((100, 5), -1)  # what would take the place of arrays that are gone
    _engine.compile_typed_topology(
        str(tmp_path / "g.gl"), types=types, relations=[spec], resources=ample(tmp_path)
    )
    expected = [rw.NodeType("t", 5, [4, 3, 2, 1, 0])]
    case = dataclasses.replace(KNOWS, name="r")
    assert (tmp_path / "g.gl").read_bytes() == expected_bytes(expected, [case])


def test_the_report_tells_edges_repeats_and_times(tmp_path):
    dedup = RelationCase(0, "d", 0, [0, 0, 0, 1], [1, 1, 1, 0], times=[5, 5, -6, 5], dedup=True)
    empty = RelationCase(0, "e", 0, [], [], times=[])
    found = compile_cases(tmp_path / "g.gl", TYPES, [RATES, dedup, empty, KNOWS], ample(tmp_path))
    assert [(r.num_edges, r.input_rows, r.dropped) for r in found] == [
        (4, 4, 0),
        (3, 4, 1),
        (0, 0, 0),
        (3, 3, 0),
    ]
    spans = [(r.first_time, r.last_time) for r in found]
    assert spans == [(6, 30), (-6, 5), (None, None), (None, None)]


# --- repeats


def test_the_same_edge_at_another_time_is_another_event(tmp_path):
    path = tmp_path / "g.gl"
    gz.write_graph(path, [0, 0, 0, 0], [1, 1, 1, 1], times=[9, 2, 9, 2], dedup=True, edge_ids=True)
    topology = _engine.Topology.open(str(path))
    assert topology.slot_times(0, "out").tolist() == [2, 9]
    assert topology.edge_ids(0, "out").tolist() == [1, 0]  # the first of each
    assert topology.relations[0].multi_edges_dropped


def test_node_times_do_not_make_repeats_different(tmp_path):
    path = tmp_path / "g.gl"
    gz.write_graph(path, [0, 0, 1], [1, 1, 0], node_times=[3, 4], dedup=True)
    topology = _engine.Topology.open(str(path))
    assert topology.slot_times(0, "out").tolist() == [4]
    assert topology.slot_times(1, "out").tolist() == [3]


# --- what is refused


def refuse(
    tmp_path: Path, match: str, types: Any = TYPES, cases: Any = (RATES,), **rest: Any
) -> None:
    with pytest.raises(gz.InputError, match=match):
        compile_cases(tmp_path / "bad.gl", types, cases, ample(tmp_path), **rest)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"src": [0, 0, 3, 0]}, "rates row 2: found source 3, expected an id below 3, the number"),
        ({"dst": [0, 0, 3, 4]}, "row 3: found target 4, expected an id below 4.*of type movie"),
        ({"src": [0, 0, -1, 0]}, "found source -1"),
        ({"times": [1, 2, 3, -(2**63)]}, r"rates row 3: found no time \(NaT\)"),
        ({"weights": [1, 2, float("nan"), 4]}, "row 2: found weight"),
    ],
)
def test_edges_that_cannot_be_are_named_by_their_row(tmp_path, change, match):
    case = dataclasses.replace(RATES, **change)
    refuse(tmp_path, match, cases=[case])
    refuse(tmp_path, match, cases=[case], edges=[chunks_of(case)] if "src" not in change else None)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("0,1,2,x", 'line 5: found time "x", expected an integer of 64 bits'),
        ("0,1,2,1.5", 'found time "1.5"'),
        ("0,1,2,9223372036854775808", 'found time "9223372036854775808"'),
        ("0,1,2,-9223372036854775808", 'found time "-9223372036854775808"'),
        ("0,1,2,", "found time"),
        ("0,1,2", "expected 4 columns, found 3"),
        ("0,7,2,3", 'found target "7", expected an id below 4, the number of nodes of type movie'),
    ],
)
def test_lines_that_are_no_timed_edges_are_named(tmp_path, line, match):
    path = tmp_path / "rates.csv"
    path.write_text("0,3,1.0,20\n0,1,2.0,7\n2,0,3.0,30\n\n" + line + "\n")
    refuse(tmp_path, match, edges=[_engine.EdgeInput.text(str(path), timed=True)])
    skipping = _engine.EdgeInput.text(str(path), timed=True, skip_errors=True)
    (counts,) = compile_cases(tmp_path / "g.gl", TYPES, [RATES], ample(tmp_path), edges=[skipping])
    assert (counts.num_edges, counts.skipped) == (3, 1)
    assert len(counts.messages) == 1


def test_a_text_with_times_has_three_or_four_columns(tmp_path):
    (tmp_path / "two.csv").write_text("0,1\n")
    edges = [_engine.EdgeInput.text(str(tmp_path / "two.csv"), timed=True)]
    refuse(tmp_path, "expected 3 or 4 columns, found 2", edges=edges)


def test_chunks_that_disagree_about_times_are_refused(tmp_path):
    stream = dataclasses.replace(chunks_of(RATES), timed=False)
    with pytest.raises(RuntimeError, match="one without times"):
        compile_cases(tmp_path / "g.gl", TYPES, [RATES], ample(tmp_path), edges=[stream])


@pytest.mark.parametrize("times", [[1, 2, 3], [1, 2, 3, 4, 5], []])
def test_node_times_of_another_length_are_refused(tmp_path, times):
    types = [NodeType("user", 3), NodeType("movie", 4, np.array(times, np.int64))]
    with pytest.raises(gz.InputError, match=f"times of type movie: found {len(times)}, expected 4"):
        compile_typed_graph(
            tmp_path / "g.gl",
            types,
            [RelationEdges("user", "rates", "movie", RATES.arrays())],
            ample(tmp_path),
        )


def test_a_node_without_a_time_is_named(tmp_path):
    types = [TYPES[0], rw.NodeType("movie", 4, [1, 2, -(2**63), 3])]
    refuse(tmp_path, r"times of type movie: node 2: found no time \(NaT\)", types)


@pytest.mark.parametrize(
    ("types", "cases", "match"),
    [
        ([rw.NodeType("user", 3), rw.NodeType("user", 4)], [RATES], "which type 0 has too"),
        ([rw.NodeType("", 3), TYPES[1]], [RATES], "1 to 255 bytes"),
        ([rw.NodeType("a\nb", 3), TYPES[1]], [RATES], "control characters"),
        ([rw.NodeType("x" * 256, 3), TYPES[1]], [RATES], "1 to 255 bytes"),
        (TYPES, [], "relations: found 0, expected 1 to 1024"),
        (TYPES, [KNOWS, KNOWS], r"\(user, knows, user\), which relation 0 is too"),
        (TYPES, [dataclasses.replace(KNOWS, name="")], "1 to 255 bytes"),
        (TYPES, [dataclasses.replace(RATES, undirected=True)], "symmetric relation between two"),
        ([rw.NodeType("user", 2**59), TYPES[1]], [RATES], "for which one file has room"),
        ([rw.NodeType("user", 2**63 - 1), TYPES[1]], [RATES], "in all types together"),
        (TYPES, [dataclasses.replace(RATES, weight_name="a b")], "weights called 'a b'"),
    ],
)
def test_a_schema_that_cannot_be_is_refused_before_edges_are_read(tmp_path, types, cases, match):
    refuse(tmp_path, match, types, cases)
    assert list(tmp_path.iterdir()) == []


def test_names_of_views_inverses_and_types_are_checked(tmp_path):
    refuse(
        tmp_path,
        "which relation 1 is too",
        cases=[RATES, RelationCase(1, "by", 0, [], [])],
        views=[rw.View("by", 0)],
    )
    back = RelationCase(1, "of", 0, [], [])
    refuse(tmp_path, "each in one pair", cases=[RATES, back], inverses=[(0, 1), (1, 0)])
    refuse(tmp_path, "the other way", cases=[RATES, KNOWS], inverses=[(0, 1)])
    refuse(tmp_path, "each in one pair|another stored relation", inverses=[(0, 0)])
    refuse(tmp_path, "found time unit 'h'", time_unit="h")
    edges = [RelationEdges("user", "r", "nobody", RATES.arrays())]
    with pytest.raises(gz.InputError, match="found type 'nobody', expected one of 'user', 'movie'"):
        compile_typed_graph(tmp_path / "g.gl", node_types(TYPES), edges, ample(tmp_path))
    edges = [RelationEdges("user", "r", "user", KNOWS.arrays())]
    for rest in (
        {"views": {("a", "b", "c"): "x"}},
        {"inverses": [(("user", "r", "user"), ("a", "b", "c"))]},
    ):
        with pytest.raises(gz.InputError, match=r"of \('a', 'b', 'c'\): there is no such"):
            compile_typed_graph(
                tmp_path / "g.gl", node_types(TYPES), edges, ample(tmp_path), **rest
            )


@pytest.mark.parametrize("views", [[("v", 7)], [("v", 2**32 - 1)]])
def test_numbers_of_relations_beyond_the_schema_are_refused(tmp_path, views):
    spec = _engine.RelationSpec.make(0, "r", 0, KNOWS.arrays())
    arguments = {
        "types": [_engine.TypeSpec.make("t", 3)],
        "relations": [spec],
        "resources": ample(tmp_path),
    }
    with pytest.raises(gz.InputError, match="expected a number below 1"):
        _engine.compile_typed_topology(str(tmp_path / "g.gl"), views=views, **arguments)
    with pytest.raises(gz.InputError, match="expected numbers below 1"):
        _engine.compile_typed_topology(str(tmp_path / "g.gl"), inverses=[(0, 9)], **arguments)
    outside = _engine.RelationSpec.make(0, "r", 5, KNOWS.arrays())
    with pytest.raises(gz.InputError, match="numbers below 1"):
        _engine.compile_typed_topology(
            str(tmp_path / "g.gl"), **arguments | {"relations": [outside]}
        )
    nothing = _engine.RelationSpec.make(0, "r", 0, KNOWS.arrays(), out=False, in_=False)
    with pytest.raises(gz.InputError, match="no direction to store"):
        _engine.compile_typed_topology(
            str(tmp_path / "g.gl"), **arguments | {"relations": [nothing]}
        )


def test_more_relations_than_a_file_has_sections_for_are_refused(tmp_path):
    cases = [
        dataclasses.replace(RATES, name=f"r{i}", weight_name="", edge_ids=True) for i in range(400)
    ]
    refuse(tmp_path, "400 relations with .* sections, expected at most 4095", cases=cases)
    cases = [RelationCase(0, f"r{i}", 0, [0], [1], direction="in") for i in range(1024)]
    compile_cases(tmp_path / "g.gl", TYPES, cases, ample(tmp_path))
    assert len(_engine.Topology.open(str(tmp_path / "g.gl")).relations) == 1024
    refuse(tmp_path, "relations: found 1025", cases=[*cases, KNOWS])


# --- write_graph


@pytest.mark.parametrize(
    ("times", "unit", "expected"),
    [
        (np.array(["2020-01-02", "1969-12-31"], "M8[D]"), "D", [18263, -1]),
        (np.array(["2020-01-02", "1970-01-01"], "M8[s]"), "s", [1577923200, 0]),
        (np.array(["2020-01-02T03", "1970-01-01T01"], "M8[h]"), "s", [1577934000, 3600]),
        (np.array(["1970-01", "1971-01"], "M8[M]"), "D", [0, 365]),
        ([3, 1], "", [3, 1]),
        (np.array([3, 1], np.uint8), "", [3, 1]),
    ],
)
def test_dates_are_times_that_know_their_unit(tmp_path, times, unit, expected):
    gz.write_graph(tmp_path / "g.gl", [0, 1], [1, 0], times=times)
    topology = _engine.Topology.open(str(tmp_path / "g.gl"))
    assert topology.time_unit == unit
    assert [topology.times(n, "out").tolist()[0] for n in (0, 1)] == expected


def test_times_of_edges_and_nodes_have_one_unit(tmp_path):
    days = np.array(["1970-01-02", "1970-01-03"], "M8[D]")
    gz.write_graph(tmp_path / "g.gl", [0, 1], [1, 0], times=days, node_times=days, time_unit="s")
    topology = _engine.Topology.open(str(tmp_path / "g.gl"))
    assert topology.node_times().tolist() == [86400, 172800]
    hours = np.array(["1970-01-02T01", "1970-01-03T01"], "M8[h]")
    with pytest.raises(gz.InputError, match="no whole number of D"):
        gz.write_graph(tmp_path / "h.gl", [0, 1], [1, 0], times=days, node_times=hours)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"times": [1.5, 2.5]}, "times: found float64, expected integers or datetime64"),
        ({"times": [[1, 2]]}, "times: found shape"),
        ({"times": [1]}, "times 1, expected them equal"),
        ({"times": np.array([1, 2**63], np.uint64)}, "expected at most 9223372036854775807"),
        (
            {"times": np.array(["NaT", "2020-01-01"], "M8[s]")},
            r"edges row 0: found no time \(NaT\)",
        ),
        ({"times": [1, 2], "time_unit": "fortnight"}, "found time unit 'fortnight'"),
        ({"node_times": [1, 2, 3], "num_nodes": 2}, "node times: found 3, expected 2"),
        ({"node_times": [1]}, "found target 1, expected an id below 1"),
        ({"node_times": [1, -(2**63)]}, "times of nodes: node 1: found no time"),
    ],
)
def test_times_that_are_none_are_refused(tmp_path, arguments, match):
    with pytest.raises(gz.InputError, match=match):
        gz.write_graph(tmp_path / "g.gl", [0, 1], [1, 0], **arguments)
    assert list(tmp_path.iterdir()) == []


def test_rewriting_a_timed_graph_keeps_times_order_and_unit(tmp_path):
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 50, (2, 400))
    made = {"times": rng.integers(-5, 5, 400), "node_times": rng.integers(-5, 5, 50)}
    gz.write_graph(tmp_path / "a.gl", src, dst, **made, edge_ids=True, time_unit="us")
    report = compile_edges(tmp_path / "a.gl", tmp_path / "b.gl", GraphOptions(), ample(tmp_path))
    assert (tmp_path / "a.gl").read_bytes() == (tmp_path / "b.gl").read_bytes()
    assert (report.first_time, report.last_time) == (-5, 4)


def test_a_typed_graph_is_not_taken_for_a_flat_one(tmp_path):
    compile_cases(tmp_path / "a.gl", TYPES, [RATES], ample(tmp_path))
    with pytest.raises(gz.InputError, match="a graph of several types"):
        compile_edges(tmp_path / "a.gl", tmp_path / "b.gl", GraphOptions(), ample(tmp_path))
