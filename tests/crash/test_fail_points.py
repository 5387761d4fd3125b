"""A crash at each of the places that base/fail_points.py names: what must hold holds after each."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from commands import GRAPHZERO
from contents import names
from daemon_watch import Watch
from graphzero.base.fail_points import FAIL_POINTS, VARIABLE
from graphzero.files.paths import files_of, find_problems, open_file
from processes import Trainer
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

OF_CONVERT = ("publish.filled", "publish.durable", "publish.replaced")
OF_STARTS = ("lock.taken", "lock.swept", "server.listening")
OF_DAEMONS = ("session.opened", "region.made", "result.filled", "region.mapped")
OF_TRAINERS = ("client.offered", "client.mapped", "client.received", "client.releasing")
RETRY = {"retry": True, "retry_timeout": 300}


def test_every_fail_point_has_a_test() -> None:
    assert sorted(FAIL_POINTS) == sorted(
        itertools.chain(OF_CONVERT, OF_STARTS, OF_DAEMONS, OF_TRAINERS)
    )


def test_a_name_that_is_none_is_an_error() -> None:
    command = [sys.executable, "-c", "import graphzero.base.fail_points"]
    done = subprocess.run(
        command, env={VARIABLE: "publish.fillled:kill"}, capture_output=True, text=True, check=False
    )
    assert "expected NAME:kill or NAME:error" in done.stderr


# --- conversions ---


def convert(tmp_path: Path, version: int, setting: str) -> subprocess.CompletedProcess[str]:
    """Of a ring with 100 + version nodes."""
    nodes = np.arange(100 + version)
    np.save(tmp_path / "edges.npy", np.stack([nodes, np.roll(nodes, 1)]))
    place = tmp_path / "place"
    place.mkdir(exist_ok=True)
    command = [GRAPHZERO, "convert", "--quiet", "--edges", tmp_path / "edges.npy"]
    command += ["--out", place / "ds", "--overwrite"]
    return subprocess.run(
        command, env={VARIABLE: setting}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("point", OF_CONVERT)
def test_a_conversion_that_is_killed_leaves_the_old_or_the_new_dataset(
    tmp_path: Path, point: str
) -> None:
    assert convert(tmp_path, 0, "").returncode == 0
    assert convert(tmp_path, 1, f"{point}:kill").returncode == -signal.SIGKILL
    dataset = tmp_path / "place" / "ds"
    expected = 101 if point == "publish.replaced" else 100
    assert gz.Graph(dataset).num_nodes == expected
    assert [p for file in files_of(dataset) for p in find_problems(open_file(file))] == []
    assert len(names(dataset.parent)) == 2  # and a draft, which the next run removes
    assert convert(tmp_path, 2, "").returncode == 0
    assert names(dataset.parent) == ["ds"]
    assert gz.Graph(dataset).num_nodes == 102


@pytest.mark.parametrize("point", OF_CONVERT)
def test_a_conversion_that_fails_says_so_and_leaves_nothing(tmp_path: Path, point: str) -> None:
    assert convert(tmp_path, 0, "").returncode == 0
    failed = convert(tmp_path, 1, f"{point}:error")
    assert failed.returncode == 1
    assert "No space left on device" in failed.stderr
    assert names(tmp_path / "place") == ["ds"]
    expected = 101 if point == "publish.replaced" else 100
    assert gz.Graph(tmp_path / "place" / "ds").num_nodes == expected


# --- daemons ---


def names_of(instance_id: str) -> list[str]:
    return [path.name for path in Path("/dev/shm").glob(f"graphzero-{instance_id}-*")]


def expect_the_batches_of_a_trainer_alone(address: str, trainer: Trainer) -> None:
    batches = trainer.finish()
    epochs = 1 + max(epoch for epoch, _ in batches)
    alone = Trainer(address, trainer.name, epochs).finish()
    assert {key: alone[key] for key in batches} == batches


@pytest.mark.parametrize("point", [*OF_STARTS, *OF_DAEMONS])
def test_a_daemon_that_dies_leaves_no_name_and_trainers_go_on_with_the_next(
    start_daemon: Callable[..., Any], dataset: Path, point: str
) -> None:
    """The trainer waits, so that a daemon which begins to serve has a session at once."""
    daemon = start_daemon(dataset)
    trainer = Trainer(daemon.address, "first", connect=RETRY)
    trainer.advance(3)
    instances = [daemon.instance_id]
    daemon.kill()
    daemon.env[VARIABLE] = f"{point}:kill"
    with contextlib.suppress(RuntimeError):  # if it died before it was seen to serve
        daemon.start()
    assert daemon.process.wait(timeout=DEADLINE_S) == -signal.SIGKILL
    instances.append(daemon.instance_id)
    if point in ("region.made", "result.filled"):
        assert names_of(instances[-1]), "the fail point is at the wrong place: no name is there"
    del daemon.env[VARIABLE]
    daemon.start()
    assert [name for instance in instances for name in names_of(instance)] == []
    trainer.advance(5)
    expect_the_batches_of_a_trainer_alone(daemon.address, trainer)


# --- trainers ---


@pytest.mark.parametrize("point", OF_TRAINERS)
def test_a_trainer_that_dies_leaves_nothing_with_the_daemon(
    start_daemon: Callable[..., Any], dataset: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    daemon = start_daemon(dataset)
    watch = Watch(daemon)
    before = watch.descriptors()
    other = Trainer(daemon.address, "other")
    other.advance(3)
    with monkeypatch.context() as patch:
        patch.setenv(VARIABLE, f"{point}:kill")
        victim = Trainer(daemon.address, "victim")
    assert victim.process.wait(timeout=DEADLINE_S) == -signal.SIGKILL
    wait_until(lambda: len(watch.stats().sessions) == 1, "the end of the killed trainer's session")
    other.advance(3)
    expect_the_batches_of_a_trainer_alone(daemon.address, other)
    watch.expect_nothing_held(before)
    watch.close()
