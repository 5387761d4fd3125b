"""Matrix files from .npy files, and by the function that GraphZero 0.2 had."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphzero import InputError, _engine
from graphzero.conversion.compile_column import ColumnReport, ColumnRequest, compile_column
from graphzero.conversion.compile_features import convert_csv_to_gd


@pytest.fixture
def compile_npy(tmp_path: Path) -> Callable[..., ColumnReport]:
    """Saves an array and compiles it to tmp_path / "x.gd"."""

    def run(array: Any, **options: Any) -> ColumnReport:
        np.save(tmp_path / "x.npy", array)
        (tmp_path / "x.gd").unlink(missing_ok=True)
        settings = {"memory": 64 << 20, "threads": 1, "temp_dir": str(tmp_path)} | options
        return compile_column(
            str(tmp_path / "x.npy"), str(tmp_path / "x.gd"), ColumnRequest(**settings)
        )

    return run


def result(tmp_path: Path) -> Any:
    return _engine.Matrix.open(str(tmp_path / "x.gd")).tensor()


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 2), (0, 2)])
def test_npy_keeps_its_shape(
    compile_npy: Callable[..., ColumnReport], tmp_path: Path, shape: tuple[int, ...]
) -> None:
    array = np.arange(np.prod(shape, dtype=int), dtype=np.int16).reshape(shape)
    report = compile_npy(array)
    assert (report.rows, report.dtype) == (shape[0], "int16")
    assert result(tmp_path).shape == shape
    assert (result(tmp_path) == array).all()


def test_npy_in_fortran_order_is_read_row_by_row(
    compile_npy: Callable[..., ColumnReport], tmp_path: Path
) -> None:
    array = np.asfortranarray(np.arange(60.0).reshape(20, 3))
    compile_npy(array, dtype="float32")
    assert (result(tmp_path) == array).all()


def test_npy_must_have_one_row_for_each_node(
    compile_npy: Callable[..., ColumnReport], tmp_path: Path
) -> None:
    name = str(tmp_path / "x.npy")
    with pytest.raises(InputError) as error:
        compile_npy(np.ones(5), num_rows=4)
    assert str(error.value) == f"{name}: found 5 rows, expected 4, one for each node"
    with pytest.raises(InputError, match=r"found 5 rows, expected 6, .*--fill VALUE"):
        compile_npy(np.ones(5), num_rows=6)


def test_npy_is_filled_up_to_num_nodes(
    compile_npy: Callable[..., ColumnReport], tmp_path: Path
) -> None:
    report = compile_npy(np.array([1, 2]), num_rows=4, fill="-9223372036854775808")
    assert report.filled == 2
    assert result(tmp_path).tolist() == [1, 2, -(2**63), -(2**63)]


def test_npy_with_nan_for_an_integer_dtype_names_the_row(
    compile_npy: Callable[..., ColumnReport], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"x.npy row 1: found nan, expected a value of int64"):
        compile_npy(np.array([1, np.nan]), dtype="int64")
    compile_npy(np.array([1, np.nan]), dtype="int64", nan="-1")
    assert result(tmp_path).tolist() == [1, -1]


def test_npy_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    good = tmp_path / "good.npy"
    np.save(good, np.arange(100.0))
    contents = {
        "empty": b"",
        "text": b"0,1\n1,2\n" * 20,
        "truncated": good.read_bytes()[:500],
        "pickled": b"",
    }
    for name, content in contents.items():
        path = tmp_path / f"{name}.npy"
        path.write_bytes(content)
        if name == "pickled":
            np.save(path, np.array([{}, None]), allow_pickle=True)
        with pytest.raises(InputError, match=f"{name}.npy: not a readable .npy file"):
            compile_column(
                str(path),
                str(tmp_path / "x.gd"),
                ColumnRequest(memory=64 << 20, threads=1, temp_dir="."),
            )


# GraphZero 0.2


def test_convert_csv_to_gd_fills_with_zeros_and_has_two_dimensions(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("0,1.5\n2,3\n1,4\n5,9.25\n")
    for _ in range(2):  # 0.2 replaced an existing file
        convert_csv_to_gd(str(tmp_path / "x.csv"), str(tmp_path / "x.gd"), "float32")
    assert result(tmp_path).tolist() == [[1.5], [4], [3], [0], [0], [9.25]]


def test_convert_csv_to_gd_takes_members_of_an_enumeration(tmp_path: Path) -> None:
    from enum import Enum

    kind = Enum("DataType", ["INT32", "INT64", "FLOAT32", "FLOAT64"])
    (tmp_path / "x.csv").write_text("1,2,3\n")
    convert_csv_to_gd(tmp_path / "x.csv", tmp_path / "x.gd", kind["INT64"])
    assert result(tmp_path).dtype == np.int64
    assert result(tmp_path).tolist() == [[0, 0], [2, 3]]
