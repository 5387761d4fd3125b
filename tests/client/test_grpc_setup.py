"""gRPC is set up without a trace: neither the program nor what it starts finds anything changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graphzero.transport import grpc_setup


def with_grpcio(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(grpc_setup.importlib.metadata, "version", lambda _: version)


@pytest.mark.parametrize("version", ["1.80.0", "1.85.1"])
def test_known_releases_go_without_event_engine(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    with_grpcio(monkeypatch, version)
    assert "-event_engine_listener" in grpc_setup._settings()["GRPC_EXPERIMENTS"].split(",")


@pytest.mark.parametrize("version", ["1.79.9", "1.86.0rc1", "2.0.0", "2", "unknown"])
def test_other_releases_stay_as_they_are(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    with_grpcio(monkeypatch, version)
    assert "GRPC_EXPERIMENTS" not in grpc_setup._settings()


# gRPC complains on stderr of an experiment that it does not know, which shows what it was told.
PROGRAM = """
import os, subprocess, sys
{first}
from graphzero.transport import grpc_setup
grpc_setup._WITHOUT_EVENT_ENGINE = "{experiments}"
import graphzero as gz
gz.connect({address!r}).sample([0], [2])
print(*(name for name in os.environ if name in grpc_setup._settings()))
for line in subprocess.run(["env"], capture_output=True, text=True, check=True).stdout.splitlines():
    print(*(name for name in grpc_setup._settings() if line.startswith(name + "=")), end="")
if os.fork() == 0:  # gRPC's own handlers would say something on stderr
    os._exit(0)
os.wait()
"""


def run_trainer(
    address: str, *, first: str = "", experiments: str = "", **environment: str
) -> tuple[list[str], str]:
    """Settings that the program and a child of it find in their environment; and stderr."""
    program = PROGRAM.format(address=address, first=first, experiments=experiments)
    others = {name: os.environ[name] for name in os.environ if name not in grpc_setup._settings()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=others | environment,
    )
    return done.stdout.split(), done.stderr


def test_settings_reach_grpc_and_leave_no_trace(daemon: Any) -> None:
    found, errors = run_trainer(daemon.address, experiments="-of_graphzero")
    assert "Unknown experiment: of_graphzero" in errors
    assert found == []


def test_nothing_is_said_when_the_program_forks(daemon: Any) -> None:
    assert run_trainer(daemon.address) == ([], "")


def test_the_users_choice_stands(daemon: Any) -> None:
    found, errors = run_trainer(
        daemon.address, experiments="-of_graphzero", GRPC_EXPERIMENTS="-of_the_user"
    )
    assert "of_the_user" in errors
    assert "of_graphzero" not in errors
    assert found == ["GRPC_EXPERIMENTS"] * 2


def test_a_program_that_has_loaded_grpc_before_is_left_alone(daemon: Any) -> None:
    found, errors = run_trainer(daemon.address, first="import grpc", experiments="-of_graphzero")
    assert "of_graphzero" not in errors
    assert found == []


def test_the_installed_release_knows_the_names(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    trainer = f"import graphzero as gz; print(gz.connect({daemon.address!r}).sample([0], [2]).seed)"
    run = subprocess.run(
        [sys.executable, "-c", trainer], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip().isdigit()
    assert run.stderr == ""
    assert "experiment" not in daemon.log.read_text()
