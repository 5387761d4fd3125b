"""Calls that wait for a file at the same time share its reads; none depends on another's fate."""

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.base.errors import CallStopped
from graphzero.files.column_file import ColumnFile
from waiting import DEADLINE_S, wait_until

CALLERS = 6


def open_with(cache, path):
    matrix = ColumnFile(path).matrix
    return _engine.Column.open(matrix, _engine.ColumnPath.DIRECT, cache, reason="a test")


def gather(column, ids, values):
    out = np.empty((len(ids), *values.shape[1:]), values.dtype)
    column.gather(np.asarray(ids, np.int64), out.reshape(-1).view(np.uint8))
    np.testing.assert_array_equal(out, values[ids])


def at_once(calls):
    """Runs calls at the same time; returns what each gave or raised."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait()
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.fixture
def spread_ids():
    """Far enough apart that each row is a read."""
    return np.arange(0, 60_000, 40)


@pytest.fixture
def column(make_column):
    path, values = make_column(512, rows=60_000)
    return path, values


def test_calls_that_want_the_same_read_it_once(column, spread_ids):
    path, values = column
    alone = open_with(_engine.RowCache(64 << 20), path)
    gather(alone, spread_ids, values)
    for turn in range(5):
        shared = open_with(_engine.RowCache(64 << 20), path)
        rng = np.random.default_rng(turn)
        orders = [rng.permutation(spread_ids) for _ in range(CALLERS)]
        given = at_once([lambda ids=ids, c=shared: gather(c, ids, values) for ids in orders])
        assert given == [None] * CALLERS
        # However they overlap: who comes later rides on the sweep, and finds in the cache what that
        # had passed.
        assert shared.stats().reads == alone.stats().reads


def test_calls_that_want_some_of_the_same_get_all_of_theirs(column):
    path, values = column
    shared = open_with(_engine.RowCache(64 << 20), path)
    rng = np.random.default_rng(1)
    wanted = [rng.integers(0, 60_000, 3000) for _ in range(CALLERS)]
    assert at_once([lambda ids=ids: gather(shared, ids, values) for ids in wanted]) == [None] * len(
        wanted
    )


def test_a_cache_too_small_to_keep_them_costs_reads_and_nothing_else(column, spread_ids):
    path, values = column
    shared = open_with(_engine.RowCache(1 << 20), path)
    wide = np.tile(spread_ids, 3)
    assert at_once([lambda: gather(shared, wide, values)] * CALLERS) == [None] * CALLERS


def test_a_bad_place_is_an_error_for_those_who_want_it(column, faults):
    path, values = column
    bad = 41 * 512  # among the rows that the first call wants, and near rows of the others
    for turn in range(8):
        shared = open_with(_engine.RowCache(64 << 20) if turn % 2 else None, path)
        faults(path_suffix=path.name, begin=4096 + bad, end=4096 + bad + 512, result=-errno.EIO)
        wanted = [np.arange(1 + i, 60_000, 40) for i in range(CALLERS)]
        given = at_once(
            [lambda ids=ids, c=shared: gather(c, ids, values) for ids in wanted],
        )
        assert given[0].errno == errno.EIO
        assert given[2:] == [None] * (CALLERS - 2)


def test_a_passing_failure_ends_at_most_one_call(column, spread_ids, faults):
    path, values = column
    for _ in range(5):
        shared = open_with(_engine.RowCache(64 << 20), path)
        faults(path_suffix=path.name, begin=0, end=2**62, result=-errno.EIO, times=1)
        given = at_once([lambda c=shared: gather(c, spread_ids, values)] * CALLERS)
        failed = [error for error in given if error is not None]
        assert [getattr(error, "errno", error) for error in failed] in ([], [errno.EIO])


def test_a_stopped_call_takes_nobody_with_it(column, spread_ids):
    path, values = column
    shared = open_with(_engine.RowCache(64 << 20), path)
    call = _engine.Call(_engine.Share())

    def stopped():
        with call:
            gather(shared, spread_ids, values)

    call.stop()
    given = at_once([stopped, *[lambda: gather(shared, spread_ids, values)] * CALLERS])
    assert isinstance(given[0], CallStopped)
    assert given[1:] == [None] * CALLERS


def test_a_call_that_is_stopped_in_the_middle_leaves_the_sweep(column, faults):
    path, values = column
    wanted = np.arange(60_000)
    for turn in range(6):
        shared = open_with(None, path)
        call = _engine.Call(_engine.Share())

        def stopped(call=call, shared=shared):
            with call:
                gather(shared, wanted, values)

        timer = threading.Timer(0.001 * turn, call.stop)
        timer.start()
        given = at_once([stopped, *[lambda c=shared: gather(c, wanted, values)] * 3])
        timer.join()
        assert given[0] is None or isinstance(given[0], CallStopped)
        assert given[1:] == [None] * 3


def test_rows_of_different_calls_that_lie_close_to_each_other_share_reads(column):
    """Each of eight calls wants a row in every 20 KiB; all of them together want one in 2.5 KiB."""
    path, values = column
    wanted = [np.arange(5 * i, 60_000, 40) for i in range(8)]
    alone = open_with(None, path)
    for ids in wanted:
        gather(alone, ids, values)
    assert alone.stats().reads == sum(len(ids) for ids in wanted)
    fewest = alone.stats().reads
    for _ in range(10):
        shared = open_with(None, path)
        given = at_once([lambda ids=ids, c=shared: gather(c, ids, values) for ids in wanted])
        assert given == [None] * len(wanted)
        fewest = min(fewest, shared.stats().reads)
    assert fewest < alone.stats().reads / 2


def test_a_sweep_waits_for_draws_from_its_disk_but_not_for_ever(column, tmp_path):
    """Samples are drawn from the same disk all the time, so no moment is without one for long."""
    path, values = column
    rng = np.random.default_rng(0)
    gz.write_graph(tmp_path / "g.gl", *rng.integers(0, 20_000, (2, 100_000)), num_nodes=20_000)
    graph = gz.Graph(tmp_path / "g.gl", io="staged")
    ended = threading.Event()

    def draw():
        while not ended.is_set():
            graph.sample(np.arange(20_000), [5, 5], seed=1, threads=1)

    drawing = [threading.Thread(target=draw) for _ in range(3)]
    for thread in drawing:
        thread.start()
    try:
        dear = open_with(None, path)
        dear.merge_gap = 128 << 10
        ids = np.arange(0, 60_000, 10)
        given = at_once([lambda: gather(dear, ids, values)] * 3)
    finally:
        ended.set()
        for thread in drawing:
            thread.join()
    assert given == [None] * 3


class Calls:
    """Calls that run beside the test, which knows how far they are."""

    def __init__(self, column, values):
        self._column, self._values = column, values
        self._pool = ThreadPoolExecutor(4)
        self._running = []

    def begin(self, ids):
        ids = np.asarray(ids, np.int64)
        out = np.full((len(ids), *self._values.shape[1:]), -1, self._values.dtype)

        def run():
            with _engine.Call(_engine.Share()):
                self._column.gather(ids, out.reshape(-1).view(np.uint8))
            np.testing.assert_array_equal(out, self._values[ids])

        self._running.append(self._pool.submit(run))
        return self._running[-1], out

    def wait_for(self, count):
        """Returns when this many of them read, or wait for reads."""
        wait_until(lambda: _engine.calls_at_disk() == count, "the call reads or waits")

    def end(self):
        _engine.clear_read_faults()
        for call in self._running:
            call.result(timeout=DEADLINE_S)
        self._pool.shutdown()


def hold(faults, path, first_row, last_row, row_bytes):
    """Reads of these rows are repeated until the faults are cleared."""
    begin, end = (4096 + row * row_bytes for row in (first_row, last_row))
    faults(path_suffix=path.name, begin=begin, end=end, result=-errno.EAGAIN)


def test_few_rows_behind_a_sweep_do_not_wait_for_many_that_come_later(column, faults):
    path, values = column
    calls = Calls(open_with(None, path), values)
    hold(faults, path, 30_000, 30_001, 512)
    try:
        _, out = calls.begin(np.arange(20_000, 30_001, 40))
        wait_until(lambda: out[0, 0] != -1, "the sweep is behind the first rows")
        few, _ = calls.begin(np.arange(0, 10_000, 40))
        calls.wait_for(2)
        calls.begin(np.arange(60_000))
        few.result(timeout=DEADLINE_S)
    finally:
        calls.end()


def test_a_long_row_that_two_calls_want_is_read_once(make_column, faults):
    """Longer than a read of several rows may be."""
    path, values = make_column(65_536, rows=384)
    shared = open_with(None, path)
    calls = Calls(shared, values)
    hold(faults, path, 100, 384, 65_536)
    try:
        _, out = calls.begin(np.arange(0, 384, 2))  # more than there can be reads under way
        wait_until(lambda: out[0, 0] != -1, "the sweep has begun")
        calls.begin(np.arange(340, 384, 2))
        calls.wait_for(2)
    finally:
        calls.end()
    assert shared.stats().reads == 192
    gather(shared, [7, 7, 7], values)
    assert shared.stats().reads == 193


@pytest.mark.parametrize("engine", ["io_uring", "pread"])
def test_calls_of_all_sizes_get_their_rows(column, engine):
    """Few rows beside many, at the front and at the end, in one process for each kind of queue."""
    path, _ = column
    program = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
from graphzero import _engine
from graphzero.files.column_file import ColumnFile

opened = ColumnFile(Path({str(path)!r}))
values = opened.view()
columns = [
    _engine.Column.open(opened.matrix, _engine.ColumnPath.DIRECT, cache, reason="a test")
    for cache in (None, _engine.RowCache(8 << 20))
]

def gather(seed):
    rng = np.random.default_rng(seed)
    size = int(2 ** rng.uniform(0, 15))
    first, last = [(0, 60_000), (0, 2000), (58_000, 60_000)][seed % 3]
    ids = rng.integers(first, last, size)
    out = np.empty((size, values.shape[1]), values.dtype)
    columns[seed % 2].gather(ids, out.reshape(-1).view(np.uint8))
    return np.array_equal(out, values[ids])

with ThreadPoolExecutor(8) as pool:
    sys.exit(not all(pool.map(gather, range(400))))
"""
    environment = {**os.environ, "GRAPHZERO_IO_ENGINE": engine}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, env=environment)


