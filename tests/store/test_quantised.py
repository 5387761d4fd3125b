"""Quantised columns: the bytes that FORMAT.md says, the same values on every path, no wild file."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from golden import DIRECTORY, QUANTISED, QUANTISED_VALUES
from graphzero import _engine
from graphzero.files.paths import find_problems, open_file

Array = np.ndarray[Any, Any]


def features(rows: int, cols: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-6, 7, cols)
    return (rng.normal(size=(rows, cols)) * scale + rng.normal(size=cols)).astype(np.float32)


def expected_values(values: Array, delivered: str = "float32", **options: Any) -> Array:
    made = rw.quantised(values, delivered=delivered, **options)
    cols = math.prod(values.shape[1:])
    scale, offset = np.frombuffer(made.section[32:], np.float32).reshape(2, cols)
    flat = made.codes.reshape(len(values), cols)
    return rw.dequantised(flat, scale, offset, delivered).reshape(values.shape)


CASES = {
    "features": features(300, 100),
    "small features": features(3000, 64) / np.float32(1e4),
    "wide rows": features(5, 70_000),
    "many blocks": features(9000, 33),
    "one dimension": features(1000, 1)[:, 0],
    "one column": features(1000, 1),
    "several dimensions": features(50, 24).reshape(50, 2, 3, 4),
    "no rows": np.zeros((0, 7), np.float32),
    "one row": features(1, 9),
    "equal values": np.full((20, 3), 1.1, np.float32),
    "both zeros": np.array([[-0.0], [0.0]], np.float32),
    "subnormal": np.array([[0.0, 1e-44], [1e-45, 3e-42]], np.float32),
    "far from zero": np.array([[1e8], [1e8 + 8], [1e8 + 16]], np.float32),
    "wide range": np.array([[-1.5e38], [1.5e38], [0]], np.float32),
}


@pytest.mark.parametrize("dtype", ["q8", "q8[float16]"])
@pytest.mark.parametrize("case", CASES)
def test_the_file_is_what_the_document_says(tmp_path: Path, case: str, dtype: str) -> None:
    values = CASES[case]
    delivered = "float16" if dtype == "q8[float16]" else "float32"
    if delivered == "float16" and np.abs(values).max(initial=0) > 60_000:
        pytest.skip("float16 has no room for these")
    gz.write_features(tmp_path / "x.gd", values, dtype=dtype)
    made = rw.quantised(values, delivered=delivered)
    assert (tmp_path / "x.gd").read_bytes() == made.image().bytes()
    store = gz.FeatureStore(tmp_path / "x.gd", verify=True)
    assert (store.dtype.label, store.shape) == (delivered, values.shape)
    np.testing.assert_array_equal(store.get_tensor(), expected_values(values, delivered))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("memory", [64 << 20, 1 << 30])
def test_bytes_depend_on_neither_threads_nor_memory(
    tmp_path: Path, threads: int, memory: int
) -> None:
    values = features(20_000, 37)
    gz.write_features(tmp_path / "float32.gd", values)
    source = _engine.Matrix.open(str(tmp_path / "float32.gd"))
    resources = _engine.Resources.make(memory=memory, threads=threads, temp_dir=str(tmp_path))
    target = tmp_path / "x.gd"
    _engine.quantise_matrix(
        source, str(target), delivered="float32", low=[], high=[], resources=resources
    )
    assert target.read_bytes() == rw.quantised(values).image().bytes()


@pytest.mark.parametrize("source", ["float64", "float16", "bfloat16"])
def test_other_floating_types_are_quantised_as_float32(tmp_path: Path, source: str) -> None:
    values = features(200, 12) / np.float32(1e6)
    gz.write_features(tmp_path / "x.gd", values, dtype=source)
    store = gz.FeatureStore(tmp_path / "x.gd")
    wide = np.asarray(store.gather(np.arange(200), upcast=True), np.float32)
    resources = _engine.Resources.make(memory=64 << 20, threads=2, temp_dir=str(tmp_path))
    _engine.quantise_matrix(
        _engine.Matrix.open(str(tmp_path / "x.gd")),
        str(tmp_path / "q.gd"),
        delivered="float32",
        low=[],
        high=[],
        resources=resources,
    )
    assert (tmp_path / "q.gd").read_bytes() == rw.quantised(wide).image().bytes()


@pytest.mark.parametrize("io", ["mapped", "cached", "direct"])
@pytest.mark.parametrize("row_cache", [0, 1 << 20])
@pytest.mark.parametrize(("cols", "row_align"), [(1, None), (100, None), (128, 512), (700, None)])
@pytest.mark.parametrize("dtype", ["q8", "q8[float16]"])
def test_every_path_delivers_the_same_values(
    tmp_path: Path, io: str, row_cache: int, cols: int, row_align: int | None, dtype: str
) -> None:
    values = np.random.default_rng(cols).normal(size=(3000, cols)).astype(np.float32)
    gz.write_features(tmp_path / "x.gd", values, dtype=dtype, row_align=row_align)
    whole = expected_values(values, "float32" if dtype == "q8" else "float16")
    store = gz.FeatureStore(tmp_path / "x.gd", io=io, row_cache=row_cache)
    rng = np.random.default_rng(1)
    for ids in (
        rng.integers(0, 3000, 5000),
        np.arange(3000)[::-1],
        np.array([2999, 0, 2999]),
        rng.integers(0, 3000, 5000),  # partly from the row cache
        np.array([], np.int64),
    ):
        np.testing.assert_array_equal(store.gather(ids, threads=2), whole[ids])
    if io == "direct" and row_cache:
        assert store._file.reader.stats().cache_hits > 0


def test_the_row_cache_keeps_codes(tmp_path: Path) -> None:
    """Four times as many rows in the same memory, but for what a row takes beside itself."""
    values = features(20_000, 480)
    kept = {}
    for name, dtype in (("float32", "float32"), ("q8", "q8")):
        gz.write_features(tmp_path / f"{name}.gd", values, dtype=dtype)
        store = gz.FeatureStore(tmp_path / f"{name}.gd", io="direct", row_cache=2 << 20)
        cache = _engine.RowCache(2 << 20)
        reader = _engine.Column.open(
            store._file.matrix, _engine.ColumnPath.DIRECT, cache, "for a test"
        )
        out = np.empty((20_000, 480), np.float32)
        reader.gather(np.arange(20_000), out.reshape(-1).view(np.uint8))
        kept[name] = cache.usage().rows
    assert kept["q8"] >= 3.8 * kept["float32"]


@pytest.mark.parametrize("dtype", ["q8", "q8[float16]"])
@pytest.mark.parametrize("cols", [1, 3, 7, 8, 15, 16, 31, 33, 64, 100, 257])
def test_all_instructions_give_the_same_bytes(tmp_path: Path, cols: int, dtype: str) -> None:
    rng = np.random.default_rng(cols)
    values = rng.normal(size=(256, cols)).astype(np.float32) * np.float32(1e-3)
    gz.write_features(tmp_path / "x.gd", values, dtype=dtype)
    matrix = _engine.Matrix.open(str(tmp_path / "x.gd"))
    codes = np.arange(256, dtype=np.uint8).repeat(cols)
    outs = [np.zeros(256 * matrix.row_bytes, np.uint8) for _ in range(2)]
    for out, baseline in zip(outs, (True, False), strict=True):
        matrix.decode_rows(codes, out, baseline=baseline)
    assert outs[0].tobytes() == outs[1].tobytes()
    found = matrix.quantisation
    expected = rw.dequantised(
        codes.reshape(256, cols), *map(np.array, (found.scales, found.offsets)), found.delivered
    )
    assert outs[0].tobytes() == expected.tobytes()


def test_the_error_is_at_most_half_a_step(tmp_path: Path) -> None:
    values = features(4000, 40)
    gz.write_features(tmp_path / "x.gd", values, dtype="q8")
    store = gz.FeatureStore(tmp_path / "x.gd")
    found = store.quantisation
    errors = np.abs(store.get_tensor().astype(np.float64) - values)
    # Half a step, and what float32 rounds.
    room = found.scales / 2 + np.spacing(np.abs(values).max(axis=0)) * 2
    assert (errors <= room).all()
    assert found.largest_error == errors.max()
    assert found.mean_error == pytest.approx(errors.mean(), rel=1e-9)
    np.testing.assert_array_equal(store.get_tensor().min(axis=0), values.min(axis=0))


def test_a_stated_range_clips_what_is_outside(tmp_path: Path) -> None:
    values = features(500, 6)
    gz.write_features(tmp_path / "x.gd", values, dtype="q8", value_range=(-1, 2))
    made = rw.quantised(values, value_range=(-1, 2))
    assert (tmp_path / "x.gd").read_bytes() == made.image().bytes()
    store = gz.FeatureStore(tmp_path / "x.gd")
    assert store.quantisation.clipped == int(((values < -1) | (values > 2)).sum()) > 0
    assert (store.get_tensor().min(), store.get_tensor().max()) == (-1, 2)


@pytest.mark.parametrize("ends", [(1, 0), (0, np.inf), (np.nan, 1), (0, 1e39)])
def test_a_range_that_is_none_is_refused(tmp_path: Path, ends: tuple[float, float]) -> None:
    with pytest.raises(gz.InputError, match="expected two finite numbers"):
        gz.write_features(tmp_path / "x.gd", features(3, 2), dtype="q8", value_range=ends)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("value_range", [None, (0, 1)])
def test_the_first_value_that_is_not_finite_is_named(
    tmp_path: Path, value: float, value_range: tuple[float, float] | None
) -> None:
    values = features(30_000, 8)
    values[[29_000, 123, 15_000], [1, 5, 0]] = value
    with pytest.raises(gz.InputError, match=f"array: node 123, column 5: found {value}, expected"):
        gz.write_features(tmp_path / "x.gd", values, dtype="q8", value_range=value_range)
    assert not list(tmp_path.iterdir())


def test_a_range_without_room_is_named(tmp_path: Path) -> None:
    wide = np.array([[0, -3e38], [1, 3e38]], np.float32)
    with pytest.raises(gz.InputError, match=r"column 1: found values from -3e\+38 to 3e\+38"):
        gz.write_features(tmp_path / "x.gd", wide, dtype="q8")
    gz.write_features(tmp_path / "x.gd", wide, dtype="q8", value_range=(-1e38, 1e38))
    with pytest.raises(gz.InputError, match="column 0: found values from 0 to 70000"):
        gz.write_features(
            tmp_path / "y.gd", np.array([[0], [7e4]], np.float32), dtype="q8[float16]"
        )


@pytest.mark.parametrize("role", ["ids", "categories"])
def test_only_nodes_and_edges_have_quantised_values(tmp_path: Path, role: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        gz.write_features(tmp_path / "x.gd", features(3, 1)[:, 0], dtype="q8", role=role)
    image = rw.quantised(features(3, 1)[:, 0]).image(role=role)
    with pytest.raises(gz.FormatError, match=r"x\.gd"):
        gz.FeatureStore(image.write(tmp_path / "x.gd"))


def test_one_row_and_all_of_them_are_copies(tmp_path: Path) -> None:
    gz.write_features(tmp_path / "x.gd", features(10, 4), dtype="q8")
    store = gz.FeatureStore(tmp_path / "x.gd")
    before = store.get_tensor()
    np.testing.assert_array_equal(store.get_data(3), before[3])
    store.get_tensor()[:] = 0
    np.testing.assert_array_equal(store.get_tensor(), before)
    np.testing.assert_array_equal(store.gather([3]), before[[3]])
    gz.write_features(tmp_path / "y.gd", features(10, 1)[:, 0], dtype="q8", role="edge")
    assert gz.FeatureStore(tmp_path / "y.gd").get_data(3).shape == (1,)


def test_all_of_them_need_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gz.write_features(tmp_path / "x.gd", features(10, 4), dtype="q8")
    monkeypatch.setattr("graphzero.files.column_file.available_memory", lambda: 100)
    store = gz.FeatureStore(tmp_path / "x.gd")
    with pytest.raises(MemoryError, match=r"x\.gd: all values .* take 160 B.*gather the rows"):
        store.get_tensor()
    assert store.gather([1]).shape == (1, 4)


def test_the_kept_file_reads_as_it_was_written() -> None:
    path = DIRECTORY / "quantised.gd"
    assert path.read_bytes() == QUANTISED.image(row_stride=4).bytes()
    assert find_problems(open_file(path)) == []
    store = gz.FeatureStore(path)
    expected = expected_values(QUANTISED_VALUES, "float16")
    np.testing.assert_array_equal(store.get_tensor(), expected)
    assert store.get_tensor()[:, 2].tolist() == [5, 5, 5]


def test_an_older_reader_refuses_it_by_its_section() -> None:
    data = (DIRECTORY / "quantised.gd").read_bytes()
    kind, flags = struct.unpack_from("<II", data, rw.HEADER.size)
    assert (kind, flags) == (70, 1)


SOUND = rw.quantised(features(6, 3))


def section(**changes: Any) -> bytes:
    """A quantisation of three columns with some fields as no writer makes them."""
    fields = {"delivered": 1, "reserved": bytes(6), "largest": 0.5, "mean": 0.1, "clipped": 0}
    arrays = {"scales": [1.0, 1.0, 0.0], "offsets": [0.0, -1.0, 2.0]}
    fields |= {name: value for name, value in changes.items() if name in fields}
    arrays |= {name: value for name, value in changes.items() if name in arrays}
    head = rw.QUANTISATION_HEAD.pack(*fields.values())
    return head + b"".join(np.array(a, np.float32).tobytes() for a in arrays.values())


HOSTILE = {
    "a negative scale": section(scales=[1, -1, 0]),
    "a scale that is NaN": section(scales=[np.nan, 1, 0]),
    "an infinite scale": section(scales=[np.inf, 1, 0]),
    "an infinite offset": section(offsets=[0, 0, -np.inf]),
    "an offset that is NaN": section(offsets=[np.nan, 0, 0]),
    "a last value beyond float32": section(scales=[3e36, 1, 0], offsets=[1e37, 0, 0]),
    "a last value beyond float16": section(delivered=3, scales=[300, 1, 0]),
    "a first value beyond float16": section(delivered=3, offsets=[-66_000, 0, 0]),
    "another type to deliver": section(delivered=2),
    "no type to deliver": section(delivered=0),
    "reserved bytes": section(reserved=b"\0\0\0\0\0\1"),
    "a mean above the largest": section(mean=0.6),
    "a negative error": section(largest=-1.0, mean=-1.0),
    "an error that is NaN": section(largest=np.nan),
    "an infinite error": section(largest=np.inf),
    "more clipped than there are": section(clipped=19),
    "too short": section()[:-4],
    "too long": section() + bytes(4),
    "of two columns": section(scales=[1, 1], offsets=[0, 0]),
    "nothing": bytes(1),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_quantisation_is_refused(tmp_path: Path, case: str) -> None:
    image = rw.Quantised(SOUND.codes, HOSTILE[case]).image()
    with pytest.raises(gz.FormatError, match=r"x\.gd.*quantisation"):
        gz.FeatureStore(image.write(tmp_path / "x.gd"))


def test_what_hostile_ones_are_made_of_is_sound(tmp_path: Path) -> None:
    image = rw.Quantised(SOUND.codes, section()).image()
    assert gz.FeatureStore(image.write(tmp_path / "x.gd"), verify=True).shape == (6, 3)


def test_codes_of_another_type_are_refused(tmp_path: Path) -> None:
    image = rw.Quantised(SOUND.codes.astype(np.int8), section()).image()
    with pytest.raises(gz.FormatError, match="a matrix of int8"):
        gz.FeatureStore(image.write(tmp_path / "x.gd"))


def test_a_quantised_file_is_no_list_of_original_ids(tmp_path: Path) -> None:
    rw.quantised(features(3, 2)).image().write(tmp_path / "original_id.gd")
    with pytest.raises(gz.InputError, match="a matrix of float32, expected original ids"):
        gz.OriginalIds(tmp_path)
