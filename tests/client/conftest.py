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


@pytest.fixture(scope="session")
def films() -> Any:
    """A graph with types as PyG holds it."""
    from hetero_graphs import hetero_graph

    return hetero_graph()


@pytest.fixture(scope="session")
def film_dataset(tmp_path_factory: pytest.TempPathFactory, films: Any) -> Path:
    """The same as a dataset."""
    place = tmp_path_factory.mktemp("typed") / "films"
    gz.import_pyg(films, place)
    return place


@pytest.fixture
def film_client(daemon_of: Callable[[Path], Any], film_dataset: Path) -> Iterator[gz.Client]:
    with gz.connect(daemon_of(film_dataset).address) as connected:
        yield connected


@pytest.fixture(scope="session")
def timed_films() -> dict[str, Any]:
    """Graphs with times of nodes ("node") and of edges ("edge")."""
    from hetero_graphs import hetero_graph

    return {"node": hetero_graph("node"), "edge": hetero_graph("edge")}


@pytest.fixture(scope="session")
def timed_film_datasets(
    tmp_path_factory: pytest.TempPathFactory, timed_films: dict[str, Any]
) -> dict[str, Path]:
    """The same as datasets."""
    places = {level: tmp_path_factory.mktemp(level) / "films" for level in timed_films}
    for level, data in timed_films.items():
        gz.import_pyg(data, places[level], time="time")
    return places


@pytest.fixture
def film_clients(
    daemon_of: Callable[[Path], Any], timed_film_datasets: dict[str, Path]
) -> Iterator[dict[str, gz.Client]]:
    addresses = {n: daemon_of(place).address for n, place in timed_film_datasets.items()}
    found = {level: gz.connect(address) for level, address in addresses.items()}
    yield found
    for client in found.values():
        client.close()


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
