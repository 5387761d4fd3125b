"""Optional packages: what is missing, and the extra that installs it."""

from importlib import import_module
from typing import Any


class MissingExtra(ImportError):
    """A package that was not installed because it is optional."""


def import_extra(module: str, extra: str, reason: str) -> Any:
    """The module, or a MissingExtra that says why it is needed and how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # it is there, and lacks something itself
        message = f"{reason}; install it with: pip install graphzero-server[{extra}]"
        raise MissingExtra(message) from error


def require_pyg(what: str) -> None:
    import_extra("torch", "pyg", f"{what} needs torch")
    import_extra("torch_geometric", "pyg", f"{what} needs PyG")
