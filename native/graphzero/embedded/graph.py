"""`Graph`: the embedded, read-only view of a topology file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from graphzero.base.ids import checked_id
from graphzero.embedded.legacy_calls import LegacyCalls
from graphzero.embedded.sampling import sampling_direction
from graphzero.files.paths import GRAPH_FILE
from graphzero.files.schema import RelationName
from graphzero.files.topology_file import Direction, TopologyFile


class Graph(LegacyCalls):
    """A graph on disk, mapped: opening costs the same for any size, and nothing is loaded.

    `filename` is a `.gl` file (version 1, or written by GraphZero 0.2) or a dataset directory,
    which holds `graph.gl`. `symmetric=True` states, for a file of GraphZero 0.2, which cannot state
    it itself, that the reverse of every edge is stored too, so that its out-edges also serve as
    in-edges. `verify=True` reads the whole file first and raises FormatError at the first damage.

    In a graph with types, ids count from 0 in each type; an argument `relation` is a triple, or a
    name that only one relation has.

    `io` says how sampling, walks and negatives read the file; the draws are the same:
      "mapped"  through the mapping; a page that is not in memory costs a page fault
      "staged"  hop by hop and step by step, with hundreds of reads at a time: for files larger than
                memory
      "auto"    "staged" if the file does not fit into the available memory (also that of a control
                group), else "mapped"
    The default is "auto", or the value of the environment variable GRAPHZERO_TOPOLOGY_IO.

    Thread-safe. Picklable: the copy opens the same absolute path again. Arrays that get_...()
    methods return are views of the mapping: valid for as long as they are referenced, also when the
    Graph is gone or the file is replaced. They may be written to; the change is private to this
    process, visible to later reads through this object unless they are staged, and never reaches
    the file.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        *,
        symmetric: bool = False,
        verify: bool = False,
        io: str | None = None,
    ) -> None:
        path = Path(filename).absolute()
        path = path / GRAPH_FILE if path.is_dir() else path
        self._assume_symmetric = symmetric
        self._file = TopologyFile(path, symmetric=symmetric, verify=verify, io=io)

    @property
    def path(self) -> Path:
        """The topology file, as an absolute path."""
        return self._file.path

    @property
    def num_nodes(self) -> int:
        """Number of nodes; ids are 0 to num_nodes - 1."""
        return self._file.num_nodes

    @property
    def num_edges(self) -> int:
        """Number of stored edges; an undirected edge counts twice."""
        return self._file.num_edges

    @property
    def types(self) -> dict[str, int]:
        """Number of nodes by type; {"": num_nodes} for a graph without types."""
        return {found.name: found.count for found in self._file.schema.types}

    @property
    def relations(self) -> list[RelationName]:
        """(source type, name, target type) of each relation, views included; [("", "", "")] for a
        graph without types."""
        return self._file.schema.relation_names

    @property
    def time_unit(self) -> str:
        """Unit of all times: D, s, ms, us or ns since 1970 in UTC; "" if the file does not say."""
        return self._file.schema.time_unit

    @property
    def has_weights(self) -> bool:
        """Whether each edge has a weight."""
        return self._file.has_weights

    @property
    def has_edge_ids(self) -> bool:
        """Whether each edge knows its row number in the input it was compiled from."""
        return self._file.has_edge_ids

    @property
    def is_symmetric(self) -> bool:
        """Whether the reverse of every edge is stored too, as the file or the caller said."""
        return self._file.symmetric

    def has_direction(self, direction: Direction) -> bool:
        """Whether out-edges or in-edges can be followed; both can in a symmetric graph."""
        return self._file.has_direction(direction)

    @property
    def byte_size(self) -> int:
        """Size of the file."""
        return self._file.byte_size

    @property
    def fingerprint(self) -> str:
        """Hash of the content in hex: equal for equal content; "" for a file of GraphZero 0.2."""
        return self._file.fingerprint

    def warm(self) -> None:
        """Reads the file into memory in order, as far as it is not there yet.

        Later random access then finds it there, on huge pages if the kernel supports them for
        files. Parts that are in memory on small pages are read again to get huge pages, unless a
        process has mapped them. If reads are staged, row starts are kept in memory from then on,
        about a byte for each node: every hop and every step of a walk then waits for one read
        instead of two.
        """
        self._file.warm()

    def get_degree(
        self, node_id: SupportsIndex, *, direction: Direction = "out", relation: Any = None
    ) -> int:
        """Number of edges that leave the node (or enter it, with direction="in")."""
        return self._file.topology.degree(*self._row(node_id, direction, relation))

    def get_neighbours(
        self, node_id: SupportsIndex, *, direction: Direction = "out", relation: Any = None
    ) -> npt.NDArray[np.integer[Any]]:
        """Targets of the edges that leave the node (or sources of those that enter it): a view.

        The default is "out" because this is a call of GraphZero 0.2, which has no other direction.
        The default of sample() is "in", because graph networks aggregate along in-edges.
        The array has the stored type: int32 or uint32 for graphs whose ids fit, else int64. The
        values are checked, so that a damaged file raises FormatError instead of giving ids that
        do not exist.
        """
        return self._file.topology.neighbours(*self._row(node_id, direction, relation))

    def get_weights(
        self, node_id: SupportsIndex, *, direction: Direction = "out", relation: Any = None
    ) -> npt.NDArray[np.float32]:
        """Weights of the edges that get_neighbours() gives, in its order: a view.

        Raises ValueError for a graph without weights (see has_weights).
        """
        row, stored, number = self._row(node_id, direction, relation)
        if not self._file.schema.relations[number].has_weights:
            raise ValueError(f"{self.path} has no edge weights")
        return self._file.topology.weights(row, stored, number)

    def get_edge_ids(
        self, node_id: SupportsIndex, *, direction: Direction = "out", relation: Any = None
    ) -> npt.NDArray[np.integer[Any]]:
        """Input row numbers of the edges that get_neighbours() gives, in its order: a view.

        Raises ValueError for a graph without edge ids (see has_edge_ids).
        """
        row, stored, number = self._row(node_id, direction, relation)
        if not self._file.schema.relations[number].has_edge_ids:
            raise ValueError(f"{self.path} has no edge ids: convert with --edge-ids")
        return self._file.topology.edge_ids(row, stored, number)

    def get_times(
        self, node_id: SupportsIndex, *, direction: Direction = "out", relation: Any = None
    ) -> npt.NDArray[np.int64]:
        """The times since which a sample may have the edges of get_neighbours(), in its order: a
        view.

        Each is the later of the edge's own time and the neighbour's time. Raises ValueError if
        neither edges nor neighbours have times.
        """
        row, stored, number = self._row(node_id, direction, relation)
        times = self._file.topology.slot_times(row, stored, number)
        # A relation may have times in one direction only: those of the nodes that it leads to.
        if len(times) < self._file.topology.degree(row, stored, number) or not (
            self._file.schema.relations[number].has_times
        ):
            raise ValueError(f"{self.path} has no times of these edges or their ends")
        return times

    def _row(
        self, node_id: SupportsIndex, direction: Direction, relation: Any
    ) -> tuple[int, Direction, int]:
        """The node as a checked int, the adjacency that has its edges, the relation's number."""
        schema = self._file.schema
        if not schema.typed:
            if relation is not None:
                raise ValueError(f"relation is {relation!r}, but the graph has no types")
            stored = self._file.stored_adjacency(sampling_direction(direction))
            topology = self._file.topology
            rows = topology.num_src if stored == "out" else topology.num_dst
            return checked_id(node_id, rows), stored, 0
        number = schema.relation_number(relation)
        found = schema.relations[number]
        has = {"out": found.has_out, "in": found.has_in}
        stored = sampling_direction(direction)
        if not has[stored] and found.symmetric:
            stored = "out" if found.has_out else "in"
        if not has[stored]:
            raise ValueError(f"the graph stores no {direction}-edges of {found.triple}")
        end = found.source if direction == "out" else found.target
        return checked_id(node_id, schema.types[end].count), stored, number

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), os.fspath(self.path), self._assume_symmetric, self._file.io)

    def __repr__(self) -> str:
        size = f"{self.num_nodes} nodes, {self.num_edges} edges"
        weights = ", weighted" if self.has_weights else ""
        return f"Graph({os.fspath(self.path)!r}: {size}{weights})"


def _reopen(kind: type[Graph], path: str, symmetric: bool, io: str) -> Graph:
    return kind(path, symmetric=symmetric, io=io)
