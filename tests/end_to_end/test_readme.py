"""Runs what the README shows, block by block, in one directory, as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_block(language: str, code: str, directory: Path) -> subprocess.CompletedProcess[str]:
    programs = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-c", code] if language == "python" else ["bash", "-euc", code]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)


def test_every_example_of_the_readme_runs(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    blocks = BLOCK.findall(README.read_text())
    assert {language for language, _ in blocks} == {"sh", "python"}
    for language, code in blocks:
        done = run_block(language, code, tmp_path)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        assert "Warning" not in done.stderr, f"{code}\n{done.stderr}"
