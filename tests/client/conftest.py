"""Fixtures for tests of the client, all with a real daemon."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from daemon_process import DaemonProcess, daemon_pid


@pytest.fixture(scope="session")
def daemon_of() -> Iterator[Callable[[Path], Any]]:
    """daemon_of(data) -> a daemon for tests that leave it as it is, the same for all of them."""
    directory = Path(tempfile.mkdtemp(prefix="gz-"))
    running: dict[Path, DaemonProcess] = {}

    def start(data: Path) -> DaemonProcess:
        if data not in running:
            running[data] = DaemonProcess(data, directory / f"{len(running)}.sock")
        return running[data]

    yield start
    for process in running.values():
        process.stop()
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def daemon(daemon_of: Callable[[Path], Any], dataset: Path) -> Any:
    """Of the common dataset."""
    return daemon_of(dataset)


@pytest.fixture
def client(daemon: Any) -> Iterator[gz.Client]:
    with gz.connect(daemon.address) as connected:
        yield connected


@pytest.fixture
def graph(dataset: Path) -> gz.Graph:
    """The same data, embedded: what the daemon must agree with."""
    return gz.Graph(dataset)


@pytest.fixture
def column(dataset: Path) -> Callable[[str], Any]:
    """column(name) -> the whole column as NumPy reads it."""
    return lambda name: gz.FeatureStore(dataset / f"{name}.gd").get_tensor()


@pytest.fixture(scope="module")
def whole(dataset: Path) -> Any:
    """The same data as PyG holds it, in memory; edge_index by edge id."""
    import torch
    from torch_geometric.data import Data

    def tensor(name: str) -> torch.Tensor:
        return torch.from_numpy(gz.FeatureStore(dataset / f"{name}.gd").get_tensor())

    graph = gz.Graph(dataset)
    every = graph.sample(range(graph.num_nodes), [-1])
    order = every.e_id.argsort()
    return Data(
        x=tensor("x"),
        y=tensor("y"),
        edge_index=torch.from_numpy(every.edge_index[:, order]),
        edge_weight=torch.from_numpy(every.edge_weight[order]),
        when=tensor("when"),
    )


@pytest.fixture
def own_runtime_directory(
    runtime_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """For daemons that connect(data=) starts: they end with the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime_directory))
    monkeypatch.delenv("GRAPHZERO_ADDRESS", raising=False)
    yield
    for lock in (runtime_directory / "graphzero").glob("*.lock"):
        pid = daemon_pid(lock)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
