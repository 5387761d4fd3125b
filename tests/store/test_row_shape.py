"""Rows of several dimensions: they come back with their shape, and an older reader sees columns."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from graphzero.files.paths import find_problems, open_file

CUBE = np.arange(120, dtype=np.float32).reshape(5, 2, 3, 4)


@pytest.mark.parametrize("io", ["mapped", "cached", "direct"])
@pytest.mark.parametrize("row_align", [None, 128])
def test_rows_come_back_with_their_shape(tmp_path: Path, io: str, row_align: int | None) -> None:
    gz.write_features(tmp_path / "x.gd", CUBE, row_align=row_align)
    store = gz.FeatureStore(tmp_path / "x.gd", verify=True, io=io)
    assert (store.shape, store.num_nodes, store.feature_dim) == ((5, 2, 3, 4), 5, 24)
    np.testing.assert_array_equal(store.get_tensor(), CUBE)
    np.testing.assert_array_equal(store.get_data(3), CUBE[3])
    ids = [4, 0, 4]
    np.testing.assert_array_equal(store.gather(ids), CUBE[ids])
    out = np.empty((3, 2, 3, 4), np.float32)
    assert store.gather(ids, out=out) is out
    np.testing.assert_array_equal(out, CUBE[ids])
    with pytest.raises(ValueError, match=r"expected float32 of shape \(3, 2, 3, 4\)"):
        store.gather(ids, out=np.empty((3, 24), np.float32))


def test_torch_tensors_of_half_precision_keep_it_too(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(24).reshape(2, 3, 4).bfloat16()
    gz.write_features(tmp_path / "x.gd", tensor)
    store = gz.FeatureStore(tmp_path / "x.gd")
    assert torch.equal(store.get_tensor(), tensor)
    assert torch.equal(store.gather([1, 0]), tensor.flip(0))
    np.testing.assert_array_equal(store.gather([1], upcast=True), tensor[1:].float().numpy())


def test_chunks_of_rows_and_arrays_without_any(tmp_path: Path) -> None:
    chunks = (CUBE[i : i + 2] for i in (0, 2, 4))
    gz.write_features(tmp_path / "x.gd", chunks, shape=CUBE.shape, dtype="float32")
    np.testing.assert_array_equal(gz.FeatureStore(tmp_path / "x.gd").get_tensor(), CUBE)
    gz.write_features(tmp_path / "none.gd", np.empty((0, 2, 3)))
    assert gz.FeatureStore(tmp_path / "none.gd", verify=True).shape == (0, 2, 3)


def test_a_npy_file_keeps_its_shape(tmp_path: Path) -> None:
    np.save(tmp_path / "edges.npy", np.array([[0, 1], [1, 4]]))
    np.save(tmp_path / "cube.npy", CUBE)
    gz.import_files(
        tmp_path / "edges.npy", tmp_path / "ds", columns={"cube": tmp_path / "cube.npy"}
    )
    np.testing.assert_array_equal(gz.FeatureStore(tmp_path / "ds/cube.gd").get_tensor(), CUBE)


@pytest.mark.parametrize("shape", [(3, 0), (3, 2, 0), ()])
def test_rows_without_values_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"found (shape|0 dimensions)"):
        gz.write_features(tmp_path / "x.gd", np.zeros(shape))
    with pytest.raises(ValueError, match="found 33 dimensions, expected 1 to 32"):
        gz.write_features(tmp_path / "x.gd", [], shape=(1,) * 33, dtype="int8")


def test_a_value_that_does_not_fit_names_its_place(tmp_path: Path) -> None:
    cube = CUBE.copy()
    cube[4, 1, 0, 2] = 1e6
    with pytest.raises(gz.InputError, match=r"row 4 column 1, 0, 2: found 1000000\.0"):
        gz.write_features(tmp_path / "x.gd", cube, dtype="float16")


def test_the_file_is_what_the_document_says(tmp_path: Path) -> None:
    gz.write_features(tmp_path / "x.gd", CUBE, row_align=128)
    assert (tmp_path / "x.gd").read_bytes() == rw.matrix(CUBE, row_stride=128).bytes()


def test_a_reader_that_does_not_know_shapes_sees_columns(tmp_path: Path) -> None:
    """Such a reader meets a section of unknown kind that it may ignore."""
    properties = rw.matrix_properties(rows=5, cols=24, stride=96, ndim=2, role="node")
    rows = rw.Section(rw.ROWS, rw.DTYPES["float32"], 5, CUBE.nbytes, CUBE.tobytes())
    shape = rw.array_section(99, np.array([2, 3, 4], np.uint64), must_understand=False)
    image = rw.container(rw.MATRIX_MAGIC, properties, [shape, rows])
    store = gz.FeatureStore(image.write(tmp_path / "x.gd"))
    np.testing.assert_array_equal(store.get_tensor(), CUBE.reshape(5, 24))


@pytest.mark.parametrize(
    ("row_shape", "ndim"),
    [
        ([], 2),
        ([24], 2),
        ([2, 3], 2),
        ([2, 3, 5], 2),
        ([2, 0, 12], 2),
        ([2, 2**63, 2**63], 2),
        ([1] * 30 + [2, 12], 2),
        ([2, 12], 1),
    ],
    ids=str,
)
def test_a_shape_that_does_not_fit_is_refused(
    tmp_path: Path, row_shape: list[int], ndim: int
) -> None:
    cols = 24 if ndim == 2 else 1
    properties = rw.matrix_properties(rows=1, cols=cols, stride=4 * cols, ndim=ndim, role="node")
    rows = rw.array_section(rw.ROWS, np.zeros(cols, np.float32))
    rows = rw.Section(rw.ROWS, rows.dtype, 1, rows.size, rows.data)
    shape = rw.array_section(rw.ROW_SHAPE, np.array(row_shape, np.uint64), must_understand=False)
    image = rw.container(rw.MATRIX_MAGIC, properties, [shape, rows])
    with pytest.raises(gz.FormatError, match="row_shape"):
        gz.FeatureStore(image.write(tmp_path / "x.gd"))


def test_a_shape_of_another_type_is_refused(tmp_path: Path) -> None:
    properties = rw.matrix_properties(rows=1, cols=4, stride=16, ndim=2, role="node")
    rows = rw.Section(rw.ROWS, rw.DTYPES["float32"], 1, 16, bytes(16))
    shape = rw.array_section(rw.ROW_SHAPE, np.array([2, 2], np.uint32), must_understand=False)
    image = rw.container(rw.MATRIX_MAGIC, properties, [shape, rows])
    with pytest.raises(gz.FormatError, match="row_shape: found 2 uint32"):
        gz.FeatureStore(image.write(tmp_path / "x.gd"))


def test_verify_finds_a_shape_that_was_changed_to_another_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "x.gd"
    gz.write_features(path, CUBE)
    data = path.read_bytes()
    place = data.index(struct.pack("<3Q", 2, 3, 4))
    path.write_bytes(data[:place] + struct.pack("<3Q", 4, 3, 2) + data[place + 24 :])
    assert gz.FeatureStore(path).shape == (5, 4, 3, 2)
    (problem,) = find_problems(open_file(path))
    assert "row_shape block 0" in problem


@pytest.mark.parametrize(
    "section",
    [
        rw.weight_name(""),
        rw.weight_name("a b"),
        rw.weight_name("x" * 65),
        rw.array_section(rw.WEIGHT_NAME, np.zeros(2, np.uint32), must_understand=False),
    ],
    ids=["empty", "space", "long", "type"],
)
def test_a_name_of_weights_that_does_not_fit_is_refused(tmp_path: Path, section: Any) -> None:
    edges = rw.Edges(src=[0], dst=[1], weights=[1.0])
    path = rw.topology(2, edges, extra=[section]).write(tmp_path / "g.gl")
    with pytest.raises(gz.FormatError, match="weight_name"):
        gz.Graph(path)
    plain = rw.Edges(src=[0], dst=[1])
    path = rw.topology(2, plain, extra=[rw.weight_name("w")]).write(tmp_path / "h.gl")
    with pytest.raises(gz.FormatError, match="weight_name"):
        gz.Graph(path)
