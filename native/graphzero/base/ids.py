"""Ids as users give them (lists, NumPy arrays, torch tensors) to what the engine takes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero.base.text import line_text

# A torch tensor of integers is accepted too; it is not named here so that torch is not imported.
Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]] | Any


def id_array(ids: Ids, bound: int | None, what: str = "ids") -> npt.NDArray[np.int64]:
    """One-dimensional, contiguous int64; without a copy where `ids` already is that.

    Raises TypeError for floats and bools (a mask is not a list of ids), ValueError for another
    shape, IndexError naming the first id outside 0 to `bound` (exclusive). Without a bound, whoever
    uses the ids checks them, and only what int64 cannot hold is refused here.
    """
    array = np.asarray(ids)
    if array.ndim == 0:
        raise ValueError(_no_list(ids, array, what))
    if array.ndim != 1:
        raise ValueError(f"{what}: found shape {array.shape}, expected one dimension")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and isinstance(array[0], str)):
        raise TypeError(
            f"{what}: found texts, expected integers, the numbers of nodes; where texts are the "
            "original ids of a relabelled dataset, seeds and links take them with "
            "original_ids=True, and Client.find_nodes() or OriginalIds.find() gives their numbers"
        )
    if array.dtype.kind not in "iu" and not _holds_ints(array):
        advice = _advice_for_masks(ids, what) if array.dtype == np.bool_ else ""
        raise TypeError(f"{what}: found {array.dtype}, expected integers{advice}")
    low, high = (0, bound) if bound is not None else (-(2**63), 2**63)
    # As Python ints, which compare exactly with ids of any width.
    checked = array.dtype == np.int64 and bound is None
    if not checked and (int(array.min()) < low or int(array.max()) >= high):
        position = next(i for i, value in enumerate(array) if not low <= int(value) < high)
        raise IndexError(_outside(int(array[position]), high, f"{what}[{position}]"))
    return np.ascontiguousarray(array, np.int64)


def checked_id(value: SupportsIndex, bound: int, what: str = "node id") -> int:
    """An int from 0 to `bound` (exclusive); else raises IndexError, or TypeError for a float."""
    number = operator.index(value)
    if not 0 <= number < bound:
        raise IndexError(_outside(number, bound, what))
    return number


def _no_list(ids: Ids, array: npt.NDArray[Any], what: str) -> str:
    """The error for something that is not a list: a number, a name, a set."""
    if array.dtype.kind in "iu":
        found, example = str(array.item()), [array.item()]
    else:
        found, example = line_text(repr(ids), most=60), [42, 7]
    if not _are_seeds(what):
        return f"{what} is {found}, expected a list of ids such as {example}"
    splits = "; names of splits go to client.loader()" if isinstance(ids, str) else ""
    return f"{what} is {found}, expected a list of node ids such as {example}{splits}"


def _advice_for_masks(mask: Ids, what: str) -> str:
    ids = "mask.nonzero().flatten()" if hasattr(mask, "detach") else "np.flatnonzero(mask)"
    loader = ", or the mask to client.loader()" if _are_seeds(what) else ""
    return f"; give {ids}{loader}"


def _are_seeds(what: str) -> bool:
    """Whether ids are the seeds of a sample, of any type. Loaders also take names and masks."""
    return what.startswith("seeds")


def _holds_ints(array: npt.NDArray[Any]) -> bool:
    # Python ints beyond 64 bits arrive as objects: out of range, not of the wrong type.
    return array.dtype.kind == "O" and all(type(value) is int for value in array)


def _outside(number: int, bound: int, what: str) -> str:
    if bound == 0:
        return f"{what}: found {number}, but there are no rows"
    return f"{what}: found {number}, expected 0 to {bound - 1}"
