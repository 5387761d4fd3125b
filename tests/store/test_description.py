"""What a matrix says about its values: an optional section that may be anything."""

from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from graphzero.conversion.matrix_arrays import MatrixSpec, write_pieces

VALUES = np.array([[1, 2], [3, 4], [5, 6]], np.int64)
ABOUT = b'{"columns":["joined_at","left_at"],"unit":"ms"}'


def write(path: Path, description: bytes, **options: object) -> Path:
    return rw.matrix(VALUES, description=description, **options).write(path)


def test_the_reference_writer_and_the_engine_agree(tmp_path: Path) -> None:
    write(tmp_path / "a.gd", ABOUT)
    spec = MatrixSpec(VALUES.shape, "int64", description=ABOUT.decode())
    write_pieces(str(tmp_path / "b.gd"), spec, [VALUES])
    assert (tmp_path / "a.gd").read_bytes() == (tmp_path / "b.gd").read_bytes()
    store = gz.FeatureStore(tmp_path / "a.gd", verify=True)
    assert (store.columns, store.unit, store.has_categories) == (
        ("joined_at", "left_at"), "ms", False,
    )  # fmt: skip
    assert store.get_tensor().tolist() == VALUES.tolist()


def test_keys_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    store = gz.FeatureStore(write(tmp_path / "x.gd", b'{"categories":true,"new":[1,{"a":2}]}'))
    assert (store.columns, store.unit, store.has_categories) == ((), None, True)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (b"{", r"x\.gd: description: found .*expected JSON"),
        (b"\xff\xfe", r"description: found .*expected JSON"),
        (b"[" * 100_000, r"description: found .*expected JSON"),
        (b"[1]", r"description: found list, expected an object"),
        (b'{"columns":"age"}', r"description: expected a list of texts as columns"),
        (rb'{"columns":["\ud800"]}', r"description: found .*expected UTF-8"),
        (b'{"columns":[1]}', r"description: expected a list of texts as columns"),
        (b'{"unit":"weeks"}', r"description: found unit 'weeks', expected one of D, s"),
        (b'{"unit":[]}', r"description: found unit \[\], expected one of"),
        (b" " * (2**24 + 1), r"description.*16777217 bytes.*at most 16777216"),
    ],
)
def test_a_hostile_description_is_an_error(
    tmp_path: Path, description: bytes, message: str
) -> None:
    path = write(tmp_path / "x.gd", description)
    with pytest.raises(gz.FormatError, match=message):
        gz.FeatureStore(path)


def test_a_description_in_another_encoding_is_not_read(tmp_path: Path) -> None:
    about = rw.Section(rw.DESCRIPTION, rw.DTYPES["uint8"], 9, 4, b"\x00\x01\x02\x03", encoding=7,
                       must_understand=False)  # fmt: skip
    rows = rw.array_section(rw.ROWS, np.array([1, 2], np.float32))
    properties = rw.matrix_properties(rows=2, cols=1, stride=4, ndim=1, role="node")
    path = rw.container(rw.MATRIX_MAGIC, properties, [about, rows]).write(tmp_path / "x.gd")
    assert gz.FeatureStore(path).columns == ()


def test_the_role_of_categories_is_read(tmp_path: Path) -> None:
    texts = np.frombuffer(b"Oslo\0Paris", np.uint8).reshape(2, 5)
    path = rw.matrix(texts, role="categories").write(tmp_path / "city.categories.gd")
    assert gz.FeatureStore(path).role == "categories"
    assert gz.Categories(tmp_path / "city.gd").gather([1, 0, -1]) == ["Paris", "Oslo", None]
