"""All rows of a column that is dealt to parts: no file of this machine has them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from graphzero.base.resources import available_memory
from graphzero.base.text import quoted, size_text
from graphzero.client.dataset.info import ColumnInfo
from graphzero.client.memory.results import Tensor
from graphzero.client.process.deadline import Deadline
from graphzero.client.requests.request import Call
from graphzero.client.requests.seeds import read_rows
from graphzero.files.dtypes import DataType

# Bytes that are read until one deadline: a time limit is for a request, and a column of a hundred
# gigabytes takes longer than any batch.
_BYTES_PER_DEADLINE = 16 << 20


def read_dealt_column(column: ColumnInfo, new_deadline: Callable[[], Deadline]) -> Call[Tensor]:
    """Raises MemoryError if there is no room for all rows."""
    dtype = DataType[column.dtype.upper()]
    count, row_bytes = column.shape[0], math.prod(column.shape[1:]) * dtype.storage.itemsize
    needed, room = count * row_bytes, available_memory()
    if needed > room:
        raise MemoryError(
            f"column {quoted(column.name)} is dealt to several daemons, so no file has all of its "
            f"rows; they take {size_text(needed)}, and {size_text(room)} are available: ask for "
            f"those that are needed, with gather({column.name!r}, ids)"
        )
    values = np.empty(column.shape, dtype.storage)
    step = max(_BYTES_PER_DEADLINE // max(row_bytes, 1), 1)
    for first in range(0, count, step):
        rows = range(first, min(first + step, count))
        values[first : first + step] = yield from read_rows(column, rows, new_deadline())
    return Tensor(values, dtype)
