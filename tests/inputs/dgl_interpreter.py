"""Runs scripts that need DGL, whose wheels are built for other versions of torch than the tests
use: with this interpreter, or with that in GRAPHZERO_DGL_PYTHON."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import graphzero as gz
import pytest


def run_with_dgl(script: Path, *arguments: Path, folder: Path) -> str:
    """The script's output. Skips the test where there is no DGL. `folder` is an empty place."""
    python = _dgl_python()
    # The package alone: the rest of this environment has another torch.
    (folder / "graphzero").symlink_to(Path(gz.__file__).parent)
    done = subprocess.run(
        [python, script, *arguments],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _dgl_python() -> str:
    named = os.environ.get("GRAPHZERO_DGL_PYTHON")
    if named:
        return named
    probe = subprocess.run([sys.executable, "-c", "import dgl"], capture_output=True)
    if probe.returncode:
        pytest.skip("needs DGL: no wheel of it fits the installed torch; name an interpreter that "
                    "has both in GRAPHZERO_DGL_PYTHON")  # fmt: skip
    return sys.executable
