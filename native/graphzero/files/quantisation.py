"""How a quantised file stores its values, and how exact they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.files.column_types import quantised_type


@dataclass(frozen=True, eq=False)
class Quantisation:
    """Values are offset + scale * code in float32, with a code from 0 to 255 for each."""

    dtype: str
    """The type that the user asked for: "q8", or "q8[float16]" if values are read as float16."""
    scales: npt.NDArray[np.float32]
    """One for each feature."""
    offsets: npt.NDArray[np.float32]
    largest_error: float
    """Largest difference between a value of the source, in its own type, and what is read for it;
    measured when the file was made."""
    mean_error: float
    clipped: int
    """Number of values outside a stated range, which became its nearest end."""

    @classmethod
    def of(cls, found: _engine.Quantisation) -> Quantisation:
        return cls(
            quantised_type(found.delivered),
            np.array(found.scales, np.float32),
            np.array(found.offsets, np.float32),
            found.largest_error,
            found.mean_error,
            found.clipped,
        )
