"""Which kind of column each Arrow type is."""

from __future__ import annotations

from typing import Any, cast

from graphzero.conversion.inputs.tables import Kind, What
from graphzero.files.column_types import TimeUnit


def kind_of(arrow_type: Any) -> Kind:
    """What a column of this type holds."""
    name = str(arrow_type)
    if is_list(arrow_type):
        items = kind_of(arrow_type.value_type)
        return Kind("list", name, items.unit, items=items.what)
    return Kind(_what(arrow_type), name, _unit(arrow_type), is_empty=is_null(arrow_type))


def _what(arrow_type: Any) -> What:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_integer(arrow_type):
        return "integer"
    if types.is_floating(arrow_type) or types.is_decimal(arrow_type) or is_null(arrow_type):
        return "number"  # without any value they are numbers, as in text
    if types.is_boolean(arrow_type):
        return "bool"
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return "time"
    return "text" if _is_string(arrow_type) else "other"


def _unit(arrow_type: Any) -> TimeUnit | None:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_date32(arrow_type):
        return "D"
    if types.is_date64(arrow_type):
        return "ms"
    return cast(TimeUnit, arrow_type.unit) if types.is_timestamp(arrow_type) else None


def _is_string(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_string(arrow_type) or types.is_large_string(arrow_type) or is_text_view(arrow_type)
    )


def is_null(arrow_type: Any) -> bool:
    """Whether a column of this type has no value at all, as pandas writes one of only None."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(types.is_null(arrow_type))


def is_text_view(arrow_type: Any) -> bool:
    """Whether texts are stored as views, which Polars writes."""
    from pyarrow import types

    is_view = getattr(types, "is_string_view", None)  # since pyarrow 16
    return is_view is not None and bool(is_view(arrow_type))


def is_list(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_list(arrow_type)
        or types.is_large_list(arrow_type)
        or types.is_fixed_size_list(arrow_type)
    )


def width_of(arrow_type: Any) -> int | None:
    """Values in each row of a list column; None for scalars and lists of several lengths."""
    from pyarrow import types

    if types.is_fixed_size_list(arrow_type):
        return int(arrow_type.list_size)
    return None


def same_kind(found: Any, expected: Any) -> bool:
    """Whether one column may have both types: integers of any width, texts of any encoding and so
    on. A column without any value goes with all types."""
    if is_null(found) or is_null(expected):
        return True
    if is_list(found) and is_list(expected):
        return same_kind(found.value_type, expected.value_type)
    own, other = kind_of(found), kind_of(expected)
    return bool(found == expected or (own.what == other.what and own.what not in ("list", "other")))
