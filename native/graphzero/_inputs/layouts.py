"""Folders in known layouts: which files of them are edges, columns and splits."""

from __future__ import annotations

from pathlib import Path

from graphzero._convert import Plan
from graphzero._errors import InputError


def plan_folder(folder: str) -> Plan:
    """What to convert of an OGB dataset, or of a folder of .npy files."""
    from graphzero._inputs.npy_folder import find_npy_edges, plan_npy_folder
    from graphzero._inputs.ogb import is_ogb, plan_ogb

    path = Path(folder)
    if not path.is_dir():
        raise InputError(f"{folder}: found no folder")
    if is_ogb(path):
        return plan_ogb(path)
    if find_npy_edges(path):
        return plan_npy_folder(path)
    raise InputError(
        f"{folder}: found neither an OGB dataset (raw/edge.csv.gz or raw/data.npz) nor "
        "edge_index.npy; name the files with --edges and --column"
    )
