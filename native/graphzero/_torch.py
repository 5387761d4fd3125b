"""torch, imported when it is first needed: it takes longer than everything else here together."""

from typing import Any


def import_torch(reason: str) -> Any:
    """The torch module, or an ImportError that says why it is needed and how to get it."""
    try:
        import torch
    except ImportError as error:
        message = f"{reason}; install it with: pip install graphzero-server[torch]"
        raise ImportError(message) from error
    return torch
