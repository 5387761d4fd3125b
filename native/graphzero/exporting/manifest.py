"""`graphzero.json` of an export: facts that its files cannot express, needed to import them again.

A float32 file may be a bfloat16 column, an array of ids may be a split or a column, a pair of ids
may be a directed edge or an undirected one. Other programs can ignore the manifest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.files.column_file import ROLES, ColumnFile
from graphzero.files.column_types import QUANTISED, TIME_UNITS, quantised_type
from graphzero.files.dtypes import DataType

MANIFEST = "graphzero.json"
VERSION = 1
# The ids of nodes in the files: "original" ids; or 0 to N - 1, with original ids in a "column" of
# their own or with "none".
NodeIds: TypeAlias = Literal["original", "column", "none"]
Parsed = TypeVar("Parsed")

_CHOICES = {
    "format": ("parquet", "npy"),
    "direction": ("in", "out", "both"),
    "ids": ("original", "column", "none"),
}
_ITEM_BYTES = {dtype.label: dtype.storage.itemsize for dtype in DataType}


class ExportedColumn(NamedTuple):
    """A column of the dataset."""

    role: str
    dtype: str
    row_bytes: int  # from one row to the next, in the .gd file
    row_shape: list[int] | None = None  # of rows with several dimensions
    description: str | None = None  # the description in the file, as JSON
    quantisation: dict[str, Any] | None = None  # how stored bytes become values

    @classmethod
    def of(cls, column: ColumnFile) -> ExportedColumn:
        return cls(
            column.role,
            column.dtype.label,
            column.matrix.row_stride,
            list(column.shape[1:]) if len(column.shape) > 2 else None,
            column.description.to_json() or None,
            None if column.quantisation is None else _facts(column.quantisation),
        )

    def engine_quantisation(self) -> _engine.Quantisation | None:
        """Raises ValueError or TypeError if `quantisation` has wrong entries."""
        return None if self.quantisation is None else _engine.Quantisation(**self.quantisation)

    @property
    def stored_type(self) -> str:
        """The type that a conversion must be asked for to store the column like this again."""
        return self.dtype if self.quantisation is None else quantised_type(self.dtype)


def _facts(found: _engine.Quantisation) -> dict[str, Any]:
    """The entries for JSON, which keeps floats bit for bit."""
    return {
        "delivered": found.delivered,
        "scales": found.scales,
        "offsets": found.offsets,
        "largest_error": found.largest_error,
        "mean_error": found.mean_error,
        "clipped": found.clipped,
    }


class Manifest(NamedTuple):
    """Manifest of the export of a dataset without types."""

    format: str  # "parquet" or "npy"
    num_nodes: int
    undirected: bool
    direction: str
    dedup: bool
    weights: bool
    edge_ids: bool
    ids: NodeIds
    columns: dict[str, ExportedColumn]
    weight_name: str | None = None  # name of the weights in the dataset
    weight_column: str | None = None  # their name in the export, if the usual one is taken
    time_unit: str | None = None  # unit of all times, if it is stated
    edge_times: str | None = None  # name of the edges' times in the export, if there are any
    node_times: str | None = None  # name of the nodes' times in the export, if there are any

    def write(self, directory: Path) -> None:
        write_facts(directory, VERSION, said(self))


def write_facts(directory: Path, version: int, facts: dict[str, Any]) -> None:
    text = json.dumps({"graphzero_export": version, **facts}, indent=2)
    (directory / MANIFEST).write_text(text + "\n")


def said(facts: Any) -> dict[str, Any]:
    """The fields of a named tuple that are not None: an older release refuses facts that it does
    not know."""
    found = {name: value for name, value in facts._asdict().items() if value is not None}
    if "columns" in found:
        found["columns"] = {name: said(column) for name, column in found["columns"].items()}
    return found


def version_of(folder: Path) -> Any:
    """Version of the export in a folder; None if it cannot be read."""
    try:
        return json.loads((folder / MANIFEST).read_bytes())["graphzero_export"]
    except (ValueError, TypeError, KeyError, OSError):
        return None


def read_facts(folder: Path, version: int, parse: Callable[[dict[str, Any]], Parsed]) -> Parsed:
    """The result of `parse` for the facts in the manifest. Raises InputError if they are damaged,
    or of another version."""
    file = folder / MANIFEST
    try:
        facts = json.loads(file.read_bytes())
        found = facts.pop("graphzero_export")
        if found == version:
            return parse(facts)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{file}: not the description of an export ({error!r}); without it, its files can be "
            "imported one by one with --edges, --column and --split"
        ) from error
    raise InputError(f"{file}: found version {found}, expected {version}")


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of a dataset without types."""
    return read_facts(folder, VERSION, _from_facts)


def columns_from(facts: dict[str, Any]) -> dict[str, ExportedColumn]:
    return {name: ExportedColumn(**column) for name, column in facts["columns"].items()}


def _from_facts(facts: dict[str, Any]) -> Manifest:
    manifest = Manifest(**{**facts, "columns": columns_from(facts)})
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Raises ValueError for the first value that no export would have written."""
    for name in ("undirected", "dedup", "weights", "edge_ids"):
        value = getattr(manifest, name)
        require(isinstance(value, bool), name, value, "true or false")
    for name, allowed in _CHOICES.items():
        value = getattr(manifest, name)
        require(value in allowed, name, value, f"one of {', '.join(allowed)}")
    require(is_count(manifest.num_nodes), "num_nodes", manifest.num_nodes, "a number of nodes")
    for name in ("weight_name", "weight_column", "edge_times", "node_times"):
        value = getattr(manifest, name)
        require(value is None or isinstance(value, str), name, value, "a name")
    check_time_unit(manifest.time_unit)
    check_columns(manifest.columns)


def check_time_unit(unit: Any) -> None:
    require(unit is None or unit in TIME_UNITS, "time_unit", unit, ", ".join(TIME_UNITS))


def check_columns(columns: dict[str, ExportedColumn]) -> None:
    for name, column in columns.items():
        role, dtype, row_bytes, row_shape, description, quantisation = column
        require(role in ROLES, f"columns.{name}.role", role, "node, edge, ids or categories")
        is_text = description is None or isinstance(description, str)
        require(is_text, f"columns.{name}.description", description, "a text")
        require(dtype in _ITEM_BYTES, f"columns.{name}.dtype", dtype, "a type")
        size = _ITEM_BYTES[dtype] if quantisation is None else 1
        fits = is_count(row_bytes) and row_bytes > 0 and row_bytes % size == 0
        require(fits, f"columns.{name}.row_bytes", row_bytes, f"a multiple of {size}")
        is_shape = isinstance(row_shape, list) and all(is_count(n) and n for n in row_shape)
        require(row_shape is None or is_shape, f"columns.{name}.row_shape", row_shape, "numbers")
        is_known = quantisation is None or dtype in QUANTISED.values()
        require(is_known, f"columns.{name}.dtype", dtype, "a type that is made of bytes")
        column.engine_quantisation()


def require(holds: bool, name: str, value: Any, expected: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {value!r}, expected {expected}")


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63
