"""Start-up stays quick: heavy libraries are imported by what needs them, when it runs."""

import subprocess
import sys

import pytest

HEAVY = ["numpy", "rich", "torch", "tqdm"]


def imported_by(program: str) -> set[str]:
    script = f"import sys\n{program}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_probe_notices_an_import() -> None:
    assert "numpy" in imported_by("import numpy")


def test_import_graphzero_imports_nothing_heavy() -> None:
    assert not imported_by("import graphzero") & set(HEAVY)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["convert", "--help"]])
def test_command_line_imports_nothing_heavy(arguments: list[str]) -> None:
    program = f"""
from graphzero.commands.cli import main
try:
    main({arguments!r})
except SystemExit as exit:
    assert exit.code == 0"""
    modules = imported_by(program)
    assert "argparse" in modules
    assert not modules & set(HEAVY)


def test_the_daemon_never_imports_what_only_terminals_need() -> None:
    assert "rich" not in imported_by("import graphzero.server.command, graphzero.server.app")


def test_opening_data_does_not_import_torch() -> None:
    assert "torch" not in imported_by("import graphzero; graphzero.Graph, graphzero.FeatureStore")
