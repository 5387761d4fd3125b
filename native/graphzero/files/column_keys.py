"""Where the columns of a type or relation lie, and the keys that name them within a dataset.

The columns of a type lie in a directory of its name below the dataset's, those of a relation in
`SOURCE.NAME.TARGET`. In the three names every byte outside [A-Za-z0-9_-] is percent-encoded, so
that "." separates them unambiguously and no name can lead out of the dataset. The key of a column
is `DIRECTORY/NAME`: "user/x", "user.rates.movie/rating". In a graph of one kind of nodes and edges
the directory is that of the dataset, and the key just the name: "x".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphzero.base.errors import InputError

MAX_NAME_BYTES = 255
# Longest name of a directory entry on every file system of Linux.
_MAX_ENTRY_BYTES = 255
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
# Matches what encode_name() writes; a directory has one such name or three.
_ENCODED = r"(?:[A-Za-z0-9_-]|%[0-9A-F]{2})+"
_DIRECTORY = re.compile(rf"{_ENCODED}(?:\.{_ENCODED}\.{_ENCODED})?", re.ASCII)


def encode_name(name: str) -> str:
    """The name of a type or relation as part of a path: "Größe 1" -> "Gr%C3%B6%C3%9Fe%201"."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())


def decode_name(text: str) -> str:
    """Inverse of encode_name(). Raises InputError for text that encode_name() never writes."""
    try:
        encoded = re.sub(r"%([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), text)
        name = encoded.encode("latin-1").decode()
    except UnicodeError:
        name = ""
    if not name or encode_name(name) != text:
        raise InputError(f"{text!r} is no encoded name of a type or relation")
    return name


def type_directory(name: str) -> str:
    """The directory of a type's columns. "" is the only type of a graph without types, whose
    columns lie in the dataset's own directory."""
    return encode_name(name)


def relation_directory(source: str, name: str, target: str) -> str:
    """The directory of a relation's columns; "" in a graph without types."""
    parts = [encode_name(part) for part in (source, name, target)]
    return ".".join(parts) if any(parts) else ""


def column_key(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def split_key(key: str) -> tuple[str, str]:
    """(directory, name): "user/x" -> ("user", "x"), "x" -> ("", "x")."""
    directory, _, name = key.rpartition("/")
    return directory, name


def is_column_directory(name: str) -> bool:
    """Whether a directory of that name may hold the columns of a type or relation."""
    return _DIRECTORY.fullmatch(name) is not None


def check_schema_name(name: str, what: str) -> None:
    """Raises InputError for a name that no type or relation can have; `what` begins the message."""
    size = len(name.encode(errors="replace"))
    if not 1 <= size <= MAX_NAME_BYTES:
        raise InputError(f"{what}: found a name of {size} bytes, expected 1 to {MAX_NAME_BYTES}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what}: found {name!r}, expected UTF-8") from None
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
        raise InputError(f"{what}: found control characters in {name!r}")


def check_directory(directory: str, parts: Sequence[str]) -> None:
    """Raises InputError if the names `parts` are too long for a directory of columns."""
    if len(directory) > _MAX_ENTRY_BYTES:
        raise InputError(
            f"columns of {'.'.join(parts)!r}: their directory would have a name of "
            f"{len(directory)} bytes, expected at most {_MAX_ENTRY_BYTES}; a byte outside "
            "[A-Za-z0-9_-] takes three: choose shorter names"
        )
