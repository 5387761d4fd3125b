"""Databases of RelBench: tables in Parquet, and which columns are keys, references and times.

    manifest.yaml        tables: NAME: {pkey: COLUMN, time_col: COLUMN, fkeys: {COLUMN: TABLE}}
    db/NAME.parquet      one file for each table
    tasks/...            labels for tasks, which are left out

Before release 3 there was no manifest, and each file said these things in its own metadata. As in
RelBench, a missing reference is no edge; rows without a time are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.simple_yaml import parse_yaml
from graphzero.conversion.tables.describe import describe_tables
from graphzero.conversion.tables.description import NUMERIC
from graphzero.conversion.tables.source import TablesSource

_MANIFEST = "manifest.yaml"
# RelBench counts times in this unit for its graphs.
_TIME_UNIT = "s"


def is_relbench(folder: Path) -> bool:
    if (folder / _MANIFEST).is_file():
        return True
    files = _parquet_files(folder)
    return bool(files) and _metadata(files[0]) is not None


def plan_relbench(folder: Path, *, reverse: bool) -> TablesSource:
    tables, splits = (
        _from_manifest(folder) if (folder / _MANIFEST).is_file() else _from_files(folder)
    )
    described = {
        name: _table(file, facts, splits if facts.get("time_col") else None)
        for name, (file, facts) in tables.items()
    }
    notes = []
    if (folder / "tasks").is_dir():
        names = sorted(path.name for path in (folder / "tasks").iterdir() if path.is_dir())
        notes = [
            f"tasks/{name}: left out, labels of a task are not of the database" for name in names
        ]
    description = describe_tables(
        {"tables": described, "time_unit": _TIME_UNIT, "missing": "drop", "reverse": reverse},
        name=str(folder),
    )
    return TablesSource(description, tuple(notes))


def _table(file: Path, facts: Mapping[str, Any], splits: list[str] | None) -> dict[str, Any]:
    table: dict[str, Any] = {
        "file": str(file),
        "references": dict(facts["fkeys"]),
        "features": NUMERIC,
    }
    if facts.get("pkey") is not None:
        table["key"] = facts["pkey"]
    if facts.get("time_col") is not None:
        table["time"] = facts["time_col"]
    if splits is not None:
        table["split"] = {"at": splits}
    return table


def _from_manifest(
    folder: Path,
) -> tuple[dict[str, tuple[Path, dict[str, Any]]], list[str] | None]:
    path = folder / _MANIFEST
    try:
        manifest = parse_yaml(str(path), path.read_text())
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not readable as YAML: {error}") from error
    tables = manifest.get("tables") if isinstance(manifest, dict) else None
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path}: found no tables, expected the manifest of a RelBench dataset")
    found = {}
    for name, spec in tables.items():
        file = folder / "db" / f"{name}.parquet"
        if not file.is_file():
            file = folder / f"{name}.parquet"
        if not file.is_file():
            raise InputError(f"{path}: found no db/{name}.parquet, expected the table {name!r}")
        found[name] = (file, _facts(f"{path}: tables.{name}", spec))
    points = [manifest.get(key) for key in ("val_timestamp", "test_timestamp")]
    return found, [str(point) for point in points] if None not in points else None


def _facts(place: str, spec: Any) -> dict[str, Any]:
    facts = dict(spec) if isinstance(spec, Mapping) else None
    fkeys = {} if facts is None else facts.get("fkeys") or {}
    if facts is None or not isinstance(fkeys, Mapping):
        raise InputError(f"{place}: expected pkey, time_col and fkeys of a table")
    return {"pkey": facts.get("pkey"), "time_col": facts.get("time_col"), "fkeys": dict(fkeys)}


def _from_files(folder: Path) -> tuple[dict[str, tuple[Path, dict[str, Any]]], None]:
    found = {}
    for file in _parquet_files(folder):
        facts = _metadata(file)
        if facts is None:
            raise InputError(
                f"{file}: found no pkey_col in its metadata, expected it as in the other tables"
            )
        found[file.stem] = (file, facts)
    return found, None


def _parquet_files(folder: Path) -> list[Path]:
    own = sorted(folder.glob("*.parquet"))
    return own or sorted((folder / "db").glob("*.parquet"))


def _metadata(file: Path) -> dict[str, Any] | None:
    """What a file says about its table; None: nothing."""
    from graphzero.base.extras import import_extra

    parquet = import_extra("pyarrow.parquet", "arrow", f"{file}: a Parquet file needs pyarrow")
    try:
        metadata = parquet.read_schema(file).metadata or {}
        if b"fkey_col_to_pkey_table" not in metadata:
            return None
        pkey, time_col, fkeys = (
            json.loads(metadata[key])
            for key in (b"pkey_col", b"time_col", b"fkey_col_to_pkey_table")
        )
    except (ValueError, KeyError, OSError) as error:
        raise InputError(f"{file}: not readable as a table of RelBench: {error}") from error
    return {"pkey": pkey, "time_col": time_col, "fkeys": fkeys}
