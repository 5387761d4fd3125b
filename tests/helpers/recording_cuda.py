"""A GPU that is slow on purpose, for machines that have none.

It stands in for the calls of CUDA alone, those that client/memory/cuda.py makes through torch and
the copies of tensors. Daemon, shared memory and everything in between are real. As a GPU does, it
reads the source of a copy when the stream comes to it, by address and whatever lies there by then,
and keeps nothing alive. Copies that need not be finished at once are not even begun until a test
says so.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from graphzero.client.batches import batch_memory
from waiting import DEADLINE_S


@dataclass
class Stream:
    """Runs what it was asked to, in order, once it may."""

    pending: list[Callable[[], None]] = field(default_factory=list)

    def run(self) -> None:
        while self.pending:
            self.pending.pop(0)()


class Event:
    def __init__(self, log: list[str], **options: Any) -> None:
        assert options == {"blocking": True}
        self._log = log
        self._happened = threading.Event()

    def record(self, stream: Stream) -> None:
        self._log.append("record")
        if stream.pending:
            stream.pending.append(self._happened.set)
        else:
            self._happened.set()

    def synchronize(self) -> None:
        assert self._happened.wait(DEADLINE_S), "nobody let the stream run"
        self._log.append("event")


class RecordingCuda:
    """`log` has the calls in their order; `registered` the memory that is pinned now."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.registered: dict[int, int] = {}  # sizes by address
        self.in_use = False
        self.error = 0  # what cudaHostRegister returns
        self.copies_that_work = 1 << 30
        self.streams = {"current": Stream(), "side": Stream()}
        self.stream = self.streams["current"]
        self._idle = threading.Condition()
        monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
        for name, call in {
            "is_initialized": lambda: self.in_use,
            "cudart": self._cudart,
            "check_error": self._check_error,
            "Event": lambda **options: Event(self.log, **options),
            "current_stream": lambda device: self.stream,
            "device_count": lambda: 2,
            "memory_reserved": lambda device: 1 - device,  # nothing on the second one
            "synchronize": self._synchronize,
        }.items():
            monkeypatch.setattr(torch.cuda, name, call)
        monkeypatch.setattr(batch_memory, "to_device", self.copy)

    def count(self, call: str) -> int:
        return self.log.count(call)

    def run(self) -> None:
        """Lets all streams come to the end of what they were asked to do."""
        with self._idle:
            for stream in self.streams.values():
                stream.run()
            self._idle.notify_all()

    def copy(self, tensor: torch.Tensor, device: str, non_blocking: bool = True) -> torch.Tensor:
        """tensor.to(device, non_blocking), with a destination that a test can look at."""
        if device != "cuda":
            return tensor.to(device)
        if not self.copies_that_work:
            raise RuntimeError("CUDA out of memory")
        self.copies_that_work -= 1
        self.in_use = True
        self.log.append("copy")
        target = torch.full_like(tensor, 77)
        source, size = tensor.data_ptr(), tensor.nbytes
        pinned = any(at <= source < at + length for at, length in self.registered.items())
        stream = self.stream
        stream.pending.append(lambda: ctypes.memmove(target.data_ptr(), source, size) and None)
        if not (non_blocking and pinned):  # ordinary memory is read before the call returns
            stream.run()
        return target

    def _cudart(self) -> Any:
        self.in_use = True
        return self

    def cudaHostRegister(self, address: int, size: int, flags: int) -> int:
        assert flags == 1
        assert address not in self.registered
        assert is_mapped(address, size)
        self.log.append("register")
        if not self.error:
            self.registered[address] = size
        return self.error

    def cudaHostUnregister(self, address: int) -> int:
        assert is_mapped(address, self.registered.pop(address))
        self.log.append("unregister")
        return 0

    def _check_error(self, code: int) -> None:
        if code:
            raise RuntimeError(f"cudaError {code}")

    def _synchronize(self, device: int) -> None:
        assert device == 0, "a device that is not used would get a context"
        with self._idle:
            ready = self._idle.wait_for(
                lambda: not any(stream.pending for stream in self.streams.values()), DEADLINE_S
            )
        assert ready, "nobody let the streams run"
        self.log.append("synchronize")


def is_mapped(address: int, size: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(end, 16) for end in line.split()[0].split("-"))
        if first <= address and address + size <= last:
            return "/dev/shm" in line or "deleted" in line
    return False
