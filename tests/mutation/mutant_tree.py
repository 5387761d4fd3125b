"""A copy of the package with every mutant in it, each behind a switch: one build serves them all.

The switch is the environment variable GRAPHZERO_MUTANT, a mutant's number; without it the copy does
what the package does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mutants import Mutant

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mutants"
SWITCH = "GRAPHZERO_MUTANT"
_SOURCES = ("native", "server", "client", "proto", "CMakeLists.txt", "pyproject.toml", "README.md",
            "LICENSE")  # fmt: skip
_INCLUDE = '#include "mutant_switch.h"\n'
_HEADER = f"""#pragma once
// What is only sometimes taken looks wrong to a compiler.
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#include <cstdlib>
inline const int graphzero_mutant = [] {{
  const char* const number = std::getenv("{SWITCH}");
  return number == nullptr ? 0 : std::atoi(number);
}}();
"""


def mutate(text: str, mutant: Mutant, number: int) -> str:
    """The text with the mutant in it, behind its switch."""
    place = mutant.at or mutant.old
    if text.count(place) != 1 or place.count(mutant.old) != 1:
        raise ValueError(
            f"mutant {mutant.name!r}: {place!r} stands {text.count(place)} times in {mutant.file}, "
            "expected once; the source has changed, and the mutant must follow it"
        )
    begin = text.index(place) + place.index(mutant.old)
    end = begin + len(mutant.old)
    indent = text[text.rfind("\n", 0, begin) + 1 : begin]
    python = mutant.file.endswith(".py")
    if python and not indent.strip():
        on = f'__import__("os").environ.get("{SWITCH}") == "{number}"'
        inner = f"{indent}    "
        both = f"if {on}:\n{inner}{mutant.new}\n{indent}else:\n{inner}{mutant.old}"
    elif python:
        on = f'__import__("os").environ.get("{SWITCH}") == "{number}"'
        both = f"(({mutant.new}) if {on} else ({mutant.old}))"
    elif mutant.old.endswith(";"):
        both = f"{{ if (graphzero_mutant == {number}) {{ {mutant.new} }} else {{ {mutant.old} }} }}"
    else:
        both = f"(graphzero_mutant == {number} ? ({mutant.new}) : ({mutant.old}))"
    return text[:begin] + both + text[end:]


def mutated_sources(mutants: Sequence[Mutant]) -> dict[str, str]:
    """Every file that has mutants, with all of them. They are numbered from 1."""
    sources: dict[str, str] = {}
    for number, mutant in enumerate(mutants, start=1):
        text = sources.get(mutant.file) or (ROOT / mutant.file).read_text()
        sources[mutant.file] = mutate(text, mutant, number)
    return {
        name: text if name.endswith(".py") else _INCLUDE + text for name, text in sources.items()
    }


def build(mutants: Sequence[Mutant]) -> Path:
    """The directory to put in front of PYTHONPATH."""
    tree, package = BUILD / "tree", BUILD / "package"
    changed = mutated_sources(mutants)
    for source in _SOURCES:
        whole = ROOT / source
        for file in [whole] if whole.is_file() else whole.rglob("*"):
            name = str(file.relative_to(ROOT))
            if file.is_file() and "__pycache__" not in name:
                data = changed[name].encode() if name in changed else file.read_bytes()
                _write(tree / name, data)
    _write(tree / "native" / "mutant_switch.h", _HEADER.encode())
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps"]
    command += ["--upgrade", "--target", str(package), str(tree)]
    # As `make build` calls the compiler, so that a cache of its results has most files.
    command += ["--config-settings=cmake.define.GRAPHZERO_WERROR=ON"]
    print(f"==> Building the package with {len(mutants)} mutants in it", flush=True)
    subprocess.run(command, check=True)
    return package


def _write(path: Path, data: bytes) -> None:
    """Unless it is so already: what is not touched is not compiled again."""
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
