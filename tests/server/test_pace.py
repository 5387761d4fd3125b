"""Reading ahead takes a small share of the disk's time while requests wait for it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
from graphzero import _engine
from graphzero.files.column_io import ColumnReading
from graphzero.files.dataset import Dataset, open_dataset
from graphzero.server.datasets import hot_rows
from graphzero.server.datasets.pace import Pace


class WatchedPace(Pace):
    """Writes down what it was told; requests wait as long as `waiting` says."""

    def __init__(self, waiting: bool) -> None:
        super().__init__(threading.Event())
        self.waiting = waiting
        self.shares: list[float] = []

    def requests_wait(self) -> bool:  # type: ignore[override]
        return self.waiting

    def give_way(self, share: float) -> None:
        self.shares.append(share)


@pytest.fixture
def direct(dataset: Path) -> Dataset:
    opened = open_dataset(dataset)
    cache = _engine.RowCache(64 << 20)
    for column in opened.columns.values():
        column.read_by(ColumnReading(_engine.ColumnPath.DIRECT, "for the test"), cache)
    return opened


def test_it_waits_for_requests_but_not_for_ever() -> None:
    pace = Pace(threading.Event())
    pace.requests_wait = lambda: True  # type: ignore[method-assign]
    time.sleep(0.02)  # the step
    began = time.monotonic()
    pace.give_way(0.1)
    assert time.monotonic() - began >= 9 * 0.02


def test_it_goes_on_at_once_when_nobody_waits() -> None:
    pace = Pace(threading.Event())
    looks: list[None] = []
    pace.requests_wait = lambda: bool(looks.append(None))  # type: ignore[method-assign,func-returns-value]
    pace.give_way(0.001)
    assert len(looks) == 1


def test_a_stop_ends_its_waiting() -> None:
    stop = threading.Event()
    pace = Pace(stop)
    pace.requests_wait = lambda: True  # type: ignore[method-assign]
    time.sleep(0.01)
    threading.Timer(0.05, stop.set).start()
    pace.give_way(1e-9)  # ten seconds, the longest
    assert pace.stopped


@pytest.mark.parametrize("waiting", [False, True])
def test_hot_rows_are_read_in_small_steps_while_requests_wait(
    direct: Dataset, waiting: bool
) -> None:
    cache = _engine.RowCache(64 << 20)
    for column in direct.columns.values():
        column.read_by(ColumnReading(_engine.ColumnPath.DIRECT, "for the test"), cache)
    pace = WatchedPace(waiting)
    rows = hot_rows.fill(cache, [direct], pace)
    assert rows is not None
    assert rows > 0
    x = direct.columns["x"]
    steps = len(pace.shares)
    assert all(share < 0.5 for share in pace.shares)
    most = (128 << 10) // x.row_bytes if waiting else (2 << 20) // x.row_bytes
    assert x.reader.stats().gathers >= np.ceil(x.reader.stats().rows / most)
    assert steps == sum(c.reader.stats().gathers for c in direct.columns.values())


def test_a_stopped_fill_ends(direct: Dataset) -> None:
    pace = WatchedPace(False)
    pace._stop.set()
    assert hot_rows.fill(_engine.RowCache(1 << 20), [direct], pace) is None
