"""`graphzero.json` of an export: what its files cannot say, so that they can be imported again.

A float32 file may be a bfloat16 column, an array of ids a split or a column, a pair of numbers one
edge or a half of one. Programs other than this one need not look at it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from graphzero.base.errors import InputError
from graphzero.files.column_file import ROLES
from graphzero.files.dtypes import DataType

MANIFEST = "graphzero.json"
VERSION = 1
# How edges and nodes are called in the files: by original ids, or by 0 to N - 1, with the original
# ones in a column of their own or without any.
NodeIds: TypeAlias = Literal["original", "column", "none"]


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
    description: str | None = None  # what the file says about its values, JSON


class Manifest(NamedTuple):
    """Of one export."""

    format: str  # "parquet" or "npy"
    num_nodes: int
    undirected: bool
    direction: str
    dedup: bool
    weights: bool
    edge_ids: bool
    ids: NodeIds
    columns: dict[str, ExportedColumn]
    weight_name: str | None = None  # what the weights are called in the dataset
    weight_column: str | None = None  # what they are called here, if their usual name is taken

    def write(self, directory: Path) -> None:
        facts = {"graphzero_export": VERSION, **_said(self)}
        facts["columns"] = {name: _said(column) for name, column in self.columns.items()}
        (directory / MANIFEST).write_text(json.dumps(facts, indent=2) + "\n")


def _said(facts: Manifest | ExportedColumn) -> dict[str, Any]:
    """Without what is None: an older release refuses a fact that it does not know."""
    return {name: value for name, value in facts._asdict().items() if value is not None}


def read_manifest(folder: Path) -> Manifest:
    """Raises InputError for one that is damaged, or of another version."""
    file = folder / MANIFEST
    try:
        facts = json.loads(file.read_bytes())
        version = facts.pop("graphzero_export")
        manifest = _from_facts(facts) if version == VERSION else None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{file}: not the description of an export ({error!r}); without it, its files can be "
            "imported one by one with --edges, --column and --split"
        ) from error
    if manifest is None:
        raise InputError(f"{file}: found version {version}, expected {VERSION}")
    return manifest


def _from_facts(facts: dict[str, Any]) -> Manifest:
    columns = {name: ExportedColumn(**column) for name, column in facts["columns"].items()}
    manifest = Manifest(**{**facts, "columns": columns})
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Raises ValueError for the first value that no export would have written."""
    for name in ("undirected", "dedup", "weights", "edge_ids"):
        value = getattr(manifest, name)
        _require(isinstance(value, bool), name, value, "true or false")
    for name, allowed in _CHOICES.items():
        value = getattr(manifest, name)
        _require(value in allowed, name, value, f"one of {', '.join(allowed)}")
    _require(_is_count(manifest.num_nodes), "num_nodes", manifest.num_nodes, "a number of nodes")
    for name in ("weight_name", "weight_column"):
        value = getattr(manifest, name)
        _require(value is None or isinstance(value, str), name, value, "a name")
    for name, (role, dtype, row_bytes, row_shape, description) in manifest.columns.items():
        _require(role in ROLES, f"columns.{name}.role", role, "node, edge, ids or categories")
        is_text = description is None or isinstance(description, str)
        _require(is_text, f"columns.{name}.description", description, "a text")
        _require(dtype in _ITEM_BYTES, f"columns.{name}.dtype", dtype, "a type")
        size = _ITEM_BYTES[dtype]
        fits = _is_count(row_bytes) and row_bytes > 0 and row_bytes % size == 0
        _require(fits, f"columns.{name}.row_bytes", row_bytes, f"a multiple of {size}")
        is_shape = isinstance(row_shape, list) and all(_is_count(n) and n for n in row_shape)
        _require(row_shape is None or is_shape, f"columns.{name}.row_shape", row_shape, "numbers")


def _require(holds: bool, name: str, value: Any, expected: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {value!r}, expected {expected}")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63
