"""`graphzero.json` of an export: what its files cannot say, so that they can be imported again.

A float32 file may be a bfloat16 column, an array of ids a split or a column, a pair of numbers one
edge or a half of one. Programs other than this one need not look at it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from graphzero._errors import InputError

MANIFEST = "graphzero.json"
VERSION = 1
# How edges and nodes are called in the files: by original ids, or by 0 to N - 1, with the original
# ones in a column of their own or without any.
Ids: TypeAlias = Literal["original", "column", "none"]


class ExportedColumn(NamedTuple):
    """A column of the dataset."""

    role: str
    dtype: str
    row_bytes: int  # from one row to the next, in the .gd file


class Manifest(NamedTuple):
    """Of one export."""

    format: str  # "parquet" or "npy"
    num_nodes: int
    undirected: bool
    direction: str
    dedup: bool
    weights: bool
    edge_ids: bool
    ids: Ids
    columns: dict[str, ExportedColumn]

    def write(self, directory: Path) -> None:
        facts = {"graphzero_export": VERSION, **self._asdict()}
        facts["columns"] = {name: column._asdict() for name, column in self.columns.items()}
        (directory / MANIFEST).write_text(json.dumps(facts, indent=2) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """Raises InputError for one that is damaged, or of another version."""
    file = folder / MANIFEST
    try:
        facts = json.loads(file.read_bytes())
        version = facts.pop("graphzero_export")
        columns = {name: ExportedColumn(**column) for name, column in facts["columns"].items()}
        manifest = Manifest(**{**facts, "columns": columns})
        _check(manifest)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{file}: not the description of an export ({error!r}); without it, its files can be "
            "imported one by one with --edges, --column and --split"
        ) from error
    if version != VERSION:
        raise InputError(f"{file}: found version {version}, expected {VERSION}")
    return manifest


def _check(manifest: Manifest) -> None:
    expected: dict[str, Any] = {
        "format": ("parquet", "npy"),
        "direction": ("in", "out", "both"),
        "ids": ("original", "column", "none"),
    }
    for name, allowed in expected.items():
        if getattr(manifest, name) not in allowed:
            raise ValueError(f"{name} is {getattr(manifest, name)!r}, expected one of {allowed}")
    for name, column in manifest.columns.items():
        if column.role not in ("node", "edge", "ids") or not isinstance(column.row_bytes, int):
            raise ValueError(f"columns.{name} is {column}")
