"""The tests of sampler and client hold on every path: the requests of a client and the calls of the
sampler here, `make test-paths` for all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
# What samples in one process reads no features: it is run where the graph is read in another way.
REQUESTS = ["client/test_sample.py"]
PATHS = {
    "cached:mapped": REQUESTS,
    "direct:staged": [*REQUESTS, "sample/test_api.py"],
}


@pytest.mark.skipif("GRAPHZERO_FEATURE_IO" in os.environ, reason="is what it starts")
@pytest.mark.parametrize("path", PATHS)
def test_sampler_and_client_tests_pass_on_this_path(path):
    io, _, topology_io = path.partition(":")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        + [str(TESTS / name) for name in PATHS[path]],
        env={**os.environ, "GRAPHZERO_FEATURE_IO": io, "GRAPHZERO_TOPOLOGY_IO": topology_io},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
