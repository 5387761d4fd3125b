"""The description that a file stores of its column's values: see `description` in
store/FORMAT.md."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from graphzero.base.errors import FormatError
from graphzero.files.column_types import TIME_UNITS


class ColumnDescription(NamedTuple):
    """Description of one matrix."""

    # The table columns that rows were made of. A table column of lists is named once.
    columns: tuple[str, ...] = ()
    unit: str | None = None  # if values are times: they count this unit since 1970, in UTC
    categories: bool = False  # values are codes: positions in the dictionary beside the file
    order: str | None = None  # of original ids: the criterion by which nodes were ordered

    def to_json(self) -> str:
        """ "" if there is nothing to say."""
        facts: dict[str, Any] = {"columns": list(self.columns)} if self.columns else {}
        if self.unit is not None:
            facts["unit"] = self.unit
        if self.categories:
            facts["categories"] = True
        if self.order is not None:
            facts["order"] = self.order
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":")) if facts else ""


def parse_description(path: str, text: bytes) -> ColumnDescription:
    """Raises FormatError for text that no writer produces. Facts that a newer writer added are
    ignored."""
    if not text:
        return ColumnDescription()
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: description: found {error}, expected JSON") from error
    if not isinstance(facts, dict):
        raise FormatError(f"{path}: description: found {type(facts).__name__}, expected an object")
    columns, unit, order = facts.get("columns", []), facts.get("unit"), facts.get("order")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise FormatError(f"{path}: description: expected a list of texts as columns")
    try:
        "".join(columns).encode()
    except UnicodeEncodeError as error:
        raise FormatError(f"{path}: description: found {error}, expected UTF-8") from error
    if unit is not None and unit not in TIME_UNITS:
        expected = ", ".join(TIME_UNITS)
        raise FormatError(f"{path}: description: found unit {unit!r}, expected one of {expected}")
    if not isinstance(order, str | None):
        raise FormatError(f"{path}: description: expected a text as order")
    return ColumnDescription(tuple(columns), unit, facts.get("categories") is True, order)
