"""gRPC reads sockets without its event engine, unless the user wants otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graphzero import _grpc_threads


@pytest.fixture(autouse=True)
def no_choice_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRPC_EXPERIMENTS", raising=False)


def with_grpcio(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(_grpc_threads.importlib.metadata, "version", lambda _: version)
    monkeypatch.setenv("GRPC_EXPERIMENTS", "to be restored")
    monkeypatch.delenv("GRPC_EXPERIMENTS")


@pytest.mark.parametrize("version", ["1.80.0", "1.85.1"])
def test_known_releases_go_without(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    with_grpcio(monkeypatch, version)
    _grpc_threads.prepare_grpc()
    assert "-event_engine_listener" in os.environ["GRPC_EXPERIMENTS"].split(",")


@pytest.mark.parametrize("version", ["1.79.9", "1.86.0rc1", "2.0.0", "2", "unknown"])
def test_other_releases_stay_as_they_are(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    with_grpcio(monkeypatch, version)
    _grpc_threads.prepare_grpc()
    assert "GRPC_EXPERIMENTS" not in os.environ


def test_the_users_choice_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRPC_EXPERIMENTS", "event_engine_listener")
    _grpc_threads.prepare_grpc()
    assert os.environ["GRPC_EXPERIMENTS"] == "event_engine_listener"


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
