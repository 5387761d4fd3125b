"""Texts of Arrow arrays, copied and checked: a file that changes may have wrong offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.arrow_types import is_text_view
from graphzero.conversion.inputs.streams import Array, Texts

# A view holds a text of up to this many bytes itself.
_VIEWED_INLINE = 12


def texts_of(column: Any, where: str) -> Texts:
    """A copy of the texts: pyarrow's own functions trust offsets, which may be wrong in a file that
    changes."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        if column.null_count == len(column):  # its dictionary may be empty
            return Texts(np.zeros(len(column) + 1, np.int64), np.empty(0, np.uint8))
        indices = column.indices.fill_null(0) if column.null_count else column.indices
        places = np.array(indices.to_numpy(zero_copy_only=False))
        words = texts_of(column.dictionary, where)
        if places.size and not 0 <= int(places.min()) <= int(places.max()) < words.num_texts:
            raise InputError(f"{where}: found numbers of texts that are not there; copy it again")
        return words.take(places)
    if is_text_view(column.type):
        return _viewed_texts(column, where)
    offsets, data = offsets_of(column, where), column.buffers()[2]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if offsets[-1] > len(content):
        raise InputError(f"{where}: found texts that end beyond its data; copy it again")
    return Texts(offsets - offsets[0], np.array(content[offsets[0] : offsets[-1]]))


def _viewed_texts(column: Any, where: str) -> Texts:
    """A copy of texts that are stored as views of 16 bytes each: the length of a text, then the
    text itself if it has 12 bytes at most; else its first 4 bytes, the number of a buffer, and
    where the text begins there."""
    _, stored, *buffers = column.buffers()
    if not len(column):
        return Texts(np.zeros(1, np.int64), np.empty(0, np.uint8))
    end = 16 * (column.offset + len(column))
    own = np.array(np.frombuffer(stored, np.uint8)[16 * column.offset : end])  # a copy to check
    views = own.view(np.int32).reshape(-1, 4).astype(np.int64)
    if column.null_count:
        views[column.is_null().to_numpy(zero_copy_only=False)] = 0
    lengths, short = views[:, 0], views[:, 0] <= _VIEWED_INLINE
    if (lengths < 0).any():
        raise InputError(f"{where}: found texts of negative length; copy it again")
    offsets = np.zeros(len(column) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)

    def copy(rows: Array, source: Array, starts: Array) -> None:
        if not rows.size:
            return
        # The place of each byte in its text.
        places = np.arange(lengths[rows].sum())
        places -= np.repeat(np.cumsum(lengths[rows]) - lengths[rows], lengths[rows])
        to, begin = (np.repeat(first, lengths[rows]) for first in (offsets[rows], starts))
        data[to + places] = source[begin + places]

    rows = np.flatnonzero(short)
    copy(rows, own, 16 * rows + 4)
    for number in np.unique(views[~short, 2]):
        rows = np.flatnonzero(~short & (views[:, 2] == number))
        content: Array = np.empty(0, np.uint8)
        if 0 <= number < len(buffers):
            content = np.frombuffer(buffers[number], np.uint8)
        starts = views[rows, 3]
        if (starts < 0).any() or (starts + lengths[rows] > len(content)).any():
            raise InputError(f"{where}: found texts that end beyond its data; copy it again")
        copy(rows, content, starts)
    return Texts(offsets, data)


def offsets_of(column: Any, where: str) -> npt.NDArray[np.int64]:
    """The offsets at which the texts or lists of a column begin, and the last one ends. Raises
    InputError if they fall."""
    from pyarrow import types

    is_large = types.is_large_string(column.type) or types.is_large_list(column.type)
    buffer = column.buffers()[1]
    if buffer is None:  # of a column without rows
        return np.zeros(1, np.int64)
    stored = np.frombuffer(buffer, np.int64 if is_large else np.int32)
    offsets = stored[column.offset : column.offset + len(column) + 1].astype(np.int64)
    if len(offsets) != len(column) + 1 or offsets[0] < 0 or (np.diff(offsets) < 0).any():
        raise InputError(f"{where}: found falling offsets, expected rising ones; copy it again")
    return offsets
