"""Arguments that are written once and serve two functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def with_arguments_of(model: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """For a function that passes everything on to `model`: type checkers, editors and help() see
    the arguments of `model`, and its own result and text."""

    def adopt(function: Callable[..., T]) -> Callable[P, T]:
        result = inspect.signature(function).return_annotation
        shown = inspect.signature(model).replace(return_annotation=result)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except TypeError:  # because of wrong arguments, or of what the function does
                require_arguments(function.__qualname__, model, args, kwargs)
                raise

        call.__signature__ = shown  # type: ignore[attr-defined]
        return call

    return adopt


def require_arguments(
    name: str, model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raises TypeError for arguments that `model` does not take. `name` is the function that the
    user called."""
    try:
        inspect.signature(model).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
