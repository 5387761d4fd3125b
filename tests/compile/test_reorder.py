"""`graphzero reorder` and `--order`: the same dataset, its nodes in another order."""

from __future__ import annotations

import itertools
import signal
import struct
from pathlib import Path
from typing import Any, Literal

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from commands import hold_graphzero, run_graphzero
from contents import file_bytes, names
from graphzero import _engine
from graphzero.conversion import reorder as reordering
from graphzero.files.copying import copy_file
from graphzero.files.dataset import open_dataset
from legacy_writer import legacy_matrix, legacy_topology
from same_dataset import assert_same_in_another_order, old_numbers
from typed_dataset import write_typed_dataset
from waiting import DEADLINE_S

ORDERS: list[Literal["degree", "community"]] = ["degree", "community"]
MEMORY = 80 << 20
CLIQUES, SIZE = 40, 12


def shuffled_cliques(seed: int = 0) -> tuple[Any, Any]:
    """Communities of 12 nodes that all know each other, one edge from each to the next; their
    numbers say nothing."""
    pairs = [
        (c * SIZE + i, c * SIZE + j)
        for c in range(CLIQUES)
        for i, j in itertools.combinations(range(SIZE), 2)
    ]
    pairs += [(c * SIZE, (c + 1) * SIZE) for c in range(CLIQUES - 1)]
    ends = np.random.default_rng(seed).permutation(CLIQUES * SIZE)[np.array(pairs)]
    return ends[:, 0], ends[:, 1]


def write_dataset(
    path: Path, *, directed: bool = True, edge_ids: bool = True, **graph: Any
) -> Path:
    """Cliques with parallel edges, a self-loop, a hub and nodes without any edge; columns of all
    kinds."""
    path.mkdir()
    rng = np.random.default_rng(1)
    src, dst = shuffled_cliques()
    nodes = CLIQUES * SIZE + 20
    src = np.concatenate([src, src[:30], [7], np.full(60, 3)])
    dst = np.concatenate([dst, dst[:30], [7], rng.integers(0, nodes - 20, 60)])
    gz.write_graph(
        path / "graph.gl",
        src,
        dst,
        num_nodes=nodes,
        undirected=not directed,
        edge_ids=edge_ids,
        weights=rng.random(len(src), dtype=np.float32),
        **graph,
    )
    gz.write_features(path / "x.gd", rng.random((nodes, 5), dtype=np.float32))
    gz.write_features(path / "y.gd", rng.integers(0, 9, nodes))
    gz.write_features(path / "image.gd", rng.integers(0, 99, (nodes, 2, 3)).astype(np.int16))
    gz.write_features(path / "half.gd", rng.random((nodes, 3)).astype(np.float16), row_align=64)
    if edge_ids:
        gz.write_features(path / "kind.gd", rng.integers(0, 3, len(src)), role="edge")
    gz.write_features(path / "train.gd", rng.permutation(nodes)[:99], role="ids")
    gz.write_features(path / "valid.gd", np.arange(5, dtype=np.int32), role="ids")
    return path


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "graph",
    [
        {"directed": False},
        {"direction": "in"},
        {"direction": "out", "edge_ids": False},
        {"dedup": True},
        {"directed": False, "edge_ids": False},
    ],
    ids=str,
)
def test_every_edge_and_row_follows_its_node(
    tmp_path: Path, order: Literal["degree", "community"], graph: Any
) -> None:
    source = write_dataset(tmp_path / "ds", **graph)
    report = gz.reorder(source, tmp_path / "out", order=order)
    assert report.order == order
    assert_same_in_another_order(source, tmp_path / "out")
    assert names(tmp_path) == ["ds", "out"], "nothing else is left"


