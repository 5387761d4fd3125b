"""The package as a user gets it: an sdist, a wheel built from it, environments with little else.

Nothing is downloaded: an environment gets links to distributions that the tests' own has.
"""

import importlib.metadata
import os
import subprocess
import sys
import tarfile
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[2]
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
        subprocess.run(command, check=True)

    def run(self, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Runs one of the environment's programs as a user would, away from the repository."""
        variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        program = str(self.path / "bin" / command[0])
        return subprocess.run(
            [program, *command[1:]], cwd=cwd, env=variables, capture_output=True, text=True
        )


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    subprocess.run(
        [sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", str(out), REPOSITORY],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.tar.gz"))


@pytest.fixture(scope="session")
def source_tree(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked sdist: a checkout without git."""
    out = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(out, filter="data")
    return next(out.iterdir())


@pytest.fixture(scope="session")
def build_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    path = tmp_path_factory.mktemp("environments") / "build"
    return Environment.create(path, *run_requirements(), *build_requirements())


@pytest.fixture(scope="session")
def wheel(
    source_tree: Path,
    build_environment: Environment,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    build_environment.pip(
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--config-settings=cmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON",
        COMPILE_QUICKLY,
        f"--wheel-dir={out}",
        str(source_tree),
    )
    return next(out.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel and its declared requirements, and nothing else."""
    path = tmp_path_factory.mktemp("environments") / "installed"
    environment = Environment.create(path, *run_requirements())
    environment.pip("install", "--no-index", str(wheel))
    return environment


@pytest.fixture(scope="session")
def editable(source_tree: Path, wheel: Path, build_environment: Environment) -> Environment:
    """An editable install of the source tree. Comes after `wheel` to reuse what that compiled."""
    build_environment.pip(
        "install",
        "--no-index",
        "--no-build-isolation",
        COMPILE_QUICKLY,
        "--editable",
        str(source_tree),
    )
    return build_environment
