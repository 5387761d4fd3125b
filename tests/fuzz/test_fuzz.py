"""Each harness for a few seconds; where no clang with libFuzzer is, its inputs are replayed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import campaign
import fuzz_corpus
import pytest
from harnesses import HERE, TARGETS, Harnesses, build, find_clang

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first one compiles the engine

SECONDS = 3


@pytest.fixture(scope="module")
def harnesses() -> Harnesses:
    return build(find_clang())


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_breaks_the_engine(harnesses: Harnesses, target: str, tmp_path: Path) -> None:
    program = str(harnesses.program(target))
    if harnesses.fuzzers:
        outcome = campaign.fuzz(target, [program], SECONDS)
        assert outcome.findings == []
        assert outcome.executions > 0
        return
    assert fuzz_corpus.write(target, tmp_path) > 0
    subprocess.run([program, *map(str, tmp_path.iterdir())], check=True)


def test_no_description_of_tables_breaks_anything() -> None:
    pytest.importorskip("atheris", reason="make fuzz installs atheris")
    program = [sys.executable, str(HERE / "descriptions.py")]
    assert campaign.fuzz(campaign.DESCRIPTIONS, program, SECONDS).findings == []
