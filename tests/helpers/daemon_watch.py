"""What a running daemon uses, seen from outside: its statistics, descriptors, memory and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
from daemon_process import OWN_CONNECTION
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub
from waiting import DEADLINE_S, wait_until

# What a thread of the daemon gets when it first needs it, and keeps: gRPC's event descriptor of a
# thread that waited for messages, and the queue of one that read rows which were not in memory.
OF_THREADS = ("anon_inode:[eventfd]", "anon_inode:[io_uring]")


class Watch:
    """Asks one daemon. A daemon that was started again needs another Watch."""

    def __init__(self, daemon: Any) -> None:
        self._daemon = daemon
        self._process = Path(f"/proc/{daemon.pid}")
        self._channel = grpc.insecure_channel(daemon.address, OWN_CONNECTION)
        self._stub = SamplerServiceStub(self._channel)
        self.stats()  # connects, so that this connection is among the descriptors from now on

    def stats(self) -> pb.GetStatsResponse:
        return self._stub.GetStats(pb.GetStatsRequest(), timeout=DEADLINE_S)

    def session_of(self, client_name: str) -> pb.SessionStats | None:
        return next((s for s in self.stats().sessions if s.client_name == client_name), None)

    def descriptors(self) -> list[str]:
        """What is open, but for what the threads keep: sockets without their numbers. A file of a
        dataset counts once: it is opened again, for good, when its rows first are not in memory."""
        opened = [target for target in self._opened() if target not in OF_THREADS]
        files = {target for target in opened if target.endswith((".gl", ".gd"))}
        for file in files:
            assert opened.count(file) <= 2, file
        others = (target for target in opened if target not in files)
        return sorted([*files, *(target.partition(":[")[0] for target in others)])

    def _opened(self) -> Iterator[str]:
        for link in (self._process / "fd").iterdir():
            with suppress(FileNotFoundError):
                yield str(link.readlink())

    def _kept_by_threads(self, kind: str) -> int:
        return sum(target == kind for target in self._opened())

    def _threads(self) -> int:
        return sum(1 for _ in (self._process / "task").iterdir())

    def mapped_regions(self) -> int:
        """Shared-memory regions in the daemon's address space, with or without a name."""
        maps = (self._process / "maps").read_text()
        return sum("/dev/shm/graphzero-" in line for line in maps.splitlines())

    def private_bytes(self) -> int:
        """Memory of its own: neither shared memory nor the files of the dataset."""
        status = (self._process / "status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
        return int(line.split()[1]) << 10

    def expect_nothing_held(self, descriptors: list[str]) -> None:
        """Without sessions, the daemon has given back everything that it had for them."""
        wait_until(lambda: not self.stats().sessions, "the end of all sessions")
        # Work of a session that ended may still run, and has its region until it is done.
        wait_until(lambda: self.mapped_regions() == 0, "no region in the daemon's memory")
        # Fewer is no leak: the connection of whoever saw the daemon start may have ended since.
        before = Counter(descriptors)
        wait_until(
            lambda: Counter(self.descriptors()) <= before,
            lambda: f"no descriptor beyond {descriptors}, but {self.descriptors()}",
        )
        for kind in OF_THREADS:
            assert self._kept_by_threads(kind) <= self._threads(), kind
        wait_until(lambda: self.stats().shm_used_byte_size == 0, "no shared memory in use")
        assert self._daemon.regions() == []

    def close(self) -> None:
        self._channel.close()
