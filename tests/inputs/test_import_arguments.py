"""Arguments of imports work, or are refused by name: none is passed over in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from contents import column
from graphzero import InputError
from input_graphs import convert
from pyarrow import parquet


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.parquet"
    parquet.write_table(pa.table({"src": [0, 1, 2], "dst": [1, 2, 0]}), path)
    return path


def test_the_wrong_order_is_told(tmp_path: Path, edges: Path) -> None:
    with pytest.raises(InputError, match=r"import_files\(edges, out\): .*expected the source"):
        gz.import_files(tmp_path / "ds", edges)
    with pytest.raises(InputError, match=r"import_folder\(folder, out\): .*expected the source"):
        gz.import_folder(tmp_path / "ds", tmp_path)
    for function in (gz.import_pyg, gz.import_dgl, gz.import_scipy, gz.import_networkx):
        name = function.__name__
        with pytest.raises(TypeError, match=rf"{name}\(\w+, out\): found PosixPath and dia_array"):
            function(tmp_path / "ds", sp.eye_array(3))  # type: ignore[operator]


def test_unknown_options_are_named(tmp_path: Path, edges: Path) -> None:
    with pytest.raises(TypeError, match=r"import_files\(\) got an unexpected keyword argument 'dt"):
        gz.import_files(edges, tmp_path / "ds", dtpye="float16")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"import_scipy\(\) got an unexpected keyword argument 'we"):
        gz.import_scipy(sp.eye(3), tmp_path / "ds", weight=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("relabel", ["texts", "yes", 1, None])
def test_relabel_is_one_of_its_words(tmp_path: Path, edges: Path, relabel: Any) -> None:
    with pytest.raises(ValueError, match=rf"relabel: found {relabel!r}, expected True, False, 'au"):
        gz.import_files(edges, tmp_path / "ds", relabel=relabel)


def test_types_are_for_columns_that_are_there(tmp_path: Path, edges: Path) -> None:
    parquet.write_table(pa.table({"v": [1, 2, 3]}), tmp_path / "v.parquet")
    given = {"columns": {"x": tmp_path / "v.parquet"}, "splits": {"t": tmp_path / "v.parquet"}}
    for name in ("y", "t"):
        with pytest.raises(ValueError, match=f"dtypes: found '{name}', expected names of columns"):
            gz.import_files(edges, tmp_path / "ds", dtypes={name: "int32"}, **given)
    done = convert("--edges", edges, "--split", "t=t.csv:int32", "--out", tmp_path / "ds")
    assert (done.returncode, "found type int32, expected NAME=FILE" in done.stderr) == (1, True)


def test_nulls_that_got_a_value_are_counted(tmp_path: Path, edges: Path) -> None:
    table = pa.table({"id": [2, 1, 0], "a": [1, None, None], "b": [None, 1, 2]})
    parquet.write_table(table, tmp_path / "v.parquet")
    for name, options in (("plain", {}), ("relabelled", {"relabel": True})):
        report = gz.import_files(
            edges,
            tmp_path / name,
            columns={"v": tmp_path / "v.parquet"},
            dtypes={"v": "int64"},
            nan=-1,
            **options,
        )
        assert report.columns["v"].nans == 3
        assert column(tmp_path / name, "v").tolist() == [[-1, 2], [-1, 1], [1, -1]]
    done = convert(
        "--edges", edges, "--column", f"v={tmp_path}/v.parquet:int64", "--nan", "-1",
        "--out", tmp_path / "cli",
    )  # fmt: skip
    assert "v: 3 x 2 int64, missing 2 in 'a', 1 in 'b' (replaced)" in done.stdout
    with pytest.raises(InputError, match=r"fill value of 'v': found 0\.5, expected an integer"):
        gz.import_files(
            edges,
            tmp_path / "x",
            columns={"v": tmp_path / "v.parquet"},
            dtypes={"v": "int64"},
            nan=0.5,
        )


@pytest.mark.parametrize("options", [[], ["--relabel"], ["--source", "src", "--target", "dst"]])
def test_rows_of_tables_are_not_skipped_in_silence(
    tmp_path: Path, edges: Path, options: list[str]
) -> None:
    done = convert("--edges", edges, "--on-error", "skip", *options, "--out", tmp_path / "ds")
    message = "edges.parquet: found --on-error skip without any text"
    assert (done.returncode, message in done.stderr) == (1, True)


@pytest.mark.parametrize("suffix", [".npy", ".gl"])
def test_names_of_columns_need_columns(tmp_path: Path, suffix: str) -> None:
    np.save(tmp_path / "e.npy", np.array([[0], [1]]))
    gz.write_graph(tmp_path / "e.gl", [0], [1])
    with pytest.raises(InputError, match=r"found names of columns \(--source, --target, --weight"):
        gz.import_files(tmp_path / f"e{suffix}", tmp_path / "ds", source="a", target="b")


def test_parts_that_a_file_does_not_have(tmp_path: Path, edges: Path) -> None:
    with pytest.raises(InputError, match=r"edges\.parquet#src: found one column, expected a table"):
        gz.import_files(f"{edges}#src", tmp_path / "ds")
    (tmp_path / "e.csv").write_text("0,1\n")
    for options in ({}, {"relabel": True}):
        with pytest.raises(InputError, match=r"e\.csv#a: only tables and \.npz archives have part"):
            gz.import_files(f"{tmp_path}/e.csv#a", tmp_path / "ds", **options)
    done = convert("--edges", edges, "--edges", edges, "--out", tmp_path / "ds")
    assert "found 2 sources of edges, expected one" in done.stderr


def test_a_split_of_text_is_one_column(tmp_path: Path, edges: Path) -> None:
    for text, message in (
        ("id,label\n0,1\n", r"s\.csv: found columns 'id', 'label', expected one .* as .*s\.csv#id"),
        ("id\n0,1\n", r"s\.csv line 2: expected a node id alone, found 2 columns"),
    ):
        (tmp_path / "s.csv").write_text(text)
        with pytest.raises(InputError, match=message):
            gz.import_files(edges, tmp_path / "ds", splits={"train": tmp_path / "s.csv"})


@pytest.mark.parametrize("option", ["--relabel", "--source=a", "--target=a", "--weight=a"])
def test_a_folder_says_itself_what_its_edges_are(tmp_path: Path, option: str) -> None:
    (tmp_path / "f").mkdir()
    np.save(tmp_path / "f/edge_index.npy", np.array([[0], [1]]))
    done = convert(tmp_path / "f", option, "--out", tmp_path / "ds")
    name = option.split("=")[0]
    assert (done.returncode, f"f: found {name}, which is for files" in done.stderr) == (1, True)


def test_values_of_types_that_no_column_has(tmp_path: Path, edges: Path) -> None:
    np.save(tmp_path / "v.npy", np.arange(3, dtype=np.uint64))
    source = {"v": tmp_path / "v.npy"}
    with pytest.raises(InputError, match=r"v\.npy: found values of uint64, .*convert to: NAME=FI"):
        gz.import_files(edges, tmp_path / "ds", columns=source)
    gz.import_files(edges, tmp_path / "ds", columns=source, dtypes={"v": "int64"})
    assert column(tmp_path / "ds", "v").tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pa.array([[[1.0]], [[2.0]], [[3.0]]]), r"found list<.*expected a number or a list of num"),
        (pa.array([1, 2, 3], pa.duration("us")), r"found duration\[us\], expected numbers"),
        (pa.array([{"a": 1}] * 3), r"found struct<a: int64>, expected numbers"),
    ],
)
def test_values_that_are_no_numbers(tmp_path: Path, edges: Path, values: Any, message: str) -> None:
    parquet.write_table(pa.table({"v": values}), tmp_path / "v.parquet")
    with pytest.raises(InputError, match=rf"v\.parquet column 'v': {message}"):
        gz.import_files(edges, tmp_path / "ds", columns={"v": tmp_path / "v.parquet"})


def test_lists_beside_other_columns_ask_for_a_choice(tmp_path: Path, edges: Path) -> None:
    table = pa.table({"v": [[1.0, 2.0]] * 3, "w": [1.0, 2.0, 3.0]})
    parquet.write_table(table, tmp_path / "v.parquet")
    with pytest.raises(InputError, match=r"v\.parquet: found lists beside other columns"):
        gz.import_files(edges, tmp_path / "ds", columns={"v": tmp_path / "v.parquet"})
