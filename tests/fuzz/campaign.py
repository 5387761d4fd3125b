"""Coverage-guided fuzzing: `python campaign.py [--seconds S] [--keep] [TARGET...]`.

The targets of the engine are libFuzzer programs (*.cpp beside this file); `descriptions` is one of
Python, by atheris. Each runs for its share of the seconds. What it found reaches new code goes to
build/fuzz/corpus, so that the next run goes on from there; an input that broke something goes to
build/fuzz/findings and makes this program fail. `--keep` writes the smallest set of inputs that
reaches all code to corpus/, which is in the repository.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import fuzz_corpus
import harnesses

HERE = Path(__file__).parent
DESCRIPTIONS = "descriptions"
# Longest inputs: the largest golden file and some, or a text that a person could look at.
MOST_BYTES = {"topology": 160_000, "matrix": 24_000, "values": 64, DESCRIPTIONS: 2_000}
TEXT_BYTES = 600
# Bytes that a run may hold. A number taken from a file without doubt would soon ask for more.
MEMORY_MB = 2048
INPUT_SECONDS = 20


@dataclass(frozen=True)
class Outcome:
    target: str
    executions: int
    edges: int  # of the program's control flow that were reached
    inputs: int  # that each reach something of their own
    findings: list[Path]

    def __str__(self) -> str:
        found = ", ".join(str(path) for path in self.findings) or "nothing"
        return f"{self.target:<14}{self.executions:>12,}{self.edges:>9,}{self.inputs:>9,}   {found}"


def fuzz(target: str, program: list[str], seconds: float) -> Outcome:
    directory = harnesses.BUILD / "corpus" / target
    fuzz_corpus.write(target, directory)
    found = harnesses.BUILD / "findings" / target
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    options = {
        "max_total_time": max(1, round(seconds)),
        "max_len": MOST_BYTES.get(target, TEXT_BYTES),
        "rss_limit_mb": MEMORY_MB,
        "timeout": INPUT_SECONDS,
        "artifact_prefix": f"{found}/",
        "print_final_stats": 1,
        "verbosity": 1,
    }
    dictionary = HERE / f"{target}.dict"
    command = [*program, *(f"-{name}={value}" for name, value in options.items())]
    command += [f"-dict={dictionary}"] if dictionary.exists() else []
    print(f"==> {target} for {seconds:.0f} s", flush=True)
    log = found.with_suffix(".log")
    with log.open("w") as output:
        code = subprocess.run(
            [*command, str(directory)],
            env=_environment(),
            stdout=output,
            stderr=output,
            check=False,
        ).returncode
    text = log.read_text(errors="replace")
    new = sorted(set(found.iterdir()) - before)
    if code != 0 and not new:
        raise RuntimeError(f"{target} ended with {code}; {log} ends:\n{text[-3000:]}")
    return Outcome(target, *_statistics(text), new)


def _statistics(log: str) -> tuple[int, int, int]:
    executions = re.findall(r"^#(\d+)\s", log, re.MULTILINE)
    exact = re.findall(r"stat::number_of_executed_units:\s*(\d+)", log)
    coverage = re.findall(r"cov: (\d+) .*?corp: (\d+)", log)
    edges, inputs = coverage[-1] if coverage else (0, 0)
    return int((exact or executions or ["0"])[-1]), int(edges), int(inputs)


def _environment() -> dict[str, str]:
    # A file that asks for too much is an error of ours, said by the limit above. Leaks are looked
    # for at the end of each run, not after each input.
    return {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}


def keep(target: str, program: list[str]) -> None:
    """The fewest inputs that reach what all of them do."""
    fewest = harnesses.BUILD / "fewest" / target
    shutil.rmtree(fewest, ignore_errors=True)
    fewest.mkdir(parents=True)
    whole = harnesses.BUILD / "corpus" / target
    most = MOST_BYTES.get(target, TEXT_BYTES)
    command = [*program, "-merge=1", f"-max_len={most}", str(fewest), str(whole)]
    subprocess.run(command, env=_environment(), capture_output=True, check=True)
    count = len(list(fewest.iterdir()))
    print(f"{target}: kept {fuzz_corpus.keep(target, fewest)} of {count} inputs")


def programs(targets: list[str]) -> dict[str, list[str]]:
    """How each target is started."""
    found: dict[str, list[str]] = {}
    native = [target for target in targets if target != DESCRIPTIONS]
    if native:
        compiler = harnesses.find_clang() or harnesses.install_clang()
        if compiler is None:
            raise SystemExit(
                "no clang++ with libFuzzer here: install clang-19 and libclang-rt-19-dev (Debian), "
                "or what your distribution calls clang and compiler-rt"
            )
        built = harnesses.build(compiler)
        found = {target: [str(built.program(target))] for target in native}
    if DESCRIPTIONS in targets:
        found[DESCRIPTIONS] = [sys.executable, str(HERE / "descriptions.py")]
    return found


def main() -> int:
    every = [*harnesses.TARGETS, DESCRIPTIONS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", choices=[[], *every], metavar="TARGET", default=[])
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--keep", action="store_true", help="write corpus/ anew afterwards")
    arguments = parser.parse_args()
    targets = arguments.targets or every
    started = programs(targets)
    begun = time.monotonic()
    outcomes = [
        fuzz(target, program, arguments.seconds / len(started))
        for target, program in started.items()
    ]
    print(f"{'target':<14}{'executions':>12}{'edges':>9}{'inputs':>9}   broke")
    print(*outcomes, sep="\n")
    total = sum(outcome.executions for outcome in outcomes)
    print(f"{total:,} executions in {time.monotonic() - begun:.0f} s")
    if arguments.keep:
        for target in targets:
            keep(target, started[target])
    return 1 if any(outcome.findings for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
