"""`TopologyFile`: an open topology, and the way in which sampling reads it.

`Graph` holds one, and so does each dataset of the daemon.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from graphzero import _engine
from graphzero.base.errors import FormatError
from graphzero.files.column_io import room_for_a_file
from graphzero.files.paths import require_sound
from graphzero.files.schema import Schema
from graphzero.files.topology_io import TopologyReading, checked_io, choose_reading, default_io
from graphzero.files.warm import warm_file

Direction: TypeAlias = Literal["in", "out"]


class TopologyFile:
    """Thread-safe, except for read_by(), which is called before anyone samples from the file.

    `symmetric`, `verify` and `io` are those of Graph.
    """

    def __init__(
        self,
        path: Path,
        *,
        symmetric: bool = False,
        verify: bool = False,
        io: str | None = None,
    ) -> None:
        self.io = checked_io(default_io() if io is None else io)
        self.path = path
        self.topology = _engine.Topology.open(os.fspath(path))
        if verify:
            require_sound(self.topology)
        self.symmetric = symmetric or self.topology.symmetric
        """Whether the reverse of every edge is stored too, as the file or the caller said."""
        self.schema = Schema.of(self.topology, symmetric=symmetric)
        self.num_nodes = self.topology.num_nodes
        """Number of nodes of all types; `schema` has them by type."""
        self.num_edges = self.topology.num_edges
        self.has_weights = self.topology.has_weights
        self.has_edge_ids = self.topology.has_edge_ids
        self.byte_size = self.topology.file_bytes
        self.read_by(choose_reading(self.io, self.byte_size, room_for_a_file()))

    def read_by(self, reading: TopologyReading) -> None:
        """Makes sampling read in this way from now on. The daemon calls it, with its plan for all
        files."""
        self.reading = reading
        # Reads a file that does not fit into memory; None for a file that is mapped.
        self.disk = _engine.DiskTopology.open(self.topology) if reading.from_disk else None

    @property
    def fingerprint(self) -> str:
        """Hash of the content in hex; "" for a file of GraphZero 0.2, which has none."""
        return self.topology.fingerprint.hex() if self.topology.version else ""

    @property
    def most_row_starts_bytes(self) -> int:
        """The most memory, in bytes, that the row starts can take."""
        return _engine.most_row_starts_bytes(self.topology)

    def read_row_starts(self) -> Iterator[None]:
        """Reads the row starts of a file that is read from disk into memory. Yields after each step
        of 2 MiB, so that others may have their turn. Raises OSError, and FormatError if an
        adjacency's row starts are damaged; it keeps none of that adjacency."""
        if self.disk is None:
            return
        reading = _engine.RowStartsReading(self.topology, self.disk)
        while reading.step():
            yield
        if reading.damage:
            raise FormatError(
                f"{self.path}: {reading.damage} does not rise; the file is damaged, run graphzero "
                "verify"
            )

    def warm(self) -> None:
        for _ in self.read_row_starts():
            pass
        warm_file(self.topology)

    def has_direction(self, direction: Direction) -> bool:
        """Whether edges can be followed in this direction; in a symmetric graph, in both. For a
        graph with types, `schema` has this for each relation."""
        stored = self.topology.has_out if direction == "out" else self.topology.has_in
        return stored or self.symmetric

    def stored_adjacency(self, direction: Direction, relation: int = 0) -> Direction:
        """The adjacency to read for a direction: a symmetric relation has the same for both."""
        found = self.schema.relations[relation]
        stored = {"in": found.has_in, "out": found.has_out}
        if stored[direction]:
            return direction
        if found.symmetric:
            return "out" if direction == "in" else "in"
        if self.topology.version == 0:
            raise ValueError(
                "a GraphZero 0.2 file stores out-edges only: pass direction='out', or open it with "
                "Graph(path, symmetric=True) if every edge is stored in both directions"
            )
        what = f"relation {found.triple}" if self.schema.typed else "the graph"
        raise ValueError(
            f"{what} stores no {direction}-edges; convert it with --direction both "
            f"or --direction {direction}"
        )
