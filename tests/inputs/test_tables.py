"""Parquet, Arrow and Feather: the same dataset as from arrays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from contents import column
from graphzero import InputError
from input_graphs import SmallGraph, convert
from pyarrow import feather, parquet

Write = Callable[[pa.Table, Path], None]


def write_parquet(table: pa.Table, path: Path) -> None:
    parquet.write_table(table, path, row_group_size=1_000)


def write_ipc(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=700)


def write_folder(table: pa.Table, path: Path) -> None:
    """As several writers do: parts, and a file that says they are done."""
    path.mkdir()
    for part, first in enumerate(range(0, len(table), 2_500)):
        parquet.write_table(table.slice(first, 2_500), path / f"part-{part:05}.parquet")
    (path / "_SUCCESS").touch()


FORMATS = [
    pytest.param(write_parquet, "t.parquet", id="parquet"),
    pytest.param(write_ipc, "t.arrow", id="ipc"),
    pytest.param(write_stream, "t.arrows", id="ipc-stream"),
    pytest.param(lambda t, p: feather.write_feather(t, p, "zstd"), "t.feather", id="feather"),
    pytest.param(write_folder, "t", id="folder"),
]


@pytest.mark.parametrize(("write", "name"), FORMATS)
@pytest.mark.parametrize("weighted", [False, True])
def test_edges_are_those_of_the_arrays(
    tmp_path: Path, small: SmallGraph, write: Write, name: str, weighted: bool
) -> None:
    columns: dict[str, Any] = {"note": ["x"] * len(small.src), "dst": small.dst, "src": small.src}
    if weighted:
        columns["weight"] = small.weight.astype(np.float64)
    write(pa.table(columns), tmp_path / name)
    expected = small.write(tmp_path / "expected", weighted=weighted, edge_ids=True)
    done = convert(
        "--edges", tmp_path / name, "--num-nodes", small.num_nodes, "--edge-ids",
        "--out", tmp_path / "ds",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "ds/graph.gl").read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_ids_of_any_integer_type_are_taken(tmp_path: Path, dtype: str) -> None:
    ends = {"a": np.array([0, 1, 2], dtype), "b": np.array([1, 2, 0], dtype)}
    write_parquet(pa.table(ends), tmp_path / "e.parquet")
    gz.import_files(tmp_path / "e.parquet", tmp_path / "ds")
    assert gz.Graph(tmp_path / "ds").get_neighbours(1).tolist() == [2]


def test_named_columns_are_the_ends(tmp_path: Path) -> None:
    table = pa.table({"source": [9, 9], "caller": [0, 1], "callee": [1, 2], "cost": [0.5, 2.0]})
    write_parquet(table, tmp_path / "e.parquet")
    gz.import_files(
        tmp_path / "e.parquet", tmp_path / "ds", source="caller", target="callee", weight="cost"
    )
    graph = gz.Graph(tmp_path / "ds")
    assert graph.num_nodes == 3
    assert graph.get_weights(1).tolist() == [2.0]


def test_columns_by_id_in_any_order(tmp_path: Path, small: SmallGraph) -> None:
    order = np.random.default_rng(0).permutation(small.num_nodes)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(small.x[order].ravel()), 7)
    table = pa.table({"x": vectors, "y": small.y[order], "ID": order})
    write_parquet(table, tmp_path / "nodes.parquet")
    write_parquet(pa.table({"s": small.src, "t": small.dst}), tmp_path / "e.parquet")
    done = convert(
        "--edges", tmp_path / "e.parquet", "--num-nodes", small.num_nodes,
        "--column", f"x={tmp_path}/nodes.parquet#x", "--column", f"y={tmp_path}/nodes.parquet#y",
        "--out", tmp_path / "ds",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    np.testing.assert_array_equal(column(tmp_path / "ds", "x"), small.x)
    np.testing.assert_array_equal(column(tmp_path / "ds", "y"), small.y)


def test_columns_without_ids_are_in_order(tmp_path: Path, small: SmallGraph) -> None:
    scalars = {f"f{i}": small.x[:, i] for i in range(7)}
    write_parquet(pa.table(scalars), tmp_path / "wide.parquet")
    lists = pa.array(small.x.tolist(), pa.list_(pa.float32()))
    write_parquet(pa.table({"v": lists}), tmp_path / "lists.parquet")
    write_parquet(pa.table({"s": small.src, "t": small.dst}), tmp_path / "e.parquet")
    gz.import_files(
        tmp_path / "e.parquet",
        tmp_path / "ds",
        num_nodes=small.num_nodes,
        columns={"a": tmp_path / "wide.parquet", "b": tmp_path / "lists.parquet"},
        dtypes={"b": "float16"},
    )
    np.testing.assert_array_equal(column(tmp_path / "ds", "a"), small.x)
    np.testing.assert_array_equal(column(tmp_path / "ds", "b"), small.x.astype(np.float16))


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.parquet"
    write_parquet(pa.table({"src": [0, 1, 2], "dst": [1, 2, 0]}), path)
    return path


def test_missing_rows_are_filled_on_request_only(tmp_path: Path, edges: Path) -> None:
    write_parquet(pa.table({"id": [2, 0], "v": [5, 6]}), tmp_path / "v.parquet")
    source = {"v": tmp_path / "v.parquet"}
    with pytest.raises(InputError, match=r"v\.parquet: 1 of 3 node ids have no row"):
        gz.import_files(edges, tmp_path / "ds", columns=source)
    report = gz.import_files(edges, tmp_path / "ds", columns=source, fill=-1)
    assert column(tmp_path / "ds", "v").tolist() == [6, -1, 5]
    assert report.columns["v"].filled == 1


TABLES = {
    "null-id": {"src": [0, None], "dst": [1, 1]},
    "negative": {"src": [0, 1], "dst": [1, -4]},
    "text": {"src": ["a", "b"], "dst": ["b", "a"]},
    "float": {"src": [0.5, 1.0], "dst": [1.0, 2.0]},
    "mixed": {"src": [0, 1], "dst": ["0", "1"]},
    "narrow": {"src": [0, 1]},
    "weight": {"src": [0, 1], "dst": [1, 0], "weight": [1.0, -2.0]},
}
ERRORS = [
    ("null-id", r"column 'src' row 1: found null, expected a value"),
    ("negative", r"row 1: found target -4, expected an id from 0 to 2\^63 - 1"),
    ("text", r"found texts as node ids, expected integers; --relabel numbers them"),
    ("float", r"column 'src': found double, expected integers or texts as node ids"),
    ("mixed", r"found int64 in 'src' and string in 'dst', expected the same kind"),
    ("narrow", r"found columns 'src', expected one for the source and one for the target"),
    ("weight", r"row 1: found weight -2.000000, expected a finite value >= 0"),
]


@pytest.mark.parametrize(("name", "message"), ERRORS)
def test_bad_edges_name_file_row_and_column(tmp_path: Path, name: str, message: str) -> None:
    write_parquet(pa.table(TABLES[name]), tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"e\.parquet:? " + message):
        gz.import_files(tmp_path / "e.parquet", tmp_path / "ds")
    assert not (tmp_path / "ds").exists()


def test_the_first_bad_row_is_named_whatever_thread_meets_it(tmp_path: Path) -> None:
    src = np.zeros(700_000, np.int64)
    src[[123_456, 600_000]] = -1
    write_parquet(pa.table({"src": src, "dst": src * 0}), tmp_path / "e.parquet")
    for _ in range(5):
        with pytest.raises(InputError, match="row 123456: found source -1"):
            gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", threads=4)


COLUMNS = [
    ({"id": [0, 1, 1], "v": [1, 2, 3]}, r"row 2: found node id 1 again, expected each id once"),
    ({"id": [0, 1, 7], "v": [1, 2, 3]}, r"row 2: found node id 7, expected an id below 3"),
    ({"v": [1, 2]}, r": found 2 rows, expected 3, one for each node"),
    ({"v": [1, None, 3]}, r"column 'v' row 1: found null, expected a value; --fill v=0"),
    ({"v": [[1, 2], [3], [4, 5]]}, r"column 'v' row 1: found a list of 1 values, expected 2"),
    ({"v": ["a", "b", "c"], "w": [1, 2, 3]}, r"column 'v': found string beside other columns"),
    ({"id": [0, 1, 2]}, r": found no column beside 'id', expected values"),
]


@pytest.mark.parametrize(("table", "message"), COLUMNS)
def test_bad_columns_name_file_row_and_column(
    tmp_path: Path, edges: Path, table: dict[str, Any], message: str
) -> None:
    write_parquet(pa.table(table), tmp_path / "v.parquet")
    with pytest.raises(InputError, match=r"v\.parquet ?" + message):
        gz.import_files(edges, tmp_path / "ds", columns={"v": tmp_path / "v.parquet"})
    assert not (tmp_path / "ds").exists()


def test_a_damaged_parquet_file_is_named(tmp_path: Path, edges: Path) -> None:
    data = edges.read_bytes()
    edges.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"edges\.parquet: not a readable Parquet file"):
        gz.import_files(edges, tmp_path / "ds")


def test_a_missing_column_lists_those_there_are(tmp_path: Path, edges: Path) -> None:
    with pytest.raises(InputError, match="found no column 'via', expected one of 'src', 'dst'"):
        gz.import_files(edges, tmp_path / "ds", source="via", target="dst")


def test_an_edge_column_is_a_column_of_the_table(tmp_path: Path, edges: Path) -> None:
    table = pa.table({"src": [2, 0, 1], "dst": [0, 1, 2], "when": [20, 0, 10]})
    write_parquet(table, edges)
    gz.import_files(edges, tmp_path / "ds", edge_columns={"when": f"{edges}#when"})
    store = gz.FeatureStore(tmp_path / "ds/when.gd")
    assert store.role == "edge"
    graph = gz.Graph(tmp_path / "ds")
    for node in range(3):
        assert store.gather(graph.get_edge_ids(node)).tolist() == [10 * node]


def test_splits_are_ids_or_masks(tmp_path: Path, edges: Path) -> None:
    write_parquet(pa.table({"node": [2, 0]}), tmp_path / "train.parquet")
    np.save(tmp_path / "test.npy", np.array([False, True, True]))
    (tmp_path / "valid.csv").write_text("1\n")
    gz.import_files(
        edges,
        tmp_path / "ds",
        splits={
            "train": tmp_path / "train.parquet",
            "test": tmp_path / "test.npy",
            "valid": tmp_path / "valid.csv",
        },
    )
    found = {name: column(tmp_path / "ds", name).tolist() for name in ("train", "test", "valid")}
    assert found == {"train": [2, 0], "test": [1, 2], "valid": [1]}
    assert gz.FeatureStore(tmp_path / "ds/test.gd").role == "ids"


@pytest.mark.parametrize(("ids", "row"), [([0, 3], 1), ([-1], 0)])
def test_a_split_names_an_id_outside_the_graph(
    tmp_path: Path, edges: Path, ids: list[int], row: int
) -> None:
    write_parquet(pa.table({"node": ids}), tmp_path / "train.parquet")
    with pytest.raises(InputError, match=rf"train\.parquet row {row}: found (node )?id"):
        gz.import_files(edges, tmp_path / "ds", splits={"train": tmp_path / "train.parquet"})


PEAK = """
import sys
import graphzero as gz
gz.import_files(sys.argv[2] + "/e.parquet", sys.argv[1],
                columns={"x": sys.argv[2] + "/x.parquet"}, memory=64 << 20)
