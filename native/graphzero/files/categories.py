"""`Categories`: what the codes of a column of categories stand for.

They are a matrix beside the column, `NAME.categories.gd`, in ascending order: int64, or texts as
rows of bytes with zeros after their end. So row i is the category of code i.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.ids import Ids, id_array
from graphzero.files.column_file import ColumnFile
from graphzero.files.original_ids import as_texts, encode_texts, texts_of_rows
from graphzero.files.paths import CATEGORIES_SUFFIX, COLUMN_SUFFIX

if TYPE_CHECKING:
    from graphzero.embedded.features import FeatureStore


class Categories:
    """The dictionary of a column of categories, both ways. Thread-safe.

    `column` is the file of the column, such as "DIR/city.gd", or of the dictionary. Raises
    InputError if it is no column of categories.
    """

    def __init__(self, column: str | os.PathLike[str] | FeatureStore | ColumnFile) -> None:
        if isinstance(column, str | os.PathLike):
            path = Path(column)
            if not path.name.endswith(f"{CATEGORIES_SUFFIX}{COLUMN_SUFFIX}"):
                path = path.with_name(f"{path.stem}{CATEGORIES_SUFFIX}{COLUMN_SUFFIX}")
            if not path.exists():
                raise InputError(f"{column}: found no {path.name}, expected a column of categories")
            column = ColumnFile(path.absolute())
        self._file = column if isinstance(column, ColumnFile) else column._file
        if self._file.role != "categories":
            raise InputError(
                f"{self._file.path}: found rows of role {self._file.role}, expected categories"
            )
        matrix = self._file.matrix
        self._index = _engine.IdIndex(matrix, memory=0, threads=1) if len(self) else None

    def __len__(self) -> int:
        return self._file.num_rows

    @property
    def are_texts(self) -> bool:
        """Whether the categories are texts; otherwise they are integers."""
        return len(self._file.shape) == 2

    def gather(self, codes: Ids) -> list[Any]:
        """The categories of codes, str or int; None for -1, which stands for a missing value."""
        array = id_array(codes, None, "codes")
        return decode(array, self._file.gather(np.maximum(array, 0)) if len(self) else None)

    def find(self, categories: Any) -> npt.NDArray[np.int64]:
        """The codes of categories, -1 for one that does not occur."""
        if self._index is None:
            return np.full(len(categories), -1)
        if self.are_texts:
            return self._index.find_texts(*encode_texts(as_texts(categories, "categories")))
        return self._index.find_integers(id_array(categories, None, "categories"))

    def __repr__(self) -> str:
        kind = "texts" if self.are_texts else "integers"
        return f"Categories({os.fspath(self._file.path)!r}: {len(self)} {kind})"


def decode(codes: npt.NDArray[np.int64], rows: Any) -> list[Any]:
    """`rows` of the dictionary as categories, None where the code is -1."""
    values: list[Any] = [None] * len(codes)
    if rows is not None:
        values = texts_of_rows(rows) if rows.ndim == 2 else rows.tolist()
    return [value if code >= 0 else None for code, value in zip(codes, values, strict=True)]
