"""Columns in text that the engine's parser of plain tables reads as they stand.

That parser is faster than the parser of named columns, and reads lines of an id and numbers, or of
numbers alone, of one type. This module does not import NumPy, because most conversions of text
start without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphzero.conversion.inputs.locations import Location, has_stream, is_table
from graphzero.conversion.inputs.names import likely_ids
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.texts import (
    TextInput,
    is_number,
    require_one_column,
    sample_fields,
    text_input,
)
from graphzero.files.column_types import MATRIX_DTYPES, QUANTISED
from graphzero.files.description import ColumnDescription

if TYPE_CHECKING:
    from graphzero.conversion.plan import ColumnSource


class PlainText(NamedTuple):
    """A text to read as it stands."""

    text: TextInput
    description: str  # what the file is to say about the values


def plain_text(column: ColumnSource, options: ReadOptions) -> PlainText | None:
    """The file of a column whose ids, if it has any, are node ids; None if the plain parser cannot
    read it, or if its type depends on its values."""
    assert isinstance(column.source, str)
    location = Location.parse(column.source)
    if column.columns is not None or location.member is not None:
        return None
    if is_table(location.path) or has_stream(location.path):
        return None
    text = text_input(location.path)
    if column.role == "ids":
        require_one_column(location.path, sample_fields(text, 1, whole_lines=True)[0])
        return PlainText(text, "")
    first = sample_fields(text, 1)[0]
    ids = id_name(column, first, options)
    needs_look = column.dtype is None and len(first) == has_ids(column) + 1
    if needs_look or not takes_plain(column, first, options):
        return None
    if ids is not None and ids != first[0]:
        return None
    return PlainText(text, header_description(column, first))


def has_ids(column: ColumnSource) -> bool:
    """Whether lines have ids."""
    return column.role == "node" and column.text_has_ids


def id_name(column: ColumnSource, first: list[str], options: ReadOptions) -> str | None:
    """The column of ids, if the user or the first line names one. `first`: the fields of that
    line."""
    return column.id_column or (likely_ids(first, options.ends) if has_ids(column) else None)


def takes_plain(column: ColumnSource, first: list[str], options: ReadOptions) -> bool:
    """Whether the plain parser can do what is asked for. `first`: the fields of the first line."""
    plain_type = column.dtype is None or column.dtype in (*MATRIX_DTYPES, *QUANTISED)
    # Where a line is one value, that parser takes "" for no value at all.
    may_be_empty = column.nan is not None and not has_ids(column) and len(first) == 1
    return plain_type and column.fill_all is None and not options.missing and not may_be_empty


def header_description(column: ColumnSource, first: list[str]) -> str:
    """What the first line says about the values. `first`: the fields of that line."""
    names = () if is_number(first[0]) else tuple(first[has_ids(column) :])
    return ColumnDescription(names).to_json()
