"""Element types of matrices.

The members and values of GraphZero 0.2 come first and keep their numbers; they are not the numbers
that files use (those are in store/container/dtype.h). bfloat16 has no NumPy type: it travels as
int16 and is handed to torch as torch.bfloat16.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt


class DataType(Enum):
    """Type of the elements of a `.gd` file."""

    INT32 = 0
    INT64 = 1
    FLOAT32 = 2
    FLOAT64 = 3
    FLOAT16 = 4
    BFLOAT16 = 5
    INT8 = 6
    UINT8 = 7
    INT16 = 8
    BOOL = 9

    @property
    def label(self) -> str:
        """NumPy-style name: "float32", "bfloat16"."""
        return self.name.lower()

    @property
    def is_half(self) -> bool:
        """Whether it is one of the two floating types of 16 bits."""
        return self in (DataType.FLOAT16, DataType.BFLOAT16)

    @property
    def storage(self) -> np.dtype[Any]:
        """The NumPy type that holds the bits: the type itself, or int16 for bfloat16."""
        return np.dtype("int16" if self is DataType.BFLOAT16 else self.label)


def widen(array: npt.NDArray[Any], dtype: DataType) -> npt.NDArray[np.float32]:
    """Values of a 16-bit floating type as float32, exactly. `array` has bfloat16 as its bits."""
    if dtype is DataType.FLOAT16:
        return array.astype(np.float32)
    # bfloat16 is the upper half of a float32.
    bits = array.view(np.uint16).astype(np.uint32)
    bits <<= 16
    return bits.view(np.float32)
