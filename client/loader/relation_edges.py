"""The edges of a relation as links: all of them, or those of some edge ids.

A daemon answers requests about nodes, and can only find an edge in the row of a node. So this
process reads edges from the file of the graph, which must be visible to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.base.resources import available_memory
from graphzero.client.dataset.files import open_visible
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import InvalidRequest
from graphzero.client.requests.messages import wire_ids
from graphzero.client.requests.seeds import ids_of_mask

IdArray = npt.NDArray[np.int64]
NO_IDS: IdArray = np.empty(0, np.int64)

_INSTEAD = "give the links as (sources, targets)"
# Memory for the ends, id and time of each edge, and as much again while they are put in order.
_BYTES_PER_EDGE = 64


@dataclass(frozen=True, eq=False)
class RelationEdges:
    """Edges of one relation. Each array has one item for each edge."""

    sources: IdArray
    targets: IdArray
    ids: IdArray | None
    """None if the graph stores no edge ids."""
    times: IdArray | None
    """The edges' own; None if they have none."""
    are_edges: bool = True
    """False if these are just pairs of nodes."""


class EdgeFile:
    """The edges of one relation, in the file that the daemon serves.

    Raises ServerUnavailable if the file is not visible here, DatasetChanged if it was replaced.
    """

    def __init__(self, dataset: DatasetInfo, relation: int) -> None:
        found = open_visible(dataset, "its edges cannot be read", _INSTEAD)
        self._topology = found.graph.topology
        self._relation = found.graph.schema.relations[relation]
        self._number = relation
        # Not has_times, which is also true where only the nodes have times.
        self._timed = self._topology.relations[relation].has_edge_times
        whose = f" of {self._relation.triple}" if dataset.schema.typed else ""
        self._edges = f"edges{whose} of dataset {dataset.name!r}"

    def all_edges(self) -> RelationEdges:
        """All edges, in the order of their ids, which is that of the input; without ids, in the
        order of the file.

        An undirected edge comes twice, once for each direction.
        """
        self._require_room(self._relation.num_edges)
        pieces = list(self._pieces())
        sources, targets, ids = (
            np.concatenate([NO_IDS, *(piece[row] for piece in pieces)]) for row in range(3)
        )
        times = None
        if self._timed:
            times = np.concatenate([NO_IDS, *(piece[3] for piece in pieces)])
        if not self._relation.has_edge_ids:
            return RelationEdges(sources, targets, None, times)
        order = np.argsort(ids, kind="stable")
        own_times = None if times is None else times[order]
        return RelationEdges(sources[order], targets[order], ids[order], own_times)

    def edges_of(self, given: npt.NDArray[Any]) -> RelationEdges:
        """One edge for each id, in the order of the ids; `given` are ids, or a bool for each id. An
        undirected edge is taken in the direction in which the source is not the greater end.

        Raises InvalidRequest for an id that no edge has.
        """
        if not self._relation.has_edge_ids:
            raise InvalidRequest(
                f"links are named by edge ids, but {self._edges} have none; {_INSTEAD}, or convert "
                "with --edge-ids"
            )
        bound = self._relation.edge_id_bound
        if given.dtype == np.bool_:
            ids = ids_of_mask(given, bound, "links", "edge id")
        else:
            ids = wire_ids(given, "links")
        self._require_room(len(ids))
        # These arrays are no longer than the list of ids, however many edges there are.
        wanted, place_of_id = np.unique(ids, return_inverse=True)
        sources = np.full(len(wanted), -1, np.int64)
        targets, times = np.empty_like(sources), np.empty_like(sources)
        for src, dst, edge_ids, when in self._pieces() if len(wanted) else ():
            at = np.searchsorted(wanted, edge_ids)
            hit = wanted[np.minimum(at, len(wanted) - 1)] == edge_ids
            if self._relation.symmetric:
                hit &= src <= dst
            at = at[hit]
            sources[at], targets[at] = src[hit], dst[hit]
            if when is not None:
                times[at] = when[hit]
        missing = np.flatnonzero(sources < 0)
        if missing.size:
            raise InvalidRequest(
                f"links: {self._edges} have no edge id {wanted[missing[0]]}, expected 0 to "
                f"{bound - 1}, without the ids of edges that were dropped"
            )
        own_times = times[place_of_id] if self._timed else None
        return RelationEdges(sources[place_of_id], targets[place_of_id], ids, own_times)

    def _pieces(self) -> Iterator[tuple[IdArray, IdArray, IdArray, Any]]:
        """Sources, targets, ids, and times or None, of edges in the order of the file."""
        reader: Any = _engine.EdgeReader(self._topology, self._number)
        while (piece := reader.next()) is not None:
            sources, targets, _, ids, times = piece
            yield sources, targets, ids, times

    def _require_room(self, count: int) -> None:
        needed, room = _BYTES_PER_EDGE * count, available_memory()
        if needed > room:
            raise MemoryError(
                f"{count} {self._edges} as links take about {needed >> 20} MiB, and {room >> 20} "
                f"MiB are available; {_INSTEAD}, of fewer edges"
            )
