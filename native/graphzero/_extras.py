"""Libraries that are optional: imported when they are needed, or named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_extra(module: str, extra: str, reason: str) -> Any:
    """The module, or an ImportError that says what it is needed for and how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # it is there, but something that it needs is not
        message = (
            f"{reason} needs {package}; install it with: pip install graphzero-server[{extra}]"
        )
        raise ImportError(message, name=error.name) from error
