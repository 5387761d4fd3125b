"""torch, imported when it is first needed: it takes longer than everything else here together."""

from typing import Any

from graphzero.base.extras import install_text


def import_torch(reason: str) -> Any:
    """The torch module, or an ImportError that says why it is needed and how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"{reason}; {install_text('torch')}") from error
    return torch


def has_accelerator(torch: Any) -> bool:
    """Whether there is a device that memory can be pinned for."""
    return bool(getattr(torch, "accelerator", torch.cuda).is_available())  # new in torch 2.6
