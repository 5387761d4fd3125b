"""No damage to a file crashes, hangs or goes unnoticed."""

import subprocess
import sys
from pathlib import Path

import golden
import pytest

WORKER = Path(__file__).parent / "damage_worker.py"
# One of each layout; every case of a file runs in one process.
FILES = [
    "directed.gl",
    "named_weights.gl",
    "symmetric.gl",
    "typed.gl",
    "timed.gl",
    "graphzero02.gl",
    "graphzero02_weighted.gl",
    "float32.gd",
    "float16_padded.gd",
    "bool_edges.gd",
    "cube.gd",
    "split.gd",
    "quantised.gd",
    "graphzero02.gd",
    "graphzero02_int64.gd",
]
HANGS_AFTER_S = 900

# A typed file has many sections, and each bit of their entries is a case.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(HANGS_AFTER_S + 60)]


@pytest.mark.parametrize("name", FILES)
def test_every_cut_and_flipped_bit_is_refused_or_found(name, tmp_path):
    command = [sys.executable, str(WORKER), str(golden.DIRECTORY / name), str(tmp_path)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"{name}, {current_case(tmp_path)}: hangs")
    assert done.returncode == 0, (
        f"{name}, {current_case(tmp_path)}: exit code {done.returncode}\n{done.stderr}"
    )
    *wrong, count = done.stdout.splitlines()
    assert wrong == []
    # As many as there are bytes to cut and header bits to flip, at least.
    assert int(count) > (golden.DIRECTORY / name).stat().st_size


def current_case(directory: Path) -> str:
    return (directory / "current").read_bytes()[:128].rstrip(b"\0").decode()
