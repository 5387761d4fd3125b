"""A dataset that is replaced while it is served."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from waiting import wait_until

pytestmark = pytest.mark.slow

NODES = 500
RELOADS = 12


def write_version(directory: Path, version: int) -> None:
    """A ring in which node n leads to n + version, with `version` in every cell of x and y."""
    directory.mkdir()
    ids = np.arange(NODES)
    gz.write_graph(directory / "graph.gl", ids, (ids + version) % NODES, num_nodes=NODES)
    gz.write_features(directory / "x.gd", np.full((NODES, 64), version, np.float32))
    gz.write_features(directory / "y.gd", np.full(NODES, version, np.int64))


def version_of(batch: gz.Batch) -> int:
    """The version of the batch; an error if it has parts of two."""
    source, target = batch.n_id[batch.edge_index].numpy()
    found = set((target - source) % NODES)
    found |= set(batch.x.numpy().ravel().astype(int)) | set(batch.y.numpy())
    assert len(found) == 1, f"a mixture of versions {found}"
    return int(found.pop())


def replace(daemon: Any, data: Path, replacement: Path) -> None:
    done = daemon.output().count("reloaded")
    _engine.exchange_names(str(replacement), str(data))
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.output().count("reloaded") > done, "the reload")


class Reader(threading.Thread):
    """Opens clients, and draws batches with each."""

    def __init__(self, address: str, stop: threading.Event) -> None:
        super().__init__()
        self.address = address
        self.stop = stop
        self.versions: set[tuple[str, int]] = set()  # fingerprint, version
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self.use_a_client()
        except BaseException as error:
            self.error = error

    def use_a_client(self) -> None:
        with gz.connect(self.address) as client:
            fingerprint = client.info().dataset.fingerprint
            for batch in client.loader(None, [1, 1], 50):
                self.versions.add((fingerprint, version_of(batch)))


def test_nobody_sees_a_mixture(start_daemon: Callable[..., Any], tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    write_version(data, 1)
    write_version(other, 2)
    daemon = start_daemon(data, "--threads", "2", "--shm-limit", "512M")
    stop = threading.Event()
    readers = [Reader(daemon.address, stop) for _ in range(2)]
    with gz.connect(daemon.address) as pinned:
        loader = pinned.loader(None, [1, 1], 50)
        for reader in readers:
            reader.start()
        for _ in range(RELOADS):
            replace(daemon, data, other)
            assert {version_of(batch) for batch in loader} == {1}
        wait_until(
            lambda: (
                any(reader.error for reader in readers)
                or len(set().union(*(reader.versions for reader in readers))) == 2
            ),
            "batches of both versions",
        )
    stop.set()
    for reader in readers:
        reader.join()
        assert reader.error is None
    seen = set().union(*(reader.versions for reader in readers))
    assert len(seen) == len({fingerprint for fingerprint, _ in seen}) == 2


def test_resume_with_another_version_is_refused(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    write_version(data, 1)
    write_version(other, 2)
    daemon = start_daemon(data, "--shm-limit", "256M")
    with gz.connect(daemon.address) as client:
        loader = client.loader(None, [1], 50)
        next(iter(loader))
        state = loader.state_dict()
    replace(daemon, data, other)
    with gz.connect(daemon.address) as client, pytest.raises(gz.DatasetChanged):
        client.loader(None, [1], 50).load_state_dict(state)
    replace(daemon, data, other)  # the first one again
    with gz.connect(daemon.address) as client:
        client.loader(None, [1], 50).load_state_dict(state)


def test_reconnecting_to_another_version_is_refused(
    start_daemon: Callable[..., Any], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    write_version(data, 1)
    daemon = start_daemon(data, "--shm-limit", "256M")
    with gz.connect(daemon.address, retry=True) as client:
        batches = iter(client.loader(None, [1], 10))
        held = next(batches)
        daemon.kill()
        shutil.rmtree(data)
        write_version(data, 2)
        daemon.start()
        ahead: list[gz.Batch] = []  # from before the end
        with pytest.raises(gz.DatasetChanged):
            ahead.extend(batches)
        assert all(version_of(batch) == 1 for batch in ahead)
        assert version_of(held) == 1
