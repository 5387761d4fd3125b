"""Element types of matrices.

The members and values of GraphZero 0.2 come first and keep their numbers; they are not the numbers
that files use (those are in store/dtype.h). bfloat16 has no NumPy type: it travels as int16 and is
handed to torch as torch.bfloat16.
"""

from __future__ import annotations

from contextlib import suppress
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
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.storage.itemsize

    @property
    def storage(self) -> np.dtype[Any]:
        """The NumPy type that holds the bits: the type itself, or int16 for bfloat16."""
        return np.dtype("int16" if self is DataType.BFLOAT16 else self.label)


def data_type(value: DataType | str | npt.DTypeLike | Any) -> DataType:
    """Whatever names a type (DataType, "float32", np.float32, torch.bfloat16) as a DataType."""
    if isinstance(value, DataType):
        return value
    name = str(value).removeprefix("torch.") if _is_torch_dtype(value) else value
    if not (isinstance(name, str) and name.lower() == DataType.BFLOAT16.label):
        with suppress(TypeError):  # not a NumPy type: the look-up below names it
            name = np.dtype(name).name
    try:
        return DataType[str(name).upper()]
    except KeyError:
        known = ", ".join(member.label for member in DataType)
        raise ValueError(f"unknown data type {value!r}: expected one of {known}") from None


def _is_torch_dtype(value: object) -> bool:
    # By name: asking torch itself would import it.
    kind = type(value)
    return kind.__module__ == "torch" and kind.__name__ == "dtype"
