"""A disk that fails, a file that was cut: that call fails with file and offset, nothing else."""

import errno
import os
import subprocess
import sys

import graphzero as gz
import numpy as np
import pytest


@pytest.mark.parametrize("row_cache", [0, 1 << 20])
def test_a_failing_disk_is_an_error_with_file_and_offset(
    make_column, faults, reading_io, row_cache
):
    path, _ = make_column(512)
    start = path.stat().st_size - 3000 * 512  # rows are the last section but for their checksums
    store = gz.FeatureStore(path, io=reading_io, row_cache=row_cache)
    faults("x.gd", -errno.EIO, begin=start, end=start + 1500 * 512)
    with pytest.raises(OSError, match=r"cannot read at byte \d+") as caught:
        store.gather(np.arange(3000))
    assert caught.value.errno == errno.EIO
    assert caught.value.filename == str(path)


def test_other_rows_and_later_calls_are_served(make_column, faults, reading_io):
    from graphzero import _engine

    path, values = make_column(512, rows=3000)
    other, other_values = make_column(512, rows=2000, name="other")
    store = gz.FeatureStore(path, io=reading_io)
    faults("x.gd", -errno.EIO, begin=1 << 20)
    with pytest.raises(OSError, match="cannot read"):
        store.gather([0, 2999])
    np.testing.assert_array_equal(store.gather([0, 1]), values[[0, 1]])
    neighbour = gz.FeatureStore(other, io=reading_io)
    np.testing.assert_array_equal(neighbour.gather([0, 1999]), other_values[[0, 1999]])
    _engine.clear_read_faults()
    np.testing.assert_array_equal(store.gather([0, 2999]), values[[0, 2999]])


@pytest.mark.parametrize("got", [512, 1000, 1024])
def test_reads_that_come_up_short_are_continued(make_column, faults, reading_io, got):
    path, values = make_column(6144)
    faults("x.gd", got)
    store = gz.FeatureStore(path, io=reading_io, row_cache=0)
    ids = np.random.default_rng(1).permutation(3000)
    np.testing.assert_array_equal(store.gather(ids), values[ids])


@pytest.mark.parametrize("error", [errno.EINTR, errno.EAGAIN])
def test_reads_that_were_interrupted_are_repeated(make_column, faults, reading_io, error):
    path, values = make_column(512)
    faults("x.gd", -error, times=7)
    store = gz.FeatureStore(path, io=reading_io, row_cache=0)
    np.testing.assert_array_equal(store.gather(np.arange(3000)), values)


def test_a_file_that_was_cut_is_an_error_with_file_and_offset(make_column, reading_io):
    path, values = make_column(512)
    store = gz.FeatureStore(path, io=reading_io, row_cache=0)
    np.testing.assert_array_equal(store.gather([5, 2999]), values[[5, 2999]])
    cut = path.stat().st_size // 2 // 4096 * 4096 + 100
    os.truncate(path, cut)
    with pytest.raises(OSError, match=r"cannot read at byte \d+: the file was cut short") as caught:
        store.gather(np.arange(3000))
    assert caught.value.errno == errno.EIO
    assert caught.value.filename == str(path)
    np.testing.assert_array_equal(store.gather([5, 6]), values[[5, 6]])


FEW_THREADS = """
import sys
import graphzero as gz
import numpy as np
values, store = np.load(sys.argv[2]), gz.FeatureStore(sys.argv[1], io="cached")
{enter}
ids = np.random.default_rng(1).permutation(len(values))
assert (store.gather(ids) == values[ids]).all()
print("read")
"""


def test_fewer_threads_than_wanted_read_all_the_same(make_column, tmp_path, thread_group):
    """Where io_uring is forbidden, and a control group bounds the number of threads."""
    path, values = make_column(512)
    np.save(tmp_path / "values.npy", values)
    program = FEW_THREADS.format(enter=thread_group.enter_and_allow(3))
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(tmp_path / "values.npy")],
        env={**os.environ, "GRAPHZERO_IO_ENGINE": "pread"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr
