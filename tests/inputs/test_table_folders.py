"""Folders of tables: their files agree, and errors name the file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from contents import column, file_bytes
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


def timed(tmp_path: Path, *tables: dict[str, Any]) -> dict[str, Any]:
    """A table in a folder, whose rows name one another."""
    events = folder_of(tmp_path / "events", *tables)
    return {"events": {"file": events, "time": "t", "references": {"r": "events"}}}


@pytest.mark.parametrize("order", [("s", "ns"), ("ns", "s"), ("ms", "us", "ms")])
def test_the_finest_unit_of_the_files_is_that_of_the_dataset(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    parts = [{"t": pa.array([7], pa.timestamp(unit)), "r": [0]} for unit in order]
    gz.import_tables(timed(tmp_path, *parts), tmp_path / "ds")
    times = gz.FeatureStore(tmp_path / "ds/events/time.gd")
    finest = "us" if "us" in order else "ns"
    assert times.unit == finest
    # Parquet stores seconds as milliseconds.
    expected = [np.datetime64(7, unit).astype(f"datetime64[{finest}]") for unit in order]
    assert times.get_tensor().tolist() == [int(time.astype(np.int64)) for time in expected]


def test_dates_of_several_units_lose_nothing(tmp_path: Path) -> None:
    parquet.write_table(pa.table(GOOD), tmp_path / "e.parquet")
    days = folder_of(
        tmp_path / "v",
        {"v": pa.array([1, 2], pa.date32())},
        {"v": pa.array([1], pa.timestamp("us"))},
    )
    gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", columns={"v": f"{days}#v"})
    assert column(tmp_path / "ds", "v").tolist() == [86_400_000_000, 172_800_000_000, 1]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.decimal128(5, 0), pa.decimal128(5, 2), "float32"),
        (pa.decimal128(5, 2), pa.decimal128(5, 0), "float32"),
        (pa.decimal128(5, 0), pa.float64(), "float32"),
        (pa.decimal128(5, 0), pa.int32(), "int64"),
        (pa.int32(), pa.decimal128(5, 0), "int64"),
    ],
)
def test_decimals_without_digits_go_with_all_numbers(
    tmp_path: Path, first: Any, second: Any, expected: str
) -> None:
    parquet.write_table(pa.table(GOOD), tmp_path / "e.parquet")
    parts = ({"v": pa.array([1], first)}, {"v": pa.array([2, 3], second)})
    values = folder_of(tmp_path / "v", *parts)
    gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", columns={"v": f"{values}#v"})
    assert column(tmp_path / "ds", "v").tolist() == [1, 2, 3]
    assert str(column(tmp_path / "ds", "v").dtype) == expected


def test_the_file_whose_type_is_expected_is_named(tmp_path: Path) -> None:
    parquet.write_table(pa.table(GOOD), tmp_path / "e.parquet")
    parts: list[dict[str, Any]] = [{"v": [None]}, {"v": [1.5]}, {"v": ["x"]}]
    values = folder_of(tmp_path / "v", *parts)
    message = r"part-2\.parquet column 'v': found string, expected double as in .*part-1\.parquet"
    with pytest.raises(InputError, match=message):
        gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", columns={"v": f"{values}#v"})


# --- Folders of text ---

ROWS = [
    "id,when,boss,pay",
    "a,2020-01-01,b,1",
    "b,2020-01-02,a,2.5",
    "c,2020-01-03,a,",
    "d,2020-01-04,c,4",
]
STAFF = {"key": "id", "time": "when", "references": {"boss": "staff"}, "label": "pay"}


def text_folder(path: Path, files: dict[str, list[str]]) -> Path:
    path.mkdir()
    for name, lines in files.items():
        content = "".join(f"{line}\n" for line in lines).encode()
        (path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def staff(path: Path, **more: Any) -> dict[str, Any]:
    return {"staff": {"file": path, **STAFF, **more}}


def test_texts_of_a_folder_are_one_table(tmp_path: Path) -> None:
    """In the order of their names; hidden files, notes and other folders are none of them."""
    (tmp_path / "staff.csv").write_text("\n".join(ROWS) + "\n")
    turned = ["pay,boss,when,id", "4,c,2020-01-04,d"]
    files = {
        "part-0.csv": ROWS[:3],
        "part-1.csv": ROWS[:1],  # without a row
        "part-2.csv.gz": [ROWS[0], ROWS[3]],
        "part-3.tsv": [line.replace(",", "\t") for line in turned],
        "README.txt": ["about staff"],
        "_SUCCESS.csv": [],
        ".part-0.csv": ["crc"],
    }
    folder = text_folder(tmp_path / "staff", files)
    (folder / "more").mkdir()
    report = gz.import_tables(staff(folder), tmp_path / "folder")
    gz.import_tables(staff(tmp_path / "staff.csv"), tmp_path / "file")
    assert file_bytes(tmp_path / "folder") == file_bytes(tmp_path / "file")
    assert report.types["staff"].columns["y"].missing == {"pay": 1}


def test_kinds_of_text_are_those_of_all_files(tmp_path: Path) -> None:
    """A code that is a number in one file is a text if another file says so."""
    folder = text_folder(
        tmp_path / "staff",
        {
            "0.csv": ["id,when,boss,pay", "1,5,07,1", "07,6,1,2"],
            "1.csv": ["id,when,boss,pay", "x,7,1,0.5"],
        },
    )
    gz.import_tables(staff(folder), tmp_path / "ds")
    assert gz.OriginalIds(tmp_path / "ds/staff").gather([0, 1, 2]) == ["07", "1", "x"]
    y = gz.FeatureStore(tmp_path / "ds/staff/y.gd").get_tensor()
    assert (str(y.dtype), y.tolist()) == ("float32", [2, 1, 0.5])


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            ["id,when,pay", "d,2020-01-04,4"],
            r"1\.csv: found no column 'boss', expected it as in .*0\.csv: each file of a folder",
        ),
        (
            [*ROWS[::3], "d,2020-01-04,nobody,4"],
            r"1\.csv line 3 column 'boss': found 'nobody'",
        ),
        (
            [*ROWS[::3], "b,2020-01-04,a,4"],
            r"1\.csv line 3 column 'id': found key 'b' again.*0\.csv line 3",
        ),
        ([*ROWS[::3], "d,2020-01-04,a,x"], r"1\.csv line 3: column 'pay': found \"x\""),
    ],
)
def test_the_text_of_a_bad_row_is_named(tmp_path: Path, second: list[str], message: str) -> None:
    folder = text_folder(tmp_path / "staff", {"0.csv": ROWS[:3], "1.csv": second})
    with pytest.raises(InputError, match=message):
        gz.import_tables(staff(folder), tmp_path / "ds")
    assert not (tmp_path / "ds").exists()


def test_a_folder_without_tables_says_what_was_looked_for(tmp_path: Path) -> None:
    folder = text_folder(tmp_path / "staff", {"README.txt": ["about staff"]})
    with pytest.raises(
        InputError, match=r"staff: found a folder without a \.parquet, \.arrow, \.csv"
    ):
        gz.import_tables(staff(folder), tmp_path / "ds")
