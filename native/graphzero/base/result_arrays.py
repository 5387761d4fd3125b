"""Arrays for results. When a large one dies, its memory is kept for the results of the next call:
malloc would return it to the system, which zeroes it again page by page (base/result_memory.h)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine

_KEPT_FROM = 64 << 10
"""Bytes. malloc itself keeps the memory of smaller arrays."""


def result_array(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A new array with undefined values: np.empty() for results."""
    shape = (shape,) if isinstance(shape, int) else shape
    kind = np.dtype(dtype)
    byte_size = math.prod(shape) * kind.itemsize
    if byte_size < _KEPT_FROM:
        return np.empty(shape, kind)
    return _engine.result_bytes(byte_size).view(kind).reshape(shape)
