"""The actor of one node, without a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import graphzero as gz
import pytest

pytestmark = pytest.mark.slow

# Two jobs on one node, each with its actor; the source is replaced between them.
PROGRAM = """
import os, sys, types
ray = types.ModuleType("ray")
ray.get_runtime_context = lambda: types.SimpleNamespace(get_node_id=lambda: "node1")
sys.modules["ray"] = ray
import graphzero as gz
from graphzero.client.ray import node_daemon
source, second, copy, reloads = sys.argv[1:]

def served():
    plan = node_daemon.DaemonPlan(source, copy or None, ("--threads", "1"), {"overwrite": True})
    with gz.connect(node_daemon.NodeDaemon(plan).address()) as client:
        return client.info().dataset.fingerprint

print(served(), flush=True)
os.rename(source, source + "-before")
os.rename(second, source)
if reloads == "no":
    node_daemon.let_reload = lambda *args, **options: False
try:
    print(served(), flush=True)
except gz.StartFailed as error:
    print(error, flush=True)
os._exit(0)  # the actors' threads go on for ever; the daemon ends with this process
"""


def fingerprint(path: Path) -> str:
    from graphzero.files.dataset import open_dataset

    return open_dataset(path).fingerprint.hex()


def run_two_jobs(runtime: Path, folder: Path, copy: str, reloads: str) -> list[str]:
    places = [str(folder / "source"), str(folder / "second"), copy, reloads]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *places],
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def folder(dataset: Path, tmp_path: Path) -> Path:
    """With a dataset, and another one that will take its place."""
    shutil.copytree(dataset, tmp_path / "source")
    gz.generate(tmp_path / "second", nodes=500, edges=2000, dim=4, seed=2)
    return tmp_path


@pytest.mark.parametrize("copied", [True, False])
def test_a_second_job_gets_the_present_version_from_the_daemon_of_the_first(
    runtime_directory: Path, folder: Path, copied: bool
) -> None:
    expected = [fingerprint(folder / "source"), fingerprint(folder / "second")]
    copy = str(folder / "copy-{node}") if copied else ""
    assert run_two_jobs(runtime_directory, folder, copy, "yes") == expected
    assert (folder / "copy-node1").exists() == copied


def test_a_daemon_that_cannot_serve_the_present_version_is_an_error(
    runtime_directory: Path, folder: Path
) -> None:
    first, second = fingerprint(folder / "source"), fingerprint(folder / "second")
    _, text = run_two_jobs(runtime_directory, folder, str(folder / "copy-{node}"), "no")
    assert f"copy-node1 was replaced: found fingerprint {second}, but the daemon" in text
    assert f"serves {first}; send it SIGHUP" in text
