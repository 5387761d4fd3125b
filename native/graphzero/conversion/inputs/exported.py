"""Folders that `graphzero export` wrote: every file of them is known by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.file_array import FileArray, open_npy
from graphzero.conversion.inputs.streams import (
    EdgeStream,
    RowChunk,
    RowStream,
    array_rows,
    pair_edges,
)
from graphzero.conversion.inputs.tables import Wanted
from graphzero.conversion.plan import ColumnSource, Plan, Role
from graphzero.exporting.manifest import MANIFEST, ExportedColumn, Manifest, read_manifest
from graphzero.files.column_types import TimeUnit
from graphzero.files.description import parse_description
from graphzero.files.paths import CATEGORIES_SUFFIX, ORIGINAL_IDS


def is_export(folder: Path) -> bool:
    """Whether this is an export without types, or one with an unreadable manifest, which
    plan_export() then reports."""
    return (folder / MANIFEST).is_file()


def plan_export(folder: Path) -> Plan:
    """The dataset that was exported."""
    manifest = read_manifest(folder)
    relabelled = manifest.ids == "original"
    reader = _NpyFiles(folder) if manifest.format == "npy" else _ParquetFiles(folder, manifest)
    original_ids, about = None, ""
    if manifest.ids == "column":
        if ORIGINAL_IDS not in manifest.columns:
            raise InputError(f"{folder / MANIFEST}: found no {ORIGINAL_IDS}, expected that column")
        original_ids = reader.original_ids(manifest.columns[ORIGINAL_IDS])
        about = manifest.columns[ORIGINAL_IDS].description or ""
    return Plan(
        reader.edges(manifest),
        [_column(name, column, reader) for name, column in _stored_columns(manifest)],
        None if relabelled else manifest.num_nodes,
        original_ids,
        undirected=manifest.undirected,
        direction=cast(Any, manifest.direction),
        dedup=manifest.dedup,
        edge_ids=manifest.edge_ids,
        weight_name=manifest.weight_name,
        relabel="auto" if relabelled else None,
        node_ids=reader.node_ids() if relabelled else None,
        node_times=None if manifest.node_times is None else reader.times(manifest),
        time_unit=manifest.time_unit or "",
        original_ids_description=about,
    )


def _stored_columns(manifest: Manifest) -> Iterator[tuple[str, ExportedColumn]]:
    for name, column in manifest.columns.items():
        # The dictionaries of Parquet are made again with the columns that they belong to.
        made = column.role == "categories" and manifest.format == "parquet"
        if name != ORIGINAL_IDS and not made:
            yield name, column


def _column(name: str, column: ExportedColumn, reader: _NpyFiles | _ParquetFiles) -> ColumnSource:
    is_split = column.role == "ids"
    return ColumnSource(
        name,
        shaped_rows(reader.column(name, column), column.row_shape),
        None if is_split else column.stored_type,
        cast(Role, column.role),
        row_align=None if is_split else column.row_bytes,
        description=column.description or "",
        quantisation=column.engine_quantisation(),
    )


def shaped_rows(rows: RowStream, row_shape: list[int] | None) -> RowStream:
    """Gives rows several dimensions, which a table stores as one flat list."""
    if row_shape is None or rows.row_shape == tuple(row_shape):
        return rows
    if math.prod(rows.row_shape) != math.prod(row_shape):
        raise InputError(
            f"{rows.name}: found rows of shape {rows.row_shape}, expected {tuple(row_shape)} as "
            f"{MANIFEST} says"
        )

    def chunks() -> Iterator[RowChunk]:
        for chunk in rows.open():
            yield chunk._replace(rows=chunk.rows.reshape(-1, *row_shape))

    return replace(rows, open=chunks, row_shape=tuple(row_shape))


class _NpyFiles:
    """Arrays, each in a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def edges(self, manifest: Manifest) -> EdgeStream:
        index = self._load("edge_index")
        if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
            raise InputError(
                f"{self._folder / 'edge_index.npy'}: found {index.dtype} of shape {index.shape}, "
                "expected integers of shape (2, E)"
            )
        name = manifest.weight_column or "edge_weight"
        weights = self._load(name) if manifest.weights else None
        times = None if manifest.edge_times is None else self._load(manifest.edge_times)
        return pair_edges(str(self._folder / "edge_index.npy"), index.T, weights, times)

    def times(self, manifest: Manifest) -> RowStream:
        """The times of nodes."""
        assert manifest.node_times is not None
        return array_rows(manifest.node_times, self._load(manifest.node_times))

    def column(self, name: str, column: ExportedColumn) -> RowStream:
        array = self._load(name).texts_as_bytes()
        return array_rows(str(self._folder / f"{name}.npy"), array)

    def original_ids(self, column: ExportedColumn) -> RowStream:
        return self.column(ORIGINAL_IDS, column)

    def node_ids(self) -> RowStream:
        raise InputError(f"{self._folder / MANIFEST}: found original ids in edges of .npy files")

    def _load(self, name: str) -> FileArray:
        return open_npy(str(existing_file(self._folder, f"{name}.npy")))


