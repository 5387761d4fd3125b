"""Optional packages: what is missing, and the extra that installs it."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


class MissingExtra(ImportError):
    """A package that was not installed because it is optional."""


def require_extra(module: str, extra: str, reason: str) -> None:
    """Raises MissingExtra unless the module is installed. Does not import it."""
    if find_spec(module) is None:
        raise MissingExtra(f"{reason}; {install_text(extra)}")


def import_extra(module: str, extra: str, reason: str) -> Any:
    """The module, or a MissingExtra that says why it is needed and how to get it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # the module is installed, but one of its own imports is missing
        raise MissingExtra(f"{reason}; {install_text(extra)}") from error


def require_pyg(what: str) -> None:
    require_extra("torch", "pyg", f"{what} needs torch")
    import_extra("torch_geometric", "pyg", f"{what} needs PyG")


def install_text(extra: str) -> str:
    """How to install an extra. Quoted, because zsh takes brackets for a pattern of file names."""
    return (
        f'install it with: pip install "graphzero-server[{extra}]" (in a checkout: pip install '
        f'".[{extra}]")'
    )
