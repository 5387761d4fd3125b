"""Memory of results: kept for the next ones, never shared by two, and not without end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.base.result_arrays import result_array

MIB = 1 << 20


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.mark.parametrize("byte_size", [80 << 10, 3 * MIB + 24, 40 * MIB])
def test_the_next_array_of_about_that_size_has_the_memory_of_the_last(byte_size: int) -> None:
    first = result_array(byte_size // 8, np.int64)
    place = address(first)
    del first
    assert address(result_array(byte_size // 8 - 1, np.int64)) == place


def test_arrays_that_live_share_nothing() -> None:
    del_later = result_array(MIB, np.uint8)
    arrays = [result_array((2, MIB // 16), np.int64) for _ in range(5)]
    for value, array in enumerate(arrays):
        array[:] = value
    del del_later
    arrays.append(result_array((2, MIB // 16), np.int64))
    arrays[5][:] = 5
    assert [set(array.ravel().tolist()) for array in arrays] == [{value} for value in range(6)]


def test_a_view_keeps_the_memory_of_its_array() -> None:
    array = result_array(MIB, np.int64)
    array[:] = 7
    view = array[10:20]
    del array
    others = [result_array(MIB, np.int64) for _ in range(3)]
    for other in others:
        other[:] = 1
    assert view.tolist() == [7] * 10


def test_shapes_and_types_are_those_of_np_empty() -> None:
    for shape, dtype in [((2, 70_000), np.int64), (100_000, np.float32), ((0, 5), np.int64)]:
        array, usual = result_array(shape, dtype), np.empty(shape, dtype)
        for name in ("shape", "dtype", "strides"):
            assert getattr(array, name) == getattr(usual, name)
        for flag in ("WRITEABLE", "C_CONTIGUOUS", "ALIGNED"):
            assert array.flags[flag]


def test_what_is_kept_has_a_limit() -> None:
    arrays = [result_array(30 * MIB + i * MIB, np.uint8) for i in range(8)]
    del arrays
    assert 0 < _engine.result_memory_kept() <= 128 * MIB
    huge = result_array(300 * MIB, np.uint8)
    del huge
    assert _engine.result_memory_kept() <= 128 * MIB


def test_a_process_that_returns_freed_memory_keeps_nothing() -> None:
    code = (
        "from graphzero import _engine; from graphzero.base.result_arrays import result_array\n"
        "_engine.return_freed_memory(); result_array(1 << 20, 'int64')\n"
        "assert _engine.result_memory_kept() == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_more_than_there_can_be_is_an_error() -> None:
    with pytest.raises(MemoryError):
        _engine.result_bytes(2**63)


def test_a_forked_child_keeps_its_own() -> None:
    mine = result_array(MIB, np.uint8)
    mine[:] = 3
    child = os.fork()
    if child == 0:
        own = result_array(MIB, np.uint8)
        own[:] = 9
        del own
        os._exit(0 if set(mine.tolist()) == {3} and _engine.result_memory_kept() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert set(mine.tolist()) == {3}


def test_samples_take_their_arrays_from_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 20_000, (2, 400_000))
    gz.write_graph(tmp_path / "graph.gl", *ends, num_nodes=20_000)
    graph = gz.Graph(tmp_path / "graph.gl")

    def places() -> set[int]:
        sample = graph.sample(range(2000), [10, 5], seed=1)
        return {address(sample.n_id), address(sample.edge_index)}

    assert places() == places()
