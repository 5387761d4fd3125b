"""Edges from .npy files: every integer type, both shapes, both memory orders."""

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from edge_reference import EdgeList, ample, compile_file, topology_bytes
from graphzero import InputError
from graphzero.conversion.compile_graph import GraphOptions

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", ["(2, E)", "(E, 2)"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_type_shape_and_order_reads_the_same(
    tmp_path: Path, dtype: str, shape: str, order: Any
) -> None:
    ids = np.random.default_rng(0).integers(0, 128, (2, 50_000))
    array = (ids if shape == "(2, E)" else ids.T).astype(dtype, order=order)
    np.save(tmp_path / "edges.npy", array)
    options = GraphOptions(edge_ids=True)
    made = compile_file(tmp_path / "edges.npy", options)
    assert made.data == topology_bytes(EdgeList.make(*ids), options)


def test_a_2_by_2_array_is_taken_as_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "edges.npy", np.array([[0, 1], [2, 3]]))
    made = compile_file(tmp_path / "edges.npy")
    assert made.data == topology_bytes(EdgeList.make([0, 1], [2, 3]), GraphOptions())


def test_arrays_in_memory_may_have_any_byte_order_and_stride(tmp_path: Path) -> None:
    ids = np.random.default_rng(0).integers(0, 128, (2, 1_000))
    gz.write_graph(tmp_path / "g.gl", ids[0].astype(">i4"), np.repeat(ids[1], 3)[::3])
    made = (tmp_path / "g.gl").read_bytes()
    assert made == topology_bytes(EdgeList.make(*ids), GraphOptions())


@pytest.mark.parametrize("shape", [(2, 0), (0, 2)])
def test_an_array_without_edges_needs_a_number_of_nodes(
    tmp_path: Path, shape: tuple[int, int]
) -> None:
    np.save(tmp_path / "edges.npy", np.zeros(shape, np.int64))
    options = GraphOptions(num_nodes=3)
    made = compile_file(tmp_path / "edges.npy", options)
    assert made.data == topology_bytes(EdgeList.make([], []), options)
    with pytest.raises(InputError, match=r"edges\.npy: found no edges, expected some"):
        compile_file(tmp_path / "edges.npy")


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_first_bad_row_is_reported_whatever_thread_meets_it(
    tmp_path: Path, threads: int
) -> None:
    ids = np.zeros((2, 300_000), np.int64)
    ids[1, [100_000, 200_000, 299_999]] = -7
    np.save(tmp_path / "edges.npy", ids)
    for _ in range(5):
        with pytest.raises(InputError, match="row 100000: found target -7, expected an id from"):
            compile_file(tmp_path / "edges.npy", resources=ample(tmp_path, threads))


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.zeros(4, np.int64), "int64 of shape (4,)"),
        (np.zeros((3, 4), np.int64), "int64 of shape (3, 4)"),
        (np.zeros((2, 2, 2), np.int64), "int64 of shape (2, 2, 2)"),
        (np.zeros((2, 4)), "float64 of shape (2, 4)"),
        (np.zeros((2, 4), bool), "bool of shape (2, 4)"),
        (np.zeros((2, 4), ">i8"), ">i8 of shape (2, 4)"),
        (np.zeros((2, 4), "datetime64[s]"), "datetime64[s] of shape (2, 4)"),
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, array: Any, found: str) -> None:
    np.save(tmp_path / "edges.npy", array)
    with pytest.raises(InputError) as caught:
        compile_file(tmp_path / "edges.npy")
    assert str(caught.value).startswith(
        f"{tmp_path}/edges.npy: found {found}, expected integers of shape (2, E) or (E, 2)"
    )


@pytest.mark.parametrize(
    "data", [b"", b"0,1\n", b"\x93NUMPY\x01\x00v"], ids=["empty", "text", "cut"]
)
def test_a_file_that_is_no_array_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "edges.npy").write_bytes(data)
    with pytest.raises(InputError, match=r"edges\.npy: not a readable \.npy file: "):
        compile_file(tmp_path / "edges.npy")


def test_a_file_shorter_than_its_header_says_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "edges.npy", np.zeros((2, 1000), np.int64))
    data = (tmp_path / "edges.npy").read_bytes()
    (tmp_path / "edges.npy").write_bytes(data[:-8])
    with pytest.raises(InputError, match=r"edges\.npy: not a readable \.npy file: "):
        compile_file(tmp_path / "edges.npy")
