"""Writes a dataset as files that other programs read: Parquet tables or .npy arrays.

Edges come in the order of the file, and columns per edge in the order of the edges. An edge of an
undirected graph comes once. bfloat16, which neither format has, becomes float32. Facts that such
files cannot express are in `graphzero.json` beside them, so that importing the folder gives the
dataset again; in a dataset without types, edge ids then are the row numbers of the export.
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
from graphzero.exporting.parts import Part, parts_of
from graphzero.exporting.typed_manifest import typed_manifest
from graphzero.exporting.writers import Writer, tell
from graphzero.files.dataset import Dataset, open_dataset
from graphzero.files.publish import StrPath, new_directory

Format: TypeAlias = Literal["parquet", "npy"]

_WRITERS: dict[str, type[Writer]] = {"parquet": ParquetWriter, "npy": NpyWriter}
_DIRECTIONS: tuple[Literal["in", "out"], ...] = ("in", "out")


class ExportReport(NamedTuple):
    """What was written."""

    num_nodes: int
    num_edges: int  # rows: an undirected edge counts once
    undirected: bool
    files: dict[str, int]  # size of each file in bytes, by path
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
    per node), and a file for each split. For a relabelled dataset, ids are the original ones unless
    `original_ids` is false.
    "npy": edge_index.npy, edge_weight.npy, num_nodes.npy, and a file for each column and split. Ids
    are 0 to N - 1; original ids are in a file of their own.
    A dataset with types becomes a directory for each type, with nodes.parquet or arrays, and for
    each relation, with edges.parquet or arrays.
    import_folder() makes the dataset again from either format.
    """
    started = time.monotonic()
    opened = open_dataset(Path(dataset))
    if format not in _WRITERS:
        raise ValueError(f"found format {format!r}, expected 'parquet' or 'npy'")
    rows = 0
    with new_directory(out) as directory:
        writers = []
        for part in parts_of(opened, directory, original=original_ids and format == "parquet"):
            part.directory.mkdir(exist_ok=True)
            writer = _WRITERS[format](part)
            rows += _write(part, writer, report)
            writers.append(writer)
        if opened.schema.typed:
            typed_manifest(opened, format, writers).write(directory)
        else:
            _manifest(writers[0], format).write(directory)
        files = {
            str(file.relative_to(directory)): file.stat().st_size
            for file in sorted(directory.rglob("*"))
            if file.is_file()
        }
    return ExportReport(
        opened.graph.num_nodes,
        rows,
        opened.graph.symmetric,
        files,
        time.monotonic() - started,
        _left_out(opened, [writer.part for writer in writers]),
    )


def _write(part: Part, writer: Writer, report: Report | None) -> int:
    """Writes one part; returns the number of its edges."""
    done = 0
    with writer:
        if part.relation_number is not None:
            rows = count_edges(part)
            for edges in edges_of(part):
                writer.add_edges(edges)
                done += len(edges.src)
                tell(report, "writing edges", done, rows)
    writer.write_columns(report)
    return done


def _manifest(writer: Writer, format: Format) -> Manifest:
    part, graph = writer.part, writer.part.dataset.graph
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
        ids=part.node_names.kind,
        columns={
            name: ExportedColumn.of(column)
            for name, column in part.columns.items()
            if column.role not in left_out
        },
        weight_name=graph.topology.weight_name or None,
        weight_column=writer.other_weight_name,
        time_unit=part.dataset.schema.time_unit or None,
        edge_times=writer.time_name if part.has_times else None,
        node_times=writer.node_times,
    )


def _left_out(dataset: Dataset, parts: list[Part]) -> tuple[str, ...]:
    notes = [
        f"{name}: left out, this is a field of every batch; rename {name}.gd"
        for name in dataset.left_out
    ]
    for part in parts:
        if part.relation_number is not None and not part.has_edge_ids:
            place = f"{part.directory.name}/" if dataset.schema.typed else ""
            notes += [
                f"{place}{name}: left out, the graph has no edge ids, which tell its rows"
                for name in part.of_role("edge")
            ]
    return tuple(notes)
