"""`OriginalIds`: the ids that the nodes of a relabelled or reordered dataset had before.

They are a column of the dataset, `original_id.gd`: int64, or texts as rows of bytes with zeros
after their end. Row i is the original id of node i. The node of an original id is found by
bisection: rows ascend, or the file also stores the order in which they ascend.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.ids import Ids, id_array
from graphzero.files.column_file import ColumnFile
from graphzero.files.paths import COLUMN_SUFFIX, ORIGINAL_IDS

if TYPE_CHECKING:
    from graphzero.embedded.features import FeatureStore

# Finding this many takes a few milliseconds, or tens of them if the column is read from a disk.
_IDS_AT_ONCE = 1 << 13


class OriginalIds:
    """Original ids of a relabelled or reordered dataset, both ways. Thread-safe.

    `dataset` is its directory, or the column itself. Raises InputError if its nodes have no
    original ids.
    """

    def __init__(self, dataset: str | os.PathLike[str] | FeatureStore | ColumnFile) -> None:
        if isinstance(dataset, str | os.PathLike):
            path = Path(dataset)
            file = path / f"{ORIGINAL_IDS}{COLUMN_SUFFIX}" if path.is_dir() else path
            if not file.exists():
                raise InputError(
                    f"{path}: found no original ids, expected a dataset made with --relabel or "
                    "--order"
                )
            dataset = ColumnFile(file.absolute())
        self._file = dataset if isinstance(dataset, ColumnFile) else dataset._file
        # Without memory for a hash table: finding a few thousand ids does not pay for one.
        self._index = _engine.IdIndex(self._file.matrix, memory=0, threads=1)

    def __len__(self) -> int:
        return self._file.num_rows

    @property
    def are_texts(self) -> bool:
        """Whether the original ids are texts; otherwise they are integers."""
        return self._index.holds_texts

    def gather(self, n_id: Ids) -> Any:
        """The original ids of nodes: an int64 array, or a list of str."""
        rows = self._file.gather(n_id)
        return texts_of_rows(rows) if self.are_texts else rows

    def find(self, original: Any) -> npt.NDArray[np.int64]:
        """The nodes of original ids, in that order. Raises IndexError for one that no node has."""
        ids: Any = (
            as_texts(original) if self.are_texts else id_array(original, None, "original ids")
        )
        found = np.empty(len(ids), np.int64)
        for first in range(0, len(ids), _IDS_AT_ONCE):
            _engine.check_stopped()  # raises if the request has ended meanwhile
            piece = slice(first, first + _IDS_AT_ONCE)
            found[piece] = self._rows_of(ids[piece])
        if found.size and int(found.min()) < 0:
            position = int(np.argmin(found))
            value = repr(ids[position]) if self.are_texts else ids[position]
            raise IndexError(
                f"original ids[{position}]: found {value}, which no node of "
                f"{self._file.path.parent.name} has"
            )
        return found

    def _rows_of(self, ids: Any) -> npt.NDArray[np.int64]:
        rows: npt.NDArray[np.int64] = (
            self._index.find_texts(*encode_texts(ids))
            if self.are_texts
            else self._index.find_integers(ids)
        )
        return rows

    def __repr__(self) -> str:
        kind = "texts" if self.are_texts else "integers"
        return f"OriginalIds({os.fspath(self._file.path)!r}: {len(self)} {kind})"


def as_texts(ids: Any, what: str = "original ids") -> list[str]:
    """A sequence of str as a list. Raises TypeError for anything else."""
    if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):
        raise TypeError(f"{what}: found {type(ids).__name__}, expected a sequence of str")
    for position, value in enumerate(ids):
        if not isinstance(value, str):
            raise TypeError(
                f"{what}[{position}]: found {type(value).__name__}, expected str: the {what} of "
                "this dataset are texts"
            )
    return [str(value) for value in ids]


def encode_texts(texts: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """(offset of each text, all texts in UTF-8), as the engine takes them."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)


def texts_of_rows(rows: npt.NDArray[np.uint8]) -> list[str]:
    """Rows of bytes, with zeros after the end of each text, as str."""
    fixed = np.ascontiguousarray(rows).view(f"S{rows.shape[1]}").reshape(-1)
    return [bytes(text).decode() for text in fixed]
