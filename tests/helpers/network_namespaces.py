"""Two network namespaces with a link between them: two machines, as far as the network goes."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

ADDRESSES = ("10.77.32.1", "10.77.32.2")
# Makes the daemon's process enter a network namespace before it does anything else.
_ENTER = """
import ctypes, os
place = os.open("/run/netns/{name}", os.O_RDONLY)
assert ctypes.CDLL(None).setns(place, 0x40000000) == 0
"""


@dataclass(frozen=True)
class Namespaces:
    names: tuple[str, str]

    @property
    def setups(self) -> tuple[str, str]:
        """Python code by which a process enters the first or the second namespace."""
        return _ENTER.format(name=self.names[0]), _ENTER.format(name=self.names[1])

    def set_link(self, state: str) -> None:
        """`state` is "up" or "down"."""
        subprocess.run(["ip", "-n", self.names[0], "link", "set", "gz0", state], check=True)


@contextlib.contextmanager
def network_namespaces() -> Iterator[Namespaces]:
    """Skips the test where they are not permitted, and asserts that they are gone afterwards."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and iproute2")
    names = f"gz-{os.getpid()}-a", f"gz-{os.getpid()}-b"
    made = [subprocess.run(["ip", "netns", "add", n], capture_output=True) for n in names]
    if any(done.returncode for done in made):
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        pytest.skip(f"namespaces are not permitted: {made[0].stderr.decode().strip()}")
    try:
        link = ["ip", "-n", names[0], "link", "add", "gz0", "type", "veth", "peer", "name", "gz1"]
        subprocess.run([*link, "netns", names[1]], check=True)
        for number, (name, address) in enumerate(zip(names, ADDRESSES, strict=True)):
            inside = ["ip", "-n", name]
            subprocess.run(
                [*inside, "addr", "add", f"{address}/30", "dev", f"gz{number}"], check=True
            )
            subprocess.run([*inside, "link", "set", f"gz{number}", "up"], check=True)
            subprocess.run([*inside, "link", "set", "lo", "up"], check=True)
        yield Namespaces(names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=True)
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    assert not any(name in left for name in names)
