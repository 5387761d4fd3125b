"""Files as GraphZero 0.2 writes them. Shares no code with the engine."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def legacy_header(num_nodes: int, num_edges: int, *, weighted: bool = False) -> bytes:
    """Of a `.gl` file; sections begin at multiples of 64 bytes."""
    indptr_bytes = 8 * (num_nodes + 1)
    indices_at = -(-(64 + indptr_bytes) // 64) * 64
    fields = (indptr_bytes, 8 * num_edges, 64, indices_at, num_nodes, num_edges, int(weighted))
    return struct.pack("<8s7Q", b"graphlit", *fields)


def legacy_arrays(
    indptr: npt.ArrayLike, indices: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> bytes:
    """A `.gl` file of raw arrays, which may be nonsense: out-edges with 64-bit ids."""
    arrays = [np.asarray(indptr, "<u8"), np.asarray(indices, "<u8")]
    content = legacy_header(len(arrays[0]) - 1, len(arrays[1]), weighted=weights is not None)
    if weights is not None:
        arrays.append(np.asarray(weights, "<f4"))
    for array in arrays:
        content += bytes(-len(content) % 64) + array.tobytes()
    return content


def legacy_topology(
    rows: Sequence[Sequence[int]], weights: Sequence[Sequence[float]] | None = None
) -> bytes:
    """The same of each node's row of out-edges, which stay in their order."""
    indptr = np.cumsum([0, *map(len, rows)])
    flat = None if weights is None else list(itertools.chain.from_iterable(weights))
    return legacy_arrays(indptr, list(itertools.chain.from_iterable(rows)), flat)


def legacy_matrix(array: np.ndarray[Any, Any]) -> bytes:
    """A `.gd` file."""
    dtype = ("int32", "int64", "float32", "float64").index(array.dtype.name)
    return struct.pack("<8sIiQQ", b"GZDATA26", 0, dtype, *array.shape) + array.tobytes()
