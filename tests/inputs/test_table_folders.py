"""Folders of tables: their files agree, and errors name the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import pyarrow as pa
import pytest
from contents import column
from graphzero import InputError
from pyarrow import parquet


def folder_of(path: Path, *tables: dict[str, Any]) -> Path:
    path.mkdir()
    for number, columns in enumerate(tables):
        parquet.write_table(pa.table(columns), path / f"part-{number}.parquet")
    return path


GOOD = {"src": [0, 1], "dst": [1, 2]}
EDGES: list[tuple[dict[str, Any], str]] = [
    ({"src": ["a"], "dst": ["b"]}, r"part-1\.parquet column 'src': found string, expected int64"),
    ({"src": [0.5], "dst": [1]}, r"part-1\.parquet column 'src': found double, expected int64"),
    ({"src": [0]}, r"part-1\.parquet: found no column 'dst', expected int64 as in .*part-0\.parq"),
    ({"src": [0, None], "dst": [1, 1]}, r"part-1\.parquet column 'src' row 1: found null"),
    ({"src": [0, 1, 2], "dst": [1, 0, -4]}, r"part-1\.parquet row 2: found target -4, expected"),
]


@pytest.mark.parametrize(("second", "message"), EDGES)
def test_the_file_of_a_bad_edge_is_named(
    tmp_path: Path, second: dict[str, Any], message: str
) -> None:
    edges = folder_of(tmp_path / "e", GOOD, second)
    with pytest.raises(InputError, match=message):
        gz.import_files(edges, tmp_path / "ds")
    assert not (tmp_path / "ds").exists()


COLUMNS: list[tuple[dict[str, Any], str]] = [
    ({"id": [2], "v": ["x"]}, r"part-1\.parquet column 'v': found string, expected double"),
    ({"id": [2]}, r"part-1\.parquet: found no column 'v'"),
    ({"id": [7], "v": [1.0]}, r"part-1\.parquet row 0: found node id 7, expected an id below 3"),
    ({"id": [2, 1], "v": [1.0, 2.0]}, r"part-1\.parquet row 1: found node id 1 again"),
]


@pytest.mark.parametrize(("second", "message"), COLUMNS)
def test_the_file_of_a_bad_value_is_named(
    tmp_path: Path, second: dict[str, Any], message: str
) -> None:
    parquet.write_table(pa.table(GOOD), tmp_path / "e.parquet")
    values = folder_of(tmp_path / "v", {"id": [0, 1], "v": [1.5, 2.5]}, second)
    with pytest.raises(InputError, match=message):
        gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", columns={"v": f"{values}#v"})


@pytest.mark.parametrize("with_ids", [False, True])
def test_the_file_of_a_value_that_does_not_fit_is_named(tmp_path: Path, with_ids: bool) -> None:
    parquet.write_table(pa.table(GOOD), tmp_path / "e.parquet")
    tables: list[dict[str, Any]] = [{"v": [1.5]}, {"v": [2.5, 7e4]}]
    if with_ids:
        tables = [{"id": [0], **tables[0]}, {"id": [1, 2], **tables[1]}]
    values = folder_of(tmp_path / "v", *tables)
    with pytest.raises(
        InputError, match=r"part-1\.parquet row 1 column 'v': found 70000\.0, which does"
    ):
        gz.import_files(
            tmp_path / "e.parquet",
            tmp_path / "ds",
            columns={"v": f"{values}#v"},
            dtype="float16",
        )


@pytest.mark.parametrize("fixed", [False, True])
def test_the_file_whose_lists_are_of_another_length_is_named(tmp_path: Path, fixed: bool) -> None:
    parquet.write_table(pa.table(GOOD), tmp_path / "e.parquet")

    def lists(rows: list[list[float]]) -> Any:
        return pa.array(rows, pa.list_(pa.float64(), len(rows[0]) if fixed else -1))

    first, second = lists([[0.5, 1.5]]), lists([[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]])
    values = folder_of(tmp_path / "v", {"id": [0], "v": first}, {"id": [1, 2], "v": second})
    with pytest.raises(
        InputError,
        match=r"part-1\.parquet column 'v' row 0: found a list of 3 values, expected 2 as in the",
    ):
        gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", columns={"v": f"{values}#v"})


def test_relabelled_ids_name_their_file(tmp_path: Path) -> None:
    edges = folder_of(tmp_path / "e", {"src": ["a"], "dst": ["b"]}, {"src": ["c"], "dst": [""]})
    with pytest.raises(InputError, match=r"part-1\.parquet row 0: found an empty id"):
        gz.import_files(edges, tmp_path / "ds", relabel=True)


def test_types_of_one_kind_go_together(tmp_path: Path) -> None:
    narrow = {"src": pa.array([0], pa.int32()), "dst": pa.array([1], pa.uint8())}
    edges = folder_of(tmp_path / "e", narrow, {"src": [1], "dst": [2]})
    values = folder_of(
        tmp_path / "v",
        {"id": [0], "v": pa.array([1.0], pa.float32())},
        {"id": [1, 2], "v": pa.array([1e-300, 2.0], pa.float64())},
    )
    gz.import_files(edges, tmp_path / "ds", columns={"v": f"{values}#v"}, dtypes={"v": "float64"})
    assert gz.Graph(tmp_path / "ds").num_edges == 2
    assert column(tmp_path / "ds", "v").tolist() == [1.0, 1e-300, 2.0]


def test_two_kinds_of_files_are_refused(tmp_path: Path) -> None:
    edges = folder_of(tmp_path / "e", GOOD)
    (edges / "more.arrow").write_bytes(b"ARROW1")
    with pytest.raises(InputError, match=r"found .*more\.arrow beside Parquet files"):
        gz.import_files(edges, tmp_path / "ds")