def test_a_forked_child_reads_by_itself_while_its_parent_sweeps(column):
    path, values = column
    shared = open_with(None, path)
    end = threading.Event()

    def sweep():
        while not end.is_set():
            gather(shared, np.arange(60_000), values)

    readers = [threading.Thread(target=sweep) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                ids = np.arange(0, 60_000, 7)
                out = np.empty((len(ids), values.shape[1]), values.dtype)
                shared.gather(ids, out.reshape(-1).view(np.uint8))
                os._exit(0 if np.array_equal(out, values[ids]) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        end.set()
        for reader in readers:
            reader.join()


def test_a_merge_gap_decides_how_many_reads_there_are(column):
    path, values = column
    ids = np.arange(0, 60_000, 60)  # 30 KiB apart
    reads = {}
    for gap in (4096, 65536):
        found = open_with(None, path)
        found.merge_gap = gap
        gather(found, ids, values)
        reads[found.merge_gap] = found.stats().reads
    assert reads[4096] == len(ids)
    assert reads[65536] < len(ids) / 3


def test_a_merge_gap_is_kept_within_bounds(column):
    found = open_with(None, column[0])
    for asked, given in [(0, 4096), (1 << 40, 128 << 10), (20_480, 20_480)]:
        found.merge_gap = asked
        assert found.merge_gap == given


def test_a_disk_is_measured_with_a_file_that_is_long_enough(make_column):
    path, _ = make_column(512, rows=60_000)  # 30 MB
    assert open_with(None, path).measure_disk() is None
    path, _ = make_column(4096, rows=17_000, name="long")
    rates = open_with(None, path).measure_disk()
    assert rates.reads_per_second > 0
    assert rates.bytes_per_second > 0
    ratio = rates.bytes_per_second / rates.reads_per_second
    assert rates.merge_gap == np.clip(ratio // 4096 * 4096, 4096, 128 << 10)
