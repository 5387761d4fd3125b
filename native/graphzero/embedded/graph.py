"""`Graph`: the embedded, read-only view of a topology file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.ids import checked_id
from graphzero.embedded.links import LinkSamplingMixin
from graphzero.embedded.sampling import Direction
from graphzero.files.column_io import room_for_a_file
from graphzero.files.paths import GRAPH_FILE, require_sound
from graphzero.files.topology_io import TopologyPlan, checked_io, default_io, plan_io
from graphzero.files.warm import warm_file


class Graph(LinkSamplingMixin):
    """A graph on disk, mapped: opening costs the same for any size, and nothing is loaded.

    `filename` is a `.gl` file (version 1, or written by GraphZero 0.2) or a dataset directory,
    which holds `graph.gl`. `symmetric=True` says of a file that cannot say it itself (one of
    GraphZero 0.2) that the reverse of every edge is stored too, so that its out-edges also serve
    as in-edges. `verify=True` reads the whole file first and raises FormatError at the first
    damage.

    `io` says how sampling, walks and negatives read; what they draw is the same:
      "mapped"  through the mapping; what is not in memory costs a page fault
      "staged"  hop by hop and step by step, hundreds of places at a time: for files larger than
                memory
      "auto"    "staged" if the file does not fit into the available memory (also that of a control
                group), else "mapped"
    The default is "auto", or what the environment variable GRAPHZERO_TOPOLOGY_IO says.

    Thread-safe. Picklable: the copy opens the same absolute path again. Arrays that its methods
    return are views of the mapping: valid for as long as they are referenced, also when the Graph
    is gone or the file is replaced. They may be written to; the change is private to this process,
    visible to later reads through this object unless they are staged, and never reaches the file.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        *,
        symmetric: bool = False,
        verify: bool = False,
        io: str | None = None,
    ) -> None:
        self._io = checked_io(default_io() if io is None else io)
        path = Path(filename).absolute()
        self._path = path / GRAPH_FILE if path.is_dir() else path
        self._assume_symmetric = symmetric
        self._topology = _engine.Topology.open(os.fspath(self._path))
        if verify:
            require_sound(self._topology)
        self._symmetric = symmetric or self._topology.symmetric
        self._read_by(plan_io(self._io, self.byte_size, room_for_a_file()))

    @property
    def path(self) -> Path:
        """The topology file, as an absolute path."""
        return self._path

    @property
    def num_nodes(self) -> int:
        """Number of nodes; ids are 0 to num_nodes - 1."""
        return self._topology.num_nodes

    @property
    def num_edges(self) -> int:
        """Number of stored edges; an undirected edge counts twice."""
        return self._topology.num_edges

    @property
    def has_weights(self) -> bool:
        """Whether each edge has a weight."""
        return self._topology.has_weights

    @property
    def has_edge_ids(self) -> bool:
        """Whether each edge knows its row number in the input it was compiled from."""
        return self._topology.has_edge_ids

    @property
    def is_symmetric(self) -> bool:
        """Whether the reverse of every edge is stored too, as the file or the caller said."""
        return self._symmetric

    def has_direction(self, direction: Direction) -> bool:
        """Whether out-edges or in-edges can be followed; both can in a symmetric graph."""
        stored = self._topology.has_out if direction == "out" else self._topology.has_in
        return stored or self._symmetric

    @property
    def byte_size(self) -> int:
        """Size of the file."""
        return self._topology.file_bytes

    @property
    def fingerprint(self) -> str:
        """Hash of the content in hex: equal for equal content; "" for a file of GraphZero 0.2."""
        return self._topology.fingerprint.hex() if self._topology.version else ""

    def warm(self) -> None:
        """Reads the file into memory in order, as far as it is not there yet.

        Later random access then finds it there, on huge pages where the kernel has them for files.
        What lies in memory on small pages is read again for that, unless a process has mapped it.
        """
        warm_file(self._topology)

    def get_degree(self, node_id: SupportsIndex, *, direction: Direction = "out") -> int:
        """Number of edges that leave the node (or enter it, with direction="in")."""
        stored = self._stored_adjacency(self._sampling_direction(direction))
        return self._topology.degree(self._row(node_id, stored), stored)

    def get_neighbours(
        self, node_id: SupportsIndex, *, direction: Direction = "out"
    ) -> npt.NDArray[np.integer[Any]]:
        """Targets of the edges that leave the node (or sources of those that enter it): a view.

        Its type is the stored one: int32 or uint32 for graphs whose ids fit, else int64. The
        values are checked, so that a damaged file raises FormatError instead of giving ids that
        do not exist.
        """
        stored = self._stored_adjacency(self._sampling_direction(direction))
        return self._topology.neighbours(self._row(node_id, stored), stored)

    def get_weights(
        self, node_id: SupportsIndex, *, direction: Direction = "out"
    ) -> npt.NDArray[np.float32]:
        """Weights of the edges that get_neighbours() gives, in its order: a view.

        Raises ValueError for a graph without weights (see has_weights).
        """
        stored = self._stored_adjacency(self._sampling_direction(direction))
        row = self._row(node_id, stored)
        if not self.has_weights:
            raise ValueError(f"{self._path} has no edge weights")
        return self._topology.weights(row, stored)

    def get_edge_ids(
        self, node_id: SupportsIndex, *, direction: Direction = "out"
    ) -> npt.NDArray[np.integer[Any]]:
        """Input row numbers of the edges that get_neighbours() gives, in its order: a view.

        Raises ValueError for a graph without edge ids (see has_edge_ids).
        """
        stored = self._stored_adjacency(self._sampling_direction(direction))
        row = self._row(node_id, stored)
        if not self.has_edge_ids:
            raise ValueError(f"{self._path} has no edge ids: convert with --edge-ids")
        return self._topology.edge_ids(row, stored)

    def _read_by(self, plan: TopologyPlan) -> None:
        """Makes sampling read in that way from now on; the daemon plans for all its files."""
        self._plan = plan
        self._staged = _engine.StagedTopology.open(self._topology) if plan.staged else None

    def _row(self, node_id: SupportsIndex, stored: Direction) -> int:
        rows = self._topology.num_src if stored == "out" else self._topology.num_dst
        return checked_id(node_id, rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), os.fspath(self._path), self._assume_symmetric, self._io)

    def __repr__(self) -> str:
        size = f"{self.num_nodes} nodes, {self.num_edges} edges"
        weights = ", weighted" if self.has_weights else ""
        return f"Graph({os.fspath(self._path)!r}: {size}{weights})"


def _reopen(kind: type[Graph], path: str, symmetric: bool, io: str) -> Graph:
    return kind(path, symmetric=symmetric, io=io)
