"""Quantised columns from every kind of input, of datasets that exist, and through exports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from commands import GRAPHZERO

NODES, EDGES, COLS = 60, 300, 5
RNG = np.random.default_rng(3)
INDEX = RNG.integers(0, NODES, (2, EDGES))
X = RNG.normal(size=(NODES, COLS)).astype(np.float32)
RATING = RNG.random((EDGES, 2)).astype(np.float32)
TARGET = RNG.normal(size=NODES).astype(np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "edges.npy", INDEX)
    np.save(folder / "x.npy", X)
    np.save(folder / "rating.npy", RATING)
    np.save(folder / "target.npy", TARGET)
    np.save(folder / "label.npy", np.arange(NODES))
    lines = [",".join([str(i), *map(repr, map(float, row))]) for i, row in enumerate(X)]
    header = ",".join(["id", *(f"f{i}" for i in range(COLS))])
    (folder / "x.csv").write_text("\n".join([header, *lines]) + "\n")
    shuffled = RNG.permutation(NODES)
    (folder / "shuffled.csv").write_text("\n".join([header, *(lines[i] for i in shuffled)]) + "\n")
    return folder


def graphzero(*arguments: str | Path, fails: bool = False) -> str:
    done = subprocess.run(
        [GRAPHZERO, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def is_x(path: Path, values: np.ndarray[Any, Any] = X, **options: Any) -> bool:
    """Whether a file holds the codes of these values; it may say more about them."""
    made = rw.quantised(values, **options)
    data = path.read_bytes()
    sections = {s.name: s for s in gz.FeatureStore(path, verify=True)._file.matrix.sections}

    def bytes_of(name: str) -> bytes:
        own = sections[name]
        return data[own.offset : own.offset + own.stored_bytes]

    return bytes_of("quantisation") == made.section and bytes_of("rows") == made.codes.tobytes()


@pytest.mark.parametrize("source", ["x.npy", "x.csv", "shuffled.csv", "x.csv#f0,f1,f2,f3,f4"])
@pytest.mark.parametrize("dtype", ["q8", "q8[float16]"])
def test_one_column_of_any_input(files: Path, tmp_path: Path, source: str, dtype: str) -> None:
    report = gz.import_files(
        files / "edges.npy",
        tmp_path / "ds",
        columns={"x": f"{files}/{source}"},
        dtypes={"x": dtype},
        memory=64 << 20,
    )
    delivered = "float32" if dtype == "q8" else "float16"
    assert is_x(tmp_path / "ds/x.gd", delivered=delivered)
    assert report.columns["x"].dtype == dtype
    assert report.columns["x"].quantised.largest_error > 0
    assert sorted(p.name for p in (tmp_path / "ds").iterdir()) == ["graph.gl", "x.gd"]


def test_parquet_and_relabelled_ids(files: Path, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs the extra [arrow]")
    import pyarrow.parquet as pq

    names = [f"n{i:03}" for i in range(NODES)]
    pq.write_table(
        pa.table({"source": [names[i] for i in INDEX[0]], "target": [names[i] for i in INDEX[1]]}),
        tmp_path / "edges.parquet",
    )
    table = {"id": names, **{f"f{i}": X[:, i] for i in range(COLS)}}
    pq.write_table(pa.table(table), tmp_path / "nodes.parquet")
    arguments: dict[str, Any] = {
        "nodes": tmp_path / "nodes.parquet",
        "columns": {"x": [f"f{i}" for i in range(COLS)]},
        "relabel": True,
    }
    gz.import_files(tmp_path / "edges.parquet", tmp_path / "ds", dtype="q8", **arguments)
    assert is_x(tmp_path / "ds/x.gd")
    table["f1"] = X[:, 1].copy()
    table["f1"][7] = np.nan
    pq.write_table(pa.table(table), tmp_path / "nodes.parquet")
    with pytest.raises(gz.InputError, match=r"nodes.parquet: node 'n007', column 'f1': found nan"):
        gz.import_files(tmp_path / "edges.parquet", tmp_path / "bad", dtype="q8", **arguments)
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("dtype", ["q8", "int8"])
def test_dtype_is_for_features_and_leaves_labels_alone(
    files: Path, tmp_path: Path, dtype: str
) -> None:
    report = gz.import_files(
        files / "edges.npy",
        tmp_path / "ds",
        columns={
            "x": files / "x.npy",
            "own": files / "x.npy",
            "target": files / "target.npy",
            "asked": files / "target.npy",
            "label": files / "label.npy",
        },
        edge_columns={"rating": files / "rating.npy"},
        dtypes={"own": "float32", "asked": "q8"},
        dtype=dtype,
    )
    found = {name: column.dtype for name, column in report.columns.items()}
    assert found == {
        "x": "q8",
        "own": "float32",
        "target": "float32",
        "asked": "q8",
        "label": "int64",
        "rating": "q8",
    }
    assert is_x(tmp_path / "ds/x.gd")
    assert is_x(tmp_path / "ds/asked.gd", TARGET)
    assert is_x(tmp_path / "ds/rating.gd", RATING)
    assert gz.FeatureStore(tmp_path / "ds/rating.gd").role == "edge"
    np.testing.assert_array_equal(gz.FeatureStore(tmp_path / "ds/own.gd").get_tensor(), X)
    np.testing.assert_array_equal(gz.FeatureStore(tmp_path / "ds/target.gd").get_tensor(), TARGET)


def test_int8_of_a_column_means_integers_as_before(files: Path, tmp_path: Path) -> None:
    with pytest.raises(gz.InputError, match="expected an integer"):
        gz.import_files(
            files / "edges.npy",
            tmp_path / "ds",
            columns={"x": files / "x.npy"},
            dtypes={"x": "int8"},
        )


def test_convert_generate_and_quantise_say_what_was_lost(files: Path, tmp_path: Path) -> None:
    out = graphzero(
        *("convert", "--edges", files / "edges.npy", "--out", tmp_path / "plain"),
        *("--column", f"x={files / 'x.csv'}", "--column", f"y={files / 'label.npy'}"),
    )
    assert "off by" not in out
    out = graphzero(
        "quantise", tmp_path / "plain", "--out", tmp_path / "small", "--threads", "1", "--quiet"
    )
    assert out == ""
    assert is_x(tmp_path / "small/x.gd")
    for name in ("graph.gl", "y.gd"):
        old, new = (tmp_path / d / name for d in ("plain", "small"))
        assert old.read_bytes() == new.read_bytes()
    out = graphzero("info", tmp_path / "small")
    assert "60 x 5 float32, one row per node" in out
    lost = gz.FeatureStore(tmp_path / "small/x.gd").quantisation
    mean, error = lost.mean_error, lost.largest_error
    assert f"q8, one byte a value, off by {mean:.3g} on average, by {error:.3g} at most" in out
    facts = json.loads(graphzero("info", "--json", tmp_path / "small/x.gd"))["files"][0]
    assert facts["quantisation"]["largest_error"] == error
    assert (facts["dtype"], facts["row_stride"]) == ("float32", COLS)
    out = graphzero(
        *("convert", "--edges", files / "edges.npy", "--out", tmp_path / "clipped"),
        *("--column", f"x={files / 'x.csv'}:q8", "--range", "x=-0.5:0.5"),
    )
    clipped = int((np.abs(X) > 0.5).sum())
    assert f"{clipped} values clipped to the stated range" in out
    assert is_x(tmp_path / "clipped/x.gd", value_range=(-0.5, 0.5))


@pytest.mark.parametrize("dtype", ["q8", "q8[float16]", "int8"])
def test_generated_features(tmp_path: Path, dtype: str) -> None:
    options: dict[str, Any] = {"nodes": 500, "edges": 2000, "dim": 7, "seed": 5}
    gz.generate(tmp_path / "plain", **options)
    gz.generate(tmp_path / "small", dtype=dtype, **options)
    values = gz.FeatureStore(tmp_path / "plain/x.gd").get_tensor()
    delivered = "float16" if dtype == "q8[float16]" else "float32"
    assert is_x(tmp_path / "small/x.gd", values, delivered=delivered)
    names = [sorted(p.name for p in (tmp_path / d).iterdir()) for d in ("plain", "small")]
    assert names[0] == names[1]


def test_ranges_of_columns_that_are_none_are_refused(files: Path, tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"columns": {"x": files / "x.npy"}}
    with pytest.raises(gz.InputError, match="range of 'y': found no such column, expected one of"):
        gz.import_files(
            files / "edges.npy", tmp_path / "ds", dtype="q8", ranges={"y": (0, 1)}, **arguments
        )
    with pytest.raises(gz.InputError, match="range of 'x': found a column that is not quantised"):
        gz.import_files(files / "edges.npy", tmp_path / "ds", ranges={"x": (0, 1)}, **arguments)
    error = graphzero(
        *("convert", "--edges", files / "edges.npy", "--out", tmp_path / "ds"),
        *("--column", f"x={files / 'x.npy'}:q8", "--range", "x=1"),
        fails=True,
    )
    assert "--range 'x=1': expected NAME=LOW:HIGH" in error


def test_a_value_that_has_no_code_is_named(files: Path, tmp_path: Path) -> None:
    text = (files / "x.csv").read_text().splitlines()
    row = text[12].split(",")
    text[12] = ",".join([*row[:3], "", *row[4:]])
    (tmp_path / "holes.csv").write_text("\n".join(text) + "\n")
    arguments: dict[str, Any] = {"columns": {"x": tmp_path / "holes.csv"}, "dtype": "q8"}
    with pytest.raises(gz.InputError, match=r"holes\.csv: node 11, column 'f2': found nan"):
        gz.import_files(files / "edges.npy", tmp_path / "ds", **arguments)
    gz.import_files(files / "edges.npy", tmp_path / "ds", fill={"x": 0}, **arguments)
    filled = X.copy()
    filled[11, 2] = 0
    assert is_x(tmp_path / "ds/x.gd", filled)


@pytest.mark.parametrize("format", ["npy", "parquet"])
@pytest.mark.parametrize("dtype", ["q8", "q8[float16]"])
def test_an_export_has_values_and_comes_back_to_the_byte(
    files: Path, tmp_path: Path, format: str, dtype: str
) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra [arrow]")
    gz.import_files(
        files / "edges.npy",
        tmp_path / "ds",
        columns={"x": files / "x.csv", "target": files / "target.npy"},
        edge_columns={"rating": files / "rating.npy"},
        dtypes={"x": dtype, "target": dtype, "rating": dtype},
        ranges={"x": (-1, 1)},
    )
    gz.export_dataset(tmp_path / "ds", tmp_path / "out", format=format)
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    for name in ("x", "target"):
        store = gz.FeatureStore(tmp_path / f"ds/{name}.gd")
        again = gz.FeatureStore(tmp_path / f"again/{name}.gd")
        assert store.fingerprint == again.fingerprint
        if format == "npy":
            exported = np.load(tmp_path / f"out/{name}.npy")
            np.testing.assert_array_equal(exported, store.get_tensor())
            assert exported.dtype == store.dtype.label
    rating = gz.FeatureStore(tmp_path / "again/rating.gd")
    assert rating.quantisation.dtype == dtype


def test_a_typed_dataset(tmp_path: Path) -> None:
    tables = {
        "users": {
            "data": {"id": [3, 7, 9], "a": [0.5, 1.5, 4.0], "b": [1.0, 2.0, 0.0]},
            "key": "id",
            "features": ["a", "b"],
        },
        "visits": {
            "data": {
                "user": np.array([7, 9, 7]),
                "spent": np.array([1.5, 2.5, np.nan]),
                "c": np.array([1.0, 2.0, 9.0]),
                "d": np.array([0.0, 2.0, 9.0]),
            },
            "references": {"user": "users"},
            "label": "spent",
            "features": {"x": ["c", "d"], "one": {"column": "c", "type": "q8[float16]"}},
        },
    }
    report = gz.import_tables(tables, tmp_path / "ds", dtype="q8", ranges={"one": (0, 10)})
    assert {n: c.dtype for n, c in report.types["visits"].columns.items()} == {
        "x": "q8",
        "one": "q8[float16]",
        "y": "float32",
    }
    users = np.array([[0.5, 1], [1.5, 2], [4, 0]], np.float32)
    assert is_x(tmp_path / "ds/users/x.gd", users)
    one = np.array([1, 2, 9], np.float32)
    assert is_x(tmp_path / "ds/visits/one.gd", one, delivered="float16", value_range=(0, 10))
    gz.import_tables(tables, tmp_path / "plain")
    report = gz.quantise(tmp_path / "plain", tmp_path / "small")
    assert sorted(report.columns) == ["users/x", "visits/x"]
    assert is_x(tmp_path / "small/users/x.gd", users)
    assert gz.verify(tmp_path / "small").ok
    gz.export_dataset(tmp_path / "ds", tmp_path / "out", format="npy")
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    for file in ("users/x.gd", "visits/x.gd", "visits/one.gd", "visits/y.gd"):
        assert (tmp_path / "ds" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_a_column_file_keeps_its_codes_unless_another_type_is_asked_for(
    files: Path, tmp_path: Path
) -> None:
    gz.import_files(
        files / "edges.npy",
        tmp_path / "ds",
        columns={"x": files / "x.npy"},
        dtypes={"x": "q8"},
        ranges={"x": (-1, 1)},
    )
    x = tmp_path / "ds/x.gd"
    for name, options in {"same": {}, "float32": {"dtype": "float32"}}.items():
        gz.import_files(files / "edges.npy", tmp_path / name, columns={"x": x}, **options)
    assert (tmp_path / "same/x.gd").read_bytes() == x.read_bytes()
    values = gz.FeatureStore(x).get_tensor()
    plain = gz.FeatureStore(tmp_path / "float32/x.gd")
    assert plain.quantisation is None
    np.testing.assert_array_equal(plain.get_tensor(), values)


def test_quantise_names_what_it_cannot_do(files: Path, tmp_path: Path) -> None:
    gz.import_files(
        files / "edges.npy",
        tmp_path / "ds",
        columns={"target": files / "target.npy", "label": files / "label.npy"},
    )
    with pytest.raises(gz.InputError, match="found no column to quantise"):
        gz.quantise(tmp_path / "ds", tmp_path / "out")
    with pytest.raises(gz.InputError, match="'label': found other values"):
        gz.quantise(tmp_path / "ds", tmp_path / "out", columns=["label"])
    with pytest.raises(gz.InputError, match="'z': found no such column"):
        gz.quantise(tmp_path / "ds", tmp_path / "out", columns=["z"])
    with pytest.raises(ValueError, match="dtype: found 'int8', expected one of q8"):
        gz.quantise(tmp_path / "ds", tmp_path / "out", columns=["target"], dtype="int8")
    with pytest.raises(FileExistsError):
        gz.quantise(tmp_path / "ds", tmp_path / "ds", columns=["target"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ds"]
    gz.quantise(tmp_path / "ds", tmp_path / "ds", columns=["target"], overwrite=True)
    assert is_x(tmp_path / "ds/target.gd", TARGET)


def test_quantise_keeps_rows_aligned(files: Path, tmp_path: Path) -> None:
    gz.import_files(files / "edges.npy", tmp_path / "ds", columns={"y": files / "label.npy"})
    gz.write_features(tmp_path / "ds/x.gd", X, row_align=64)
    gz.quantise(tmp_path / "ds", tmp_path / "out", dtype="q8[float16]")
    store = gz.FeatureStore(tmp_path / "out/x.gd", verify=True)
    assert store._file.matrix.row_stride == 8  # the power of two that five bytes need
    assert store.dtype is gz.DataType.FLOAT16


def ring_with(column: np.ndarray[Any, Any], folder: Path, dtype: str) -> Path:
    """A dataset with this column x."""
    count = len(column)
    nodes = np.arange(count)
    folder.mkdir()
    gz.write_graph(folder / "graph.gl", nodes, (nodes + 1) % count, num_nodes=count)
    gz.write_features(folder / "x.gd", column, dtype=dtype)
    return folder


def values_of(dataset: Path) -> np.ndarray[Any, Any]:
    return np.asarray(gz.FeatureStore(dataset / "x.gd").get_tensor())


def test_values_that_changed_in_an_export_get_codes_and_errors_of_their_own(
    tmp_path: Path,
) -> None:
    """The scales of the first file do not reach them."""
    dataset = ring_with(X, tmp_path / "first", "q8")
    gz.export_dataset(dataset, tmp_path / "export", format="npy")
    file = next((tmp_path / "export").glob("x*.npy"))
    changed = np.load(file)
    changed[:, 0] += 100
    np.save(file, changed)
    gz.import_folder(tmp_path / "export", tmp_path / "second")
    error = np.abs(values_of(tmp_path / "second") - changed).max()
    told = gz.FeatureStore(tmp_path / "second/x.gd").quantisation
    assert told is not None
    assert error == told.largest_error < 0.05


@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_values_of_float16_beside_a_power_of_two_come_back(tmp_path: Path, format: str) -> None:
    """There the code whose value is nearest need not be the one that was decoded."""
    if format == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra [arrow]")
    column = (2048.95 - 160 + np.arange(256) * 1.6).astype(np.float32)
    both = np.stack([column, column[::-1]], axis=1)
    dataset = ring_with(both, tmp_path / "first", "q8[float16]")
    gz.export_dataset(dataset, tmp_path / "export", format=format)
    gz.import_folder(tmp_path / "export", tmp_path / "second")
    assert np.array_equal(values_of(tmp_path / "second"), values_of(dataset))


def test_a_part_of_a_dataset_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    dataset = ring_with(X, tmp_path / "whole", "float32")
    part = gz.shard_dataset(dataset, tmp_path / "parts", 2, threshold=1, block_rows=7).parts[0]
    before = (part / "x.gd").read_bytes()
    with pytest.raises(gz.InputError, match="is part 0 of 2"):
        gz.quantise(part, part, overwrite=True)
    assert (part / "x.gd").read_bytes() == before


def test_padding_of_quantised_rows_takes_less_than_that_of_floats(tmp_path: Path) -> None:
    (tmp_path / "wide").mkdir()
    nodes = np.arange(NODES)
    gz.write_graph(tmp_path / "wide/graph.gl", nodes, nodes, num_nodes=NODES)
    gz.write_features(tmp_path / "wide/x.gd", RNG.random((NODES, 100), np.float32), row_align=512)
    gz.quantise(tmp_path / "wide", tmp_path / "small")
    assert gz.FeatureStore(tmp_path / "small/x.gd")._file.matrix.row_stride == 128


def test_flushing_of_subnormal_numbers_changes_nothing(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tiny = (np.arange(256)[:, None] * np.array([[1e-41, 1.0]])).astype(np.float32)
    expected = values_of(ring_with(tiny, tmp_path / "first", "q8")).tobytes()
    weighted = tmp_path / "weighted.gl"
    gz.write_graph(weighted, INDEX[0], INDEX[1], weights=np.full(EDGES, 1e-40, np.float32))
    drawn = gz.Graph(weighted).sample(range(20), [3], weighted=True, seed=1)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush them")
    try:
        ids = np.arange(256)
        assert (
            np.asarray(gz.FeatureStore(tmp_path / "first/x.gd").gather(ids)).tobytes() == expected
        )
        again = gz.Graph(weighted).sample(range(20), [3], weighted=True, seed=1)
        assert again.edge_index.tobytes() == drawn.edge_index.tobytes()
        second = ring_with(tiny, tmp_path / "second", "q8")
        assert (second / "x.gd").read_bytes() == (tmp_path / "first/x.gd").read_bytes()
    finally:
        torch.set_flush_denormal(False)


# Values that differ by less than float32's steps at that place, which are 128.
FAR = 1.7e9 + np.arange(2.0 * NODES).reshape(NODES, 2) / 4


@pytest.mark.parametrize("source", ["npy", "csv", "csv#a,b", "parquet#a,b", "parquet#v"])
@pytest.mark.parametrize("asked", [{"dtypes": {"x": "q8"}}, {"dtype": "q8"}])
def test_errors_are_those_against_the_values_of_the_source(
    tmp_path: Path, source: str, asked: dict[str, Any]
) -> None:
    np.save(tmp_path / "edges.npy", INDEX)
    np.save(tmp_path / "x.npy", FAR)
    lines = [f"{node},{a!r},{b!r}" for node, (a, b) in enumerate(FAR.tolist())]
    (tmp_path / "x.csv").write_text("\n".join(["id,a,b", *lines]) + "\n")
    if "parquet" in source:
        pa = pytest.importorskip("pyarrow", reason="needs the extra [arrow]")
        import pyarrow.parquet as pq

        table = {"a": FAR[:, 0], "b": FAR[:, 1], "v": list(FAR)}
        pq.write_table(pa.table(table), tmp_path / "x.parquet")
    columns = {"x": f"{tmp_path}/x.{source}"}
    report = gz.import_files(tmp_path / "edges.npy", tmp_path / "ds", columns=columns, **asked)
    expect_true_errors(tmp_path / "ds/x.gd", FAR)
    assert report.columns["x"].quantised.largest_error > 10


@pytest.mark.parametrize("dtype", ["float64", "int64", "float32"])
def test_errors_of_arrays_and_of_files_are_true(tmp_path: Path, dtype: str) -> None:
    values = FAR.astype(dtype)
    gz.write_features(tmp_path / "array.gd", values, dtype="q8")
    expect_true_errors(tmp_path / "array.gd", values)
    gz.write_features(tmp_path / "chunks.gd", iter([values]), dtype="q8", shape=values.shape)
    expect_true_errors(tmp_path / "chunks.gd", values)
    if dtype == "int64":
        return
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", *INDEX, num_nodes=NODES)
    gz.write_features(tmp_path / "ds/x.gd", values)
    gz.quantise(tmp_path / "ds", tmp_path / "small")
    expect_true_errors(tmp_path / "small/x.gd", values)


def expect_true_errors(path: Path, values: np.ndarray[Any, Any]) -> None:
    store = gz.FeatureStore(path)
    assert store.quantisation is not None
    errors = np.abs(np.asarray(store.get_tensor(), np.float64) - values)
    assert store.quantisation.largest_error == errors.max()
    assert store.quantisation.mean_error == pytest.approx(errors.mean(), rel=1e-12)


def test_a_column_of_one_value_stays_float32_from_text_too(tmp_path: Path) -> None:
    np.save(tmp_path / "edges.npy", INDEX)
    lines = [f"{node},{value!r}" for node, value in enumerate(FAR[:, 0].tolist())]
    (tmp_path / "y.csv").write_text("\n".join(["id,y", *lines]) + "\n")
    columns = {"y": tmp_path / "y.csv"}
    gz.import_files(tmp_path / "edges.npy", tmp_path / "ds", columns=columns, dtype="q8")
    y = gz.FeatureStore(tmp_path / "ds/y.gd")
    assert y.quantisation is None
    np.testing.assert_array_equal(y.get_tensor(), FAR[:, 0].astype(np.float32))


def test_a_range_counts_values_as_float32_rounds_them(tmp_path: Path) -> None:
    """0.7 as float64 is more than 0.7 as float32."""
    values = np.full((4, 2), [0.1, 0.7])
    gz.write_features(tmp_path / "x.gd", values, dtype="q8", value_range=(0.1, 0.7))
    found = gz.FeatureStore(tmp_path / "x.gd").quantisation
    assert found is not None
    assert found.clipped == 0
    assert 0 < found.largest_error < 1e-7


def test_rows_of_too_many_values_are_refused_with_their_file(tmp_path: Path) -> None:
    gz.write_graph(make_directory(tmp_path / "ds") / "graph.gl", [0], [1])
    gz.write_features(tmp_path / "ds/wide.gd", np.zeros((2, 2**22 + 1), np.float16))
    expected = (
        r"ds/wide\.gd: found rows of 4194305 values, expected at most 4194304; choose float32"
    )
    with pytest.raises(gz.InputError, match=expected):
        gz.quantise(tmp_path / "ds", tmp_path / "small")
    with pytest.raises(gz.InputError, match="array: found rows of 4194305 values"):
        gz.write_features(
            tmp_path / "x.gd", np.zeros((2, 2**22 + 1), np.float16), dtype="q8", overwrite=True
        )
    assert not (tmp_path / "small").exists()


def make_directory(path: Path) -> Path:
    path.mkdir()
    return path
