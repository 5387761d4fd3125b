"""How far apart rows may be for one read to bring both, by what each disk gives.

A disk that is paid for by the read, as volumes in a cloud are, transfers a hundred kilobytes in the
time of one more read; a fast local one hardly a page (native/io/disk_rates.h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset


def choose_merge_gaps(
    datasets: Iterable[Dataset], stopped: Callable[[], bool]
) -> list[tuple[ColumnFile, _engine.DiskRates]]:
    """Measures each disk with the largest column that is read around the page cache, and sets the
    gap of all columns there. Columns that are too short to tell leave it as it is. Returns what was
    measured, and with which column. Raises OSError."""
    disks: dict[int, list[ColumnFile]] = {}
    for dataset in datasets:
        for column in dataset.columns.values():
            if column.reader.path == _engine.ColumnPath.DIRECT:
                disks.setdefault(column.path.stat().st_dev, []).append(column)
    measured = []
    for columns in disks.values():
        if stopped():
            break
        largest = max(columns, key=lambda column: column.byte_size)
        rates = largest.reader.measure_disk()
        if rates is not None:
            measured.append((largest, rates))
            for column in columns:
                column.reader.merge_gap = rates.merge_gap
    return measured
