"""The calls of CUDA that pinned batches need, all through torch. ROCm answers to the same names."""

from __future__ import annotations

import sys
from typing import Any

from graphzero.base.lazy_torch import import_torch

# Pinned for every device of the process, not only for the one that is current.
_PORTABLE = 1
_REASON = "copies to a GPU need torch"


def require() -> None:
    """Raises RuntimeError where torch was not built for CUDA; asking does not initialise CUDA."""
    torch = import_torch("pin=True needs torch")
    if not torch.backends.cuda.is_built():
        raise RuntimeError(
            f"pin=True is for copies to a GPU: found torch {torch.__version__}, expected one that "
            "was built for CUDA or ROCm; leave pin away to have it where it is of use"
        )


def is_in_use() -> bool:
    """Whether this process uses CUDA already; asking initialises nothing."""
    # Another thread may be in the middle of importing torch, and then parts of it are missing.
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    is_initialized = getattr(cuda, "is_initialized", None)
    return is_initialized is not None and bool(is_initialized())


def is_cuda(device: Any) -> bool:
    return bool(import_torch(_REASON).device(device).type == "cuda")


def host_register(address: int, size: int) -> None:
    """Pins memory that is mapped already; initialises CUDA if need be. Raises RuntimeError.

    To be called on a thread that launches no kernels: a call that fails leaves its error behind for
    the thread, and the next launch there would report it as its own.
    """
    torch = import_torch(_REASON)
    torch.cuda.check_error(int(torch.cuda.cudart().cudaHostRegister(address, size, _PORTABLE)))


def host_unregister(address: int) -> None:
    """Before the memory is unmapped. Raises RuntimeError."""
    torch = import_torch(_REASON)
    torch.cuda.check_error(int(torch.cuda.cudart().cudaHostUnregister(address)))


def record_event(device: Any) -> Any:
    """An event that comes after all work that was queued on the device's current stream so far."""
    torch = import_torch(_REASON)
    event = torch.cuda.Event(blocking=True)  # a thread that waits sleeps instead of spinning
    event.record(torch.cuda.current_stream(device))
    return event


def finish_everything() -> None:
    """Waits for the work of all streams of the devices that this process uses.

    A device without memory in torch's allocator has received nothing, and is left alone: waiting
    for it would create a context of hundreds of megabytes there.
    """
    torch = import_torch(_REASON)
    for device in range(torch.cuda.device_count()):
        if torch.cuda.memory_reserved(device):
            torch.cuda.synchronize(device)
