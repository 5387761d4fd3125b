"""Each example runs as its reader would run it, and beats the baseline that it states."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from daemon_process import daemon_pid

EXAMPLES = Path(__file__).parent
TIMEOUT_S = 600  # a hang; nothing is measured

pytest.importorskip("torch", reason="needs the extra [torch]")


@pytest.fixture
def environment(runtime_directory: Path) -> Iterator[dict[str, str]]:
    """Daemons that an example starts have their sockets here, and end with the test."""
    yield {
        **{k: v for k, v in os.environ.items() if not k.startswith("GRAPHZERO_")},
        "XDG_RUNTIME_DIR": str(runtime_directory),
        "OMP_NUM_THREADS": "1",
    }
    for lock in runtime_directory.glob("graphzero/*.lock"):
        pid = daemon_pid(lock)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)


def run(command: list[str], directory: Path, environment: dict[str, str]) -> str:
    # Into files: a daemon that was started keeps a pipe open.
    with (directory / "out").open("w+") as out, (directory / "err").open("w+") as err:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=directory,
            env=environment,
            stdout=out,
            stderr=err,
            timeout=TIMEOUT_S,
        )
        assert done.returncode == 0, (directory / "err").read_text()
        return (directory / "out").read_text()


def metric(name: str, output: str) -> float:
    found = re.search(rf"^{name}\s+([0-9.]+)", output, re.MULTILINE)
    assert found is not None, output
    return float(found[1])


def test_node_classification_beats_pixels(tmp_path: Path, environment: dict[str, str]) -> None:
    pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")
    output = run([str(EXAMPLES / "node_classification.py")], tmp_path, environment)
    assert metric("accuracy", output) > metric("baseline accuracy", output) + 0.03


def test_link_prediction_beats_common_neighbours_and_its_own_leak(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("torch_geometric", reason="needs the extra [pyg]")
    example = str(EXAMPLES / "link_prediction.py")
    output = run([example], tmp_path, environment)
    reached = metric("area under the curve", output)
    assert reached > metric("baseline area under the curve", output) + 0.01
    assert reached > metric("area under the curve", run([example, "--leak"], tmp_path, environment))


def test_node2vec_beats_pixels_and_draws_a_picture(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("matplotlib")
    output = run([str(EXAMPLES / "node2vec.py"), "--picture", "p.png"], tmp_path, environment)
    assert metric("accuracy", output) > metric("baseline accuracy", output) + 0.03
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_two_ranks_train_from_one_daemon(tmp_path: Path, environment: dict[str, str]) -> None:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    output = run([*torchrun, str(EXAMPLES / "ddp.py")], tmp_path, environment)
    assert metric("ranks", output) == 2
    assert metric("accuracy", output) > metric("baseline accuracy", output) + 0.03
    locks = list(Path(environment["XDG_RUNTIME_DIR"]).glob("graphzero/*.lock"))
    assert len(locks) == 1  # one daemon served both
