"""Tensors are the mapped file: nothing is loaded, nothing is written back, nothing goes stale."""

import gc
import os
import re
import signal
import warnings
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw

COLS = 128
# Far beyond what any step of these tests may allocate, far below the file.
ALLOWED_GROWTH = 16 << 20


@pytest.fixture
def values():
    return np.arange(4000 * COLS, dtype=np.float32).reshape(4000, COLS)


@pytest.fixture
def path(tmp_path, values):
    return rw.matrix(values).write(tmp_path / "x.gd")


@pytest.fixture(scope="module")
def huge(tmp_path_factory):
    """A sparse file of zeros, larger than the memory of this machine and of at least 40 GB."""
    memory = int(re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text())[1]) * 1024
    rows = max(40 * 10**9, memory * 3 // 2) // (COLS * 4)
    path = tmp_path_factory.mktemp("huge") / "huge.gd"
    try:
        rw.zero_matrix(rows, COLS, "float32").write(path)
    except OSError as error:
        pytest.skip(f"no sparse file of that size here: {error}")
    yield path
    path.unlink()


def anonymous_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024


def mapped_file(address: int) -> str:
    """Which file the kernel has at that address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, *_, name = line.split(maxsplit=5)
        begin, end = (int(part, 16) for part in span.split("-"))
        if begin <= address < end:
            return name
    return ""


def page_faults() -> int:
    """How often this process met memory that was not there yet, and got it from a file or new."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[7]) + int(fields[9])


def test_a_tensor_larger_than_memory_costs_neither_memory_nor_reading(huge):
    gz.FeatureStore(huge).get_tensor()  # imports, and what is made once
    before, faults = anonymous_bytes(), page_faults()
    store = gz.FeatureStore(huge)
    tensor = store.get_tensor()
    assert page_faults() - faults < 100  # a hundredth of the file takes 600 and more
    assert tensor.nbytes > 39 * 10**9
    assert tensor[0, 0] == tensor[-1, -1] == 0
    assert store.gather([0, len(tensor) - 1]).sum() == 0
    assert anonymous_bytes() - before < ALLOWED_GROWTH


def test_torch_takes_a_tensor_larger_than_memory_as_it_is(huge):
    torch = pytest.importorskip("torch")
    before = anonymous_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor = torch.from_numpy(gz.FeatureStore(huge).get_tensor())
    tensor[len(tensor) // 2].add_(1)
    assert tensor[len(tensor) // 2].sum() == COLS
    assert anonymous_bytes() - before < ALLOWED_GROWTH
    assert gz.FeatureStore(huge).get_data(len(tensor) // 2).sum() == 0


def test_a_tensor_points_into_the_mapped_file(path):
    tensor = gz.FeatureStore(path).get_tensor()
    assert mapped_file(tensor.ctypes.data) == str(path)
    assert not tensor.flags.owndata


def test_every_call_gives_the_same_memory(path):
    store = gz.FeatureStore(path)
    assert np.shares_memory(store.get_tensor(), store.get_tensor())
    assert np.shares_memory(store.get_tensor(), store.get_data(7))


def test_writing_to_a_tensor_never_reaches_the_file(path):
    torch = pytest.importorskip("torch")
    before = path.read_bytes()
    tensor = torch.from_numpy(gz.FeatureStore(path).get_tensor())
    tensor.neg_().relu_()
    assert tensor.sum() == 0
    assert path.read_bytes() == before


def test_a_tensor_outlives_its_store(path, values):
    tensor = gz.FeatureStore(path).get_tensor()
    row = gz.FeatureStore(path).get_data(5)
    gc.collect()
    np.testing.assert_array_equal(tensor, values)
    np.testing.assert_array_equal(row, values[5])


def test_a_tensor_outlives_the_name_of_its_file(path, values):
    store = gz.FeatureStore(path)
    tensor = store.get_tensor()
    path.rename(path.with_name("elsewhere.gd"))
    np.testing.assert_array_equal(tensor, values)
    path.with_name("elsewhere.gd").unlink()
    np.testing.assert_array_equal(tensor, values)
    np.testing.assert_array_equal(store.gather([3, 1]), values[[3, 1]])


def test_a_replaced_file_leaves_open_stores_as_they_were(path, values):
    store = gz.FeatureStore(path)
    rw.matrix(values + 1).write(path.with_name("new.gd")).replace(path)
    np.testing.assert_array_equal(store.get_tensor(), values)
    np.testing.assert_array_equal(gz.FeatureStore(path).get_tensor(), values + 1)


def test_a_mapping_ends_with_its_last_view(path):
    tensor = gz.FeatureStore(path).get_tensor()
    address = tensor.ctypes.data
    row = tensor[10]
    del tensor
    gc.collect()
    assert mapped_file(address) == str(path)
    del row
    gc.collect()
    assert mapped_file(address) != str(path)


def test_views_and_gather_work_in_a_forked_child(path, values):
    store = gz.FeatureStore(path)
    graph_path = rw.topology(2, rw.Edges(src=[0], dst=[1])).write(path.with_name("g.gl"))
    neighbours = gz.Graph(graph_path).get_neighbours(0)
    tensor = store.get_tensor()
    ids = np.arange(len(values))[::-1]
    store.gather(ids, threads=2)  # the parent has used threads before it forks

    def child():
        np.testing.assert_array_equal(tensor, values)
        np.testing.assert_array_equal(store.gather(ids, threads=2), values[ids])
        np.testing.assert_array_equal(store.gather(ids), values[ids])
        assert neighbours.tolist() == [1]
        assert gz.Graph(graph_path, verify=True).num_nodes == 2
        tensor[:] = 0

    assert run_forked(child) == 0
    np.testing.assert_array_equal(tensor, values)


def run_forked(function) -> int:
    """Exit status of a child that runs it; a child that hangs is ended by the alarm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking with threads: that is what is tested
        pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            function()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]