@pytest.mark.parametrize("order", ORDERS)
def test_times_of_nodes_and_edges_follow(
    tmp_path: Path, order: Literal["degree", "community"]
) -> None:
    (tmp_path / "ds").mkdir()
    src, dst = shuffled_cliques()
    rng = np.random.default_rng(2)
    gz.write_graph(
        tmp_path / "ds" / "graph.gl",
        src,
        dst,
        times=rng.integers(0, 50, len(src)),
        node_times=rng.integers(0, 50, CLIQUES * SIZE),
        time_unit="s",
        edge_ids=True,
    )
    gz.reorder(tmp_path / "ds", tmp_path / "out", order=order)
    assert_same_in_another_order(tmp_path / "ds", tmp_path / "out")
    assert open_dataset(tmp_path / "out").schema.relations[0].time_ordered


def test_communities_lie_together(tmp_path: Path) -> None:
    source = write_dataset(tmp_path / "ds", directed=False)
    report = gz.reorder(source, tmp_path / "out", order="community")
    assert report.communities is not None
    assert report.blocks[1] < 0.6 * report.blocks[0]
    src, dst = shuffled_cliques()
    place = np.argsort(old_numbers(source, tmp_path / "out")[0])  # the new number of each node
    assert np.median(abs(place[src] - place[dst])) < SIZE


def test_nodes_that_rows_name_most_come_first_by_degree(tmp_path: Path) -> None:
    source = write_dataset(tmp_path / "ds", directed=False)
    gz.reorder(source, tmp_path / "out", order="degree")
    graph = gz.Graph(tmp_path / "out" / "graph.gl")
    row_lengths = [len(graph.get_neighbours(node)) for node in range(graph.num_nodes)]
    assert row_lengths == sorted(row_lengths, reverse=True)


@pytest.mark.parametrize("order", ORDERS)
def test_threads_and_memory_do_not_change_a_byte(
    tmp_path: Path, order: Literal["degree", "community"]
) -> None:
    source = write_dataset(tmp_path / "ds", directed=False)
    results = []
    for threads, memory in ((1, MEMORY), (4, MEMORY), (2, 512 << 20)):
        out = tmp_path / f"{threads}-{memory}"
        gz.reorder(source, out, order=order, threads=threads, memory=memory)
        results.append(file_bytes(out))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("texts", [False, True], ids=["integers", "texts"])
def test_orders_compose_with_original_ids(tmp_path: Path, texts: bool) -> None:
    src, dst = shuffled_cliques()
    kind = (lambda node: f"né-{node}") if texts else (lambda node: node * 7 - 1000)
    lines = [f"{kind(a)},{kind(b)}" for a, b in zip(src, dst, strict=True)]
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *lines]))
    gz.import_files(tmp_path / "edges.csv", tmp_path / "ds", relabel=True, undirected=True)
    gz.reorder(tmp_path / "ds", tmp_path / "once", order="community")
    gz.reorder(tmp_path / "once", tmp_path / "twice", order="degree")
    for after in ("once", "twice"):
        assert_same_in_another_order(tmp_path / "ds", tmp_path / after)
    assert_same_in_another_order(tmp_path / "once", tmp_path / "twice")
    ids = gz.OriginalIds(tmp_path / "twice")
    assert list(ids.gather(ids.find([kind(5), kind(470)]))) == [kind(5), kind(470)]
    with pytest.raises(IndexError, match="which no node of twice has"):
        ids.find(["nobody"] if texts else [-5000])


def test_convert_puts_nodes_into_order(tmp_path: Path) -> None:
    src, dst = shuffled_cliques()
    np.save(tmp_path / "edges.npy", np.stack([src, dst]))
    np.save(tmp_path / "x.npy", np.arange(CLIQUES * SIZE, dtype=np.float32))
    arguments = ["convert", "--edges", "edges.npy", "--column", "x=x.npy", "--undirected"]
    run_graphzero(*arguments, "--out", "plain", cwd=tmp_path)
    shown = run_graphzero(
        *arguments, "--order", "community", "--out", "ordered", cwd=tmp_path
    ).stdout
    assert "order: by community" in shown
    assert_same_in_another_order(tmp_path / "plain", tmp_path / "ordered")
    assert "nodes by community" in run_graphzero("info", "ordered", cwd=tmp_path).stdout
    again = run_graphzero("reorder", "plain", "--out", "again", cwd=tmp_path).stdout
    assert "times as many 4 KiB blocks as before" in again
    assert file_bytes(tmp_path / "again") == file_bytes(tmp_path / "ordered")
    report = gz.import_files(tmp_path / "edges.npy", tmp_path / "imported", order="degree")
    assert report.order is not None
    assert report.order.order == "degree"


