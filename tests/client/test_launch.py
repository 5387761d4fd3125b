"""connect(data=DIR): a daemon on demand, one for all who ask."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from daemon_process import daemon_pid
from graphzero.transport.runtime_dir import lock_file, socket_for_data, unlock_file

CONNECT = """
import sys
import threading
import graphzero as gz
with gz.connect(data=sys.argv[1]) as client:
    client.sample([1, 2], [3])
    print(client._pool.welcome.instance_id)
"""


pytestmark = pytest.mark.usefixtures("own_runtime_directory")


def test_a_daemon_is_started_and_found_by_the_next_one(dataset: Path) -> None:
    with gz.connect(data=dataset) as first, gz.connect(data=str(dataset)) as second:
        assert first.sample([1], [2]).batch_size == 1
        assert first._pool.welcome.instance_id == second._pool.welcome.instance_id
        assert first.info().address == f"unix:{socket_for_data(dataset)}"


def test_processes_that_race_start_exactly_one(dataset: Path) -> None:
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", CONNECT, str(dataset)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(5)
    ]
    found = [process.communicate(timeout=120)[0].strip() for process in racing]
    assert [process.returncode for process in racing] == [0] * 5
    assert len(set(found)) == 1


def test_a_standing_daemon_that_serves_the_directory_is_used(
    start_daemon: Callable[..., Any], dataset: Path, runtime_directory: Path
) -> None:
    (runtime_directory / "graphzero").mkdir(mode=0o700)
    daemon = start_daemon(dataset, socket=runtime_directory / "graphzero" / "server.sock")
    with gz.connect(data=dataset) as client:
        assert client.info().address == daemon.address
    with gz.connect() as client:
        assert client.info().dataset.name == dataset.name


def test_a_daemon_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(gz.StartFailed, match=r"graph\.gl"):
        gz.connect(data=tmp_path)


def test_a_missing_directory_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(gz.StartFailed, match="no such directory"):
        gz.connect(data=tmp_path / "none")


def test_a_file_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("0,1\n")
    with pytest.raises(gz.StartFailed, match="found a file, expected the directory of a dataset"):
        gz.connect(data=tmp_path / "edges.csv")


def test_a_directory_that_was_replaced_is_read_anew(dataset: Path, tmp_path: Path) -> None:
    data = shutil.copytree(dataset, tmp_path / "data")
    with gz.connect(data=data) as first:
        before = first.gather("y", range(20)).tolist()
        shutil.rmtree(data)
        shutil.copytree(dataset, data, ignore=shutil.ignore_patterns("y.gd"))
        gz.write_features(data / "y.gd", np.arange(2000))
        with gz.connect(data=data) as second:
            assert second._pool.welcome.instance_id == first._pool.welcome.instance_id
            assert second.gather("y", range(20)).tolist() == list(range(20))
        assert first.gather("y", range(20)).tolist() == before


def test_a_replacement_that_no_daemon_can_read_is_an_error(dataset: Path, tmp_path: Path) -> None:
    data = shutil.copytree(dataset, tmp_path / "data")
    with gz.connect(data=data):
        (data / "y.gd").write_bytes(b"damaged")
        with pytest.raises(gz.FormatError, match=r"y\.gd"):
            gz.connect(data=data)


def test_a_daemon_that_left_is_started_again(dataset: Path) -> None:
    with gz.connect(data=dataset, retry=True) as client:
        expected = client.sample(range(20), [3], seed=1).n_id.tolist()
        lock = next(socket_for_data(dataset).parent.glob("*.lock"))
        pid = daemon_pid(lock)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert client.sample(range(20), [3], seed=1).n_id.tolist() == expected


def test_a_daemon_that_leaves_takes_its_files_with_it(dataset: Path) -> None:
    directory = socket_for_data(dataset).parent
    with gz.connect(data=dataset) as client:
        client.sample(range(20), [3])
        (lock,) = directory.glob("*.lock")
        assert not list(directory.glob("*.starting"))
        pid = daemon_pid(lock)
        assert pid is not None
    ended = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    assert select.select([ended], [], [], 60)[0]
    os.close(ended)
    # What it said stays, for those who wonder why it left.
    assert [path.suffix for path in directory.iterdir()] == [".log"]


def test_files_that_come_and_go_lock_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inside: list[int] = []
    most: list[int] = []

    def take_turns(number: int) -> None:
        for _ in range(300):
            descriptor = lock_file(path, wait=True)
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)
            unlock_file(path, descriptor)

    threads = [threading.Thread(target=take_turns, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) == 1200
    assert not path.exists()


def test_a_runtime_directory_in_other_hands_is_refused(
    dataset: Path, runtime_directory: Path
) -> None:
    (runtime_directory / "graphzero").mkdir()
    (runtime_directory / "graphzero").chmod(0o777)
    with pytest.raises(gz.AccessDenied, match="others may write to it; run: chmod 700"):
        gz.connect(data=dataset)
    (runtime_directory / "graphzero").chmod(0o1777)
    with pytest.raises(gz.AccessDenied, match="others may write to it; choose a directory of your"):
        gz.connect(data=dataset)


TIED = """
import sys
import time
import graphzero as gz
from graphzero.client.daemon.launch import ensure_daemon
address = ensure_daemon(sys.argv[1], timeout=60.0, options=["--threads", "1"], tied=True)
gz.connect(str(address)).close()  # it listens a little earlier than it catches signals
print("ready", flush=True)
time.sleep(600)
"""


def test_a_tied_daemon_ends_with_whoever_started_it_however_that_ends(dataset: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TIED, str(dataset)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        lock = socket_for_data(dataset).with_suffix(".sock.lock")
        daemon = daemon_pid(lock)
        assert daemon is not None
        ended = os.pidfd_open(daemon)
        parent.kill()
    assert select.select([ended], [], [], 60.0)[0] == [ended]
    os.close(ended)
    assert not lock.exists()  # it left in order
