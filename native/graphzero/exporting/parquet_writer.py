"""An export as Parquet tables."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.base.progress import Report
from graphzero.exporting.edges import Edges
from graphzero.exporting.writers import Array, NodeNames, Writer, ranges_of, tell, values_of
from graphzero.files.categories import Categories
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.files.paths import ORIGINAL_IDS


class ParquetWriter(Writer):
    usual_weight_name = "weight"

    def __init__(self, dataset: Dataset, directory: Path, names: NodeNames) -> None:
        super().__init__(dataset, directory, names)
        edge_fields = ("source", "target", self.weight_name)
        self._require_distinct("columns of edges", edge_fields, self._edge_columns())
        self._require_distinct("columns of nodes", ("id",), self._of_role("node"))
        self._require_distinct("files", ("nodes", "edges"), self._of_role("ids"))
        import_extra("pyarrow", "arrow", "writing Parquet needs pyarrow")
        self._edges: Any = None
        if dataset.graph.num_edges == 0:
            empty = np.empty(0, np.int64)
            weights = np.empty(0, np.float32) if dataset.graph.has_weights else None
            self.add_edges(Edges(empty, empty, weights, empty))

    def _require_distinct(self, place: str, reserved: Iterable[str], names: Iterable[str]) -> None:
        """Before anything is written: two of one name would overwrite each other."""
        taken = set(reserved)
        for name in names:
            if name in taken:
                raise InputError(
                    f"{self._dataset.path}: found two things that would be called {name!r} among "
                    f"the {place}, expected one of a name; rename NAME.gd of that column"
                )
            taken.add(name)

    def add_edges(self, edges: Edges) -> None:
        columns = {"source": self._names.of(edges.src), "target": self._names.of(edges.dst)}
        if edges.weights is not None:
            columns[self.weight_name] = edges.weights
        for name, column in self._edge_columns().items():
            columns[name] = _meant(column, edges.ids)
        self._edges = self._append(self._edges, "edges", columns)

    def write_columns(self, report: Report | None) -> None:
        nodes = self._of_role("node")
        if self._names.original is not None:
            del nodes[ORIGINAL_IDS]  # they are the ids
        total = self._dataset.graph.num_nodes
        with self._stack:
            empty = np.empty(0, np.int64)
            columns = {"id": self._names.of(empty)}
            columns |= {name: _meant(column, empty) for name, column in nodes.items()}
            writer = self._append(None, "nodes", columns)  # also of a graph without nodes
            for ids in ranges_of(total, sum(column.row_bytes for column in nodes.values()) + 8):
                columns = {"id": self._names.of(ids)}
                columns |= {name: _meant(column, ids) for name, column in nodes.items()}
                writer = self._append(writer, "nodes", columns)
                tell(report, "writing nodes", int(ids[-1]) + 1, total)
            for name, split in self._of_role("ids").items():
                ids = split.gather(np.arange(split.num_rows))
                self._append(None, name, {"node": self._names.of(np.asarray(ids, np.int64))})
            for name, column in self._of_role("categories").items():
                self._write_categories(name, Categories(column))

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
        except OSError as error:  # pyarrow's does not say of what
            name_of_file = str(self._directory / f"{name}.parquet")
            raise OSError(error.errno, os.strerror(error.errno or 0), name_of_file) from error
        return writer


def _meant(column: ColumnFile, ids: Array) -> Any:
    """Rows as other programs understand them: categories by their names, dates as dates."""
    values = values_of(column, ids)
    if column.description.categories:
        return _texts_or_integers(Categories(column.path), values)
    return values if column.description.unit is None else _dates(column, values)


def _texts_or_integers(categories: Categories, codes: Any) -> Any:
    import pyarrow

    kind = pyarrow.string() if categories.are_texts else pyarrow.int64()
    return pyarrow.array(categories.gather(codes), kind)


def _dates(column: ColumnFile, values: Array) -> Any:
    import pyarrow

    unit = column.description.unit
    # Parquet counts milliseconds at least, and a date of Arrow has 32 bits.
    factor = {"D": 86_400_000, "s": 1_000}.get(unit or "", 1)
    if factor > 1:
        limit = (2**63 - 1) // factor
        if values.size and not -limit <= int(values.min()) <= int(values.max()) <= limit:
            raise InputError(
                f"{column.path}: found a time beyond those that milliseconds of 64 bits can count; "
                "format npy exports it"
            )
        values, unit = values * factor, "ms"
    dates = pyarrow.array(values.reshape(-1)).cast(pyarrow.timestamp(unit, "UTC"))
    if values.ndim == 1:
        return dates
    return pyarrow.FixedSizeListArray.from_arrays(dates, values.shape[1])


def _arrow(values: Any) -> Any:
    import pyarrow

    if isinstance(values, pyarrow.Array):
        return values
    if not isinstance(values, np.ndarray):
        return pyarrow.array(values, pyarrow.string())
    if values.ndim == 1:
        return pyarrow.array(values)
    # Rows of several dimensions too are one list: their shape is in the manifest.
    flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, math.prod(values.shape[1:]))
