"""A real daemon in a process of its own, for tests; see the fixtures in conftest.py."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waiting import DEADLINE_S, wait_until

# Channels share connections otherwise, and one to a daemon that was killed lets a call to the next
# one fail at once.
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


class DaemonProcess:
    """`graphzero-server --data DATA --socket SOCKET ...`, ready when the constructor returns.

    `setup` is Python code that the daemon's process runs first: faults to inject, for instance.
    """

    def __init__(
        self,
        data: Path,
        socket: Path,
        *options: str,
        env: dict[str, str] | None = None,
        setup: str = "",
    ):
        self.data = data
        self.socket = socket
        self.address = f"unix:{socket}"
        self.log = socket.with_suffix(".log")
        self._options = options
        self.env = {**os.environ, **(env or {})}
        self._setup = setup
        self.start()

    def start(self, *options: str) -> None:
        """Again after its end, with these options beside those it always has."""
        command = [sys.executable, "-m", "graphzero.server"]
        if self._setup:
            main = "import sys; from graphzero.server import main; sys.exit(main())"
            command[1:] = ["-c", f"{self._setup}\n{main}"]
        command += ["--data", str(self.data), "--socket", str(self.socket)]
        command += [*self._options, *options]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=self.env
            )
        self._wait_until_healthy()

    def _wait_until_healthy(self) -> None:
        with grpc.insecure_channel(self.address, OWN_CONNECTION) as channel:
            ready = grpc.channel_ready_future(channel)

            def answers() -> bool:
                if self.process.poll() is not None:
                    raise RuntimeError(f"the daemon ended:\n{self.output()}")
                return bool(ready.done())

            wait_until(answers, lambda: f"a daemon that answers:\n{self.output()}")
            health = health_pb2_grpc.HealthStub(channel)
            answer = health.Check(health_pb2.HealthCheckRequest(), timeout=DEADLINE_S)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def instance_id(self) -> str:
        lock = self.socket.with_name(self.socket.name + ".lock")
        instance: str = json.loads(lock.read_text())["instance"]
        return instance

    def regions(self) -> list[str]:
        """Names of this daemon's regions, relative to /dev/shm."""
        shm = Path("/dev/shm")
        found = shm.glob(f"graphzero-{self.instance_id}-*")
        files = (file for entry in found for file in (entry, *entry.rglob("*")))
        return [str(file.relative_to(shm)) for file in files if file.is_file()]

    def output(self) -> str:
        return self.log.read_text()

    def wait_for_output(self, text: str) -> None:
        """Returns when the daemon has printed it."""

        def is_there_or_never_will_be() -> bool:
            return text in self.output() or self.process.poll() is not None

        wait_until(is_there_or_never_will_be, lambda: f"{text!r} in\n{self.output()}")
        assert text in self.output(), f"the daemon ended without {text!r}:\n{self.output()}"

    @property
    def tcp_address(self) -> str:
        """That of `--listen 127.0.0.1:0`, with the port it got."""
        self.wait_for_output("listening on 127.0.0.1:")
        found = re.search(r"listening on (127\.0\.0\.1:\d+) ", self.output())
        assert found is not None, self.output()
        return found[1]

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The daemon stands still: what is asked meanwhile is surely not answered."""
        os.kill(self.pid, signal.SIGSTOP)
        state = Path(f"/proc/{self.pid}/stat")
        wait_until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", "a halt")
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=DEADLINE_S)


def daemon_pid(lock: Path) -> int | None:
    """The process that holds a lock file; None if it is gone."""
    try:
        pid = int(json.loads(lock.read_text())["pid"])
        os.kill(pid, 0)
    except (OSError, ValueError, KeyError):
        return None
    return pid
