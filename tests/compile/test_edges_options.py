"""What the options make of edges, compared byte for byte with a file worked out with NumPy."""

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from edge_reference import EdgeList, compile_text, edge_lines, topology_bytes
from graphzero.conversion.compile_graph import GraphOptions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NODES = 12  # few, so that repeats, self-loops and reverse pairs are common


@st.composite
def edge_lists(draw: st.DrawFn) -> EdgeList:
    count = draw(st.integers(1, 60))
    ids = st.lists(st.integers(0, NODES - 1), min_size=count, max_size=count)
    weights = st.lists(
        st.floats(0, 1000, width=32, allow_subnormal=False), min_size=count, max_size=count
    )
    return EdgeList.make(draw(ids), draw(ids), draw(st.none() | weights))


options_of_any_kind = st.builds(
    GraphOptions,
    undirected=st.booleans(),
    direction=st.sampled_from(["in", "out", "both"]),
    num_nodes=st.none() | st.integers(NODES, 2 * NODES),
    dedup=st.booleans(),
    edge_ids=st.booleans(),
    weight_name=st.sampled_from(["", "w_1"]),
)
generated = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(edges=edge_lists(), options=options_of_any_kind)
@generated
def test_text_becomes_the_file_that_the_options_describe(
    tmp_path: Path, edges: EdgeList, options: GraphOptions
) -> None:
    made = compile_text(tmp_path, edge_lines(edges), options)
    assert made.data == topology_bytes(edges, options)


@given(edges=edge_lists(), options=options_of_any_kind)
@generated
def test_arrays_become_the_file_that_the_options_describe(
    tmp_path: Path, edges: EdgeList, options: GraphOptions
) -> None:
    target = tmp_path / "made.gl"
    options = options._replace(weight_name="")  # which arrays do not have
    gz.write_graph(
        target,
        edges.src,
        edges.dst,
        weights=edges.weight,
        num_nodes=options.num_nodes,
        undirected=options.undirected,
        direction=options.direction,
        dedup=options.dedup,
        edge_ids=options.edge_ids,
        overwrite=True,
    )
    assert target.read_bytes() == topology_bytes(edges, options)


def rows_of(directory: Path, text: str, **options: Any) -> dict[str, list[list[Any]]]:
    """Neighbours, weights and edge ids of the out-edges, as far as there are any."""
    made = compile_text(directory, text, GraphOptions(**options))
    (directory / "rows.gl").write_bytes(made.data)
    graph = gz.Graph(directory / "rows.gl")
    nodes = range(graph.num_nodes)
    result = {"neighbours": [graph.get_neighbours(i).tolist() for i in nodes]}
    if graph.has_weights:
        result["weights"] = [graph.get_weights(i).tolist() for i in nodes]
    if graph.has_edge_ids:
        result["ids"] = [graph.get_edge_ids(i).tolist() for i in nodes]
    return result


def test_multi_edges_are_kept_in_input_order(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "0,1,3\n0,2,1\n0,1,2\n0,1,3\n", edge_ids=True)
    assert rows["neighbours"][0] == [1, 1, 1, 2]
    assert rows["weights"][0] == [3, 2, 3, 1]
    assert rows["ids"][0] == [0, 2, 3, 1]


def test_dedup_keeps_the_first_edge_with_its_weight_and_id(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "0,1,3\n0,2,1\n0,1,2\n0,1,9\n", dedup=True, edge_ids=True)
    assert rows == {
        "neighbours": [[1, 2], [], []],
        "weights": [[3, 1], [], []],
        "ids": [[0, 1], [], []],
    }


def test_both_halves_of_an_undirected_edge_carry_its_id_and_weight(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "2,0,5\n0,1,6\n", undirected=True, edge_ids=True)
    assert rows == {
        "neighbours": [[1, 2], [0], [0]],
        "weights": [[6, 5], [6], [5]],
        "ids": [[1, 0], [1], [0]],
    }


def test_dedup_of_undirected_edges_sees_both_directions_as_one_edge(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "2,1,5\n1,2,6\n2,1,7\n", undirected=True, dedup=True, edge_ids=True)
    assert rows == {
        "neighbours": [[], [2], [1]],
        "weights": [[], [5], [5]],
        "ids": [[], [0], [0]],
    }


def test_dedup_of_directed_edges_keeps_the_reverse_edge(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "2,1\n1,2\n2,1\n", dedup=True, edge_ids=True)
    assert rows == {"neighbours": [[], [2], [1]], "ids": [[], [1], [0]]}


@pytest.mark.parametrize("undirected", [False, True])
def test_a_self_loop_is_stored_once(tmp_path: Path, undirected: bool) -> None:
    rows = rows_of(tmp_path, "1,1\n0,0\n", undirected=undirected, edge_ids=True)
    assert rows == {"neighbours": [[0], [1]], "ids": [[1], [0]]}


def test_repeated_self_loops_are_multi_edges(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "1,1\n1,1\n", undirected=True, edge_ids=True)
    assert rows["ids"] == [[], [0, 1]]


def test_dropped_edges_are_counted(tmp_path: Path) -> None:
    report = compile_text(tmp_path, "0,1\n0,1\n1,0\n0,1\n", GraphOptions(dedup=True)).report
    assert (report.num_edges, report.dropped, report.input_rows) == (2, 2, 4)


def test_num_nodes_adds_isolated_nodes(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, "1,0\n", num_nodes=4)
    assert rows["neighbours"] == [[], [0], [], []]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "source,target\n", "\ufeff"])
@pytest.mark.parametrize("num_nodes", [0, 3])
def test_no_edges_and_a_number_of_nodes_make_a_graph_without_edges(
    tmp_path: Path, text: str, num_nodes: int
) -> None:
    options = GraphOptions(num_nodes=num_nodes)
    empty = EdgeList.make([], [])
    assert compile_text(tmp_path, text, options).data == topology_bytes(empty, options)


@pytest.mark.parametrize(
    ("direction", "has_out", "has_in"),
    [("in", False, True), ("out", True, False), ("both", True, True)],
)
def test_direction_chooses_what_a_directed_graph_stores(
    tmp_path: Path, direction: Any, has_out: bool, has_in: bool
) -> None:
    made = compile_text(tmp_path, "0,1\n", GraphOptions(direction=direction))
    (tmp_path / "g.gl").write_bytes(made.data)
    graph = gz.Graph(tmp_path / "g.gl")
    assert (graph._file.topology.has_out, graph._file.topology.has_in) == (has_out, has_in)


def test_edges_of_a_million_nodes_are_as_numpy_has_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    edges = EdgeList.make(*rng.integers(0, 1_000_000, (2, 100_000)))
    options = GraphOptions(undirected=True, num_nodes=1_000_000)
    assert compile_text(tmp_path, edge_lines(edges), options).data == topology_bytes(edges, options)
