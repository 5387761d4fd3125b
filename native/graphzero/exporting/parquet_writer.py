"""An export as Parquet tables."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.base.progress import Report
from graphzero.exporting.edges import Edges
from graphzero.exporting.parts import Array, Part
from graphzero.exporting.writers import Writer, ranges_of, tell, values_of
from graphzero.files.categories import Categories
from graphzero.files.column_file import ColumnFile
from graphzero.files.paths import ORIGINAL_IDS


class ParquetWriter(Writer):
    usual_weight_name = "weight"
    usual_time_name = "time"
    usual_id_name = "edge_id"

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        edge_fields = ("source", "target", self.weight_name, self.time_name, self.id_name)
        self._require_distinct("columns of edges", edge_fields, part.edge_columns)
        node_fields = ("id", self.node_time_name)
        self._require_distinct("columns of nodes", node_fields, part.of_role("node"))
        self._require_distinct("files", ("nodes", "edges"), part.of_role("ids"))
        import_extra("pyarrow", "arrow", "writing Parquet needs pyarrow")
        self._unit = part.dataset.schema.time_unit or None
        self._edges: Any = None
        if part.relation_number is not None and part.relation.num_edges == 0:
            empty = np.empty(0, np.int64)
            weights = np.empty(0, np.float32) if part.has_weights else None
            times = empty if part.has_times else None
            self.add_edges(Edges(empty, empty, weights, empty, times))

    def _require_distinct(self, place: str, reserved: Iterable[str], names: Iterable[str]) -> None:
        """Raises InputError before anything is written: two things of the same name would overwrite
        each other."""
        taken = set(reserved)
        for name in names:
            if name in taken:
                raise InputError(
                    f"{self.part.dataset.path}: found two things that would be called {name!r} "
                    f"among the {place}, expected one of a name; rename NAME.gd of that column"
                )
            taken.add(name)

    def add_edges(self, edges: Edges) -> None:
        part = self.part
        sources, targets = (part.names[end] for end in (part.relation.source, part.relation.target))
        columns = {"source": sources.of(edges.src), "target": targets.of(edges.dst)}
        if edges.weights is not None:
            columns[self.weight_name] = edges.weights
        if edges.times is not None:
            columns[self.time_name] = self._times(edges.times)
        if part.writes_edge_ids:
            columns[self.id_name] = edges.ids
        for name, column in part.edge_columns.items():
            columns[name] = _meant(column, edges.ids)
        self._edges = self._append(self._edges, "edges", columns)

    def _times(self, times: Array) -> Any:
        if self._unit is None:
            return times
        return dates(times, self._unit, str(self.part.dataset.graph.path))

    def write_columns(self, report: Report | None) -> None:
        part = self.part
        with self._stack:
            if part.type_number is not None:
                self._write_nodes(report)
            for name, split in part.of_role("ids").items():
                ids = np.asarray(split.gather(np.arange(split.num_rows)), np.int64)
                if part.type_number is None:
                    self._append(None, name, {"edge": ids})
                else:
                    self._append(None, name, {"node": part.node_names.of(ids)})
            for name, column in part.of_role("categories").items():
                self._write_categories(name, Categories(column))

    def _write_nodes(self, report: Report | None) -> None:
        part = self.part
        nodes = part.of_role("node")
        if part.node_names.original is not None:
            del nodes[ORIGINAL_IDS]  # they are the ids

        def rows(ids: Array) -> dict[str, Any]:
            found = {"id": part.node_names.of(ids)}
            if self._writes_node_times and part.node_times is not None:
                found[self.node_time_name] = self._times(part.node_times[ids])
            return found | {name: _meant(column, ids) for name, column in nodes.items()}

        # Writes the file even for a graph without nodes.
        writer = self._append(None, "nodes", rows(np.empty(0, np.int64)))
        row_bytes = sum(column.row_bytes for column in nodes.values()) + 16
        for ids in ranges_of(part.num_nodes, row_bytes):
            writer = self._append(writer, "nodes", rows(ids))
            tell(report, "writing nodes", int(ids[-1]) + 1, part.num_nodes)

    def _write_categories(self, name: str, categories: Categories) -> None:
        """The dictionary of a column, in the order of its codes."""
        writer = self._append(None, name, {"category": _texts_or_integers(categories, [])})
        for codes in ranges_of(len(categories), 64):
            column = {"category": _texts_or_integers(categories, codes)}
            writer = self._append(writer, name, column)

    def _append(self, writer: Any, name: str, columns: dict[str, Any]) -> Any:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.table({key: _arrow(values) for key, values in columns.items()})
        if writer is None:
            file = self._directory / f"{name}.parquet"
            writer = self._stack.enter_context(parquet.ParquetWriter(file, table.schema))
        try:
            writer.write_table(table)
        except OSError as error:  # pyarrow's error does not name the file
            name_of_file = str(self._directory / f"{name}.parquet")
            raise OSError(error.errno, os.strerror(error.errno or 0), name_of_file) from error
        return writer


def _meant(column: ColumnFile, ids: Array) -> Any:
    """Rows as other programs understand them: categories by their names, dates as dates."""
    values = values_of(column, ids)
    if column.description.categories:
        return _texts_or_integers(Categories(column.path), values)
    unit = column.description.unit
    return values if unit is None else dates(values, unit, str(column.path))


def _texts_or_integers(categories: Categories, codes: Any) -> Any:
    import pyarrow

    kind = pyarrow.string() if categories.are_texts else pyarrow.int64()
    return pyarrow.array(categories.gather(codes), kind)


def dates(values: Array, unit: str, where: str) -> Any:
    """Times that count `unit` since 1970, as Arrow timestamps. `where` names their file in a
    message."""
    import pyarrow

    # Parquet has no unit coarser than milliseconds, and a date of Arrow has only 32 bits.
    factor = {"D": 86_400_000, "s": 1_000}.get(unit, 1)
    if factor > 1:
        limit = (2**63 - 1) // factor
        if values.size and not -limit <= int(values.min()) <= int(values.max()) <= limit:
            raise InputError(
                f"{where}: found a time beyond those that milliseconds of 64 bits can count; "
                "format npy exports it"
            )
        values, unit = values * factor, "ms"
    found = pyarrow.array(values.reshape(-1)).cast(pyarrow.timestamp(unit, "UTC"))
    if values.ndim == 1:
        return found
    return pyarrow.FixedSizeListArray.from_arrays(found, values.shape[1])


def _arrow(values: Any) -> Any:
    import pyarrow

    if isinstance(values, pyarrow.Array):
        return values
    if not isinstance(values, np.ndarray):
        return pyarrow.array(values, pyarrow.string())
    if values.ndim == 1:
        return pyarrow.array(values)
    # A row of several dimensions becomes one list too; its shape is in the manifest.
    flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, math.prod(values.shape[1:]))
