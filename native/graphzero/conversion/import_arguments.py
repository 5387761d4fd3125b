"""Checks the arguments of `graphzero.import_*`, and turns them into those of a conversion."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, get_args

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.locations import Location
from graphzero.conversion.plan import ColumnSource, Relabel, Role
from graphzero.files.column_types import COLUMN_TYPES
from graphzero.files.paths import is_dataset
from graphzero.files.publish import StrPath

# A file, or names of columns of a table that is given elsewhere.
ColumnInput: TypeAlias = "StrPath | Sequence[str]"


def column_sources(
    columns: Mapping[str, ColumnInput] | None,
    edge_columns: Mapping[str, ColumnInput] | None,
    splits: Mapping[str, StrPath] | None,
    dtypes: Mapping[str, str] | None,
    tables: Mapping[str, StrPath | None],
) -> list[ColumnSource]:
    """`tables`: by role, the table that has the columns that are given as lists of names."""
    roles: list[tuple[Role, Mapping[str, ColumnInput] | None]] = [
        ("node", columns), ("edge", edge_columns), ("ids", splits),
    ]  # fmt: skip
    types = dict(dtypes or {})
    sources = [
        _column(name, file, types.pop(name, None) if role != "ids" else None, role, tables)
        for role, files in roles
        for name, file in (files or {}).items()
    ]
    for name in types:
        known = ", ".join(source.name for source in sources if source.role != "ids") or "none"
        raise ValueError(f"dtypes: found {name!r}, expected names of columns: {known}")
    return sources


def _column(
    name: str,
    file: ColumnInput,
    dtype: str | None,
    role: Role,
    tables: Mapping[str, StrPath | None],
) -> ColumnSource:
    if dtype is not None and dtype not in COLUMN_TYPES:
        expected = ", ".join(COLUMN_TYPES)
        raise ValueError(f"dtypes[{name!r}]: found {dtype!r}, expected one of {expected}")
    table = tables.get(role)
    if isinstance(file, str | os.PathLike):
        path = Location.parse(os.fspath(file)).path
        if role == "node" and table is not None and not Path(path).exists():
            raise FileNotFoundError(
                f"column {name!r}: found no file {path}; columns of {os.fspath(table)} are taken "
                f"by a list of their names: [{path!r}]"
            )
        return ColumnSource(name, os.fspath(file), dtype, role)
    names = checked_texts(f"column {name!r}", file)
    if table is None or not names:
        hint = "nodes=FILE says of which table" if names else "expected one at least"
        raise ValueError(f"column {name!r}: found {len(names)} names of columns; {hint}")
    return ColumnSource(name, os.fspath(table), dtype, role, columns=names)


def checked_texts(what: str, values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{what}: found {values!r}, expected a list of str")
    return tuple(values)


def relabel_kind(relabel: Relabel | bool) -> Relabel | None:
    if isinstance(relabel, bool):
        return "auto" if relabel else None
    if relabel not in get_args(Relabel):
        raise ValueError(
            f"relabel: found {relabel!r}, expected True, False, 'auto', 'integer' or 'text'"
        )
    return relabel


def check_paths(call: str, source: StrPath, out: StrPath) -> None:
    """Raises InputError if arguments are in the wrong order: the first does not exist, but the
    second does."""
    for value in (source, out):
        if not isinstance(value, str | os.PathLike):
            raise TypeError(f"{call}: found {type(value).__name__}, expected a path")
    source_path = Location.parse(os.fspath(source)).path
    is_source = Path(out).is_file() or (Path(out).is_dir() and not is_dataset(Path(out)))
    if is_source and not Path(source_path).exists():
        raise InputError(
            f"{call}: found no {source_path}, but {os.fspath(out)}, expected the source first and "
            "the dataset to make second"
        )


def check_object(call: str, source: Any, out: StrPath) -> None:
    if isinstance(source, str | os.PathLike) or not isinstance(out, str | os.PathLike):
        raise TypeError(
            f"{call}: found {type(source).__name__} and {type(out).__name__}, expected an object "
            "and the path of the dataset to make"
        )
