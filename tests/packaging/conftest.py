"""The package as a user gets it: an sdist, a wheel built from it, environments with little else.

Nothing is downloaded: an environment gets links to distributions that the tests' own has.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
# What is tested here is what gets packed, and how, not how fast it runs.
COMPILE_QUICKLY = "--config-settings=cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O0"
BUILD_REQUIREMENTS = ["scikit-build-core", "nanobind", "grpcio-tools", "cmake", "ninja"]


def requirements_of(*names: str) -> set[str]:
    """Names of the distributions that these need to run, theirs included, extras left out."""
    found: set[str] = set()
    for name in names:
        for line in importlib.metadata.requires(name) or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                found |= {requirement.name, *requirements_of(requirement.name)}
    return found


def run_requirements() -> set[str]:
    """What pyproject.toml declares."""
    return requirements_of("graphzero-server")


def build_requirements() -> set[str]:
    return {*BUILD_REQUIREMENTS, *requirements_of(*BUILD_REQUIREMENTS)}


@dataclass(frozen=True)
class Environment:
    """A virtual environment in which only what was linked or installed can be imported."""

    path: Path

    @classmethod
    def create(cls, path: Path, *distributions: str) -> "Environment":
        venv.create(path, symlinks=True)
        environment = cls(path)
        for name in distributions:
            environment._link(importlib.metadata.distribution(name))
        return environment

    @property
    def site_packages(self) -> Path:
        return next(self.path.glob("lib/python*/site-packages"))

    def _link(self, distribution: importlib.metadata.Distribution) -> None:
        tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] != ".."}
        for top in tops:
            link = self.site_packages / top
            if not link.exists():
                link.symlink_to(str(distribution.locate_file(top)))

    def pip(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "-qq", "--python", str(self.path), *arguments]
        subprocess.run(["nice", *command], check=True)

    def run(self, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Runs one of the environment's programs as a user would, away from the repository."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        program = str(self.path / "bin" / command[0])
        return subprocess.run(
            [program, *command[1:]], cwd=cwd, env=variables, capture_output=True, text=True
        )


@dataclass(frozen=True)
class Built:
    """An sdist, unpacked (a checkout without git), and the wheel that was built from it."""

    sdist: Path
    source_tree: Path
    environment: Environment
    wheel: Path


def build_all(where: Path) -> Built:
    subprocess.run(
        [sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", str(where), REPOSITORY],
        check=True,
        capture_output=True,
    )
    sdist = next(where.glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:
        archive.extractall(where / "source", filter="data")
    source_tree = next((where / "source").iterdir())
    requirements = (*run_requirements(), *build_requirements())
    environment = Environment.create(where / "environment", *requirements)
    environment.pip(
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--config-settings=cmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON",
        COMPILE_QUICKLY,
        f"--wheel-dir={where / 'wheel'}",
        str(source_tree),
    )
    return Built(sdist, source_tree, environment, next((where / "wheel").glob("*.whl")))


class BuildAhead:
    """Compiles while other tests run, most of which wait for something else than a processor."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="gz-packaging-"))
        self._thread = ThreadPoolExecutor(1)
        self.built = self._thread.submit(build_all, self._directory)

    def end(self) -> None:
        self._thread.shutdown(wait=True)
        shutil.rmtree(self._directory, ignore_errors=True)


_ahead: list[BuildAhead] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    users = [item for item in session.items if item.path.is_relative_to(HERE)]
    if any({"sdist", "wheel"} & set(getattr(item, "fixturenames", ())) for item in users):
        _ahead.append(BuildAhead())


def pytest_unconfigure() -> None:
    for ahead in _ahead:
        ahead.end()


@pytest.fixture(scope="session")
def built() -> Built:
    return _ahead[0].built.result()


@pytest.fixture(scope="session")
def sdist(built: Built) -> Path:
    return built.sdist


@pytest.fixture(scope="session")
def source_tree(built: Built) -> Path:
    return built.source_tree


@pytest.fixture(scope="session")
def wheel(built: Built) -> Path:
    return built.wheel


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel and its declared requirements, and nothing else."""
    path = tmp_path_factory.mktemp("environments") / "installed"
    environment = Environment.create(path, *run_requirements())
    environment.pip("install", "--no-index", str(wheel))
    return environment


@pytest.fixture(scope="session")
def editable(built: Built) -> Environment:
    """An editable install of the source tree, which reuses what the wheel compiled."""
    built.environment.pip(
        "install",
        "--no-index",
        "--no-build-isolation",
        COMPILE_QUICKLY,
        "--editable",
        str(built.source_tree),
    )
    return built.environment
