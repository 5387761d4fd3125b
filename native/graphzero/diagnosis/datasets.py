"""Datasets: whether they fit into memory, how each file will be read, and what their files cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from graphzero import _engine
from graphzero.base.filesystems import NETWORK_FILESYSTEMS, filesystem_of
from graphzero.base.memory_division import MemoryDivision
from graphzero.base.text import short_count_text, size_text
from graphzero.diagnosis.finding import Finding
from graphzero.diagnosis.row_probe import NoAnswer, RowRates, probe_rows
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_io import path_text
from graphzero.files.dataset import Dataset
from graphzero.files.dtypes import DataType
from graphzero.files.reading import DatasetPlan, plan_reading, room_for_files

# Columns with fewer values per row are labels and the like: a shorter type would save too little.
_FEATURE_VALUES = 8
# How files are read, by the names of the ways in the daemon's statistics.
_WAYS = {
    "mapped": "from the mapping",
    "cached": "through the page cache",
    "direct": "around the page cache, hot rows from the row cache",
    "mapped or cached": "from the mapping while in memory, else through the page cache",
    "staged": "from the disk, for a whole hop at once",
}
_HALF = "graphzero convert ... --dtype float16 (or bfloat16)"


def dataset_findings(datasets: Sequence[Dataset], memory: MemoryDivision) -> Iterator[Finding]:
    """Findings for a daemon that serves these datasets with this memory."""
    plans = plan_reading(datasets, memory.available, "auto", "auto")
    rates, silence = None, ""
    try:
        rates = _probe_largest(datasets)
    except NoAnswer as error:
        silence = str(error)
    yield _fit(datasets, memory, rates)
    yield from _file_systems(datasets)
    if rates is not None:
        yield _disk(_largest(datasets)[1], rates)
    elif silence:
        yield Finding(
            "problem",
            "disk",
            f"{_largest(datasets)[0]}: {silence}",
            "see the log of the kernel (dmesg), and what else uses the disk",
            "rows can be read",
            factor=100.0,
        )
    for dataset, plan in zip(datasets, plans, strict=True):
        yield _reading(dataset, plan)
        yield from _graph(dataset, plan)
        for name, column in dataset.columns.items():
            from_disk = plan.columns[name].path == _engine.ColumnPath.DIRECT
            yield from _column(f"{dataset.name}/{name}", column, from_disk)


def _largest(datasets: Sequence[Dataset]) -> tuple[str, ColumnFile]:
    """The largest column of all datasets, with its name. At least one dataset must have a
    column."""
    columns = [
        (f"{dataset.name}/{name}", column)
        for dataset in datasets
        for name, column in dataset.columns.items()
    ]
    return max(columns, key=lambda found: found[1].byte_size)


def _probe_largest(datasets: Sequence[Dataset]) -> RowRates | None:
    if not any(dataset.columns for dataset in datasets):
        return None
    return probe_rows(*_largest(datasets))


def _fit(datasets: Sequence[Dataset], memory: MemoryDivision, rates: RowRates | None) -> Finding:
    total = sum(dataset.byte_size for dataset in datasets)
    room = room_for_files(total, memory.available)
    sizes = f"{size_text(total)} of files, room for {size_text(room)}"
    if total <= room:
        return Finding("ok", "fits into memory", sizes)
    factor = rates.from_memory / rates.from_disk if rates and rates.from_disk else 2.0
    measured = ""
    if rates:
        measured = (
            f": {short_count_text(rates.from_memory)} rows/s instead of "
            f"{short_count_text(rates.from_disk)} ({rates.column}, measured now)"
        )
    return Finding(
        "advice",
        "larger than memory",
        f"{sizes}: what does not fit is read from disk, hot rows are kept",
        f"for all of it to lie in memory, {size_text(total / 0.75)} must be available",
        f"rows come from memory{measured}",
        factor=factor,
    )


def _file_systems(datasets: Sequence[Dataset]) -> Iterator[Finding]:
    for path in dict.fromkeys(dataset.path for dataset in datasets):
        kind = filesystem_of(path)
        if kind in NETWORK_FILESYSTEMS:
            yield Finding(
                "problem",
                "file system",
                f"{path} is on a network file system ({kind}): reads are slow and can fail",
                "copy the dataset to a local disk",
                "reads of the disk instead of the network",
                factor=10.0,
            )


def _disk(column: ColumnFile, rates: RowRates) -> Finding:
    kind = filesystem_of(column.path)
    found = (
        f"{short_count_text(rates.from_disk)} rows/s at random, {size_text(rates.bytes_from_disk)}"
        f"/s ({rates.column}, on {kind or 'an unknown file system'})"
    )
    if not rates.fallback:
        return Finding("ok", "disk", found)
    in_memory = kind in ("tmpfs", "ramfs")
    return Finding(
        "ok" if in_memory else "advice",
        "disk",
        f"{found}; not read around the page cache: {rates.fallback}",
        "" if in_memory else "keep the dataset on a file system with O_DIRECT (ext4, xfs, btrfs)",
        "" if in_memory else "memory for rows that are asked for often, not for whole pages",
        factor=1.2,
    )


def _reading(dataset: Dataset, plan: DatasetPlan) -> Finding:
    ways = {dataset.graph.path.name: plan.graph.path}
    ways |= {name: path_text(found.path) for name, found in plan.columns.items()}
    files: dict[str, list[str]] = {}
    for name, way in ways.items():
        files.setdefault(way, []).append(name)
    found = "; ".join(f"{', '.join(names)} {_WAYS[way]}" for way, names in files.items())
    return Finding("ok", f"reading {dataset.name}", found)


def _graph(dataset: Dataset, plan: DatasetPlan) -> Iterator[Finding]:
    graph = dataset.graph
    if graph.topology.version == 0:
        yield Finding(
            "advice",
            f"{dataset.name}/{graph.path.name}",
            "written by GraphZero 0.2: no checksums, ids of 64 bits, out-edges only",
            "graphzero convert the edges again",
            "damage is found, and indices take half the space",
            factor=1.5,
        )
    stores_both = graph.topology.has_out and graph.topology.has_in and not graph.schema.typed
    if plan.graph.from_disk and stores_both and not graph.symmetric:
        yield Finding(
            "advice",
            f"{dataset.name}/{graph.path.name}",
            f"{size_text(graph.byte_size)} with in- and out-edges, and does not fit into memory",
            "graphzero convert ... --direction in, if nothing walks along out-edges",
            "about half the size, so that more of it lies in memory",
            factor=1.9,
        )


def _column(name: str, column: ColumnFile, from_disk: bool) -> Iterator[Finding]:
    if column.matrix.version == 0:
        yield Finding(
            "advice",
            name,
            "written by GraphZero 0.2: no checksums, so damage goes unnoticed",
            "graphzero convert the column again",
            "graphzero verify finds damage",
        )
    features = column.role == "node" and column.row_values >= _FEATURE_VALUES
    if features and column.dtype is DataType.FLOAT64:
        yield Finding(
            "advice",
            name,
            f"{size_text(column.byte_size)} of float64",
            "graphzero convert ... --dtype float32",
            f"{size_text(column.byte_size / 2)} less on disk and half of it in every batch",
            factor=2.0,
        )
    elif features and from_disk and column.dtype is DataType.FLOAT32 and not column.quantisation:
        yield Finding(
            "advice",
            name,
            f"{size_text(column.byte_size)} of float32, read from disk",
            f"{_HALF}, if half precision will do; connect(upcast=True) gives float32",
            "half the bytes to read, and twice the rows in the row cache",
            factor=2.0,
        )
        yield Finding(
            "advice",
            name,
            f"{size_text(column.byte_size)} of float32, read from disk",
            "graphzero quantise DIR --out DIR2, if steps of 1/255 of a feature's range will do",
            "a quarter of the bytes to read, and four times the rows in the row cache; it comes as "
            "float32 as before, and graphzero info says what was lost",
            factor=4.0,
        )
    yield from _alignment(name, column, from_disk)


def _alignment(name: str, column: ColumnFile, from_disk: bool) -> Iterator[Finding]:
    """Advice if rows that are read around the page cache begin or end inside disk blocks."""
    if not from_disk or not column.stored_row_bytes:
        return
    reader = _engine.Column.open(column.matrix, _engine.ColumnPath.DIRECT, None, "probe")
    align, stride = reader.direct_align, column.matrix.row_stride
    if align <= 1 or stride % align == 0 or column.stored_row_bytes < align // 4:
        return  # aligned, or so short that padding would cost more than it saves
    # The average: within a block, rows begin at multiples of the greatest common divisor.
    covered = column.stored_row_bytes + align - math.gcd(stride, align)
    padded = -(-column.stored_row_bytes // align) * align
    yield Finding(
        "advice",
        name,
        f"rows of {column.stored_row_bytes} bytes begin anywhere in the disk's blocks of {align}: "
        f"{covered} bytes are read for one",
        f"graphzero convert ... --row-align {align}",
        f"{padded} bytes a row, read straight into the batch; the file becomes "
        f"{size_text(padded * column.matrix.rows)} instead of {size_text(column.byte_size)}",
        factor=covered / padded,
    )
