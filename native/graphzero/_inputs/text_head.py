"""The first lines of a text table, for readers that have to be told what is in it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from graphzero._errors import InputError
from graphzero._inputs.compressed import compressed_text

# Names that a first line of column names has, in any case; ids that are texts look like names too.
HEADER_WORDS = frozenset(
    [
        "source",
        "target",
        "src",
        "dst",
        "from",
        "to",
        "head",
        "tail",
        "u",
        "v",
        "weight",
        "edge_weight",
        "w",
        "id",
        "node",
        "node_id",
        "nid",
        "n_id",
        "label",
        "y",
        "x",
        "feature",
        "features",
        "paper",
        "author",
        "user",
        "item",
    ]
)
_HEAD_BYTES = 64 << 10
_MOST_COMMENTS = 1000


class TextHead(NamedTuple):
    """How a table is written."""

    delimiter: str
    names: list[str]  # of the columns: from the first line, else "0", "1", ...
    skipped_lines: int  # comments, and the line of names


def read_head(path: str, header: bool | None = None) -> TextHead:
    """Looks at the first lines. `header` says whether the first names columns; None: see whether
    it has a usual name, or a number."""
    skipped = 0
    for line in islice(_first_lines(path), _MOST_COMMENTS):
        if not line.strip() or line.lstrip()[0] in "#%":
            skipped += 1
            continue
        delimiter = _delimiter(line)
        fields = [field.strip().strip('"') for field in line.rstrip("\r\n").split(delimiter)]
        if header if header is not None else _looks_like_names(fields):
            return TextHead(delimiter, fields, skipped + 1)
        return TextHead(delimiter, [str(number) for number in range(len(fields))], skipped)
    raise InputError(f"{path}: found no data line in its first {_MOST_COMMENTS}")


def _first_lines(path: str) -> list[str]:
    stream = compressed_text(path)
    if stream is None:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES)
    else:
        head = stream.open().read(_HEAD_BYTES)
    return head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").splitlines()


def _delimiter(line: str) -> str:
    for delimiter in (",", "\t", ";", " "):
        if delimiter in line:
            return delimiter
    return ","


def _looks_like_names(fields: list[str]) -> bool:
    return any(field.lower() in HEADER_WORDS for field in fields)
