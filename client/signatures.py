"""Arguments that are written once and serve two functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def with_arguments_of(model: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """For a function that passes everything on to `model`: type checkers, editors and help() see
    the arguments of `model`, and its own result and text."""

    def adopt(function: Callable[..., T]) -> Callable[P, T]:
        result = inspect.signature(function).return_annotation
        shown = inspect.signature(model).replace(return_annotation=result)
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return adopt
