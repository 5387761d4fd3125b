"""Which path "auto" takes, and what happens where a path cannot be had."""

import os
import subprocess
import sys
import warnings

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.files.column_io import choose_reading
from system_calls import forbid_io_uring

Path_ = _engine.ColumnPath


def stats(store):
    return store._file.reader.stats()


@pytest.mark.parametrize(
    ("byte_size", "memory", "path"),
    [(100, 100, Path_.ADAPTIVE), (101, 100, Path_.DIRECT), (0, 0, Path_.ADAPTIVE)],
)
def test_auto_goes_by_size_against_memory(byte_size, memory, path):
    assert choose_reading("auto", byte_size, memory).path == path
    assert choose_reading("mapped", byte_size, memory).path == Path_.MAPPED
    assert choose_reading("cached", byte_size, memory).path == Path_.CACHED
    assert choose_reading("direct", byte_size, memory).path == Path_.DIRECT


def test_auto_copies_from_the_mapping_when_rows_are_in_memory(make_column):
    path, _ = make_column(512)
    path.read_bytes()
    store = gz.FeatureStore(path)
    store.gather(np.arange(3000))
    assert (stats(store).mapped_rows, stats(store).reads) == (3000, 0)


def test_auto_reads_rows_that_are_not_in_memory(make_column):
    path, values = make_column(512, rows=100_000)  # opening it reads a few megabytes ahead
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    store = gz.FeatureStore(path)
    ids = np.arange(60_000, 100_000, 100)
    np.testing.assert_array_equal(store.gather(ids), values[ids])
    if not stats(store).reads:
        pytest.skip("the filesystem did not let go of the file's pages")
    assert stats(store).mapped_rows == 0


def test_auto_agrees_with_views_that_were_written_to(make_column):
    path, values = make_column(512)
    store = gz.FeatureStore(path)
    store.gather([0])
    store.get_data(7)[:] = 5
    assert (store.gather([7]) == 5).all()
    assert (gz.FeatureStore(path, io="cached").gather([7]) == values[7]).all()


def test_the_limit_of_a_control_group_counts(tmp_path, memory_group):
    path = tmp_path / "x.gd"
    gz.write_features(path, np.zeros((400_000, 128), np.float32))  # 200 MB
    code = memory_group(160 << 20).enter + (
        f"import graphzero as gz; s = gz.FeatureStore({str(path)!r}); s.gather([1]);"
        "print(s._file.reader.path)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "ColumnPath.DIRECT"


def test_a_filesystem_without_direct_reads_is_read_through_the_page_cache(tmp_path):
    mount = tmp_path / "ram"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "ramfs", "ramfs", mount], check=False).returncode:
        pytest.skip("needs to mount a ramfs")
    try:
        values = np.random.default_rng(1).random((1000, 128), np.float32)
        gz.write_features(mount / "x.gd", values)
        store = gz.FeatureStore(mount / "x.gd", io="direct")
        with pytest.warns(RuntimeWarning, match="x.gd is cached instead of direct"):
            rows = store.gather([3, 2])
        np.testing.assert_array_equal(rows, values[[3, 2]])
        assert store._file.reader.path == Path_.CACHED
        del store
    finally:
        subprocess.run(["umount", "-l", mount], check=True)


@pytest.mark.skipif("GRAPHZERO_IO_ENGINE" in os.environ, reason="the choice is made already")
def test_where_io_uring_is_forbidden_threads_read_and_a_warning_says_so(make_column):
    path, _ = make_column(512)
    code = (
        f"import graphzero as gz; gz.FeatureStore({str(path)!r}, io='cached').gather([1, 2]);"
        "from graphzero import _engine; print(_engine.io_engine().name)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, preexec_fn=forbid_io_uring, capture_output=True, text=True)
    assert done.stdout == "pread\n", done.stderr
    assert "Operation not permitted" in done.stderr


def test_an_unknown_engine_is_refused(make_column):
    path, _ = make_column(512)
    code = f"import graphzero as gz; gz.FeatureStore({str(path)!r}, io='cached').gather([0])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "GRAPHZERO_IO_ENGINE": "magic"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "GRAPHZERO_IO_ENGINE is magic, expected io_uring or pread" in done.stderr


def test_an_engine_that_was_asked_for_is_no_warning(make_column):
    path, _ = make_column(512)
    code = f"import graphzero as gz; gz.FeatureStore({str(path)!r}, io='cached').gather([0])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "GRAPHZERO_IO_ENGINE": "pread"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_warnings_are_for_what_is_wrong_only(make_column):
    path, _ = make_column(512)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gz.FeatureStore(path, io="direct").gather([0])
