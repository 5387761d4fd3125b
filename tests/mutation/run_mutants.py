"""Breaks the engine in each of the ways of mutants.py and says which ones the tests notice.

python run_mutants.py [WORDS...]: all mutants, or those whose name or file has one of the words.
Fails if one survives. The tests of all are run without a mutant first, on the same build.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from mutant_tree import ROOT, SWITCH, build
from mutants import MUTANTS, Mutant

# A mutant may well make a test wait for what never comes.
TEST_S = 120
ALL_S = 900


def run_tests(package: Path, tests: list[str], number: int) -> tuple[bool, str]:
    """Whether they passed, and the test that did not."""
    options = ["-x", "-q", "-p", "no:cacheprovider", f"--timeout={TEST_S}"]
    if number == 0:  # many files
        options += ["-n", str(len(os.sched_getaffinity(0)) + 1), "--dist", "loadfile"]
    environment = {**os.environ, "PYTHONPATH": str(package), SWITCH: str(number)}
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=ALL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, "no end"
    if done.returncode in (2, 3, 4, 5):  # pytest itself: nothing was tested
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    why = failed[0].split(" - ")[0] if failed else f"ended with {done.returncode}"
    return done.returncode == 0, why


def main() -> int:
    words = [word.lower() for word in sys.argv[1:]]
    chosen: list[tuple[int, Mutant]] = [
        (number, mutant)
        for number, mutant in enumerate(MUTANTS, start=1)
        if not words or any(word in f"{mutant.name} {mutant.file}".lower() for word in words)
    ]
    package = build(MUTANTS)
    every = sorted({test for _, mutant in chosen for test in mutant.tests})
    print(f"==> Running {len(every)} files of tests without a mutant", flush=True)
    passed, why = run_tests(package, every, 0)
    if not passed:
        print(f"they must pass without a mutant: {why}", file=sys.stderr)
        return 1
    survivors = []
    for number, mutant in chosen:
        begun = time.monotonic()
        passed, why = run_tests(package, list(mutant.tests), number)
        verdict = "SURVIVED" if passed else "caught"
        by = ", ".join(mutant.tests) if passed else why.removeprefix("FAILED ")
        print(
            f"{verdict:<9}{mutant.name} ({mutant.file}) by {by}, {time.monotonic() - begun:.0f} s",
            flush=True,
        )
        survivors += [mutant.name] if passed else []
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
