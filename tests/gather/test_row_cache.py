"""The row cache: what it finds is right, hot rows stay, memory is bounded."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import graphzero as gz
import numpy as np
import pytest
from forking import in_child
from graphzero import _engine


def open_with(cache, path):
    matrix = gz.FeatureStore(path)._file.matrix
    return _engine.Column.open(matrix, _engine.ColumnPath.DIRECT, cache, reason="a test")


def gather(column, ids, values):
    out = np.empty((len(ids), *values.shape[1:]), values.dtype)
    column.gather(np.asarray(ids, np.int64), out.reshape(-1).view(np.uint8))
    np.testing.assert_array_equal(out, values[ids])


def test_rows_are_read_once(make_column):
    path, values = make_column(512)
    column = open_with(_engine.RowCache(64 << 20), path)
    for _ in range(5):
        gather(column, np.arange(0, 3000, 3), values)
    stats = column.stats()
    assert stats.cache_hits == 4 * 1000
    assert stats.rows == 5 * 1000


def test_a_forked_child_reads_without_the_cache(make_column):
    """A thread of its parent may have held a lock of the cache, which nobody releases there."""
    path, values = make_column(512)
    column = open_with(_engine.RowCache(64 << 20), path)
    ids = np.arange(0, 3000, 3)
    gather(column, ids, values)

    def in_the_child() -> None:
        gather(column, ids, values)
        assert column.stats().cache_hits == 0

    in_child(in_the_child)
    gather(column, ids, values)
    assert column.stats().cache_hits == len(ids)


@pytest.mark.parametrize("bad", [-1, 3000, 2**62])
def test_the_engine_refuses_ids_outside_by_itself(make_column, bad):
    """`FeatureStore` has refused them before; requests to a daemon get here."""
    path, values = make_column(512)
    column = open_with(None, path)
    with pytest.raises(IndexError, match=f"id {bad} at position 1"):
        gather(column, [0, bad, 1], values)


def test_columns_share_a_cache_and_keep_their_rows_apart(make_column):
    cache = _engine.RowCache(64 << 20)
    made = [make_column(size, name=f"c{size}") for size in (4, 400, 512)]
    again = [*made, *made]  # the same file opened twice is two columns: it may have been replaced
    columns = [(open_with(cache, path), values) for path, values in again]
    ids = np.random.default_rng(1).permutation(3000)[:1000]
    for _ in range(3):
        for column, values in columns:
            gather(column, ids, values)
    assert [column.stats().cache_hits for column, _ in columns] == [2000] * 6
    assert cache.usage().rows == 6000


@pytest.mark.parametrize("row_bytes", [4, 516, 6144])
def test_memory_is_bounded_and_used(make_column, row_bytes):
    path, values = make_column(row_bytes, rows=(6 << 20) // row_bytes)
    cache = _engine.RowCache(2 << 20)
    column = open_with(cache, path)
    rng = np.random.default_rng(2)
    for _ in range(40):
        gather(column, rng.integers(0, len(values), 4000), values)
    usage = cache.usage()
    assert usage.capacity_bytes == 2 << 20
    assert 0.8 * usage.capacity_bytes < usage.used_bytes <= usage.capacity_bytes
    assert usage.index_bytes < 4 * 48 * usage.rows


def test_a_pass_over_everything_leaves_the_hot_rows_alone(make_column):
    path, values = make_column(512, rows=40_000)
    column = open_with(_engine.RowCache(4 << 20), path)  # a fifth of the rows
    hot = np.random.default_rng(3).permutation(40_000)[:3000]
    for _ in range(4):
        gather(column, hot, values)
    gather(column, np.setdiff1d(np.arange(40_000), hot), values)
    before = column.stats().cache_hits
    gather(column, hot, values)
    assert column.stats().cache_hits - before > 0.9 * len(hot)


def test_skewed_access_hits_nearly_as_often_as_the_best_fixed_choice(make_column):
    rows = 50_000
    path, values = make_column(64, rows=rows)
    fits = rows // 10
    capacity = fits * (64 + 16)
    column = open_with(_engine.RowCache(capacity), path)
    rng = np.random.default_rng(4)
    weights = 1 / np.arange(1, rows + 1)
    scrambled = rng.permutation(rows)
    ids = scrambled[rng.choice(rows, 1_000_000, p=weights / weights.sum())]
    for part in np.array_split(ids, 250):
        gather(column, part, values)
    best = np.sort(np.bincount(ids, minlength=rows))[::-1][:fits].sum()
    assert column.stats().cache_hits > 0.9 * best


def test_callers_that_push_out_each_others_rows_get_the_right_ones(make_column):
    path, values = make_column(400, rows=10_000)
    column = open_with(_engine.RowCache(1 << 20), path)  # a quarter of the rows, in one shard

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            # Some of them twice in a call, and more than are looked up at a time.
            gather(column, rng.integers(0, len(values), 5000), values)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert 0 < column.stats().cache_hits < column.stats().rows


def test_a_row_that_is_too_long_is_not_kept(make_column):
    path, values = make_column(512 << 10, rows=5)
    cache = _engine.RowCache(1 << 20)
    column = open_with(cache, path)
    for _ in range(2):
        gather(column, np.arange(5), values)
    assert cache.usage().rows == 0


NO_MEMORY = """
import resource, sys
import graphzero as gz
import numpy as np
from graphzero import _engine
store = gz.FeatureStore(sys.argv[1], io="direct", row_cache=1 << 20)
values = np.load(sys.argv[2])
ids = np.arange(1000)
out = np.empty((1000, 1), np.float32)
store.gather(ids, out=out)
pages = int(open("/proc/self/statm").read().split()[0])
limit = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), limit[1]))
for first in range(0, 60_000, 1000):  # the index of the cache would have to grow
    ids += 1000
    store.gather(ids, out=out)
    assert (out == values[ids]).all()
resource.setrlimit(resource.RLIMIT_AS, limit)
for first in range(60):
    store.gather(ids, out=out)
    assert (out == values[ids]).all()
    ids -= 1000
print("right")
"""


def test_a_cache_that_gets_no_memory_keeps_what_it_has(make_column, tmp_path):
    path, values = make_column(4, rows=70_000)
    np.save(tmp_path / "values.npy", values)
    done = subprocess.run(
        [sys.executable, "-c", NO_MEMORY, str(path), str(tmp_path / "values.npy")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,  # it would hang
    )
    assert done.stdout == "right\n", (done.returncode, done.stderr)
