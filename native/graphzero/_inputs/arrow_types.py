"""What kinds of Arrow types there are for columns."""

from __future__ import annotations

from typing import Any


def is_integer(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(arrow_type))


def is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type))


def is_bool(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(types.is_boolean(arrow_type))


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
    """Integers of any width, texts of any encoding and so on can follow each other."""
    from pyarrow import types

    if is_list(found) and is_list(expected):
        return same_kind(found.value_type, expected.value_type)
    kinds = (types.is_integer, types.is_floating, is_text)
    return bool(found == expected or any(kind(found) and kind(expected) for kind in kinds))
