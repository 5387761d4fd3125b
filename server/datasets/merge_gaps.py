"""Chooses how far apart two items of a file may be for one read to fetch both, by measuring each
disk.

A disk whose reads per second are limited, such as a volume in a cloud, transfers a hundred
kilobytes in the time of one more read; a fast local disk hardly a page (native/io/disk_rates.h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graphzero import _engine
from graphzero.files.dataset import Dataset


@dataclass(frozen=True)
class _File:
    """A file that is read around the page cache, always or sometimes."""

    path: Path
    byte_size: int
    reader: _engine.Column | _engine.DiskTopology


def choose_merge_gaps(
    datasets: Iterable[Dataset], stopped: Callable[[], bool]
) -> list[tuple[Path, _engine.DiskRates]]:
    """Measures each disk with the largest file that is read around the page cache and can be used
    for it, and sets the gap of all such files on that disk. If all are too short, the gap stays as
    it is. Returns the rates, each with the file that was used. Raises OSError."""
    disks: dict[int, list[_File]] = {}
    for file in _files(datasets):
        disks.setdefault(file.path.stat().st_dev, []).append(file)
    measured = []
    for files in disks.values():
        if stopped():
            break
        for largest in sorted(files, key=lambda file: file.byte_size, reverse=True):
            rates = largest.reader.measure_disk()
            if rates is not None:
                measured.append((largest.path, rates))
                for file in files:
                    file.reader.merge_gap = rates.merge_gap
                break
    return measured


def _files(datasets: Iterable[Dataset]) -> Iterator[_File]:
    for dataset in datasets:
        graph = dataset.graph
        if graph.disk is not None:
            yield _File(graph.path, graph.byte_size, graph.disk)
        for column in dataset.columns.values():
            if column.reader.path == _engine.ColumnPath.DIRECT:
                yield _File(column.path, column.byte_size, column.reader)
