"""Which kind of column each Arrow type is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from graphzero.conversion.inputs.tables import Kind, What
from graphzero.files.column_types import TIME_UNITS, TimeUnit


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
    if types.is_integer(arrow_type) or is_whole_decimal(arrow_type):
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


def is_whole_decimal(arrow_type: Any) -> bool:
    """Whether values are decimals without digits after the point, as databases store integers.
    They may have more digits than 64 bits hold, which shows only when they are read."""
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(types.is_decimal(arrow_type)) and arrow_type.scale <= 0


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
    on. A column without any value goes with all types, and decimals without digits after the point
    go with integers and with other numbers."""
    if found == expected or is_null(found) or is_null(expected):
        return True
    if is_list(found) and is_list(expected):
        return same_kind(found.value_type, expected.value_type)
    own, other = kind_of(found).what, kind_of(expected).what
    if is_whole_decimal(found) or is_whole_decimal(expected):
        return {own, other} <= {"integer", "number"}
    return own == other and own not in ("list", "other")


def common_type(found: Iterable[Any]) -> Any:
    """The type of a column that has these types in the files of a table. The first one that says
    anything decides, but of times the finest unit does, and decimals without digits after the point
    leave it to other numbers, so that no value is rounded."""
    known: list[Any] = []
    for own in found:  # of thousands of files, most have the same type
        if own not in known:
            known.append(own)
    types = [own for own in known if not is_null(own)] or known
    kinds = [kind_of(own) for own in types]
    if kinds[0].unit is not None:
        units = [-1 if kind.unit is None else TIME_UNITS.index(kind.unit) for kind in kinds]
        return types[units.index(max(units))]
    if _is_decided_by_others(types[0]):
        for own, kind in zip(types, kinds, strict=True):
            is_number = (kind.items or kind.what) in ("integer", "number")
            if is_number and not _is_decided_by_others(own):
                return own
    return types[0]


def _is_decided_by_others(arrow_type: Any) -> bool:
    return is_whole_decimal(arrow_type.value_type if is_list(arrow_type) else arrow_type)
