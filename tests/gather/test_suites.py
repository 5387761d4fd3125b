"""The tests of sampler and client hold on every path: a short version here, `make test-paths` for
all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SHORT = ["client/test_sample.py", "client/test_loader.py", "sample/test_api.py"]


@pytest.mark.skipif("GRAPHZERO_FEATURE_IO" in os.environ, reason="is what it starts")
@pytest.mark.parametrize(("io", "topology_io"), [("cached", "mapped"), ("direct", "staged")])
def test_sampler_and_client_tests_pass_on_this_path(io, topology_io):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        + [str(TESTS / name) for name in SHORT],
        env={**os.environ, "GRAPHZERO_FEATURE_IO": io, "GRAPHZERO_TOPOLOGY_IO": topology_io},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
