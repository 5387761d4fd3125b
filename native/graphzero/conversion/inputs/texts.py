"""Text that the engine parses, plain or compressed, and what its first lines say.

A line of edges has source, target and maybe weight; a line of a column has the node and its values,
in this order. A first line of names is skipped. Names matter only if they contradict this order, or
if the user chooses columns by them. The same holds for ids that are relabelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.conversion.inputs.compressed import ByteStream, compressed_text, require_text
from graphzero.conversion.inputs.locations import Location, require_no_member
from graphzero.conversion.inputs.names import ID_NAMES, SOURCE_NAMES, TARGET_NAMES, WEIGHT_NAMES

_EDGE_ORDER = (SOURCE_NAMES, TARGET_NAMES, WEIGHT_NAMES)
# More lines than these say nothing new about what ids look like.
_SAMPLED_LINES = 1000


class TextInput(NamedTuple):
    """A text as the engine takes it."""

    path: str
    open: Callable[[], ByteStream] | None  # None: the file itself
    stored_bytes: int = 0  # size of the file that is opened

    @property
    def name(self) -> str:
        return self.path


def text_input(path: str) -> TextInput:
    """The text of a file, which may be compressed."""
    location = Location.parse(path)
    if Path(location.path).exists():
        require_no_member(location)
    require_text(path)
    compressed = compressed_text(path)
    if compressed is None:
        return TextInput(path, None)
    return TextInput(path, compressed.open, compressed.stored_bytes)


def check_edge_header(text: TextInput) -> str | None:
    """Refuses edges whose first line names columns in another order. Returns the name of the third
    column, if that is no usual name of weights."""
    first = sample_fields(text, 1)[0]
    if not is_edge_header(first, texts=False):
        return None
    require_edge_order(text.path, first)
    return first[2] if len(first) == 3 and first[2].lower() not in WEIGHT_NAMES else None


def require_edge_order(path: str, header: Sequence[str]) -> None:
    for place, field in enumerate(header):
        own = [order for order, usual in enumerate(_EDGE_ORDER) if field.lower() in usual]
        if own and own[0] != place:
            found = ", ".join(map(repr, header))
            raise InputError(
                f"{path}: found columns {found}, expected source, target and maybe weight in this "
                "order; --source, --target and --weight choose them by name"
            )


def require_one_column(path: str, first: Sequence[str]) -> None:
    """Raises InputError if a list of ids has several columns. `first`: fields of its first line."""
    if len(first) > 1:
        raise InputError(
            f"{path}: found columns {', '.join(map(repr, first))}, expected one of node ids; if "
            f"these are names, choose one as {path}#{first[0]}"
        )


def sample_fields(
    text: TextInput, lines: int = _SAMPLED_LINES, whole_lines: bool = False
) -> list[list[str]]:
    """Fields of the first lines that are no comments; at least one line."""
    found = _engine.sample_fields(*text, lines=lines, whole_lines=whole_lines)
    if not found:
        return [[""]]
    return [[field.decode(errors="replace") for field in line] or [""] for line in found]


def are_texts(sample: list[list[str]], ids: Sequence[int]) -> bool:
    """Whether ids are texts, judged by all lines but the first, which may be names."""
    lines = sample[1:] or sample
    return not all(is_integer(line[at]) for line in lines for at in ids if at < len(line))


def is_edge_header(first: Sequence[str], texts: bool) -> bool:
    """Whether the first line names columns. Ids that are texts look like names, so then only usual
    names, or a weight that is no number, make it a header."""
    if not texts:
        return not is_number(first[0])
    if len(first) == 3 and not is_number(first[2]):
        return True
    usual = (SOURCE_NAMES, TARGET_NAMES)
    return len(first) > 1 and all(
        field.lower() in names for field, names in zip(first, usual, strict=False)
    )


def is_usual_id(field: str) -> bool:
    """Whether it names ids, rather than being one."""
    return field.lower() in ID_NAMES


def is_integer(field: str) -> bool:
    digits = field.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return not field  # a value that is missing
    return True
