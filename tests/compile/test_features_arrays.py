"""Matrix files from arrays, tensors and chunks of rows."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphzero import InputError, _engine
from graphzero.conversion.compile_column import ColumnRequest, compile_column
from graphzero.conversion.compile_features import write_features
from graphzero.conversion.matrix_arrays import MATRIX_DTYPES


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Any]:
    """Writes a matrix file and returns it, opened."""

    def run(array: Any, **options: Any) -> Any:
        path = tmp_path / "x.gd"
        write_features(path, array, overwrite=True, **options)
        return _engine.Matrix.open(str(path))

    return run


Written = Callable[..., Any]


@pytest.mark.parametrize("dtype", [d for d in MATRIX_DTYPES if d != "bfloat16"])
@pytest.mark.parametrize("shape", [(7,), (7, 1), (7, 3), (0, 3), (0,)])
def test_an_array_comes_back_with_its_shape_and_dtype(
    written: Written, dtype: str, shape: tuple[int, ...]
) -> None:
    array = (np.random.default_rng(0).random(shape) * 2).astype(dtype)
    matrix = written(array)
    assert matrix.dtype == dtype
    assert matrix.tensor().shape == shape
    assert matrix.tensor().tobytes() == array.tobytes()


def test_any_memory_order_is_accepted(written: Written) -> None:
    base = np.arange(240.0).reshape(20, 12)
    for array in (base.T, base[::-2, 1::3], np.asfortranarray(base), base.astype(">f8")):
        assert (written(array).tensor() == array).all()


def test_large_arrays_are_written_in_pieces(written: Written) -> None:
    array = np.random.default_rng(0).random((70_001, 40), dtype=np.float32)
    assert array.nbytes > 8 << 20
    assert (written(array).tensor() == array).all()
    assert (written(array, dtype="float16").tensor() == array.astype(np.float16)).all()


def test_lists_are_arrays(written: Written) -> None:
    assert written([[1, 2], [3, 4]]).tensor().tolist() == [[1, 2], [3, 4]]


def test_row_align_pads_each_row(written: Written, tmp_path: Path) -> None:
    matrix = written(np.ones((5, 3), np.float32), row_align=64)
    assert matrix.row_stride == 64
    assert (matrix.tensor() == 1).all()
    padded = (tmp_path / "x.gd").read_bytes()[4096 : 4096 + 64]
    assert padded == np.ones(3, np.float32).tobytes() + bytes(52)


def test_text_and_array_of_the_same_values_make_the_same_file(tmp_path: Path) -> None:
    array = np.random.default_rng(0).random((50, 3), dtype=np.float32)
    lines = (f"{i}," + ",".join(map(repr, row)) for i, row in enumerate(array.tolist()))
    (tmp_path / "x.csv").write_text("\n".join(lines))
    options: dict[str, Any] = {"memory": 64 << 20, "threads": 1, "temp_dir": str(tmp_path)}
    compile_column(str(tmp_path / "x.csv"), str(tmp_path / "a.gd"), ColumnRequest(**options))
    np.save(tmp_path / "x.npy", array)
    compile_column(str(tmp_path / "x.npy"), str(tmp_path / "b.gd"), ColumnRequest(**options))
    write_features(tmp_path / "c.gd", array)
    files = {(tmp_path / name).read_bytes() for name in ("a.gd", "b.gd", "c.gd")}
    assert len(files) == 1


# Integers


@pytest.mark.parametrize("source", ["int64", "uint64", "float64", "float32"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32", "int64", "bool"])
def test_values_that_do_not_fit_are_refused_with_row_and_column(
    written: Written, source: str, target: str
) -> None:
    high = 1 if target == "bool" else int(np.iinfo(target).max)
    array = np.zeros((4, 3), dtype=source)
    if source == "int64" and target == "int64":
        return
    array[2, 1] = high + 1
    with pytest.raises(InputError, match=r"array row 2 column 1: found .* does not fit"):
        written(array, dtype=target)


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32"])
def test_the_limits_of_an_integer_type_fit_it(written: Written, target: str) -> None:
    info = np.iinfo(target)
    array = np.array([info.min, 0, info.max], dtype=np.float64)
    assert written(array, dtype=target).tensor().tolist() == [info.min, 0, info.max]
    assert written(array.astype(np.int64), dtype=target).tensor().tolist() == array.tolist()


def test_fractions_are_refused_for_an_integer_type(written: Written) -> None:
    with pytest.raises(InputError, match=r"array row 1: found 1.5, expected an integer"):
        written([1.0, 1.5], dtype="int32")


def test_infinity_is_refused_for_an_integer_type(written: Written) -> None:
    with pytest.raises(InputError, match=r"array row 0: found inf, which does not fit int64"):
        written([np.inf], dtype="int64")


def test_nan_is_refused_for_an_integer_type(written: Written) -> None:
    with pytest.raises(InputError, match=r"array row 1 column 0: found nan, expected a value"):
        written(np.array([[1.0], [np.nan]]), dtype="int64")


def test_nan_takes_the_given_value_exactly(written: Written) -> None:
    matrix = written(np.array([1.0, np.nan, -2.0]), dtype="int64", nan=2**63 - 1)
    assert matrix.tensor().tolist() == [1, 2**63 - 1, -2]


def test_a_nan_value_that_does_not_fit_is_refused(written: Written) -> None:
    with pytest.raises(ValueError, match="found 300 as the value for NaN"):
        written(np.array([np.nan]), dtype="int8", nan=300)


def test_the_row_of_a_misfit_counts_from_the_start_of_the_array(written: Written) -> None:
    array = np.zeros(5_000_000, dtype=np.int32)
    array[4_321_000] = 200
    with pytest.raises(InputError, match="array row 4321000: found 200, which does not fit int8"):
        written(array, dtype="int8")


@pytest.mark.parametrize(
    ("value", "dtype", "room"),
    [
        (np.float64(-1e300), "float32", r"float32 \(at most 3.4028e38\); float64 has room"),
        (np.float32(70000), "float16", r"float16 \(at most 65504\); float32 has room"),
        (np.int32(-70000), "float16", r"float16 \(at most 65504\); float32 has room"),
        (np.float32(3.4e38), "bfloat16", r"bfloat16 \(at most 3.3895e38\); float64 has room"),
    ],
)
def test_a_number_that_would_become_infinite_is_named(
    written: Written, value: Any, dtype: str, room: str
) -> None:
    array = np.zeros((3, 2), value.dtype)
    array[2, 1] = value
    with pytest.raises(
        InputError, match=rf"row 2 column 1: found {re.escape(str(value))}, .*fit {room}"
    ):
        written(array, dtype=dtype)


def test_infinity_stays_what_it_is(written: Written) -> None:
    for dtype in ("float16", "float32", "float64"):
        x = written([np.inf, -np.inf, np.nan], dtype=dtype).tensor()
        assert x.tolist()[:2] == [np.inf, -np.inf]


# Chunks


def chunks(array: Any, *sizes: int) -> Iterator[Any]:
    at = 0
    for size in sizes:
        yield array[at : at + size]
        at += size


def test_chunks_of_any_size_make_one_matrix(written: Written) -> None:
    array = np.random.default_rng(0).random((100, 4), dtype=np.float32)
    matrix = written(chunks(array, 1, 50, 0, 49), shape=(100, 4), dtype="float32")
    assert (matrix.tensor() == array).all()


def test_chunks_are_converted_to_the_given_dtype(written: Written) -> None:
    array = np.random.default_rng(0).random(10)
    matrix = written(chunks(array, 5, 5), shape=[10], dtype=np.float16)
    assert (matrix.tensor() == array.astype(np.float16)).all()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((4, 4), "array: the chunks have 8 rows in all, expected 10"),
        ((4, 7), "array: chunk 1 ends at row 11, expected 10 rows in all"),
    ],
)
def test_a_wrong_number_of_rows_is_refused(
    written: Written, tmp_path: Path, sizes: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError) as error:
        written(chunks(np.ones((20, 2)), *sizes), shape=(10, 2), dtype="float32")
    assert str(error.value) == message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [np.ones((2, 3)), np.ones(2), np.ones((2, 2, 1)), np.float64(1)])
def test_a_chunk_of_another_shape_is_named(written: Written, wrong: Any) -> None:
    with pytest.raises(InputError, match=r"array: chunk 1 has shape .*, expected \(rows, 2\)"):
        written([np.ones((2, 2)), wrong], shape=(4, 2), dtype="float32")


def test_chunks_need_shape_and_dtype(written: Written) -> None:
    with pytest.raises(ValueError, match="needs a shape and a dtype"):
        written(iter([np.ones(3)]))
    with pytest.raises(ValueError, match="need a dtype as well as a shape"):
        written(iter([np.ones(3)]), shape=(3,))


def test_an_error_of_the_iterator_leaves_nothing(written: Written, tmp_path: Path) -> None:
    def failing() -> Iterator[Any]:
        yield np.ones((2, 2))
        raise RuntimeError("encoder failed")

    with pytest.raises(RuntimeError, match="encoder failed"):
        written(failing(), shape=(4, 2), dtype="float32")
    assert list(tmp_path.iterdir()) == []


# Tensors


def test_tensors_come_back_bit_for_bit(written: Written) -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool):
        tensor = (torch.rand(30, 5) * 2).to(dtype).t()
        assert (written(tensor).tensor() == tensor.numpy()).all()


def test_bfloat16_tensors_keep_their_bits(written: Written) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.randn(50, 6).bfloat16()
    matrix = written(tensor)
    assert matrix.dtype == "bfloat16"
    assert (matrix.tensor() == tensor.view(torch.int16).numpy()).all()
    assert (written(tensor, dtype="float32").tensor() == tensor.float().numpy()).all()
    assert written(tensor[:, 0]).tensor().shape == (50,)


def test_arrays_become_bfloat16(written: Written) -> None:
    torch = pytest.importorskip("torch")
    array = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    expected = torch.from_numpy(array).bfloat16().view(torch.int16).numpy()
    matrix = written(array, dtype=torch.bfloat16)
    assert matrix.tensor().shape == (9, 4)
    assert (matrix.tensor() == expected).all()


def test_tensors_that_require_gradients_are_written(written: Written) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.ones(3, 2, requires_grad=True)
    assert (written(tensor).tensor() == 1).all()
    assert (written(iter([tensor]), shape=(3, 2), dtype="float16").tensor() == 1).all()


# Roles


@pytest.mark.parametrize(("role", "number"), [("node", 0), ("edge", 1), ("ids", 2)])
def test_the_role_is_stored(written: Written, role: str, number: int) -> None:
    assert written(np.arange(3), role=role).role == number


def test_a_split_is_int64_in_one_dimension(written: Written) -> None:
    assert written(np.array([5, 2], np.int32), role="ids").dtype == "int64"
    with pytest.raises(ValueError, match="expected int64 in one dimension"):
        written(np.ones((2, 2), np.int64), role="ids")
    with pytest.raises(ValueError, match="expected int64 in one dimension"):
        written(np.arange(3), role="ids", dtype="int32")


def test_a_split_has_no_negative_ids(written: Written) -> None:
    with pytest.raises(InputError, match="array row 1: found -1, expected an id"):
        written([3, -1], role="ids")


def test_an_unknown_role_is_refused(written: Written) -> None:
    with pytest.raises(
        ValueError, match="unknown role 'nodes', expected node, edge, ids or categories"
    ):
        written([1], role="nodes")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.float64(3), "found 0 dimensions, expected 1 to 32"),
        (np.ones((2, 0)), "expected values in a row"),
        (np.array(["a"]), "found dtype str"),
        (np.ones(2, np.complex64), "found dtype complex64"),
        (np.ones(2, np.uint16), "found dtype uint16, expected one of float32"),
    ],
)
def test_what_is_no_matrix_is_refused(written: Written, array: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written(array)
