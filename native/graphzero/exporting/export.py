"""A dataset back into files that other programs read: Parquet tables or .npy arrays.

Edges come in the order of the file, and columns per edge in the order of the edges. Of an
undirected graph every edge comes once. bfloat16, which neither format has, becomes float32. What
such files cannot say is in `graphzero.json` beside them, and importing the folder gives the dataset
again; edge ids then count the rows of the export.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from graphzero.base.progress import Report
from graphzero.exporting.edges import count_edges, edges_of
from graphzero.exporting.manifest import ExportedColumn, Manifest
from graphzero.exporting.npy_writer import NpyWriter
from graphzero.exporting.parquet_writer import ParquetWriter
from graphzero.exporting.writers import NodeNames, Writer, tell
from graphzero.files.dataset import Dataset, open_dataset
from graphzero.files.publish import StrPath, new_directory

Format: TypeAlias = Literal["parquet", "npy"]

_DIRECTIONS: tuple[Literal["in", "out"], ...] = ("in", "out")


class ExportReport(NamedTuple):
    """What was written."""

    num_nodes: int
    num_edges: int  # rows: an undirected edge counts once
    undirected: bool
    files: dict[str, int]  # bytes of each
    seconds: float
    notes: tuple[str, ...] = ()  # what was left out, and why


def export_dataset(
    dataset: StrPath,
    out: StrPath,
    *,
    format: Format = "parquet",
    original_ids: bool = True,
    report: Report | None = None,
) -> ExportReport:
    """Writes a dataset to a new directory `out`, which appears complete or not at all.

    "parquet": edges.parquet (source, target, weight, columns per edge), nodes.parquet (id, columns
    per node), and a file for each split. Of a relabelled dataset, ids are the original ones unless
    `original_ids` is false.
    "npy": edge_index.npy, edge_weight.npy, num_nodes.npy, and a file for each column and split. Ids
    are 0 to N - 1; original ones are a file of their own.
    import_folder() makes the dataset again from either.
    """
    started = time.monotonic()
    opened = open_dataset(Path(dataset))
    with new_directory(out) as directory:
        names = NodeNames(opened, original_ids and format == "parquet")
        writers: dict[str, type[Writer]] = {"parquet": ParquetWriter, "npy": NpyWriter}
        if format not in writers:
            raise ValueError(f"found format {format!r}, expected 'parquet' or 'npy'")
        writer = writers[format](opened, directory, names)
        rows = count_edges(opened)
        with writer:
            done = 0
            for edges in edges_of(opened):
                writer.add_edges(edges)
                done += len(edges.src)
                tell(report, "writing edges", done, rows)
        writer.write_columns(report)
        _manifest(opened, format, names, writer.other_weight_name).write(directory)
        files = {file.name: file.stat().st_size for file in sorted(directory.iterdir())}
    return ExportReport(
        opened.graph.num_nodes,
        done,
        opened.graph.symmetric,
        files,
        time.monotonic() - started,
        _left_out(opened),
    )


def _manifest(
    dataset: Dataset, format: Format, names: NodeNames, weight_column: str | None
) -> Manifest:
    graph = dataset.graph
    left_out = () if graph.has_edge_ids else ("edge",)
    stored = [direction for direction in _DIRECTIONS if graph.has_direction(direction)]
    return Manifest(
        format=format,
        num_nodes=graph.num_nodes,
        undirected=graph.symmetric,
        direction="both" if graph.symmetric or len(stored) == 2 else stored[0],
        dedup=graph.topology.multi_edges_dropped,
        weights=graph.has_weights,
        edge_ids=graph.has_edge_ids,
        ids=names.kind,
        columns={
            name: ExportedColumn(
                column.role,
                column.dtype.label,
                column.matrix.row_stride,
                list(column.shape[1:]) if len(column.shape) > 2 else None,
                column.description.to_json() or None,
            )
            for name, column in dataset.columns.items()
            if column.role not in left_out
        },
        weight_name=graph.topology.weight_name or None,
        weight_column=weight_column,
    )


def _left_out(dataset: Dataset) -> tuple[str, ...]:
    notes = [
        f"{name}: left out, this is a field of every batch; rename {name}.gd"
        for name in dataset.left_out
    ]
    if not dataset.graph.has_edge_ids:
        notes += [
            f"{name}: left out, the graph has no edge ids, which tell its rows"
            for name, column in dataset.columns.items()
            if column.role == "edge"
        ]
    return tuple(notes)
