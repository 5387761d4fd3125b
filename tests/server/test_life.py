"""Start, refusal, reload and end of the daemon."""

from __future__ import annotations

import grp
import itertools
import os
import re
import shutil
import signal
import socket as socketlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import numpy as np
import pytest
from commands import GRAPHZERO, run_graphzero_as
from daemon_process import OWN_CONNECTION
from graphzero import _engine
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.commands.cli import main
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.network.listen import ListenConfig, prepare_socket_directory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

NOBODY = 65534


def run_server(*options: object, user: int | None = None) -> subprocess.CompletedProcess[str]:
    """A daemon that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "graphzero.server", *map(str, options)],
        capture_output=True,
        text=True,
        timeout=120,
        user=user,
    )


def test_start_prints_what_it_serves_and_how_to_connect(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    wait_until(lambda: "connect with" in daemon.output(), "the banner")
    output = daemon.output()
    assert "small: 2,000 nodes, 30,000 edges" in output
    assert "x float32[16]" in output
    assert f'gz.connect("{daemon.socket}")' in output


def test_daemon_never_imports_torch(start_daemon: Callable[..., Any], dataset: Path) -> None:
    daemon = start_daemon(dataset)
    maps = Path(f"/proc/{daemon.pid}/maps").read_text()
    assert "_engine" in maps
    assert "libtorch" not in maps


def test_second_daemon_is_refused_with_the_pid_of_the_first(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    second = run_server("--data", dataset, "--socket", daemon.socket)
    assert second.returncode == 1
    assert f"pid {daemon.pid}" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
    raw(daemon.address).close()  # the first one still answers


def test_killed_daemon_leaves_nothing_after_the_next_start(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    session = raw(daemon.address)
    # The region's offer is not answered, so that its name still exists when the daemon dies.
    session.sample(2, list(range(100)), [5], columns=["x"])
    wait_until(lambda: bool(daemon.regions()), "a region")
    left = daemon.regions()
    daemon.kill()
    assert set(left) <= set(os.listdir("/dev/shm"))  # noqa: PTH208
    daemon.start()
    assert not set(left) & set(os.listdir("/dev/shm"))  # noqa: PTH208
    raw(daemon.address).close()


def test_sigterm_ends_with_exit_code_0_and_removes_the_socket(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    session = raw(daemon.address)
    session.sample(2, list(range(500)), [10, 10], columns=["x"])
    session.release(session.receive().result)  # its region is mapped now
    session.sample(3, list(range(500)), [10, 10], columns=["x"])

    def arrived() -> bool:
        return bool(session.stub.GetStats(pb.GetStatsRequest()).sessions[0].requests == 2)

    wait_until(arrived, "the second request")
    assert daemon.stop() == 0
    assert not daemon.socket.exists()
    assert session.receive().result.batch_size == 500  # it was finished first
    assert session.status() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_it_at_once_and_leaves_nothing_behind(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, gate: Any, number: signal.Signals
) -> None:
    daemon = start_daemon(dataset, "--drain-timeout", "3600", setup=gate.setup)
    session = raw(daemon.address)
    session.sample(2, [1], [2])  # stands at the gate, which never opens
    wait_until(lambda: daemon_stats(daemon.address).sessions[0].in_flight, "a request")
    instance = daemon.instance_id
    daemon.process.send_signal(number)
    daemon.wait_for_output("finishing requests")
    daemon.process.send_signal(number)
    assert daemon.process.wait(timeout=DEADLINE_S) == 128 + number
    assert "told to a second time" in daemon.output()
    assert not daemon.socket.exists()
    assert not list(Path("/dev/shm").glob(f"graphzero-{instance}*"))
    session.close()


def test_stopping_under_load_leaves_no_tracebacks(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    """In several rounds: whether a handler is cut off while it ends depends on the moment."""
    daemon = start_daemon(dataset)
    trainer = (
        "import sys, graphzero as gz\n"
        "client = gz.connect(sys.argv[1])\n"
        "while True:\n"
        "    for batch in client.loader(None, [5, 3], 64, prefetch=3): print(flush=True)\n"
    )
    command = [sys.executable, "-c", trainer, daemon.address]
    for delay_s in (0.0, 0.005, 0.01, 0.02):
        trainers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for _ in range(3)
        ]
        for running in trainers:
            assert running.stdout is not None
            assert all(running.stdout.readline() for _ in range(50))
        daemon.process.terminate()
        time.sleep(delay_s)
        for running in trainers:
            running.kill()
        assert daemon.process.wait(timeout=DEADLINE_S) == 0
        for running in trainers:
            running.communicate()
        assert "Traceback" not in daemon.output()
        daemon.start()


def test_answers_for_a_trainer_that_is_gone_do_not_keep_the_daemon(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--drain-timeout", "3600")
    session = raw(daemon.address, transport=pb.TRANSPORT_INLINE)
    # More than goes onto the way while nobody reads.
    for number in range(2, 42):
        session.sample(number, list(range(2000)), [10, 10], columns=["x"])

    def answered() -> int:
        return int(session.stub.GetStats(pb.GetStatsRequest()).result_byte_size)

    wait_until(lambda: answered() > 16 << 20, "answers")
    daemon.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "finishing requests" in daemon.output(), "the start of the drain")
    session.close()
    assert daemon.process.wait(timeout=DEADLINE_S) == 0


def test_a_trainer_that_reads_nothing_does_not_keep_the_daemon(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--drain-timeout", "1")
    program = (
        "import sys, graphzero as gz\n"
        "client = gz.connect(sys.argv[1], transport='inline')\n"
        "seeds = range(2000)\n"
        "answers = [client.sample_async(seeds, [20, 20]) for _ in range(60)]\n"
        "print(answers[0].result(), flush=True)\n"
        "for answer in answers: answer.result()\n"
    )
    command = [sys.executable, "-c", program, daemon.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline()
        trainer.send_signal(signal.SIGSTOP)
        daemon.process.send_signal(signal.SIGTERM)
        try:
            assert daemon.process.wait(timeout=DEADLINE_S) == 0
        finally:
            trainer.kill()
    assert not daemon.socket.exists()


def test_requests_that_come_while_the_daemon_drains_do_not_keep_it(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--drain-timeout", "100000")
    session = raw(daemon.address)
    # Unfinished until its time is up, so the daemon waits for it.
    unfinished = pb.Sample(more_seeds=True, fanout=[1])
    session.send(request_id=2, timeout_ms=3000, sample=unfinished)
    session.sample(3, [1], [2])
    assert session.receive().request_id == 3  # both have arrived
    daemon.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "finishing requests" in daemon.output(), "the start of the drain")
    session.send(request_id=4, timeout_ms=10**9, sample=unfinished)
    assert session.receive().request_id == 2
    assert session.status() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
    assert daemon.process.wait(timeout=DEADLINE_S) == 0


def test_idle_daemon_leaves_when_told_to(dataset: Path, tmp_path: Path) -> None:
    ended = run_server("--data", dataset, "--socket", tmp_path / "s", "--idle-exit", "0.1")
    assert ended.returncode == 0
    assert "no session for" in ended.stderr + ended.stdout


# Says when it looks whether it is idle, and takes itself for busy until the file is there.
PATIENT = """
from pathlib import Path
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
from graphzero.server.service import Service
idle_seconds = Service.idle_seconds