status = dict(line.split(":") for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) << 10)
"""


@pytest.mark.slow
def test_parquet_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """One row group each: what a careless writer leaves."""
    nodes, width = 3_000_000, 64
    ids = np.arange(nodes)
    parquet.write_table(
        pa.table({"src": ids, "dst": ids[::-1]}), tmp_path / "e.parquet", row_group_size=nodes
    )
    rows = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(nodes * width, np.float32)), width)
    table = pa.table({"id": ids[::-1], "v": rows})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=nodes)
    unpacked = table.nbytes
    done = subprocess.run(
        [sys.executable, "-c", PEAK, tmp_path / "ds", tmp_path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 320 << 20 < unpacked / 2
    assert gz.FeatureStore(tmp_path / "ds/x.gd").shape == (nodes, width)


def test_columns_that_nothing_names_as_ends_are_told(tmp_path: Path) -> None:
    table = pa.table({"user": [0, 1], "film": [2, 0], "stars": [5, 3]})
    parquet.write_table(table, tmp_path / "r.parquet")
    for options in ({}, {"relabel": True}):
        report = gz.import_files(tmp_path / "r.parquet", tmp_path / "ds", overwrite=True, **options)
        assert report.graph.guessed_ends == ("user", "film")
        assert any("first columns, 'user' and 'film', are taken as" in n for n in report.notes)
    report = gz.import_files(
        tmp_path / "r.parquet", tmp_path / "ds", source="film", target="user", overwrite=True
    )
    assert report.notes == ()