@pytest.mark.parametrize("name", ["unordered", "ds.unordered", "ds"])
def test_convert_leaves_an_order_that_needs_no_fewer_reads(tmp_path: Path, name: str) -> None:
    nodes = np.arange(3000)
    np.save(tmp_path / "edges.npy", np.stack([nodes, (nodes + 1) % 3000]))
    for out, order in (("plain", "none"), (name, "community"), (f"{name}-by-degree", "degree")):
        gz.import_files(tmp_path / "edges.npy", tmp_path / out, order=order)  # type: ignore[arg-type]
    assert file_bytes(tmp_path / name) == file_bytes(tmp_path / "plain")
    assert_same_in_another_order(tmp_path / "plain", tmp_path / f"{name}-by-degree")
    assert len(names(tmp_path)) == 4


def test_a_dataset_with_types_is_ordered_type_by_type(tmp_path: Path) -> None:
    write_typed_dataset(tmp_path / "ds")
    gz.reorder(tmp_path / "ds", tmp_path / "out", order="degree")
    assert_same_in_another_order(tmp_path / "ds", tmp_path / "out")
    gz.reorder(tmp_path / "out", tmp_path / "twice", order="degree")
    assert_same_in_another_order(tmp_path / "ds", tmp_path / "twice")


def test_an_order_that_needs_no_fewer_reads_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ds").mkdir()
    nodes = np.arange(3000)
    src, dst = np.concatenate([nodes, nodes, nodes]), np.concatenate([nodes + k for k in (1, 2, 3)])
    gz.write_graph(tmp_path / "ds" / "graph.gl", src, dst % 3000, undirected=True)
    gz.write_features(tmp_path / "ds" / "x.gd", np.zeros((3000, 2), np.float32))
    report = gz.reorder(tmp_path / "ds", tmp_path / "out", order="community")
    assert report.order is None
    assert file_bytes(tmp_path / "out") == file_bytes(tmp_path / "ds")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("nodes", [0, 1, 9])
def test_graphs_without_edges(
    tmp_path: Path, order: Literal["degree", "community"], nodes: int
) -> None:
    (tmp_path / "ds").mkdir()
    none = np.zeros(0, np.int64)
    gz.write_graph(tmp_path / "ds" / "graph.gl", none, none, num_nodes=nodes)
    gz.write_features(tmp_path / "ds" / "x.gd", np.zeros((nodes, 2), np.float32))
    report = gz.reorder(tmp_path / "ds", tmp_path / "out", order=order)
    if report.order is not None:
        assert_same_in_another_order(tmp_path / "ds", tmp_path / "out")
    assert gz.verify(tmp_path / "out").ok


def test_files_of_graphzero_02(tmp_path: Path) -> None:
    (tmp_path / "ds").mkdir()
    rows = [[2, 1], [], [0, 0, 1], [2]]
    weights = [[1.0, 2.0], [], [0.5, 0.25, 4.0], [8.0]]
    (tmp_path / "ds" / "graph.gl").write_bytes(legacy_topology(rows, weights))
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    (tmp_path / "ds" / "x.gd").write_bytes(legacy_matrix(values))
    gz.reorder(tmp_path / "ds", tmp_path / "out", order="degree")
    assert_same_in_another_order(tmp_path / "ds", tmp_path / "out")


