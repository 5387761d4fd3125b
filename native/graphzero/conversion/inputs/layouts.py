"""Folders in known layouts: which files of them are edges, columns and splits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from graphzero.base.errors import InputError
from graphzero.conversion.plan import Plan

if TYPE_CHECKING:
    from graphzero.conversion.typed_plan import TypedSource


def typed_folder(
    folder: str, *, reverse: bool = True, time: str | None = None
) -> TypedSource | None:
    """What to convert of a folder that holds a dataset with types; None: it holds none. `reverse`:
    relations get a reverse, where the layout does not say. `time`: the column of times."""
    from graphzero.conversion.inputs.exported_typed import ExportedSource, is_typed_export
    from graphzero.conversion.inputs.ogb_typed import is_typed_ogb, plan_typed_ogb
    from graphzero.conversion.inputs.relbench import is_relbench, plan_relbench

    path = Path(folder)
    if is_typed_export(path):
        return ExportedSource(path)
    if is_typed_ogb(path):
        return plan_typed_ogb(path, reverse=reverse, time=time)
    if is_relbench(path):
        return plan_relbench(path, reverse=reverse)
    return None


def plan_folder(folder: str) -> Plan:
    """What to convert of an export, an OGB dataset, or a folder of .npy files."""
    from graphzero.conversion.inputs.exported import is_export, plan_export
    from graphzero.conversion.inputs.npy_folder import find_npy_edges, plan_npy_folder
    from graphzero.conversion.inputs.ogb import is_ogb, plan_ogb

    path = Path(folder)
    if not path.is_dir():
        raise InputError(f"{folder}: found no folder")
    if is_export(path):
        return plan_export(path)
    if is_ogb(path):
        return plan_ogb(path)
    if find_npy_edges(path):
        return plan_npy_folder(path)
    raise InputError(
        f"{folder}: found neither an OGB dataset (raw/edge.csv.gz or raw/data.npz) nor "
        "edge_index.npy nor graphzero.json of an export; name the files with --edges and --column"
    )
