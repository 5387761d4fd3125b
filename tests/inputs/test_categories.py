"""Texts and integers as categories: codes, and a dictionary that the dataset keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from commands import run_graphzero
from contents import column
from graphzero import InputError, _engine
from graphzero.conversion.inputs.arrow_texts import texts_of
from graphzero.conversion.inputs.matrix_columns import Filling, MatrixColumn, matrix_rows
from graphzero.conversion.inputs.matrix_type import matrix_type
from graphzero.conversion.inputs.opening import open_table
from graphzero.conversion.inputs.options import ReadOptions
from pyarrow import parquet

CITIES = ["Paris", "Zürich", "", "Oslo", "Paris", "São Paulo"]


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("0,1\n1,2\n2,3\n3,4\n4,5\n")
    return path


def save(folder: Path, kind: str, values: list[Any]) -> Path:
    if kind == "csv":
        lines = "".join(f"{node},{value}\n" for node, value in enumerate(values))
        (folder / "c.csv").write_text("id,city\n" + lines)
        return folder / "c.csv"
    array = pa.array([None if value == "" else value for value in values])
    if kind == "dictionary":
        array = array.dictionary_encode()
    parquet.write_table(pa.table({"id": range(len(values)), "city": array}), folder / "c.parquet")
    return folder / "c.parquet"


@pytest.mark.parametrize("kind", ["csv", "parquet", "dictionary"])
def test_texts_become_codes_in_their_order(tmp_path: Path, edges: Path, kind: str) -> None:
    report = gz.import_files(edges, tmp_path / "ds", columns={"city": save(tmp_path, kind, CITIES)})
    codes = column(tmp_path / "ds", "city")
    assert (codes.dtype, codes.tolist()) == (np.int64, [1, 3, -1, 0, 1, 2])
    categories = gz.Categories(tmp_path / "ds/city.gd")
    assert categories.gather(codes) == ["Paris", "Zürich", None, "Oslo", "Paris", "São Paulo"]
    assert categories.gather(range(len(categories))) == ["Oslo", "Paris", "São Paulo", "Zürich"]
    assert categories.find(["Zürich", "Rome"]).tolist() == [3, -1]
    assert gz.FeatureStore(tmp_path / "ds/city.gd").has_categories
    found = report.columns["city"]
    assert (found.categories, found.missing) == (4, {"city": 1})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_integers_as_categories(tmp_path: Path, edges: Path, kind: str) -> None:
    source = save(tmp_path, kind, [500, -7, 500, 10**12, 3, 3])
    gz.import_files(edges, tmp_path / "ds", columns={"city": source}, dtypes={"city": "category"})
    assert column(tmp_path / "ds", "city").tolist() == [2, 0, 2, 3, 1, 1]
    categories = gz.Categories(tmp_path / "ds/city.gd")
    assert categories.gather([0, 3, -1]) == [-7, 10**12, None]
    assert categories.find([3, 4]).tolist() == [1, -1]


def test_zeros_in_front_make_texts(tmp_path: Path, edges: Path) -> None:
    source = save(tmp_path, "csv", ["01234", "1234", "7", "007", "+7", "7"])
    gz.import_files(edges, tmp_path / "ds", columns={"city": source}, dtypes={"city": "category"})
    assert gz.Categories(tmp_path / "ds/city.gd").gather(range(5)) == [
        "+7", "007", "01234", "1234", "7",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_category_for_what_is_missing(tmp_path: Path, edges: Path, kind: str) -> None:
    gz.import_files(
        edges,
        tmp_path / "ds",
        columns={"city": save(tmp_path, kind, CITIES)},
        num_nodes=7,
        fill={"city": "nowhere"},
    )
    codes = column(tmp_path / "ds", "city")
    categories = gz.Categories(tmp_path / "ds/city.gd")
    assert categories.gather(codes[[2, 6]]) == ["nowhere"] * 2
    assert len(categories) == 5


def test_a_number_among_texts_is_a_category_only_on_request(tmp_path: Path, edges: Path) -> None:
    source = save(tmp_path, "csv", ["04G", "06A", "123", "x", "y", "z"])
    with pytest.raises(InputError, match=r"line 2: column 2: found \"04G\", expected a number"):
        gz.import_files(edges, tmp_path / "ds", columns={"city": source})
    gz.import_files(edges, tmp_path / "ds", columns={"city": source}, dtypes={"city": "category"})
    assert column(tmp_path / "ds", "city").tolist() == [0, 1, 2, 3, 4, 5]


def test_texts_that_are_no_categories(tmp_path: Path, edges: Path) -> None:
    for kind, place in (("csv", "line 3: column 'city'"), ("parquet", "row 1 column 'city'")):
        source = save(tmp_path, kind, ["a", "b" * 1025, "c", "d", "e", "f"])
        with pytest.raises(InputError, match=rf"{place}: found a text of 1025 bytes"):
            gz.import_files(edges, tmp_path / "ds", columns={"city": source})
    source = save(tmp_path, "parquet", [0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
    with pytest.raises(InputError, match=r"found double, expected texts or integers as categories"):
        gz.import_files(
            edges, tmp_path / "ds", columns={"city": source}, dtypes={"city": "category"}
        )
    with pytest.raises(InputError, match=r"found no x\.categories\.gd, expected a column of cat"):
        gz.Categories(tmp_path / "x.gd")


def test_categories_of_nothing(tmp_path: Path, edges: Path) -> None:
    source = save(tmp_path, "csv", [""] * 6)
    gz.import_files(edges, tmp_path / "ds", columns={"city": source}, dtypes={"city": "category"})
    categories = gz.Categories(tmp_path / "ds/city.gd")
    assert (len(categories), categories.gather([-1]), categories.find(["a"]).tolist()) == (
        0, [None], [-1],
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_categories_are_exported_and_come_back(tmp_path: Path, edges: Path, kind: str) -> None:
    gz.import_files(
        edges,
        tmp_path / "ds",
        columns={"city": save(tmp_path, "csv", CITIES)},
        edge_columns={"kind": _kinds(tmp_path)},
        fill={"city": "not used by any"},
    )
    gz.export_dataset(tmp_path / "ds", tmp_path / "out", format=kind)
    if kind == "parquet":
        nodes = parquet.read_table(tmp_path / "out/nodes.parquet")
        assert nodes.column("city").to_pylist() == [*CITIES[:2], "not used by any", *CITIES[3:]]
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    for name in ("city.gd", "city.categories.gd", "kind.gd", "kind.categories.gd"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "ds" / name).read_bytes()


def _kinds(folder: Path) -> str:
    parquet.write_table(pa.table({"kind": ["b", "a", None, "a", "c"]}), folder / "k.parquet")
    return f"{folder}/k.parquet#kind"


def test_tools_know_categories(tmp_path: Path, edges: Path) -> None:
    gz.import_files(edges, tmp_path / "ds", columns={"city": save(tmp_path, "csv", CITIES)})
    shown = run_graphzero("info", tmp_path / "ds")
    assert "4 texts of up to 10 bytes, one row per category" in shown.stdout
    assert "codes of city.categories.gd, -1 where missing" in shown.stdout
    verify = ["verify", tmp_path / "ds"]
    assert run_graphzero(*verify).returncode == 0
    other = tmp_path / "other"
    gz.import_files(
        edges, other, columns={"city": save(tmp_path, "csv", ["a", "b", "", "", "", ""])}
    )
    (tmp_path / "ds/city.categories.gd").write_bytes((other / "city.categories.gd").read_bytes())
    done = run_graphzero(*verify)
    assert "city.gd: row 1: found code 3, expected -1 to 1" in done.stdout
    (tmp_path / "ds/city.categories.gd").unlink()
    done = run_graphzero(*verify)
    assert "found no city.categories.gd, expected a column of categories" in done.stdout


def test_codes_do_not_depend_on_memory_or_threads(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    words = [f"{'w' * int(n % 60)}{n}" for n in rng.integers(0, 30_000, 60_000)]
    (tmp_path / "c.csv").write_text(
        "id,word\n" + "".join(f"{i},{w}\n" for i, w in enumerate(words))
    )
    found = []
    for memory, threads in ((1 << 16, 1), (1 << 30, 3)):
        folder = tmp_path / str(memory)
        folder.mkdir()
        table = open_table(str(tmp_path / "c.csv"), ReadOptions(threads=threads))
        made = MatrixColumn(matrix_type("w", table, ["word"], "category", None), Filling())
        resources = _engine.Resources.make_for_tests(
            memory=memory, threads=threads, temp_dir=str(folder)
        )
        made.prepare(folder, resources)
        rows = np.concatenate([chunk.rows for chunk in matrix_rows(made, None, role="node").open()])
        assert gz.Categories(folder / "w.categories.gd").gather(rows) == words
        found.append((rows.tolist(), (folder / "w.categories.gd").read_bytes()))
    assert found[0] == found[1]


def test_a_matrix_file_keeps_its_meaning_in_another_dataset(tmp_path: Path, edges: Path) -> None:
    gz.import_files(edges, tmp_path / "ds", columns={"city": save(tmp_path, "csv", CITIES)})
    files = [tmp_path / "ds" / name for name in ("graph.gl", "city.gd", "city.categories.gd")]
    done = run_graphzero("convert", *files, "--out", tmp_path / "again")
    assert (done.returncode, done.stderr) == (0, "")
    for file in files[1:]:
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    gz.import_files(
        edges,
        tmp_path / "other",
        columns={"place": files[1], "number": files[1]},
        dtypes={"number": "float32"},
    )
    found = gz.Categories(tmp_path / "other/place.gd").gather(column(tmp_path / "other", "place"))
    assert found == [city or None for city in CITIES]
    assert not gz.FeatureStore(tmp_path / "other/number.gd").has_categories
    files[2].unlink()
    with pytest.raises(InputError, match=r"city\.gd: found no city\.categories\.gd, expected"):
        gz.import_files(edges, tmp_path / "third", columns={"place": files[1]})


def test_texts_that_are_stored_as_views(tmp_path: Path, edges: Path) -> None:
    """As Polars writes them: short ones inside of their views, long ones in buffers."""
    texts = ["", "twelve bytes", "thirteen byte", None, "x", "ä" * 500]
    table = pa.table({"id": [5, 4, 3, 2, 1, 0], "v": pa.array(texts, pa.string_view())})
    with pa.ipc.new_file(tmp_path / "v.arrow", table.schema) as file:
        file.write(table)
    gz.import_files(edges, tmp_path / "ds", columns={"v": f"{tmp_path}/v.arrow#v"})
    found = gz.Categories(tmp_path / "ds/v.gd").gather(column(tmp_path / "ds", "v"))
    assert found == [text or None for text in reversed(texts)]
    sliced = pa.array(texts, pa.string_view())[1:5]
    assert texts_of(sliced, "v").take(np.array([0, 1, 3])).text(1) == "thirteen byte"
