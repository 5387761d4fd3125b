"""Fixtures of the compiler's tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graphzero import _engine
from graphzero.conversion.compile_column import ColumnReport, ColumnRequest, compile_column

MEMORY = 64 << 20


@pytest.fixture
def compile_table(tmp_path: Path) -> Callable[..., ColumnReport]:
    """Compiles a table given as text; the result is tmp_path / "x.gd"."""

    def run(text: str | bytes, **options: Any) -> ColumnReport:
        source = tmp_path / "x.csv"
        source.write_bytes(text.encode() if isinstance(text, str) else text)
        target = tmp_path / "x.gd"
        target.unlink(missing_ok=True)
        report = options.pop("report", None)
        settings = {"memory": MEMORY, "threads": 2, "temp_dir": str(tmp_path)} | options
        return compile_column(str(source), str(target), ColumnRequest(**settings), report)

    return run


@pytest.fixture
def compiled(compile_table: Callable[..., ColumnReport], tmp_path: Path) -> Callable[..., Any]:
    """Compiles a table given as text and returns the matrix as a NumPy array."""

    def run(text: str | bytes, **options: Any) -> Any:
        compile_table(text, **options)
        return _engine.Matrix.open(str(tmp_path / "x.gd")).tensor()

    return run
