"""What is inside the sdist and the wheel, and how the wheel was compiled."""

import json
import shlex
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
PACKAGE_FOLDERS = {
    "native/graphzero": "graphzero",
    "server": "graphzero/server",
    "client": "graphzero/client",
    "proto": "graphzero/proto",
}


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def sdist_names(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {"/".join(PurePosixPath(name).parts[1:]) for name in archive.getnames()}


@pytest.mark.parametrize(("folder", "package"), PACKAGE_FOLDERS.items())
def test_every_package_file_is_in_the_wheel(
    folder: str, package: str, wheel_names: set[str]
) -> None:
    sources = [
        path.relative_to(REPOSITORY / folder).as_posix()
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in {".py", ".pyi"} or path.name == "py.typed"
    ]
    assert "__init__.py" in sources
    assert {f"{package}/{name}" for name in sources} <= wheel_names


def test_wheel_holds_the_engine_its_stub_and_the_typing_marker(wheel_names: set[str]) -> None:
    assert {"graphzero/_engine.pyi", "graphzero/py.typed"} <= wheel_names
    assert any(n.startswith("graphzero/_engine.") and n.endswith(".so") for n in wheel_names)


def test_wheel_holds_the_generated_wire_contract(wheel_names: set[str]) -> None:
    modules = {"graphzero_pb2.py", "graphzero_pb2.pyi", "graphzero_pb2_grpc.py"}
    assert {f"graphzero/proto/{name}" for name in modules} <= wheel_names


def test_wheel_holds_the_package_and_its_metadata_only(wheel_names: set[str]) -> None:
    tops = {PurePosixPath(name).parts[0] for name in wheel_names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"graphzero"}
    assert not [n for n in wheel_names if n.endswith((".cpp", ".h", ".a", ".cmake", ".pyc"))]


def test_wheel_holds_the_licences(wheel_names: set[str]) -> None:
    licences = [name.partition(".dist-info/")[2] for name in wheel_names]
    assert "licenses/LICENSE" in licences
    assert "licenses/native/third_party/xxhash/LICENSE" in licences
    assert "licenses/server/web/page/vendor/uplot/LICENSE" in licences
    assert "licenses/native/third_party/nanobind/LICENSE" in licences
    assert "licenses/native/third_party/nanobind/LICENSE.robin-map" in licences


def test_one_wheel_serves_every_python_from_3_12_on(wheel: Path, wheel_names: set[str]) -> None:
    (engine,) = [name for name in wheel_names if name.endswith(".so")]
    own = f"cp3{sys.version_info.minor}"
    stable = sys.version_info >= (3, 12)
    assert wheel.name.split("-")[2:4] == (["cp312", "abi3"] if stable else [own, own])
    assert engine.endswith("_engine.abi3.so") == stable


def test_wheel_holds_every_file_of_the_page(wheel_names: set[str]) -> None:
    from graphzero.server.web.routes import _ASSETS

    page = REPOSITORY / "server/web/page"
    files = {path.relative_to(page).as_posix() for path in page.rglob("*") if path.is_file()}
    assert files >= {name for name, _ in _ASSETS.values()}
    assert {f"graphzero/server/web/page/{name}" for name in files} <= wheel_names


def test_sdist_holds_what_a_build_needs(sdist_names: set[str]) -> None:
    needed = ["CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "server/__init__.py"]
    native = [
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "native").rglob("*")
        if path.suffix in {".cpp", ".h", ".py", ".pyi"}
    ]
    assert {*needed, *native} <= sdist_names


def test_sdist_holds_no_build_products(sdist_names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in sdist_names}
    assert not tops & {".ci", ".git", ".venv", "build", "dist"}
    assert not [n for n in sdist_names if n.endswith((".so", ".o", ".pyc"))]


def test_wheel_runs_on_any_processor_of_its_architecture(wheel: Path, source_tree: Path) -> None:
    """Faster code paths are chosen at run time, so no flag may raise the baseline."""
    commands = json.loads(next(source_tree.glob("build/*/compile_commands.json")).read_text())
    assert any("native/base/file.cpp" in entry["file"] for entry in commands)
    raising = ("-march", "-mcpu", "-mtune=native", "-mavx", "-msse", "-mbmi", "-mfma", "-mpopcnt")
    for entry in commands:
        flags = shlex.split(entry["command"])
        assert not [flag for flag in flags if flag.startswith(raising)], entry["file"]
