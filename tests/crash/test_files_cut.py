"""Files that are cut short while a command reads them: a result or an error, never a signal.

GRAPHZERO_CUTS sets how many are cut for each way to read; `make crash` sets it high.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from cut_files import KINDS

pytestmark = pytest.mark.slow

CUTS = int(os.environ.get("GRAPHZERO_CUTS", "6"))
PROGRAM = Path(__file__).with_name("cut_files.py")


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_whose_files_are_cut_ends_with_a_result_or_names_the_file(
    tmp_path: Path, kind: str
) -> None:
    seed = random.randrange(2**32)
    done = subprocess.run(
        [sys.executable, PROGRAM, kind, str(CUTS), str(seed), tmp_path],
        capture_output=True,
        text=True,
        timeout=120 + 10 * CUTS,
    )
    last = "\n".join(done.stdout.splitlines()[-2:])
    assert (done.returncode, done.stderr) == (0, ""), f"seed {seed}: {last}"
    outcomes = done.stdout.splitlines()[1::2]
    assert len(outcomes) == CUTS
    print(f"{kind}: {outcomes.count('error')} errors, {outcomes.count('success')} successes")
