"""Reading files into the page cache before they are used."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROWS = 70_000  # more than one step of 64 MiB


def drop_from_cache(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def column(tmp_path: Path) -> Path:
    path = tmp_path / "x.gd"
    values = np.arange(ROWS * 256, dtype=np.float32).reshape(ROWS, 256)
    gz.write_features(path, values)
    drop_from_cache(path)
    return path


def test_warm_brings_the_whole_file_into_memory(column: Path) -> None:
    store = gz.FeatureStore(column)
    store.warm()
    assert store._file.matrix.resident_bytes() == store.byte_size
    last = store.get_data(ROWS - 1)
    assert last[-1] == np.float32(ROWS * 256 - 1)


def bytes_on_huge_pages(path: Path) -> int:
    """Of this process's mappings of the file."""
    total, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if " " in line.partition(":")[0]:  # the first line of a mapping
            inside = line.endswith(str(path))
        elif inside and line.startswith("FilePmdMapped:"):
            total += int(line.split()[1]) << 10
    return total


def read_onto_small_pages(path: Path) -> None:
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        while file.read(4096):
            pass


@pytest.fixture
def huge_pages(column: Path) -> int:
    """Bytes of the column that can lie on huge pages; it lies on small ones now."""
    store = gz.FeatureStore(column)
    store.warm()
    possible = bytes_on_huge_pages(column)
    del store
    if possible == 0:
        pytest.skip("the kernel has no huge pages for files here")
    drop_from_cache(column)
    read_onto_small_pages(column)
    return possible


def test_warm_puts_onto_huge_pages_what_was_in_memory_on_small_ones(
    column: Path, huge_pages: int
) -> None:
    store = gz.FeatureStore(column)
    store.warm()
    # Where memory is short of huge pages, a few may be missing.
    assert bytes_on_huge_pages(column) >= huge_pages / 2
    expected = np.arange(ROWS * 256, dtype=np.float32).reshape(ROWS, 256)
    np.testing.assert_array_equal(np.asarray(store.get_tensor()), expected)


def test_warm_goes_around_pages_that_are_mapped(column: Path, huge_pages: int) -> None:
    store = gz.FeatureStore(column)
    store._file.matrix.expect_random_access()  # a touch maps one page
    changed = np.asarray(store.get_tensor())
    for row in range(0, ROWS, ROWS // 6):
        changed[row] = -1
    before = changed[:: ROWS // 6].copy()
    store.warm()
    np.testing.assert_array_equal(changed[:: ROWS // 6], before)  # private to this process
    assert huge_pages / 4 <= bytes_on_huge_pages(column) < huge_pages


def test_warm_graph_reads_as_before(tmp_path: Path) -> None:
    path = tmp_path / "g.gl"
    gz.write_graph(path, [0, 1, 2], [1, 2, 0])
    graph = gz.Graph(path)
    graph.warm()
    assert graph.get_neighbours(1).tolist() == [2]


def test_warming_a_file_that_was_cut_short_is_an_error(column: Path) -> None:
    store = gz.FeatureStore(column)
    os.truncate(column, 1 << 20)
    with pytest.raises(OSError, match="cannot read at byte 1048576: the file was cut short"):
        store.warm()


@pytest.mark.parametrize(("mode", "read"), [("all", 5), ("topology", 1)])
def test_daemon_reads_what_it_was_told_to(
    start_daemon: Callable[..., Any], dataset: Path, mode: str, read: int
) -> None:
    daemon = start_daemon(dataset, "--warm", mode)
    daemon.wait_for_output(f"warm start read {read} files")


def test_daemon_reads_nothing_when_told_so(start_daemon: Callable[..., Any], dataset: Path) -> None:
    daemon = start_daemon(dataset, "--warm", "none")
    assert daemon.stop() == 0
    assert "warm start" not in daemon.output()


def test_unknown_mode_is_refused(start_daemon: Callable[..., Any], dataset: Path) -> None:
    expected = "warm: found 'hot', expected one of none, topology, all"
    with pytest.raises(RuntimeError, match=expected):
        start_daemon(dataset, "--warm", "hot")


def test_small_requests_get_the_same_from_warm_and_cold_data(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    """Those for data that is known to be in memory are answered without a worker."""
    cold, warm = start_daemon(dataset, "--warm", "none"), start_daemon(dataset, "--warm", "all")
    warm.wait_for_output("warm start read")
    answers = []
    for daemon in (cold, warm):
        with gz.connect(daemon.address) as client:
            batches = [client.sample([i, 7], [3, 2], seed=i).numpy() for i in range(20)]
            arrays = [batch[name].copy() for batch in batches for name in batch]
            arrays.append(client.gather("x", [3, 1]).numpy().copy())
            with pytest.raises(gz.InvalidRequest, match="2000"):
                client.sample([2_000], [3])
            answers.append(arrays)
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)
