"""The Python interpreters of this machine, and for which of them wheels are built and checked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST = (3, 10)
# From here on one wheel, compiled for the stable ABI, serves every version (see wheel.py-api in
# pyproject.toml).
STABLE_ABI = (3, 12)

# A venv's interpreter answers with the one that it was made from. Its sys._base_executable would
# say the same from Python 3.11 on; that of 3.10 may name the venv's interpreter itself.
ASK = """
import json, platform, sys, sysconfig, os
base = sys.executable
if sys.prefix != sys.base_prefix:
    base = os.path.join(sys.base_prefix, "bin", "python%d.%d" % sys.version_info[:2])
    if not os.path.exists(base):
        base = sys._base_executable
headers = os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h"))
other = platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED")
print(json.dumps([base, sys.version_info[:2], headers, not other]))
"""


@dataclass(frozen=True)
class Interpreter:
    path: Path
    version: tuple[int, int]
    headers: bool  # without them it can run a wheel and cannot build one

    @property
    def name(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"


def ask(path: Path) -> Interpreter | None:
    """None if it does not run, is too old, or is another Python than CPython."""
    done = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True)
    if done.returncode != 0:
        return None  # pyenv's shims fail so for versions that are not chosen
    base, version, headers, usable = json.loads(done.stdout)
    major, minor = version
    if not usable or (major, minor) < OLDEST:
        return None
    return Interpreter(Path(base), (major, minor), headers)


def places() -> Iterator[Path]:
    """Where interpreters lie: on PATH, and where pyenv and uv keep those they installed."""
    for minor in range(OLDEST[1], OLDEST[1] + 10):
        found = shutil.which(f"python3.{minor}")
        if found is not None:
            yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    yield from sorted(pyenv.glob("versions/3.*/bin/python3"))
    yield from sorted(data.glob("uv/python/cpython-3.*/bin/python3"))


def find_interpreters() -> list[Interpreter]:
    """One of each version, in ascending order; one with headers if there is any."""
    found: dict[tuple[int, int], Interpreter] = {}
    for path in places():
        interpreter = ask(path)
        if interpreter is None:
            continue
        known = found.get(interpreter.version)
        if known is None or (interpreter.headers and not known.headers):
            found[interpreter.version] = interpreter
    return [found[version] for version in sorted(found)]


@dataclass(frozen=True)
class WheelPlan:
    """One wheel: which interpreter builds it, and on which it must run."""

    builder: Interpreter
    users: list[Interpreter]


def plan_wheels(interpreters: list[Interpreter]) -> list[WheelPlan]:
    """A wheel for each version before the stable ABI, and one for all from there on.

    The oldest interpreter of the stable ABI builds it, and all of them check it.
    """
    old = [one for one in interpreters if one.version < STABLE_ABI]
    stable = [one for one in interpreters if one.version >= STABLE_ABI]
    plans = [WheelPlan(one, [one]) for one in old if one.headers]
    builders = [one for one in stable if one.headers]
    return [*plans, WheelPlan(builders[0], stable)] if builders else plans
