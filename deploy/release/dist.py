"""Builds what is published, the sdist and from it the wheels, and checks each as users install it.

    python deploy/release/dist.py --out dist

Wheels are built for the interpreters of this machine (interpreters.py). auditwheel reads from the
symbols of the engine which systems it runs on, and names the wheel accordingly. Every wheel is
installed from the package index into an empty environment without a compiler, where smoke.py uses
it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

from interpreters import Interpreter, WheelPlan, find_interpreters, plan_wheels

REPOSITORY = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
# cmake and ninja as well, so that the versions are those of every other build of the project.
BUILD_REQUIREMENTS = ["scikit-build-core", "nanobind", "grpcio-tools", "cmake", "ninja"]
# The compiler's C++ library goes into the module, so that systems with an older one can load it,
# and stays invisible there with all but the module's entry, so that it does not mix with the one
# that torch or others bring. The unwinder (libgcc_s) stays shared: every glibc system has it, and
# Python, which ends its daemon threads by unwinding their stacks, must find the same unwinder in
# our frames as in all others.
EXPORTS = Path(__file__).resolve().with_name("exports.map")
LINKER_FLAGS = f"-static-libstdc++ -Wl,--version-script={EXPORTS}"


def run(*command: str | Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        shown = " ".join(map(str, command))
        sys.exit(f"{shown} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


def make_environment(interpreter: Interpreter, path: Path) -> Path:
    """The interpreter of a fresh virtual environment."""
    shutil.rmtree(path, ignore_errors=True)
    run(interpreter.path, "-m", "venv", path)
    return path / "bin/python"


def build_sdist(out: Path, work: Path) -> tuple[Path, Path]:
    """The sdist, and the folder that it unpacks to."""
    say("Building the sdist")
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", out, REPOSITORY)
    (sdist,) = out.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(work / "source", filter="data")
    (source,) = (work / "source").iterdir()
    return sdist, source


def build_wheel(plan: WheelPlan, source: Path, work: Path, out: Path) -> Path:
    """The wheel that auditwheel made of what the builder compiled."""
    say(f"Building the wheel of Python {plan.builder.name} (compiles C++)")
    folder = work / plan.builder.name
    python = make_environment(plan.builder, folder / "build-environment")
    pins = REPOSITORY / "tests/requirements.txt"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", pins, *BUILD_REQUIREMENTS)
    tools = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    run(
        *(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        "--config-settings=cmake.define.GRAPHZERO_WERROR=ON",
        f"--config-settings=cmake.define.CMAKE_MODULE_LINKER_FLAGS={LINKER_FLAGS}",
        *("--wheel-dir", folder / "compiled", source),
        env=tools,
    )
    (compiled,) = (folder / "compiled").glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder / "wheel", compiled)
    (wheel,) = (folder / "wheel").glob("*.whl")
    return Path(shutil.copy2(wheel, out))


def without_compiler(python: Path) -> dict[str, str]:
    """The variables of a machine on which nothing can be compiled."""
    kept = ("HOME", "LANG", "TMPDIR", "PIP_", "SSL_", "HTTP", "http", "no_proxy", "NO_PROXY")
    variables = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    return {**variables, "PATH": str(python.parent)}


def check_wheel(wheel: Path, interpreter: Interpreter, work: Path) -> dict[str, str]:
    """What smoke.py found in an environment with the wheel and what it requires."""
    say(f"Checking {wheel.name} on Python {interpreter.name} without a compiler")
    python = make_environment(interpreter, work / "checks" / interpreter.name)
    env = without_compiler(python)
    run(python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", wheel, env=env)
    found: dict[str, str] = json.loads(run(python, "-I", SMOKE, env=env))
    return found


def build_and_check(plans: list[WheelPlan], out: Path, work: Path) -> None:
    sdist, source = build_sdist(out, work)
    batches: dict[str, str] = {}
    lines = [f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB"]
    for plan in plans:
        wheel = build_wheel(plan, source, work, out)
        for user in plan.users:
            batches[user.name] = check_wheel(wheel, user, work)["batch"]
        users = ", ".join(user.name for user in plan.users)
        lines.append(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, runs on Python {users}")
    if len(set(batches.values())) != 1:
        sys.exit(f"the same request gives different batches: {batches}")
    say("\n    ".join([f"All wheels draw the same batch. In {out}:", *lines]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "build/dist")
    arguments = parser.parse_args()
    plans = plan_wheels(find_interpreters())
    if not plans:
        sys.exit("no Python from 3.10 on with its headers was found on PATH or by pyenv or uv")
    for folder in (arguments.out, arguments.work):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    build_and_check(plans, arguments.out.resolve(), arguments.work.resolve())


if __name__ == "__main__":
    main()