def test_in_place_only_with_overwrite(tmp_path: Path) -> None:
    source = write_dataset(tmp_path / "ds")
    before = file_bytes(source)
    with pytest.raises(FileExistsError, match="overwrite"):
        gz.reorder(source, source)
    assert file_bytes(source) == before
    gz.reorder(source, tmp_path / "out", order="degree")
    gz.reorder(source, source, order="degree", overwrite=True)
    assert file_bytes(source) == file_bytes(tmp_path / "out")


def test_too_little_memory_is_said_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "ds").mkdir()
    none = np.zeros(0, np.int64)
    gz.write_graph(tmp_path / "ds" / "graph.gl", none, none, num_nodes=5_000_000)
    with pytest.raises(gz.InputError, match=r"expected at least .* to put 5.?000.?000 nodes"):
        gz.reorder(tmp_path / "ds", tmp_path / "out", memory=64 << 20)
    assert names(tmp_path) == ["ds"]


def test_what_a_column_has_beside_its_rows_is_carried_over(tmp_path: Path) -> None:
    source = write_dataset(tmp_path / "ds")
    rows = CLIQUES * SIZE + 20
    extra = rw.array_section(4000, np.arange(77, dtype=np.uint8), must_understand=False)
    array = np.arange(rows, dtype=np.int64)
    section = rw.Section(rw.ROWS, rw.DTYPES["int64"], rows, array.nbytes, array.tobytes())
    properties = rw.matrix_properties(rows, 1, 8, 1, "node")
    rw.container(rw.MATRIX_MAGIC, properties, [extra, section]).write(source / "strange.gd")
    gz.reorder(source, tmp_path / "out", order="degree")
    assert_same_in_another_order(source, tmp_path / "out")
    kinds = [s.name for s in _engine.Matrix.open(str(tmp_path / "out" / "strange.gd")).sections]
    assert "kind 4000" in kinds
    assert bytes(range(77)) in (tmp_path / "out" / "strange.gd").read_bytes()


def test_rows_that_readers_skip_are_carried_over_and_the_others_are_moved(tmp_path: Path) -> None:
    source = write_dataset(tmp_path / "ds")
    rows = CLIQUES * SIZE + 20
    array = np.arange(rows, dtype=np.int64)
    skipped = rw.array_section(rw.ROWS, -array, must_understand=False, relation=1)
    properties = rw.matrix_properties(rows, 1, 8, 1, "node")
    image = rw.container(rw.MATRIX_MAGIC, properties, [skipped, rw.array_section(rw.ROWS, array)])
    image.write(source / "strange.gd")
    gz.reorder(source, tmp_path / "out", order="degree")
    assert_same_in_another_order(source, tmp_path / "out")
    assert (-array).tobytes() in (tmp_path / "out" / "strange.gd").read_bytes()


def test_a_reader_that_does_not_know_the_order_of_ids_refuses_them(tmp_path: Path) -> None:
    gz.reorder(write_dataset(tmp_path / "ds"), tmp_path / "out", order="degree")
    content = (tmp_path / "out" / "original_id.gd").read_bytes()
    (sections,) = struct.unpack_from("<I", content, 32)
    entries = [struct.unpack_from("<II", content, 256 + 96 * i) for i in range(sections)]
    assert (rw.ROWS_BY_ID, 1) in entries, "rows_by_id must be understood"


def test_a_damaged_order_of_ids_is_found(tmp_path: Path) -> None:
    gz.reorder(write_dataset(tmp_path / "ds"), tmp_path / "out", order="degree")
    rows = CLIQUES * SIZE + 20
    ids = gz.OriginalIds(tmp_path / "out").gather(np.arange(rows))
    file = tmp_path / "out" / "original_id.gd"

    def write(order: Any) -> None:
        index = rw.array_section(rw.ROWS_BY_ID, np.asarray(order, np.uint32))
        section = rw.Section(rw.ROWS, rw.DTYPES["int64"], rows, ids.nbytes, ids.tobytes())
        properties = rw.matrix_properties(rows, 1, 8, 1, "node")
        rw.container(rw.MATRIX_MAGIC, properties, [index, section]).write(file)

    right = np.argsort(ids)
    write(right)
    assert gz.verify(file).ok
    write(np.roll(right, 1))
    assert "order of their ids" in gz.verify(file).problems[0]
    write(np.full(rows, rows))
    assert not gz.verify(file).ok
    with pytest.raises(gz.FormatError, match="rows_by_id"):
        gz.OriginalIds(tmp_path / "out").find([3])
    write(right[1:])
    with pytest.raises(gz.FormatError, match="one for each row"):
        gz.OriginalIds(tmp_path / "out")


