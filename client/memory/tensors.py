"""Tensors as users have them: torch's where torch is installed, else NumPy's; their copies."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.base.lazy_torch import has_accelerator, import_torch
from graphzero.client.memory.results import Tensor
from graphzero.files.dtypes import DataType, widen


def users_tensor(tensor: Tensor, upcast: bool = False) -> Any:
    """A torch tensor over the array when torch is installed, else the array.

    `upcast`: values of a 16-bit floating type as float32, in memory of their own.
    """
    if upcast and tensor.dtype.is_half:
        if has_torch():
            return users_tensor(tensor).float()
        return widen(tensor.array, tensor.dtype)
    if not has_torch():
        if tensor.dtype is DataType.BFLOAT16:
            import_torch("NumPy has no bfloat16")
        return tensor.array
    import torch

    shared = torch.from_numpy(tensor.array)
    return shared.view(torch.bfloat16) if tensor.dtype is DataType.BFLOAT16 else shared


def users_array(array: npt.NDArray[Any]) -> Any:
    """A torch tensor over a NumPy array when torch is installed, else the array."""
    return as_torch(array) if has_torch() else array


@cache
def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def as_numpy(tensor: Any) -> Any:
    if isinstance(tensor, np.ndarray):
        return tensor
    if str(tensor.dtype) == "torch.bfloat16":
        raise TypeError("NumPy has no bfloat16: leave the column out, or convert it with .float()")
    return tensor.numpy()


def as_torch(tensor: Any) -> Any:
    import torch

    return torch.from_numpy(tensor) if isinstance(tensor, np.ndarray) else tensor


def pack(tensor: Any) -> tuple[str, Any]:
    # By value and through NumPy: torch would move a tensor to shared memory of its own.
    if isinstance(tensor, np.ndarray):
        return "numpy", np.array(tensor)
    if str(tensor.dtype) == "torch.bfloat16":
        import torch

        return "bfloat16", tensor.cpu().view(torch.int16).numpy().copy()
    return "torch", tensor.detach().cpu().numpy().copy()


def unpack(kind: str, array: Any) -> Any:
    if kind == "numpy":
        return array
    torch = import_torch("a batch of torch tensors needs torch")
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if kind == "bfloat16" else tensor


def to_device(tensor: Any, device: Any, non_blocking: bool) -> Any:
    return as_torch(tensor).to(device, non_blocking=non_blocking)


def clone(tensor: Any) -> Any:
    return tensor.clone() if hasattr(tensor, "clone") else tensor.copy()


def require_accelerator() -> None:
    """Raises RuntimeError where pinned memory is of no use."""
    if not has_accelerator(import_torch("pinned memory needs torch")):
        raise RuntimeError(
            "pin_memory() is for copies to an accelerator, and torch finds none; use the batch "
            "as it is"
        )
