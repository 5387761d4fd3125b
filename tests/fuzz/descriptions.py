"""Fuzzes descriptions of tables, by atheris: campaign.py starts it, with libFuzzer's options.

An input is TOML text or, if it begins with a zero byte, a recipe for a dict whose keys are those
that descriptions have. Whatever it is: a description, or an InputError that names the input.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["graphzero.conversion.tables", "graphzero.files"]):
    import graphzero as gz
    from graphzero.conversion.tables import describe
    from graphzero.conversion.tables.describe import describe_tables, read_description
    from graphzero.conversion.tables.description import needed_columns

KEYS = sorted(
    {*describe._TOP, *describe._NODES, *describe._EDGES, *describe._REFERENCE,
     *describe._MATRIX, "at", "names", "column", "unit", "source", "target", "a", "b"}
)  # fmt: skip
TEXTS = ["a", "b", "users", "x", "time", "numeric", "drop", "error", "mean", "D", "s", "ns", "both",
         "float32", "rev_a", "", "a/b", "..", "\x00", "2013-01-31", "a.csv"]  # fmt: skip
MOST_DEPTH = 5


def value_of(data: Any, depth: int) -> Any:
    """A value as TOML could have it."""
    kind = data.ConsumeIntInRange(0, 9 if depth < MOST_DEPTH else 6)
    if kind <= 2:
        return data.PickValueInList(TEXTS)
    if kind == 3:
        return data.ConsumeInt(8)
    if kind == 4:
        return data.ConsumeFloat()
    if kind == 5:
        return data.ConsumeBool()
    if kind == 6:
        return datetime.date(2013, 1, 1 + data.ConsumeIntInRange(0, 27))
    if kind == 7:
        return [value_of(data, depth + 1) for _ in range(data.ConsumeIntInRange(0, 4))]
    return mapping_of(data, depth + 1)


def mapping_of(data: Any, depth: int) -> dict[str, Any]:
    keys = [data.PickValueInList(KEYS) for _ in range(data.ConsumeIntInRange(0, 6))]
    return {key: value_of(data, depth) for key in keys}


def require_name(error: gz.InputError, name: str) -> None:
    if name not in str(error):
        raise AssertionError(f"the error does not name {name}: {error}") from error


def describe_facts(facts: Any) -> None:
    try:
        found = describe_tables(facts, name="input")
    except gz.InputError as error:
        require_name(error, "input")
        return
    for table in (*found.nodes, *found.edges):
        needed_columns(table)


def test_one_input(data: bytes) -> None:
    if data[:1] == b"\0":
        provider = atheris.FuzzedDataProvider(data[1:])
        describe_facts({"tables": {name: mapping_of(provider, 2) for name in ("users", "a", "b")}})
        describe_facts(mapping_of(provider, 0))
        return
    FILE.write_bytes(data)
    try:
        found = read_description(FILE)
    except gz.InputError as error:
        require_name(error, str(FILE))
        return
    for table in (*found.nodes, *found.edges):
        needed_columns(table)


if __name__ == "__main__":
    FILE = Path(tempfile.mkdtemp()) / "tables.toml"
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
