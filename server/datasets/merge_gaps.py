"""Chooses how far apart two rows may be for one read to fetch both, by measuring each disk.

A disk whose reads per second are limited, such as a volume in a cloud, transfers a hundred
kilobytes in the time of one more read; a fast local disk hardly a page (native/io/disk_rates.h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset


def choose_merge_gaps(
    datasets: Iterable[Dataset], stopped: Callable[[], bool]
) -> list[tuple[ColumnFile, _engine.DiskRates]]:
    """Measures each disk with its largest column that is read around the page cache, and sets the
    gap of all such columns on that disk. If that column is too short to measure with, the gap stays
    as it is. Returns the rates, each with the column that was used. Raises OSError."""
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
