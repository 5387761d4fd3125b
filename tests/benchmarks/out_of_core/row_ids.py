"""The rows that the benchmarks ask for: the same for everyone, batch by batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BATCH = 50_000
ZIPF_BATCH = 10_000  # of few rows twice, as batches of a sampler have none
_SCRAMBLE = 0x9E3779B97F4A7C15


def batch_ids(kind: str, rows: int, number: int) -> npt.NDArray[np.int64]:
    """Batch `number` of uniform or Zipf rows. `rows` is a power of two."""
    rng = np.random.default_rng(number)
    if kind == "uniform":
        return rng.integers(0, rows, BATCH)
    # rank = rows**u has P(rank <= k) = log(k) / log(rows): Zipf's law with exponent 1.
    ranks = np.minimum(np.power(float(rows), rng.random(ZIPF_BATCH)), rows - 1).astype(np.uint64)
    # An odd factor permutes the rows: those of high rank come to lie anywhere.
    return ((ranks * np.uint64(_SCRAMBLE)) & np.uint64(rows - 1)).astype(np.int64)
