"""Fixtures that several folders of tests use."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import memory_group as control_group
import numpy as np
import pytest
from graphzero._grpc_setup import import_grpc

# Before anything else loads gRPC, as in a trainer: it says how to treat forks.
import_grpc()

from daemon_process import DaemonProcess  # noqa: E402

# No test is about time: a busy machine is no failure.
hypothesis.settings.register_profile("graphzero", deadline=None)
hypothesis.settings.load_profile("graphzero")


def pytest_configure() -> None:
    # A shell starts what runs in the background with SIGINT ignored, which children inherit; tests
    # of interruption need it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def runtime_directory() -> Iterator[Path]:
    """A short path for sockets, private to this test."""
    directory = Path(tempfile.mkdtemp(prefix="gz-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    where = tmp_path / "small"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(where)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a tmpfs here")
    yield where
    subprocess.run(["umount", str(where)], check=True)


@pytest.fixture
def start_daemon(runtime_directory: Path) -> Iterator[Callable[..., Any]]:
    """start_daemon(data, *options) -> a running DaemonProcess; stopped at the end of the test."""
    numbers = itertools.count()
    started = []

    def start(data: Path, *options: str, socket: Path | None = None, **rest: Any) -> Any:
        place = socket or runtime_directory / f"s{next(numbers)}.sock"
        daemon = DaemonProcess(data, place, *options, **rest)
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        if daemon.process.poll() is None:
            daemon.kill()
            from graphzero.server.process.lock import sweep_regions

            sweep_regions(daemon.instance_id)  # there is no next start to do it


@pytest.fixture
def memory_group() -> Any:
    """memory_group(limit): a context with a control group; skips where none can be made."""
    return control_group.memory_group


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 nodes with weights, edge ids, features x, labels y, an edge column and a split."""
    import graphzero as gz

    directory = tmp_path_factory.mktemp("data") / "small"
    directory.mkdir()
    rng = np.random.default_rng(7)
    nodes, edges = 2_000, 30_000
    gz.write_graph(
        directory / "graph.gl",
        rng.integers(0, nodes, edges),
        rng.integers(0, nodes, edges),
        weights=rng.random(edges, dtype=np.float32),
        num_nodes=nodes,
        edge_ids=True,
    )
    gz.write_features(directory / "x.gd", rng.random((nodes, 16), dtype=np.float32))
    gz.write_features(directory / "y.gd", rng.integers(0, 5, nodes))
    gz.write_features(directory / "when.gd", rng.random(edges, dtype=np.float32), role="edge")
    gz.write_features(directory / "train.gd", np.arange(0, nodes, 3), role="ids")
    return directory