def test_an_export_of_an_ordered_dataset_comes_back(tmp_path: Path) -> None:
    source = write_dataset(tmp_path / "ds", directed=False)
    gz.reorder(source, tmp_path / "out", order="degree")
    gz.export_dataset(tmp_path / "out", tmp_path / "npy", format="npy")
    gz.import_folder(tmp_path / "npy", tmp_path / "back")
    assert gz.verify(tmp_path / "back").ok
    nodes = open_dataset(source).graph.num_nodes
    both = [gz.OriginalIds(tmp_path / name) for name in ("out", "back")]
    assert np.array_equal(both[0].gather(np.arange(nodes)), both[1].gather(np.arange(nodes)))
    assert np.array_equal(both[1].find(np.arange(nodes)), both[0].find(np.arange(nodes)))


def test_rows_that_exceed_memory_go_through_the_disk(tmp_path: Path) -> None:
    source = write_dataset(tmp_path / "ds")
    rows = open_dataset(source).graph.num_nodes
    wide = np.random.default_rng(3).random((rows, 6000), dtype=np.float32)  # wider than a fragment
    gz.write_features(source / "wide.gd", wide)
    big, small = (
        _engine.Resources.make_for_tests(memory=memory, threads=2, temp_dir=str(tmp_path))
        for memory in (MEMORY, 1 << 20)
    )
    order = _engine.NodeOrder.make(
        _engine.Topology.open(str(source / "graph.gl")), communities=False, resources=big
    )
    column = _engine.Matrix.open(str(source / "wide.gd"))
    order.reorder_rows(0, column, str(tmp_path / "moved.gd"), resources=small)
    moved = gz.FeatureStore(tmp_path / "moved.gd", verify=True).get_tensor()
    assert np.array_equal(np.asarray(moved)[order.numbers()], wide)


@pytest.mark.parametrize("command", ["reorder", "convert"])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, command: str) -> None:
    source = write_dataset(tmp_path / "ds")
    before = file_bytes(source)
    words: list[object] = ["reorder", source, "--overwrite", "--out", source]
    if command == "convert":
        words = ["convert", "--edges", source / "graph.gl", "--order", "degree"]
        words += ["--out", tmp_path / "out"]
    process = hold_graphzero(*words)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, error) == (130, "graphzero: interrupted\n")
    assert names(tmp_path) == ["ds"]
    assert file_bytes(source) == before


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path, small_disk: Path) -> None:
    source = write_dataset(tmp_path / "ds")
    gz.write_features(source / "big.gd", np.zeros((500, 3000), np.float32))
    with pytest.raises(OSError, match="No space left"):
        gz.reorder(source, small_disk / "out", order="degree")
    assert names(small_disk) == []


def test_a_dataset_that_changes_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_dataset(tmp_path / "ds")

    def replace_and_copy(*paths: Path) -> None:
        gz.write_features(source / "y.gd", np.zeros(500), overwrite=True)
        copy_file(*paths)

    monkeypatch.setattr(reordering, "copy_file", replace_and_copy)
    with pytest.raises(gz.InputError, match="changed while it was read"):
        gz.reorder(source, tmp_path / "out", order="degree")
    assert names(tmp_path) == ["ds"]


def test_an_unknown_order_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected 'degree' or 'community'"):
        gz.reorder(tmp_path, tmp_path / "out", order="size")  # type: ignore[arg-type]
