"""How a topology is read while sampling: through the mapping, or from disk, many places at a time.

Users call the second way "staged".
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from graphzero.base.numbers import one_of
from graphzero.base.text import size_text

TopologyIo = Literal["auto", "mapped", "staged"]

# What `io` is if nobody says: of Graph, and of the daemon without --topology-io.
IO_VARIABLE = "GRAPHZERO_TOPOLOGY_IO"


@dataclass(frozen=True)
class TopologyReading:
    """How one topology is read, and why."""

    from_disk: bool
    reason: str
    fits: bool = False
    """Whether it is mapped because it fits into memory, and not because someone asked for it."""
    row_starts: int = 0
    """Bytes of memory that where its rows begin may take, for one that is read from disk; 0: that
    is read, too."""

    @property
    def path(self) -> str:
        return "staged" if self.from_disk else "mapped"


def default_io() -> str:
    return os.environ.get(IO_VARIABLE) or "auto"


def checked_io(io: str) -> TopologyIo:
    checked: TopologyIo = one_of(io, "io", get_args(TopologyIo))
    return checked


def choose_reading(io: TopologyIo, byte_size: int, room: int) -> TopologyReading:
    """For a file of `byte_size` bytes when `room` bytes of memory are there for it."""
    if io != "auto":
        return TopologyReading(io == "staged", "as asked for")
    sizes = f"{size_text(byte_size)}, room for {size_text(room)}"
    if byte_size <= room:
        return TopologyReading(False, f"fits into memory: {sizes}", fits=True)
    return TopologyReading(True, f"does not fit into memory: {sizes}")
