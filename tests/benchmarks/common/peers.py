"""The environments of those that are compared with, made here and pinned. PyPI's packages only.

DGL has an environment of its own, with the torch that its wheels are built for; GraphZero's wheel
is put there too, so that both can be measured under the same torch. PyG lies in .venv; what its
loader samples with, torch-sparse, is compiled against the torch of .venv and found beside it.
pyg-lib, its other and faster sampler, is not on PyPI: it takes part if .venv has it.

    python tests/benchmarks/common/peers.py     # makes what is missing, says what there is
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
PLACE = ROOT / ".venv-peers"
DGL_REQUIREMENTS = ROOT / "tests/peers-dgl.txt"
PYG_REQUIREMENTS = ROOT / "tests/peers-pyg.txt"
# What GraphZero's client needs beside NumPy and torch, with the versions of .venv.
CLIENT_NEEDS = ("grpcio", "grpcio-health-checking", "protobuf", "typing-extensions")


@dataclass
class Peers:
    dgl: str | None = None
    """An interpreter that has DGL."""
    dgl_has_ours: bool = False
    """Whether GraphZero is installed beside it."""
    pyg_env: dict[str, str] | None = None
    """Variables with which this interpreter finds PyG's sampler."""
    pyg_sampler: str = ""
    missing: dict[str, str] = field(default_factory=dict)
    """Who cannot take part, and why."""


def find_peers(*, make: bool = True) -> Peers:
    """Those that are there; `make` installs what is missing, which takes minutes once."""
    found = Peers()
    _find_dgl(found, make=make)
    _find_pyg(found, make=make)
    return found


def _find_dgl(found: Peers, *, make: bool) -> None:
    place = PLACE / "dgl"
    python = str(place / "bin/python")
    try:
        if make and not _stamped(place, DGL_REQUIREMENTS):
            print("    installing DGL and its torch", file=sys.stderr, flush=True)
            _run([sys.executable, "-m", "venv", str(place)])
            _run([python, "-m", "pip", "install", "-qq", "--requirement", str(DGL_REQUIREMENTS)])
            _stamp(place, DGL_REQUIREMENTS)
        _run([python, "-c", "import dgl.graphbolt"], DGLBACKEND="pytorch")
        found.dgl = python
    except (OSError, subprocess.CalledProcessError) as error:
        found.missing["DGL 2.1 GraphBolt"] = _why(error)
        return
    wheels = list((ROOT / "build/wheel").glob("*.whl"))
    try:
        if make and wheels:
            versions = [f"{name}=={_version(name)}" for name in CLIENT_NEEDS]
            pip = [python, "-m", "pip", "install", "-qq"]
            _run([*pip, *versions])
            _run([*pip, "--no-deps", "--force-reinstall", str(wheels[0])])
        _run([python, "-c", "import graphzero, torch; graphzero.connect"])
        found.dgl_has_ours = True
    except (OSError, subprocess.CalledProcessError) as error:
        found.missing["GraphZero under DGL's torch"] = _why(error)


def _find_pyg(found: Peers, *, make: bool) -> None:
    if _imports("import pyg_lib, torch_geometric"):
        found.pyg_env, found.pyg_sampler = {}, "pyg-lib"
        return
    found.missing["PyG with pyg-lib"] = "pyg-lib is not on PyPI; torch-sparse samples instead"
    place = PLACE / "pyg"
    env = {"PYTHONPATH": str(place)}
    try:
        if make and not _stamped(place, PYG_REQUIREMENTS):
            print("    compiling torch-sparse", file=sys.stderr, flush=True)
            pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-build-isolation"]
            pip += ["--no-deps", "--upgrade", "--target", str(place)]
            _run([*pip, "--requirement", str(PYG_REQUIREMENTS)])
            _stamp(place, PYG_REQUIREMENTS)
        _run([sys.executable, "-c", "import torch_sparse, torch_geometric"], **env)
        found.pyg_env, found.pyg_sampler = env, "torch-sparse"
    except (OSError, subprocess.CalledProcessError) as error:
        found.missing["PyG with torch-sparse"] = _why(error)


def _imports(code: str) -> bool:
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _run(command: list[str], **env: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **env})


def _why(error: Exception) -> str:
    told = getattr(error, "stderr", "") or str(error)
    return str(told).strip().splitlines()[-1][:200]


def _stamp(place: Path, requirements: Path) -> None:
    (place / ".requirements").write_text(_digest(requirements))


def _stamped(place: Path, requirements: Path) -> bool:
    stamp = place / ".requirements"
    return stamp.exists() and stamp.read_text() == _digest(requirements)


def _digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes()).hexdigest()


if __name__ == "__main__":
    there = find_peers()
    if "--require" in sys.argv and not (there.dgl and there.pyg_env is not None):
        sys.exit(f"not all could be installed: {there.missing}")
    print(f"DGL: {there.dgl or 'missing'}")
    print(f"PyG: {there.pyg_sampler or 'missing'}")
    for who, why in there.missing.items():
        print(f"{who}: {why}")
