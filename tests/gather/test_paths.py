"""Every way to read rows gives the bytes of the file."""

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest

# Below, at and above the 512 bytes of a disk's sector; longer than a page.
ROW_BYTES = [4, 256, 400, 512, 516, 6144]
GOLDEN = Path(__file__).parents[1] / "golden"


def counters(store):
    return store._file.reader.stats()


@pytest.mark.parametrize("row_bytes", ROW_BYTES)
@pytest.mark.parametrize("row_cache", [0, 1 << 20])
def test_rows_are_those_of_the_file(make_column, io, row_bytes, row_cache):
    path, values = make_column(row_bytes)
    store = gz.FeatureStore(path, io=io, row_cache=row_cache)
    rng = np.random.default_rng(1)
    last = len(values) - 1
    for ids in (
        rng.integers(0, len(values), 5000),  # in any order, with repeats
        np.arange(len(values)),
        np.arange(len(values))[::-1],
        np.array([last]),  # its sectors may end beyond the file
        np.array([0, last, 0, last]),
        rng.integers(0, len(values), 5000),  # partly from the row cache
        np.array([], np.int64),
    ):
        np.testing.assert_array_equal(store.gather(ids), values[ids])


@pytest.mark.parametrize("row_align", [64, 512, 4096])
def test_padding_between_rows_is_left_out(make_column, io, row_align):
    path, values = make_column(400, row_align=row_align)
    ids = np.random.default_rng(2).integers(0, len(values), 4000)
    np.testing.assert_array_equal(gz.FeatureStore(path, io=io).gather(ids), values[ids])


def test_one_dimension(tmp_path, io):
    labels = np.arange(5000)[::-1].copy()
    gz.write_features(tmp_path / "y.gd", labels)
    ids = np.random.default_rng(3).integers(0, len(labels), 7000)
    np.testing.assert_array_equal(
        gz.FeatureStore(tmp_path / "y.gd", io=io).gather(ids), labels[ids]
    )


@pytest.mark.parametrize("name", ["graphzero02", "graphzero02_int64", "float16_padded"])
def test_old_and_padded_files(name, io):
    """Rows of GraphZero 0.2 start at byte 32, in the middle of a sector."""
    store = gz.FeatureStore(GOLDEN / f"{name}.gd", io=io)
    whole = gz.FeatureStore(GOLDEN / f"{name}.gd").get_tensor()
    ids = np.arange(store.num_nodes)[::-1]
    np.testing.assert_array_equal(store.gather(ids), whole[ids])


def test_bfloat16(io):
    torch = pytest.importorskip("torch")
    store = gz.FeatureStore(GOLDEN / "bfloat16.gd", io=io)
    whole = gz.FeatureStore(GOLDEN / "bfloat16.gd").get_tensor()
    assert torch.equal(store.gather([1, 0]), whole[[1, 0]])


def test_rows_into_memory_at_any_address(make_column, io):
    path, values = make_column(512)
    ids = np.random.default_rng(4).permutation(len(values))
    for shift in (0, 1, 64, 512):
        memory = np.zeros(len(ids) * 512 + 4096, np.uint8)
        out = memory[shift : shift + len(ids) * 512].view(np.float32).reshape(len(ids), 128)
        gz.FeatureStore(path, io=io, row_cache=0).gather(ids, out=out)
        np.testing.assert_array_equal(out, values[ids])
        assert not memory[shift + len(ids) * 512 :].any()


@pytest.mark.parametrize("bad", [-1, 3000, 2**62])
def test_an_id_outside_is_refused_before_anything_is_written(make_column, io, bad):
    path, _ = make_column(512)
    out = np.full((3, 128), 7, np.float32)
    with pytest.raises(IndexError, match=str(bad)):
        gz.FeatureStore(path, io=io).gather([0, bad, 1], out=out)
    assert (out == 7).all()


def test_rows_that_share_a_page_share_a_read(make_column, reading_io):
    path, _ = make_column(256, rows=4096)
    store = gz.FeatureStore(path, io=reading_io, row_cache=0)
    store.gather(np.random.default_rng(5).permutation(4096))
    stats = counters(store)
    assert stats.rows == 4096
    assert stats.reads <= 4096 * 256 // 4096
    assert stats.read_bytes <= 2 * 4096 * 256


def test_far_rows_are_read_alone(make_column, reading_io):
    path, _ = make_column(512, rows=100_000)
    store = gz.FeatureStore(path, io=reading_io, row_cache=0)
    store.gather(np.arange(0, 100_000, 100))
    stats = counters(store)
    assert stats.reads == 1000
    sector = max(512, store._file.reader.direct_align)
    assert stats.read_bytes == 1000 * sector
    assert sum(stats.latency) == stats.reads
    assert stats.read_nanoseconds > 0


def test_many_threads_on_one_store(make_column, io):
    path, values = make_column(400)
    store = gz.FeatureStore(path, io=io, row_cache=1 << 20)  # smaller than the column
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            ids = rng.integers(0, len(values), 2000)
            if not np.array_equal(store.gather(ids), values[ids]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_child_reads_with_a_queue_of_its_own(make_column, io):
    path, values = make_column(512)
    store = gz.FeatureStore(path, io=io)
    ids = np.arange(0, 3000, 7)
    store.gather(ids)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(store.gather(ids), values[ids]) else 1)
        assert os.waitpid(child, 0)[1] == 0
        np.testing.assert_array_equal(store.gather(ids), values[ids])


def test_a_file_without_a_name_is_still_read(make_column, io):
    path, values = make_column(512)
    store = gz.FeatureStore(path, io=io)
    path.unlink()
    np.testing.assert_array_equal(store.gather([5, 3]), values[[5, 3]])


def test_a_copy_by_pickle_reads_the_same_way(make_column, io):
    path, values = make_column(512)
    copy = pickle.loads(pickle.dumps(gz.FeatureStore(path, io=io, row_cache=1 << 20)))
    np.testing.assert_array_equal(copy.gather([5, 3]), values[[5, 3]])
    assert (copy._file.io, copy._file.row_cache) == (io, 1 << 20)


def test_unknown_io_is_refused(make_column):
    path, _ = make_column(512)
    with pytest.raises(ValueError, match="'auto', 'mapped', 'cached', 'direct'"):
        gz.FeatureStore(path, io="fast")
    with pytest.raises(ValueError, match="row_cache is -1"):
        gz.FeatureStore(path, row_cache=-1)


@pytest.mark.skipif("GRAPHZERO_IO_ENGINE" in os.environ, reason="is what it starts")
@pytest.mark.slow
def test_all_of_this_holds_for_the_pool_of_threads():
    tests = [Path(__file__).with_name(name) for name in ("test_paths.py", "test_failures.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        env={**os.environ, "GRAPHZERO_IO_ENGINE": "pread"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
