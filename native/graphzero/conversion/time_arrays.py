"""Times that users give as arrays: integers on a scale of their own, or dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.files.column_types import TIME_UNITS

# Other units of NumPy, and a unit of the format that counts them without a fraction.
_FINER = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}


def check_unit(unit: str) -> str:
    if unit and unit not in TIME_UNITS:
        raise InputError(f"found time unit {unit!r}, expected one of {', '.join(TIME_UNITS)}")
    return unit


def time_array(
    values: npt.ArrayLike, what: str, unit: str = ""
) -> tuple[npt.NDArray[np.int64], str]:
    """Times as int64, and their unit; "" for integers of unknown unit.

    Without a `unit`, dates keep their own. Arrays of int64 are not copied, mapped files neither.
    Missing times are not refused here, but by the reader of the times, which knows their place.
    """
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list
    if array.ndim != 1:
        raise InputError(f"{what}: found shape {array.shape}, expected one dimension")
    if array.dtype.kind == "M":
        return _dates(array, what, unit)
    if array.dtype.kind not in "iu":
        raise InputError(f"{what}: found {array.dtype}, expected integers or datetime64")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise InputError(f"{what}: found {int(array.max())}, expected at most {2**63 - 1}")
    return array.astype(np.int64, copy=False), unit


def _dates(array: npt.NDArray[Any], what: str, unit: str) -> tuple[npt.NDArray[np.int64], str]:
    own, step = np.datetime_data(array.dtype)
    if not unit:
        unit = own if own in TIME_UNITS and step == 1 else _FINER.get(own, "ns")
    times = array.astype(f"datetime64[{unit}]", copy=False)
    # A time that was rounded, or did not fit, differs after conversion back.
    unequal = np.flatnonzero((times.astype(array.dtype, copy=False) != array) & ~np.isnat(array))
    if unequal.size:
        raise InputError(
            f"{what}: found {array[unequal[0]]}, which is no whole number of {unit}, or too far "
            "away for it; round it first, or choose another time unit"
        )
    return times.view(np.int64), unit
