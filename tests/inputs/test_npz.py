"""Arrays in .npz archives, stored or compressed, in any order of their elements."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from contents import column
from graphzero import InputError
from input_graphs import SmallGraph

SAVERS = [pytest.param(np.savez, id="stored"), pytest.param(np.savez_compressed, id="compressed")]


@pytest.mark.parametrize("save", SAVERS)
@pytest.mark.parametrize("layout", ["rows", "columns", "rows-fortran", "columns-fortran"])
def test_edges_are_those_of_the_arrays(
    tmp_path: Path, small: SmallGraph, save: object, layout: str
) -> None:
    ends = np.stack([small.src, small.dst])
    ends = ends.T if layout.startswith("columns") else ends
    ends = np.asfortranarray(ends) if layout.endswith("fortran") else np.ascontiguousarray(ends)
    save(tmp_path / "g.npz", other=small.y, edge_index=ends)  # type: ignore[operator]
    expected = small.write(tmp_path / "expected")
    gz.import_files(f"{tmp_path}/g.npz#edge_index", tmp_path / "ds", num_nodes=small.num_nodes)
    assert (tmp_path / "ds/graph.gl").read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("save", SAVERS)
def test_columns_are_those_of_the_arrays(tmp_path: Path, small: SmallGraph, save: object) -> None:
    save(tmp_path / "g.npz", e=np.stack([small.src, small.dst]), x=small.x, y=small.y)  # type: ignore[operator]
    gz.import_files(
        f"{tmp_path}/g.npz#e",
        tmp_path / "ds",
        num_nodes=small.num_nodes,
        columns={"x": f"{tmp_path}/g.npz#x", "y": f"{tmp_path}/g.npz#y"},
        dtype="float16",
    )
    np.testing.assert_array_equal(column(tmp_path / "ds", "x"), small.x.astype(np.float16))
    np.testing.assert_array_equal(column(tmp_path / "ds", "y"), small.y)


def test_the_array_must_be_named_if_there_are_several(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", a=np.zeros((2, 3), int), b=np.zeros(3))
    with pytest.raises(InputError, match=r"g\.npz: found several arrays, expected one of a, b"):
        gz.import_files(tmp_path / "g.npz", tmp_path / "ds")
    with pytest.raises(InputError, match=r"g\.npz: found no array 'c', expected one of a, b"):
        gz.import_files(f"{tmp_path}/g.npz#c", tmp_path / "ds")


def test_a_truncated_archive_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", np.zeros((2, 3), int))
    data = (tmp_path / "g.npz").read_bytes()
    (tmp_path / "g.npz").write_bytes(data[:-30])
    with pytest.raises(InputError, match=r"g\.npz: not a readable \.npz archive"):
        gz.import_files(tmp_path / "g.npz", tmp_path / "ds")


def test_damaged_data_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez_compressed(tmp_path / "g.npz", rng.integers(0, 1000, (2, 20_000)))
    data = bytearray((tmp_path / "g.npz").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "g.npz").write_bytes(data)
    with pytest.raises(InputError, match=r"g\.npz#arr_0: damaged archive"):
        gz.import_files(tmp_path / "g.npz", tmp_path / "ds")


def test_python_objects_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", np.array([{"a": 1}, None]))
    with pytest.raises(InputError, match=r"found Python objects, expected numbers"):
        gz.import_files(tmp_path / "g.npz", tmp_path / "ds")


PEAK = """
import sys
import graphzero as gz
gz.import_files(sys.argv[2] + "#e", sys.argv[1], columns={"x": sys.argv[2] + "#x"},
                num_nodes=int(sys.argv[3]), memory=64 << 20)
status = dict(line.split(":") for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) << 10)
"""


@pytest.mark.slow
def test_a_compressed_archive_is_read_in_bounded_memory(tmp_path: Path) -> None:
    nodes, edges = 3_000_000, 8_000_000
    rows = np.zeros((nodes, 32), np.float32)
    rows[:, 0] = np.arange(nodes)
    ends = np.arange(2 * edges, dtype=np.int64).reshape(2, edges) % nodes
    np.savez_compressed(tmp_path / "g.npz", e=ends, x=rows)
    with zipfile.ZipFile(tmp_path / "g.npz") as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    done = subprocess.run(
        [sys.executable, "-c", PEAK, tmp_path / "ds", tmp_path / "g.npz", str(nodes)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 200 << 20 < unpacked / 2
    assert column(tmp_path / "ds", "x")[:, 0].tolist() == list(range(nodes))