def look(self):
    if not Path({file!r}).exists():
        return 0.0
    print("looks", flush=True)
    return idle_seconds(self)

Service.idle_seconds = look
"""


def test_a_daemon_stays_for_its_last_session_and_leaves_when_that_has_ended(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, tmp_path: Path
) -> None:
    setup = PATIENT.format(file=str(tmp_path / "file"))
    daemon = start_daemon(dataset, "--idle-exit", "0.01", setup=setup)
    session = raw(daemon.address)
    (tmp_path / "file").touch()
    wait_until(lambda: daemon.output().count("looks") >= 2, "looks at a session that does nothing")
    session.sample(2, [1], [2])
    assert session.receive().result.batch_size == 1
    session.close()
    assert daemon.process.wait(DEADLINE_S) == 0
    assert "no session for" in daemon.output()
    assert not daemon.socket.exists()


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_systemd_is_told_when_the_daemon_serves_and_when_it_stops(
    dataset: Path, runtime_directory: Path, kind: str
) -> None:
    name = str(runtime_directory / "notify")
    manager = socketlib.socket(socketlib.AF_UNIX, socketlib.SOCK_DGRAM)
    manager.bind(name if kind == "path" else f"\0{name}")
    manager.settimeout(DEADLINE_S)
    socket = runtime_directory / "s.sock"
    daemon = subprocess.Popen(
        [sys.executable, "-m", "graphzero.server", "--data", dataset, "--socket", socket],
        env=os.environ | {"NOTIFY_SOCKET": name if kind == "path" else f"@{name}"},
        stdout=subprocess.DEVNULL,
    )
    try:
        assert manager.recv(100) == b"READY=1"
        with gz.connect(str(socket)) as client:  # at once: what waits for the unit would come now
            assert client.sample([1], [2]).batch_size == 1
        daemon.send_signal(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"
        assert daemon.wait(DEADLINE_S) == 0
    finally:
        daemon.kill()
        daemon.wait()
        manager.close()


def test_sighup_picks_up_a_new_version_and_sessions_keep_theirs(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(dataset, data / "a")
    daemon = start_daemon(data)
    old = raw(daemon.address, dataset="a")
    graph = gz.Graph(data / "a")
    expected = graph.sample([1, 2], [5], seed=1).n_id
    shutil.copytree(dataset, data / "b")
    replacement = tmp_path / "new"
    shutil.copytree(dataset, replacement)
    (replacement / "graph.gl").unlink()
    gz.write_graph(replacement / "graph.gl", [1, 2], [2, 3], num_nodes=2000)
    _engine.exchange_names(str(replacement), str(data / "a"))
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "reloaded 2 datasets" in daemon.output(), "the reload")

    old.sample(2, [1, 2], [5], seed=1)
    np.testing.assert_array_equal(old.arrays(old.receive().result)["n_id"], expected)
    new = raw(daemon.address, dataset="a")
    assert new.welcome.dataset.num_edges == 2
    assert new.welcome.dataset.fingerprint != old.welcome.dataset.fingerprint
    raw(daemon.address, dataset="b").close()
    old.close()
    new.close()


def test_a_hangup_before_the_daemon_is_ready_reloads_when_it_is(
    start_daemon: Callable[..., Any], dataset: Path
) -> None:
    once = (
        "import os, signal\n"
        "import graphzero.server.settings.config as config\n"
        "real, calls = config.parse_command_line, []\n"
        "def parse(argv):\n"
        "    if not calls: os.kill(os.getpid(), signal.SIGHUP)\n"
        "    calls.append(1)\n"
        "    return real(argv)\n"
        "config.parse_command_line = parse"
    )
    daemon = start_daemon(dataset, setup=once)
    daemon.wait_for_output("reloaded 1 datasets")
    assert "connect with" in daemon.output().partition("reloaded")[0]


def test_files_of_a_removed_dataset_are_closed_though_statistics_were_read(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    """The disk has the space back only when nobody has the files open."""
    data = tmp_path / "data"
    shutil.copytree(dataset, data / "a")
    shutil.copytree(dataset, data / "b")
    daemon = start_daemon(data)

    def all_files_were_asked_about() -> bool:
        files = daemon_stats(daemon.address).files
        return {file.dataset for file in files} == {"a", "b"} and files[0].age_ms > 0

    def opened() -> list[str]:
        process = Path(f"/proc/{daemon.pid}")
        found = (process / "maps").read_text().splitlines()
        found += [str(link.readlink()) for link in (process / "fd").iterdir()]
        return [place for place in found if f"{data}/b/" in place]

    wait_until(all_files_were_asked_about, "what lies in memory")
    assert opened()
    shutil.rmtree(data / "b")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("reloaded 1 datasets")
    wait_until(lambda: not opened(), lambda: f"closed files: {opened()}")


def rewrite(path: Path, content: bytes) -> None:
    """In place, so that neither name nor inode, size nor time tell."""
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_sighup_opens_a_file_again_that_was_cut_and_put_back(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(dataset, data)
    # What is read from the disk for each request is sound as soon as the file is; a mapping is not.
    daemon = start_daemon(data, "--feature-io", "auto")
    whole = (data / "x.gd").read_bytes()
    rewrite(data / "x.gd", whole[:4096])
    with gz.connect(daemon.address) as client:
        with pytest.raises(gz.ServerError, match="cut short"):
            client.gather("x", [1999])
        rewrite(data / "x.gd", whole)
        with pytest.raises(gz.ServerError, match="open the file again"):
            client.gather("x", [1999])
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("reloaded 1 datasets")
    with gz.connect(daemon.address) as client:
        np.testing.assert_array_equal(
            client.gather("x", [1999]), gz.FeatureStore(data / "x.gd").gather([1999])
        )


def test_sighup_notices_content_that_was_replaced_in_place(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(dataset, data)
    daemon = start_daemon(data, "--feature-io", "direct")
    x = np.array(gz.FeatureStore(data / "x.gd").get_tensor())
    gz.write_features(tmp_path / "new.gd", x + 1)
    with gz.connect(daemon.address) as client:
        np.testing.assert_array_equal(client.gather("x", [5]), x[[5]])
        rewrite(data / "x.gd", (tmp_path / "new.gd").read_bytes())
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for_output("reloaded 1 datasets")
        with gz.connect(daemon.address) as other:
            np.testing.assert_array_equal(other.gather("x", [5]), x[[5]] + 1)
            assert other.info().dataset.fingerprint != client.info().dataset.fingerprint


def test_reload_of_a_damaged_dataset_changes_nothing(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(dataset, data)
    daemon = start_daemon(data)
    (data / "z.gd").write_bytes(b"not a matrix")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for_output("dataset 'data' stays as it was: ")
    assert "z.gd" in daemon.output()
    session = raw(daemon.address)
    assert [column.name for column in session.welcome.dataset.columns] == [
        "train",
        "when",
        "x",
        "y",
    ]
    session.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "--data"),
        (["--data", "/nonexistent"], "/nonexistent"),
        (["--data", "{data}", "--threads", "0"], "threads"),
        (["--data", "{data}", "--shm-limit", "lots"], "lots"),
        (["--data", "{data}", "--shm-limit", "4"], "--shm-limit: found 4 B, expected at least 8M"),
        (["--data", "{data}", "--work-memory", "4"], "--work-memory: found 4 B"),
        (["--data", "{data}", "--max-in-flight", "0"], "--max-in-flight: found 0"),
        (["--data", "{data}", "--listen", "0.0.0.0:0"], "--token-file"),
        (["--data", "{data}", "--socket", "/tmp/" + "x" * 120], "107"),
        (["--data", "{data}", "--group", "no-such-group"], "no-such-group"),
    ],
)
def test_wrong_option_is_one_clear_line(
    options: list[str], text: str, dataset: Path, runtime_directory: Path
) -> None:
    filled = [option.format(data=dataset) for option in options]
    if "--socket" not in filled:
        filled += ["--socket", str(runtime_directory / "s.sock")]
    done = run_server(*filled)
    assert done.returncode == 1
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert not (runtime_directory / "s.sock").exists()


def test_options_may_stand_in_a_file(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, tmp_path: Path
) -> None:
    file = tmp_path / "server.toml"
    file.write_text('max-sessions = 1\nshm-limit = "128M"\n')
    daemon = start_daemon(dataset, "--config", str(file))
    session = raw(daemon.address)
    stats = session.stub.GetStats(pb.GetStatsRequest())
    assert stats.max_sessions == 1
    assert stats.shm_limit_byte_size == 128 << 20
    session.close()


def test_annotated_configuration_names_every_option() -> None:
    from graphzero.server.settings.options import OPTIONS

    text = (Path(__file__).parents[2] / "deploy" / "graphzero.toml").read_text()
    documented = {
        line.lstrip("# ").partition(" = ")[0] for line in text.splitlines() if " = " in line
    }
    assert documented == set(OPTIONS)


# --- who may connect ---


@pytest.fixture
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to act as another user")


def can_as(user: int, act: Callable[[], Any], *, group: int | None = None) -> bool:
    """In a child that has become another user: whether the system lets it act."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(user if group is None else group)
        os.setuid(user)
        try:
            act()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def can_connect_as(user: int, socket: Path) -> bool:
    return can_as(user, lambda: socketlib.socket(socketlib.AF_UNIX).connect(str(socket)))


