"""The unit under a real systemd: readiness, reload, watchdog, sandbox, drain.

A systemd of this user's own, in a namespace for mounts, runs the unit as it is but for
what only an installed system has: its user, its program, its folders and mounts. The rest of the
sandbox, filters of system calls and capabilities for instance, is there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

UNIT = Path(__file__).parents[2] / "deploy/graphzero-server.service"
MANAGER = Path("/lib/systemd/systemd")
# It asks whether the machine was started by systemd.
RUN = 'mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec "$0" "$@"'


def adapted(data: Path, socket_folder: Path, watchdog_s: float) -> str:
    """The unit for an own user's systemd, with the programs and folders of the test."""
    own = {
        r"^(User|Group)=.*\n": "",
        # What takes mounts of its own, which a user's systemd in a namespace cannot make.
        r"^(Private|Protect|ReadOnly|ReadWrite)[A-Za-z]+=.*\n": "",
        r"^ExecStart=.*$": f"ExecStart={sys.executable} -m graphzero.server --data {data}"
        f" --socket {socket_folder}/server.sock",
        r"^WatchdogSec=.*$": f"WatchdogSec={watchdog_s}",
        r"^UMask=": f"StandardOutput=append:{socket_folder}.log\nUMask=",
    }
    text = UNIT.read_text()
    for pattern, replacement in own.items():
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        assert count, pattern
    return text


@dataclass(frozen=True)
class Systemd:
    environment: dict[str, str]
    socket: Path

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["systemctl", "--user", *arguments]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=DEADLINE_S
        )

    def show(self, name: str) -> str:
        shown = self.ctl("show", UNIT.name, "--property", name).stdout.strip()
        return shown.partition("=")[2]

    def told(self) -> str:
        """What the unit has written, and how it ended."""
        output = self.socket.parent.with_suffix(".log")
        text = output.read_text() if output.exists() else ""
        return f"{text}status {self.show('ExecMainStatus')}, result {self.show('Result')}"

    def connect(self) -> gz.Client:
        return gz.connect(str(self.socket))


@pytest.fixture
def systemd(dataset: Path, runtime_directory: Path) -> Iterator[Callable[[float], Systemd]]:
    """systemd(watchdog_s) -> one that has started the unit; skips where there can be none."""
    if not MANAGER.exists() or shutil.which("systemctl") is None:
        pytest.skip("there is no systemd here (Debian: apt-get install systemd)")
    environment = os.environ | {
        "XDG_RUNTIME_DIR": str(runtime_directory),
        "SYSTEMD_UNIT_PATH": str(runtime_directory / "units"),  # and none of the machine's
    }
    running: list[subprocess.Popen[bytes]] = []
    manager = Systemd(environment, runtime_directory / "graphzero/server.sock")

    def start(watchdog_s: float) -> Systemd:
        units = runtime_directory / "units"
        units.mkdir()
        for target in ("default", "basic", "sysinit", "shutdown"):
            (units / f"{target}.target").write_text("[Unit]\nDescription=Nothing else\n")
        folder = runtime_directory / "graphzero"
        (units / UNIT.name).write_text(adapted(dataset, folder, watchdog_s))
        log = (runtime_directory / "log").open("wb")
        command = ["unshare", "--mount", "sh", "-c", RUN, str(MANAGER), "--user"]
        running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))

        def is_up() -> bool:
            if running[0].poll() is not None:
                told = (runtime_directory / "log").read_text()
                pytest.skip(f"systemd does not run here: {told}")
            return manager.ctl("list-units").returncode == 0

        wait_until(is_up, "systemd takes commands")
        started = manager.ctl("start", UNIT.name)
        assert started.returncode == 0, f"{started.stderr}{manager.told()}"
        return manager

    yield start
    for process in running:
        manager.ctl("kill", "--signal=KILL", UNIT.name)
        manager.ctl("stop", UNIT.name)
        process.kill()
        process.wait()


def test_the_unit_starts_reloads_and_drains(systemd: Callable[..., Any]) -> None:
    manager = systemd(60)
    # It has said that it is ready: whoever waits for the unit can connect at once.
    with manager.connect() as client:
        batch = client.sample(range(100), [5, 5], seed=1)  # through /dev/shm, from outside
        assert batch.batch_size == 100
    assert manager.show("ActiveState") == "active"
    assert manager.ctl("reload", UNIT.name).returncode == 0
    wait_until(lambda: manager.show("ActiveState") == "active", "the reload is over")
    with manager.connect() as client:
        assert client.sample([1], [2]).batch_size == 1
    assert manager.ctl("stop", UNIT.name).returncode == 0
    assert manager.show("Result") == "success"
    assert manager.show("ExecMainStatus") == "0"


def test_a_daemon_that_hangs_is_restarted_and_a_trainer_goes_on(
    systemd: Callable[..., Any],
) -> None:
    manager = systemd(1)
    with gz.connect(str(manager.socket), retry=True) as client:
        expected = client.sample([1, 2, 3], [5], seed=1).n_id.tolist()
        stopped = manager.ctl("kill", "--signal=STOP", "--kill-who=main", UNIT.name)
        assert stopped.returncode == 0, stopped.stderr
        wait_until(lambda: manager.show("NRestarts") == "1", "the watchdog noticed")
        assert client.sample([1, 2, 3], [5], seed=1).n_id.tolist() == expected


def test_a_daemon_that_is_well_is_left_alone(systemd: Callable[..., Any]) -> None:
    """As long as systemd would wait, and again: the watchdog is fed all the time."""
    manager = systemd(1)
    fed = manager.show("WatchdogTimestampMonotonic")

    def was_fed_for_three_limits() -> bool:
        return int(manager.show("WatchdogTimestampMonotonic")) - int(fed) > 3_000_000

    wait_until(was_fed_for_three_limits, "the watchdog was fed")
    assert manager.show("NRestarts") == "0"
    assert manager.show("ActiveState") == "active"
