"""Splits that are bool masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from contents import column
from graphzero import InputError
from pyarrow import parquet


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("0,1\n1,2\n2,3\n")
    return path


@pytest.mark.parametrize("length", [3, 5])
@pytest.mark.parametrize("kind", ["npy", "npz", "parquet"])
def test_a_mask_has_a_value_for_each_node(
    tmp_path: Path, edges: Path, length: int, kind: str
) -> None:
    mask = np.ones(length, bool)
    file = tmp_path / f"m.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table({"m": mask}), file)
    elif kind == "npz":
        np.savez_compressed(file, m=mask)
    else:
        np.save(file, mask)
    with pytest.raises(InputError, match=rf"m\.{kind}.*: found a mask of {length} values, expect"):
        gz.import_files(edges, tmp_path / "ds", splits={"train": file})
    assert not (tmp_path / "ds").exists()


def test_a_column_of_bool_is_a_mask(tmp_path: Path, edges: Path) -> None:
    parquet.write_table(pa.table({"m": [True, False, False, True]}), tmp_path / "m.parquet")
    gz.import_files(edges, tmp_path / "ds", splits={"train": tmp_path / "m.parquet"})
    assert column(tmp_path / "ds", "train").tolist() == [0, 3]


@pytest.mark.parametrize("relabel", [False, True])
def test_a_column_of_ids_tells_whose_value_it_is(
    tmp_path: Path, edges: Path, relabel: bool
) -> None:
    table = pa.table({"m": [True, False, True, False], "id": [3, 2, 1, 0]})
    parquet.write_table(table, tmp_path / "m.parquet")
    splits = {"train": f"{tmp_path}/m.parquet#m"}
    gz.import_files(edges, tmp_path / "ds", splits=splits, relabel=relabel)
    assert column(tmp_path / "ds", "train").tolist() == [3, 1]


def test_a_mask_beside_texts(tmp_path: Path) -> None:
    ids = ["ann", "bob", "éve"]
    parquet.write_table(pa.table({"src": ids, "dst": ids[::-1]}), tmp_path / "e.parquet")
    table = pa.table({"id": ["éve", "bob", "ann"], "m": [True, False, True]})
    parquet.write_table(table, tmp_path / "m.parquet")
    gz.import_files(
        tmp_path / "e.parquet",
        tmp_path / "ds",
        relabel=True,
        splits={"train": f"{tmp_path}/m.parquet#m"},
    )
    assert column(tmp_path / "ds", "train").tolist() == [2, 0]


def test_a_missing_value_is_named(tmp_path: Path, edges: Path) -> None:
    parquet.write_table(pa.table({"m": [True, None, True, False]}), tmp_path / "m.parquet")
    with pytest.raises(InputError, match=r"m\.parquet column 'm' row 1: found null"):
        gz.import_files(edges, tmp_path / "ds", splits={"train": tmp_path / "m.parquet"})


@pytest.mark.parametrize("kind", ["npy", "csv"])
def test_a_mask_of_integers_is_not_taken_for_ids(tmp_path: Path, edges: Path, kind: str) -> None:
    mask: Any = [1, 0, 1, 0]
    if kind == "npy":
        np.save(tmp_path / "m.npy", np.array(mask, np.uint8))
    else:
        (tmp_path / "m.csv").write_text("".join(f"{value}\n" for value in mask))
    with pytest.raises(InputError, match=rf"m\.{kind}: found only 0 and 1 in 4 rows"):
        gz.import_files(edges, tmp_path / "ds", splits={"train": tmp_path / f"m.{kind}"})
