"""Text that the engine parses: plain or compressed, as it stands or with other ids in it.

The lines of an edge are source, target and maybe weight, those of a column the node and its values,
in this order: a first line of names is passed over. Names only count where they contradict that, or
where the user chooses columns by them. The same holds for ids that are relabelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from graphzero import _engine
from graphzero._errors import InputError
from graphzero._inputs.compressed import ByteStream, compressed_text, require_text
from graphzero._inputs.locations import Location, require_no_member
from graphzero._inputs.names import ID_NAMES, SOURCE_NAMES, TARGET_NAMES, WEIGHT_NAMES, EdgeNames

if TYPE_CHECKING:
    from graphzero._inputs.streams import IdColumn

_EDGE_ORDER = (SOURCE_NAMES, TARGET_NAMES, WEIGHT_NAMES)
# More lines than these say nothing new about what ids look like.
_SAMPLED_LINES = 1000


class TextInput(NamedTuple):
    """A text as the engine takes it."""

    path: str
    open: Callable[[], ByteStream] | None  # None: the file itself
    stored_bytes: int = 0  # of what is opened

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


class IdText(NamedTuple):
    """A text whose first columns, or those that were chosen by name, are ids."""

    text: TextInput
    texts: bool  # ids are texts, else integers
    header: bool
    ids: tuple[int, ...]
    others: tuple[int, ...] | None = None  # the columns after the ids; None: all
    whole_lines: bool = False

    @property
    def name(self) -> str:
        return self.text.path

    def chunks_of_ids(self) -> Iterator[IdColumn]:
        """All of them, chunk after chunk; those of a line come together."""
        from graphzero._inputs.streams import Texts

        reader: Any = _engine.IdText(*self.text, self._format())
        while (ids := reader.next()) is not None:
            yield Texts(*ids) if self.texts else ids

    def rewritten(self, index: _engine.IdIndex | None) -> TextInput:
        """The same lines with new ids; without an index, with the chosen columns alone."""
        size = self.text.stored_bytes or _size(self.text.path)

        def open_stream() -> ByteStream:
            return _engine.RelabelledText(*self.text, self._format(), index)

        return TextInput(self.text.path, open_stream, size)

    def _format(self) -> _engine.IdTextFormat:
        others = None if self.others is None else list(self.others)
        return _engine.IdTextFormat(
            texts=self.texts,
            header=self.header,
            whole_lines=self.whole_lines,
            ids=list(self.ids),
            others=others,
        )


def edge_text(path: str, names: EdgeNames, texts: bool | None) -> IdText:
    """Edges of a text. `texts`: whether ids are texts; None: look at them."""
    text = text_input(path)
    sample = _sample(text)
    ids: tuple[int, ...] = (0, 1)
    others: tuple[int, ...] | None = None
    if names.given:
        ids, others = _named_columns(path, sample[0], names)
    if texts is None:
        texts = _are_texts(sample, ids)
    header = names.given or _is_edge_header(sample[0], texts)
    if header and not names.given:
        require_edge_order(path, sample[0])
    return IdText(text, texts, header, ids, others)


def node_text(path: str, texts: bool) -> IdText:
    """Values of nodes, whose ids are the first column."""
    text = text_input(path)
    first = _sample(text)[0]
    header = any(not _is_number(field) for field in first[1:])
    header |= not texts and not _is_integer(first[0])
    if header:
        require_id_first(path, first)
    return IdText(text, texts, header, (0,))


def split_text(path: str, texts: bool) -> IdText:
    """A node on each line."""
    text = text_input(path)
    first = _sample(text, whole_lines=True)[0]
    is_name = first[0].lower() in ID_NAMES
    header = is_name if texts else not _is_integer(first[0])
    return IdText(text, texts, header, (0,), whole_lines=True)


def check_edge_header(text: TextInput) -> str | None:
    """Refuses edges whose first line says that columns stand in another order. Gives what the third
    column is called, if that is no usual name of weights."""
    first = _sample(text, 1)[0]
    if not _is_edge_header(first, texts=False):
        return None
    require_edge_order(text.path, first)
    return first[2] if len(first) == 3 and first[2].lower() not in WEIGHT_NAMES else None


def check_node_header(text: TextInput) -> None:
    """Refuses a column whose first line says that the node ids are not its first field."""
    first = _sample(text, 1)[0]
    if not _is_integer(first[0]):
        require_id_first(text.path, first)


def require_edge_order(path: str, header: Sequence[str]) -> None:
    for place, field in enumerate(header):
        own = [order for order, usual in enumerate(_EDGE_ORDER) if field.lower() in usual]
        if own and own[0] != place:
            found = ", ".join(map(repr, header))
            raise InputError(
                f"{path}: found columns {found}, expected source, target and maybe weight in this "
                "order; --source, --target and --weight choose them by name"
            )


def require_id_first(path: str, header: Sequence[str]) -> None:
    names = [field.lower() for field in header]
    if names[0] not in ID_NAMES and any(name in ID_NAMES for name in names[1:]):
        found = ", ".join(map(repr, header))
        raise InputError(f"{path}: found columns {found}, expected the node id in the first")


def _named_columns(
    path: str, header: Sequence[str], names: EdgeNames
) -> tuple[tuple[int, int], tuple[int, ...]]:
    source, target, weight = names.choose(path, header)
    others = () if weight is None else (header.index(weight),)
    return (header.index(source), header.index(target)), others


def _sample(
    text: TextInput, lines: int = _SAMPLED_LINES, whole_lines: bool = False
) -> list[list[str]]:
    """Fields of the first lines that are no comments; a line at least."""
    found = _engine.sample_fields(*text, lines=lines, whole_lines=whole_lines)
    if not found:
        return [[""]]
    return [[field.decode(errors="replace") for field in line] or [""] for line in found]


def _are_texts(sample: list[list[str]], ids: Sequence[int]) -> bool:
    """By all lines but the first, which may be names."""
    lines = sample[1:] or sample
    return not all(_is_integer(line[at]) for line in lines for at in ids if at < len(line))


def _is_edge_header(first: Sequence[str], texts: bool) -> bool:
    """Texts look like names. So then it takes the usual ones, or a weight that is no number."""
    if not texts:
        return not _is_number(first[0])
    if len(first) == 3 and not _is_number(first[2]):
        return True
    usual = (SOURCE_NAMES, TARGET_NAMES)
    return len(first) > 1 and all(
        field.lower() in names for field, names in zip(first, usual, strict=False)
    )


def _is_integer(field: str) -> bool:
    digits = field.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return not field  # a value that is missing
    return True


def _size(path: str) -> int:
    return Path(path).stat().st_size
