"""Folders in known layouts: which files of them are edges, columns and splits."""

from __future__ import annotations

from pathlib import Path

from graphzero.base.errors import InputError
from graphzero.conversion.plan import Plan


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