class _ParquetFiles:
    """Tables of edges and nodes, and one for each split."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest

    def edges(self, manifest: Manifest) -> EdgeStream:
        from graphzero.conversion.inputs.edges import table_edges
        from graphzero.conversion.inputs.names import EdgeColumns
        from graphzero.conversion.inputs.opening import EdgeTable
        from graphzero.conversion.tables.times import TimeColumn

        name = manifest.weight_column or "weight"
        columns = EdgeColumns("source", "target", name if manifest.weights else None)
        table, time = self._table("edges"), None
        if manifest.edge_times is not None:
            unit = cast("TimeUnit | None", manifest.time_unit or None)
            time = TimeColumn(table, manifest.edge_times, unit)
        return table_edges(EdgeTable(table, columns, time=time))

    @property
    def _unit(self) -> TimeUnit:
        # Times without a unit are integers, to which this unit does not apply.
        return cast(TimeUnit, self._manifest.time_unit or "s")

    def times(self, manifest: Manifest) -> RowStream:
        """The times of nodes."""
        assert manifest.node_times is not None
        table, name = self._table("nodes"), manifest.node_times
        ids = Wanted("id", ("id",), texts=table.kinds_of(["id"])[0].what == "text")
        wanted = [ids, Wanted("time", (name,), unit=self._unit)]

        def chunks() -> Iterator[RowChunk]:
            for chunk in table.read(wanted):
                yield RowChunk(chunk.groups[0].values, chunk.groups[1].array.reshape(-1))

        return RowStream(
            table.name,
            chunks,
            (),
            "int64",
            rows=table.num_rows,
            has_ids=True,
            texts=ids.texts,
            place_of=table.place,
        )

    def column(self, name: str, column: ExportedColumn) -> RowStream:
        from graphzero.conversion.inputs.rows import described_column, table_ids

        if column.role == "ids":
            return table_ids(self._table(name), "node")
        description = parse_description(f"{MANIFEST} {name}", (column.description or "").encode())
        dictionary = None
        if description.categories:
            dictionary = self._table(f"{name}{CATEGORIES_SUFFIX}")
        return described_column(
            self._table("edges" if column.role == "edge" else "nodes"),
            name,
            column.stored_type,
            description,
            role=column.role,
            dictionary=dictionary,
        )

    def original_ids(self, column: ExportedColumn) -> RowStream:
        return self.column(ORIGINAL_IDS, column)

    def node_ids(self) -> RowStream:
        from graphzero.conversion.inputs.rows import table_ids

        return table_ids(self._table("nodes"), "id")

    def _table(self, name: str) -> Any:
        from graphzero.conversion.inputs.arrow_table import open_arrow_table

        return open_arrow_table(str(existing_file(self._folder, f"{name}.parquet")))


def existing_file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise InputError(f"{folder}: found no {name}, expected it: {MANIFEST} names it")
    return folder / name
