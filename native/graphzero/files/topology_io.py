"""How sampling reads a topology: through the mapping, or from disk with many reads at a time.

The value of `io` for reads from disk is "staged".
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from graphzero.base.numbers import one_of
from graphzero.base.text import size_text

TopologyIo = Literal["auto", "mapped", "staged"]

# Default of `io` of Graph, and of the daemon without --topology-io.
IO_VARIABLE = "GRAPHZERO_TOPOLOGY_IO"


@dataclass(frozen=True)
class TopologyReading:
    """How one topology is read, and why."""

    from_disk: bool
    reason: str
    fits: bool = False
    """Whether the topology is mapped because it fits into memory, not because the user asked."""
    row_starts: int = 0
    """Bytes of memory that the row starts of a topology on disk may take; 0 if row starts are read
    from disk too."""

    @property
    def path(self) -> str:
        return "staged" if self.from_disk else "mapped"


def default_io() -> str:
    return os.environ.get(IO_VARIABLE) or "auto"


def checked_io(io: str) -> TopologyIo:
    checked: TopologyIo = one_of(io, "io", get_args(TopologyIo))
    return checked


def choose_reading(io: TopologyIo, byte_size: int, room: int) -> TopologyReading:
    """How to read a file of `byte_size` bytes if `room` bytes of memory are free for it."""
    if io != "auto":
        return TopologyReading(io == "staged", "as asked for")
    sizes = f"{size_text(byte_size)}, room for {size_text(room)}"
    if byte_size <= room:
        return TopologyReading(False, f"fits into memory: {sizes}", fits=True)
    return TopologyReading(True, f"does not fit into memory: {sizes}")
