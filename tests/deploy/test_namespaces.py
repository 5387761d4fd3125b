"""The layout of containers, without a container engine.

Daemon and trainer each in namespaces of their own for mounts, processes and IPC, and without the
files of the other: what is shared is the folder of the socket and /dev/shm, nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

UNSHARE = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
TIMEOUT_S = 120


def refusal() -> str | None:
    """Why namespaces cannot be had here, if so."""
    if shutil.which("unshare") is None:
        return "there is no unshare"
    probe = [*UNSHARE, "sh", "-c", "mount -t tmpfs none /mnt"]
    done = subprocess.run(probe, capture_output=True, text=True)
    return None if done.returncode == 0 else f"unshare is not permitted: {done.stderr.strip()}"


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    reason = refusal()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def hidden_data(dataset: Path, tmp_path: Path) -> Path:
    """A copy that trainers do not see: in their namespaces a tmpfs lies over it."""
    return Path(shutil.copytree(dataset, tmp_path / "data" / "small"))


def contained(command: list[str], *, without: list[Path]) -> list[str]:
    """The command in namespaces in which the folders `without` are empty and its own."""
    mounts = "".join(f"mount -t tmpfs none '{folder}' && " for folder in without)
    return [*UNSHARE, "sh", "-c", f'{mounts}exec "$@"', "sh", *command]


@pytest.fixture
def daemon_in_a_container(hidden_data: Path, runtime_directory: Path) -> Iterator[Path]:
    """The socket of a daemon in namespaces of its own."""
    socket = runtime_directory / "server.sock"
    command = [sys.executable, "-m", "graphzero.server", "--data", str(hidden_data)]
    log = runtime_directory / "log"
    with log.open("wb") as output:
        daemon = subprocess.Popen(
            contained([*command, "--socket", str(socket)], without=[]),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        ping = [sys.executable, "-m", "graphzero", "ping", "--timeout", "1", str(socket)]
        while subprocess.run(ping, capture_output=True).returncode != 0:
            assert daemon.poll() is None, log.read_text()
        yield socket
    finally:
        daemon.kill()  # unshare's child, the daemon, goes with it
        daemon.wait()


def train(script: str, socket: Path, *, without: list[Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        contained([sys.executable, "-c", textwrap.dedent(script)], without=without),
        env=os.environ | {"GRAPHZERO_ADDRESS": f"unix:{socket}"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


TRAINER = """
    import os
    import sys
    import graphzero as gz

    # pid 1 of its own namespace, so neither side can find the other by its number.
    assert os.getpid() == 1, os.getpid()
    with gz.connect(TRANSPORT) as client:
        assert client.info().transport == "EXPECTED"
        ids = []
        for batch in client.loader("train", [5, 3], batch_size=100):
            assert len(batch.x) == len(batch.y) == len(batch.n_id)
            ids += batch.n_id[: batch.batch_size].tolist()
        print(len(ids), len(set(ids)))
"""
ON_SHARED_MEMORY = TRAINER.replace("TRANSPORT", "").replace("EXPECTED", "shared_memory")
INLINE = TRAINER.replace("TRANSPORT", 'transport="inline"').replace("EXPECTED", "inline")
WHOLE_SPLIT = "667 667\n"


def test_containers_that_share_socket_and_shm_work_together(
    daemon_in_a_container: Path, hidden_data: Path
) -> None:
    done = train(ON_SHARED_MEMORY, daemon_in_a_container, without=[hidden_data.parent])
    assert (done.returncode, done.stdout) == (0, WHOLE_SPLIT), done.stderr


def test_two_trainers_in_containers_share_a_daemon(
    daemon_in_a_container: Path, hidden_data: Path
) -> None:
    command = [sys.executable, "-c", textwrap.dedent(ON_SHARED_MEMORY)]
    environment = os.environ | {"GRAPHZERO_ADDRESS": f"unix:{daemon_in_a_container}"}
    trainers = [
        subprocess.Popen(
            contained(command, without=[hidden_data.parent]),
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert [trainer.communicate(timeout=TIMEOUT_S)[0] for trainer in trainers] == [WHOLE_SPLIT] * 2


def test_a_column_cannot_be_mapped_where_the_data_is_not_visible(
    daemon_in_a_container: Path, hidden_data: Path
) -> None:
    script = """
        import graphzero as gz

        client = gz.connect()
        try:
            client.column("x")
        except gz.ServerUnavailable as error:
            assert "gather()" in str(error), error
            print(tuple(client.gather("x", [3, 1]).shape))
    """
    done = train(script, daemon_in_a_container, without=[hidden_data.parent])
    assert (done.returncode, done.stdout) == (0, "(2, 16)\n"), done.stderr


def test_a_private_shm_gives_an_error_that_says_what_to_do(
    daemon_in_a_container: Path, hidden_data: Path
) -> None:
    script = """
        import graphzero as gz

        try:
            gz.connect().sample([0, 1], [5])
        except gz.SharedMemoryUnavailable as error:
            print(error)
    """
    shm = Path("/dev/shm")
    done = train(script, daemon_in_a_container, without=[hidden_data.parent, shm])
    assert done.returncode == 0, done.stderr
    for part in ("graphzero-", "/dev/shm", 'transport="inline"'):
        assert part in done.stdout, done.stdout + done.stderr


def test_a_private_shm_works_inline(daemon_in_a_container: Path, hidden_data: Path) -> None:
    shm = Path("/dev/shm")
    done = train(INLINE, daemon_in_a_container, without=[hidden_data.parent, shm])
    assert (done.returncode, done.stdout) == (0, WHOLE_SPLIT), done.stderr
