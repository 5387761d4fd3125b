"""The installed package, used from another directory without the repository or torch."""

import json
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SMOKE = Path(__file__).parents[2] / "deploy/release/smoke.py"


def succeed(completed: "subprocess.CompletedProcess[str]") -> str:
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_a_new_user_s_first_steps_work_without_a_compiler(installed: Any, tmp_path: Path) -> None:
    """What `make dist` asks of every wheel."""
    bare = [f"PATH={installed.path / 'bin'}", str(installed.path / "bin/python"), "-I", str(SMOKE)]
    done = subprocess.run(["/usr/bin/env", *bare], cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(succeed(done))
    assert found["engine"].startswith("_engine.")


# Modules that need an extra, and the extra. The environment has none.
EXTRAS = {
    "graphzero.client.pyg.": "pyg",
    "graphzero.client.ray.": "ray",
    "graphzero.client.torch_dataset": "torch",
    "graphzero.pyg": "pyg",
    "graphzero.ray": "ray",
    "graphzero.torch": "torch",
}


def test_every_module_imports(installed: Any, wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        modules = [
            name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for name in archive.namelist()
            if name.endswith(".py")
        ]
    modules = [name for name in modules if not name.startswith(tuple(EXTRAS))]
    imports = "\n".join(f"import {module}" for module in [*modules, "graphzero._engine"])
    succeed(installed.run("python", "-c", imports, cwd=tmp_path))


@pytest.mark.parametrize("module", ["graphzero.pyg", "graphzero.ray", "graphzero.torch"])
def test_a_module_of_an_extra_names_it(installed: Any, module: str, tmp_path: Path) -> None:
    completed = installed.run("python", "-c", f"import {module}", cwd=tmp_path)
    assert completed.returncode == 1
    assert f'pip install "graphzero-server[{EXTRAS[module]}]"' in completed.stderr


def test_every_public_name_resolves(installed: Any, tmp_path: Path) -> None:
    program = "import graphzero as gz; [getattr(gz, name) for name in gz.__all__]; print(gz)"
    shown = succeed(installed.run("python", "-c", program, cwd=tmp_path))
    assert str(installed.path) in shown


def test_version_is_that_of_the_distribution(installed: Any, tmp_path: Path) -> None:
    shown = succeed(installed.run("graphzero", "--version", cwd=tmp_path))
    assert shown == f"graphzero {version('graphzero-server')}\n"


def test_server_command_tells_its_version(installed: Any, tmp_path: Path) -> None:
    shown = succeed(installed.run("graphzero-server", "--version", cwd=tmp_path))
    assert shown == f"graphzero-server {version('graphzero-server')}\n"


def test_server_command_asks_for_data(installed: Any, tmp_path: Path) -> None:
    completed = installed.run("graphzero-server", cwd=tmp_path)
    assert completed.returncode == 1
    assert "--data DIR" in completed.stderr
    assert "Traceback" not in completed.stderr


def test_editable_install_runs(editable: Any, tmp_path: Path) -> None:
    succeed(editable.run("python", "-c", "import graphzero._engine", cwd=tmp_path))
    shown = succeed(editable.run("graphzero", "--version", cwd=tmp_path))
    assert shown == f"graphzero {version('graphzero-server')}\n"


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("native/graphzero/base/errors.py", "graphzero.base.errors"),
        ("server/__init__.py", "graphzero.server"),
    ],
)
def test_editable_install_sees_an_edit(
    source: str, module: str, editable: Any, source_tree: Path, tmp_path: Path
) -> None:
    with (source_tree / source).open("a") as file:
        file.write("\nEDITED = True\n")
    succeed(editable.run("python", "-c", f"from {module} import EDITED", cwd=tmp_path))
