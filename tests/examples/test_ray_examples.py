"""The examples that use Ray, as their reader would run them: `make test-ray`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

pytest.importorskip("ray.cluster_utils", reason="needs Ray, which make test-ray installs")

EXAMPLES = Path(__file__).parent
TIMEOUT_S = 400  # a hang; nothing is measured


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gz-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def run(script: str, folder: Path, *options: str) -> dict[str, str]:
    """What it prints, by name."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("GRAPHZERO_")},
        "XDG_RUNTIME_DIR": str(folder),
        "RAY_TMPDIR": str(folder),  # short, for sockets
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    command = [sys.executable, str(EXAMPLES / script), *options]
    with (folder / "err").open("w+") as err:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            timeout=TIMEOUT_S,
        )
    assert done.returncode == 0, done.stdout + (folder / "err").read_text()
    return dict(re.findall(r"^(\w+) {2,}(.*)$", done.stdout, re.MULTILINE))


def test_two_nodes_have_the_losses_of_one_machine(folder: Path) -> None:
    two_nodes = run("ray_train.py", folder)
    one_node = run("ray_train.py", folder, "--nodes", "1", "--workers", "4")
    assert two_nodes == one_node
    assert two_nodes["ranks"] == "4"
    losses = [float(loss) for loss in two_nodes["losses"].split()]
    assert losses[-1] < losses[0] / 2
    assert float(two_nodes["accuracy"]) > 0.85
    copies = list((folder / "copies").glob("*/graph.gl"))
    assert len(copies) == 3  # of the two nodes, and of the one


def test_convert_takes_what_ray_data_wrote(folder: Path) -> None:
    told = run("ray_data.py", folder)
    days = [
        np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)
        for file in sorted((folder / "phone/raw").glob("*.csv"))
    ]
    calls = np.concatenate(days)
    answered = calls[calls[:, 2] > 0]
    people = np.unique(answered[:, :2])
    assert told == {
        "people": str(len(people)),
        "calls": str(len(answered)),
        "columns": "mean count",
    }
    import graphzero as gz

    ids = gz.OriginalIds(folder / "phone/dataset")
    x = gz.FeatureStore(folder / "phone/dataset/x.gd").gather(ids.find(people))
    own = [answered[answered[:, 0] == person][:, 2] / 60 for person in people]
    assert np.array_equal(np.asarray(x)[:, 1], [len(seconds) for seconds in own])
    means = [seconds.mean() if len(seconds) else 0.0 for seconds in own]
    assert np.allclose(np.asarray(x)[:, 0], means)
