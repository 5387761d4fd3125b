"""Builds the harnesses of the engine: with clang as fuzzers, with any other compiler to replay."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "fuzz"
# Readers of files, and parsers of text.
TARGETS = ("topology", "matrix", "edge_text", "matrix_text", "text_table", "values")
# Debian's packages, the newest first; each has libFuzzer and the sanitizers beside it.
CLANG_VERSIONS = (19, 18, 17, 16, 15, 14)


@dataclass(frozen=True)
class Harnesses:
    """Programs. Fuzzers make inputs of their own; others run those that they are given."""

    directory: Path
    fuzzers: bool

    def program(self, target: str) -> Path:
        return self.directory / target


def find_clang() -> str | None:
    """A clang++ that has libFuzzer."""
    for name in ("clang++", *(f"clang++-{version}" for version in CLANG_VERSIONS)):
        found = shutil.which(name)
        if found is not None and _links_fuzzers(found):
            return found
    return None


def _links_fuzzers(compiler: str) -> bool:
    harness = (
        'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) {return 0;}'
    )
    with tempfile.TemporaryDirectory() as directory:
        command = [compiler, "-x", "c++", "-", "-fsanitize=fuzzer,address"]
        command += ["-o", str(Path(directory) / "probe")]
        tried = subprocess.run(command, input=harness.encode(), capture_output=True, check=False)
    return tried.returncode == 0


def install_clang() -> str | None:
    """Installs it where that may be done: as root, on Debian."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    for version in CLANG_VERSIONS:
        packages = [f"clang-{version}", f"libclang-rt-{version}-dev"]
        known = subprocess.run(["apt-cache", "show", *packages], capture_output=True, check=False)
        if known.returncode != 0:
            continue
        print("==> Installing", *packages, flush=True)
        command = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *packages]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return find_clang()
    return None


def build(compiler: str | None = None) -> Harnesses:
    """With the compiler, which must have libFuzzer; None: with c++, to replay."""
    directory = BUILD / ("clang" if compiler else "replay")
    print(f"==> Building the harnesses with {compiler or 'c++'}", flush=True)
    configure = ["cmake", "-S", str(HERE), "-B", str(directory), "-G", "Ninja"]
    configure += [f"-DCMAKE_CXX_COMPILER={compiler or 'c++'}"]
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": tools}
    for command in (configure, ["cmake", "--build", str(directory)]):
        done = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return Harnesses(directory, fuzzers=compiler is not None)