def test_another_user_cannot_connect(
    as_root: None, start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    assert daemon.socket.parent.stat().st_mode & 0o777 == 0o700
    assert daemon.socket.stat().st_mode & 0o777 == 0o600
    assert can_connect_as(0, daemon.socket)
    assert not can_connect_as(NOBODY, daemon.socket)


def test_directory_of_another_user_is_refused(
    as_root: None, dataset: Path, runtime_directory: Path
) -> None:
    squatted = runtime_directory / "squatted"
    squatted.mkdir()
    os.chown(squatted, NOBODY, NOBODY)
    done = run_server("--data", dataset, "--socket", squatted / "s.sock")
    assert done.returncode == 1
    assert str(NOBODY) in done.stderr


def test_members_of_the_group_may_connect_and_map(
    as_root: None, start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    group = grp.getgrgid(NOBODY).gr_name
    daemon = start_daemon(dataset, "--group", group)
    directory, socket = daemon.socket.parent.stat(), daemon.socket.stat()
    assert (directory.st_mode & 0o777, directory.st_gid) == (0o750, NOBODY)
    assert (socket.st_mode & 0o777, socket.st_gid) == (0o660, NOBODY)
    assert can_connect_as(NOBODY, daemon.socket)
    session = raw(daemon.address)
    session.sample(2, [1], [2])
    wait_until(lambda: bool(daemon.regions()), "a region")
    path = Path("/dev/shm") / daemon.regions()[0]
    wait_until(lambda: path.stat().st_size > 0, "memory of the region")  # it is made, then filled
    region, folder = path.stat(), path.parent.stat()
    assert (region.st_mode & 0o777, region.st_gid) == (0o660, NOBODY)
    # They can open what they are told of, as its client does, and find nothing else.
    assert (folder.st_mode & 0o777, folder.st_gid) == (0o710, NOBODY)
    name = "/" + str(path.relative_to("/dev/shm"))
    assert can_as(NOBODY, lambda: _engine.RegionView.open(name, region.st_size))
    assert not can_as(NOBODY, lambda: list(path.parent.iterdir()))
    assert not can_as(NOBODY, path.unlink)
    stranger = NOBODY - 1
    assert not can_as(stranger, lambda: path.open("rb"))
    session.receive()  # maps it, and says so
    wait_until(lambda: not daemon.regions(), "the end of the name")
    session.close()
    assert daemon.stop() == 0
    assert not path.parent.exists()


def test_a_daemon_outside_the_group_is_told_how_to_join(
    as_root: None, dataset: Path, runtime_directory: Path
) -> None:
    where = runtime_directory / "group"
    where.mkdir(mode=0o700)
    os.chown(where, NOBODY - 1, NOBODY - 1)
    listen = ListenConfig(where / "s.sock", group=grp.getgrgid(NOBODY).gr_name)
    runtime_directory.chmod(0o755)
    expected = f"--group {listen.group}: uid {NOBODY - 1} is no member of it"
    os.setegid(NOBODY - 1)
    os.seteuid(NOBODY - 1)
    try:
        with pytest.raises(gz.InputError, match=rf"{expected}.*run: usermod --append") as caught:
            prepare_socket_directory(listen)
    finally:
        os.seteuid(0)
        os.setegid(0)
    assert str(where) in str(caught.value)


def test_next_start_removes_the_regions_of_a_group_too(
    as_root: None, start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--group", grp.getgrgid(NOBODY).gr_name)
    session = raw(daemon.address)
    session.sample(2, [1], [2])
    wait_until(lambda: bool(daemon.regions()), "a region")
    path = Path("/dev/shm") / daemon.regions()[0]
    daemon.kill()
    session.close()
    assert path.exists()
    daemon.start()
    assert not path.parent.exists()
    daemon.wait_for_output("removed 1 shared-memory regions")


def health_of(daemon: Any) -> list[str]:
    """Of the daemon as a whole, and of its service."""
    with grpc.insecure_channel(daemon.address, OWN_CONNECTION) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        names = ("", "graphzero.v1.SamplerService")
        asked = [health_pb2.HealthCheckRequest(service=name) for name in names]
        found = [check(request, timeout=DEADLINE_S).status for request in asked]
        return [health_pb2.HealthCheckResponse.ServingStatus.Name(status) for status in found]


def test_ping_fails_while_a_daemon_stops(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(dataset, "--drain-timeout", "60")
    assert main(["ping", daemon.address]) == 0
    assert health_of(daemon) == ["SERVING"] * 2
    session = raw(daemon.address)
    # Its ids never end, so the daemon waits for it.
    session.send(request_id=2, sample=pb.Sample(seeds=b"", fanout=[1], more_seeds=True))
    session.sample(3, [1], [1])
    assert session.receive().request_id == 3
    daemon.process.send_signal(signal.SIGTERM)
    daemon.wait_for_output("stopping: finishing requests")
    capsys.readouterr()
    assert health_of(daemon) == ["NOT_SERVING"] * 2
    assert main(["ping", "--timeout", "30", daemon.address]) == 1
    assert "NOT_SERVING" in capsys.readouterr().err
    session.close()
    assert daemon.process.wait(timeout=DEADLINE_S) == 0


def test_ping_waits_silently_for_a_daemon_that_starts(
    start_daemon: Callable[..., Any],
    dataset: Path,
    runtime_directory: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    socket = runtime_directory / "late.sock"
    waiting = subprocess.Popen(
        [GRAPHZERO, "ping", "--wait", str(DEADLINE_S), str(socket)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    daemon = start_daemon(dataset, socket=socket)
    output, errors = waiting.communicate(timeout=2 * DEADLINE_S)
    assert (waiting.returncode, errors) == (0, "")
    assert f"pid {daemon.pid}" in output
    assert main(["ping", "--wait", "0.3", str(runtime_directory / "none")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_top_has_rates_at_once(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(dataset)
    session = raw(daemon.address)
    done = threading.Event()

    def ask() -> None:
        for request_id in itertools.count(2):
            if done.is_set():
                return
            session.sample(request_id, [1], [2])
            session.release(session.receive().result)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        wait_until(lambda: daemon_stats(daemon.address).requests > 0, "a request")
        assert main(["top", "--once", "--interval", "0.5", daemon.address]) == 0
    finally:
        done.set()
        asking.join()
    found = re.search(r"requests [\d,]+ \(([\d.]+)/s\)", capsys.readouterr().out)
    assert found is not None
    assert float(found[1]) > 0
    session.close()
    assert main(["top", "--once", "--interval", "0", daemon.address]) == 1


def look_as(user: int, command: str, *options: str, **rest: Any) -> Any:
    """`graphzero ping` or `graphzero top --once` by another user."""
    once = ["--once", "--interval", "0.1"] if command == "top" else []
    return run_graphzero_as(user, command, *once, *options, **rest)


@pytest.mark.parametrize("command", ["ping", "top"])
def test_members_of_the_group_may_look(
    as_root: None, start_daemon: Callable[..., Any], dataset: Path, command: str
) -> None:
    daemon = start_daemon(dataset, "--group", grp.getgrgid(NOBODY).gr_name)
    done = look_as(NOBODY, command, daemon.address)
    assert done.returncode == 0, done.stderr
    assert f"pid {daemon.pid}" in done.stdout
    stranger = look_as(NOBODY - 1, command, daemon.address)
    assert stranger.returncode == 1
    assert "is not open to you" in stranger.stderr
    assert "--group NAME" in stranger.stderr


@pytest.mark.parametrize("command", ["ping", "top"])
def test_a_group_s_daemon_of_another_user_is_reached_by_who_trusts_it(
    as_root: None, start_daemon: Callable[..., Any], dataset: Path, command: str
) -> None:
    daemon = start_daemon(dataset, "--group", grp.getgrgid(NOBODY).gr_name)
    os.chown(daemon.socket, NOBODY - 1, -1)
    done = look_as(NOBODY, command, daemon.address)
    assert done.returncode == 1
    assert f"--server-uid {NOBODY - 1}" in done.stderr
    assert look_as(NOBODY, command, daemon.address, "--server-uid", str(NOBODY - 1)).returncode == 0
    trusting = {**os.environ, "GRAPHZERO_SERVER_UID": str(NOBODY - 1)}
    assert look_as(NOBODY, command, daemon.address, env=trusting).returncode == 0
    confused = {**os.environ, "GRAPHZERO_SERVER_UID": "nobody"}
    done = look_as(NOBODY, command, daemon.address, env=confused)
    assert done.returncode == 1
    assert "GRAPHZERO_SERVER_UID: found 'nobody'" in done.stderr


@pytest.mark.parametrize("command", ["ping", "top"])
def test_root_may_look_at_every_user_s_daemon(
    as_root: None, start_daemon: Callable[..., Any], dataset: Path, command: str
) -> None:
    daemon = start_daemon(dataset)
    for place in (daemon.socket, daemon.socket.parent):
        os.chown(place, NOBODY, NOBODY)
    assert look_as(0, command, daemon.address).returncode == 0
    with pytest.raises(gz.AccessDenied, match=f"server_uid={NOBODY}"):
        gz.connect(daemon.address)  # to train on what somebody else sends is another matter
