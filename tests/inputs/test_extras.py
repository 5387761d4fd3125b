"""Without an optional library, the error names what is missing and how to get it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

CASES = [
    ("pyarrow", "arrow", "e.parquet", [], "e.parquet: a table of this kind needs pyarrow"),
    ("zstandard", "zstd", "e.csv.zst", [], "e.csv.zst: a Zstandard file needs zstandard"),
]


@pytest.mark.parametrize(("module", "extra", "name", "options", "message"), CASES)
def test_the_extra_is_named(
    tmp_path: Path, module: str, extra: str, name: str, options: list[str], message: str
) -> None:
    (tmp_path / "e.parquet").write_bytes(b"PAR1")
    (tmp_path / "e.csv").write_text("0,1\n")
    (tmp_path / "e.csv.zst").write_bytes(zstandard.ZstdCompressor().compress(b"0,1\n"))
    arguments = ["convert", "--edges", name, "--out", "ds", *options]
    program = f"""
import sys
sys.modules[{module!r}] = None  # as if it were not installed
from graphzero.commands.cli import main
sys.exit(main({arguments!r}))"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    install = f'pip install "graphzero-server[{extra}]" (in a checkout: pip install ".[{extra}]")'
    expected = f"graphzero convert: error: {message}; install it with: {install}\n"
    assert (done.returncode, done.stderr) == (1, expected)
    assert not (tmp_path / "ds").exists()


def test_plain_text_needs_no_extra(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\n0,1\n")
    program = """
import sys
for name in ("pyarrow", "zstandard", "torch", "scipy", "networkx", "torch_geometric"):
    sys.modules[name] = None
from graphzero.commands.cli import main
convert = ["convert", "--edges", "e.csv", "--out", "ds", "--overwrite"]
for options in ([], ["--relabel"], ["--source", "a", "--target", "b"]):
    main([*convert, *options]) and sys.exit(1)"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
