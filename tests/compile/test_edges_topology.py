"""Graphs that are already compiled, of this version and of GraphZero 0.2, compiled again."""

from pathlib import Path

import golden
import numpy as np
import pytest
import reference_writer as rw
from edge_reference import EdgeList, ample, compile_file, tiny, topology_bytes
from golden import GoldenGraph
from graphzero import FormatError, InputError
from graphzero.conversion.compile_graph import GraphOptions
from legacy_writer import legacy_topology


def edges_of(graph: GoldenGraph) -> EdgeList:
    """In the order of the file, whose slots are the input rows."""
    src = [node for node, row in enumerate(graph.neighbours) for _ in row]
    dst = [neighbour for row in graph.neighbours for neighbour in row]
    weights = None if graph.weights is None else [w for row in graph.weights for w in row]
    return EdgeList.make(src, dst, weights)


def copy_of(name: str, directory: Path) -> Path:
    path = directory / name
    path.write_bytes((golden.DIRECTORY / name).read_bytes())
    return path


@pytest.mark.parametrize(
    "options",
    [
        GraphOptions(),
        GraphOptions(direction="in"),
        GraphOptions(direction="out"),
        GraphOptions(undirected=True, edge_ids=True),
        GraphOptions(dedup=True, edge_ids=True),
        GraphOptions(num_nodes=9),
    ],
    ids=["both", "in", "out", "undirected", "dedup", "num-nodes"],
)
@pytest.mark.parametrize("item", golden.LEGACY_GRAPHS, ids=lambda item: item.name)
def test_a_graphzero_0_2_file_is_upgraded(
    tmp_path: Path, item: GoldenGraph, options: GraphOptions
) -> None:
    made = compile_file(copy_of(item.name, tmp_path), options)
    given = options
    if options.num_nodes is None:
        given = GraphOptions(
            options.undirected,
            options.direction,
            len(item.neighbours),
            options.dedup,
            options.edge_ids,
        )
    assert made.data == topology_bytes(edges_of(item), given)


@pytest.mark.parametrize("name", ["directed.gl", "symmetric.gl"])
def test_a_file_compiled_again_is_the_same_file(tmp_path: Path, name: str) -> None:
    source = copy_of(name, tmp_path)
    assert compile_file(source).data == source.read_bytes()


def test_undirected_leaves_a_symmetric_file_as_it_is(tmp_path: Path) -> None:
    source = copy_of("symmetric.gl", tmp_path)
    assert compile_file(source, GraphOptions(undirected=True)).data == source.read_bytes()


def test_a_large_upgrade_in_little_memory_equals_numpy(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 2_000, rng.integers(0, 40)).tolist() for _ in range(2_000)]
    weights = [rng.random(len(row)).tolist() for row in rows]
    source = tmp_path / "old.gl"
    source.write_bytes(legacy_topology(rows, weights))
    item = GoldenGraph("old.gl", neighbours=rows, weights=weights)
    options = GraphOptions(num_nodes=2_000, edge_ids=True)
    made = compile_file(source, options, tiny(tmp_path, 2, 256 << 10))
    assert made.data == topology_bytes(edges_of(item), options)


def test_fewer_nodes_than_the_file_has_are_refused(tmp_path: Path) -> None:
    source = copy_of("directed.gl", tmp_path)
    with pytest.raises(InputError, match="found 4 nodes, expected at most --num-nodes 3"):
        compile_file(source, GraphOptions(num_nodes=3))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1], [7]], "edge slot 1: found neighbour 7, weight 0.000000, expected an id below 2"),
        ([[1], [2**63]], f"edge slot 1: found neighbour {2**63}"),
    ],
)
def test_a_damaged_source_is_named(tmp_path: Path, rows: list[list[int]], message: str) -> None:
    source = tmp_path / "old.gl"
    source.write_bytes(legacy_topology(rows))
    with pytest.raises(FormatError) as caught:
        compile_file(source)
    assert message in str(caught.value)


def repeated_ids(directory: Path, count: int) -> Path:
    """A directed graph that has one edge id again and again, which no conversion makes."""
    edges = rw.Edges(
        src=[0] * count, dst=[1] * count, weights=[*range(count)], edge_ids=[3] * count
    )
    return rw.topology(2, edges, edge_id_bound=4).write(directory / "bad.gl")


def test_repeated_edge_ids_give_the_same_file_for_any_number_of_threads(tmp_path: Path) -> None:
    source = repeated_ids(tmp_path, 40_000)
    made = {compile_file(source, resources=ample(tmp_path, t)).data for t in (1, 2, 3, 4)}
    assert len(made) == 1


def test_repeated_edge_ids_that_exceed_memory_are_refused(tmp_path: Path) -> None:
    source = repeated_ids(tmp_path, 40_000)
    with pytest.raises(InputError, match="edges with the number 3 between the same two nodes"):
        compile_file(source, resources=tiny(tmp_path, 2, 256 << 10))


def test_edge_ids_beyond_their_bound_are_refused(tmp_path: Path) -> None:
    edges = rw.Edges(src=[0, 1], dst=[1, 0], edge_ids=[0, 5])
    source = rw.topology(2, edges, edge_id_bound=2).write(tmp_path / "bad.gl")
    with pytest.raises(FormatError, match="edge slot 1: found edge id 5, expected an id below 2"):
        compile_file(source)
