"""Columns of every row length, on every path."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine

PATHS = ["mapped", "cached", "direct"]


@pytest.fixture(params=PATHS)
def io(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["cached", "direct"])
def reading_io(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_column(tmp_path: Path) -> Callable[..., tuple[Path, Any]]:
    """make_column(row_bytes, rows) -> (path, values): a file of random float32 rows."""

    def make(row_bytes: int, rows: int = 3000, name: str = "x", **options: Any) -> Any:
        values = np.random.default_rng(row_bytes).random((rows, row_bytes // 4), np.float32)
        path = tmp_path / f"{name}.gd"
        gz.write_features(path, values, **options)
        return path, values

    return make


@pytest.fixture
def faults() -> Iterator[Any]:
    """faults(path_suffix, result, begin=, end=, times=): reads of that file fail."""
    yield _engine.set_read_fault
    _engine.clear_read_faults()


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """A path that cannot be had is a warning, and here a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield
