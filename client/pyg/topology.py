"""Reads all edges of a relation into this process, for code that cannot do with less."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.base.resources import available_memory
from graphzero.client.client import Client
from graphzero.client.dataset.files import open_visible
from graphzero.files.topology_file import TopologyFile


@dataclass(frozen=True, eq=False)
class EveryEdge:
    """All edges, with the ids of the nodes at their ends."""

    edge_index: npt.NDArray[np.int64]
    e_id: npt.NDArray[np.int64] | None
    edge_weight: npt.NDArray[np.float32] | None


def whole_topology(client: Client, relation: int, reason: str) -> EveryEdge:
    """Every edge of a relation, sorted by target.

    Raises MemoryError if that does not fit, ServerUnavailable if the files are not visible here.
    """
    info = client.info().dataset
    found = info.schema.relations[relation]
    types = info.schema.types
    num_nodes = types[found.source].count + types[found.target].count
    # edge_index and e_id as int64, and the working memory of the sampler, which is as much as a
    # copy in another order takes.
    needed = 8 * (5 * found.num_edges + 6 * num_nodes)
    room = available_memory()
    if needed > room:
        raise MemoryError(
            f"{reason} takes the whole topology of {info.name!r} into memory, about "
            f"{needed >> 20} MiB, and {room >> 20} MiB are available; sample it where it is, with "
            "graphzero.pyg.NeighborLoader, LinkNeighborLoader or GraphZeroSampler"
        )
    visible = open_visible(info, "the topology cannot be read", "use GraphZeroSampler")
    return _every_edge(visible.graph, relation)


def ids_are_positions(client: Client, relation: int) -> bool:
    """Whether the edge with id i is the i-th of all edges in the order of ids. It is not if edges
    were left out of a conversion, or if both directions of an edge share an id.

    Raises ServerUnavailable if the files are not visible here.
    """
    info = client.info().dataset
    visible = open_visible(info, "the topology cannot be read", "use GraphZeroSampler")
    found = visible.graph.schema.relations[relation]
    return found.edge_id_bound == found.num_edges and not found.symmetric


def _every_edge(graph: TopologyFile, relation: int) -> EveryEdge:
    """Samples all edges of all nodes of the types at the ends, so that local ids are node ids."""
    schema = graph.schema
    found = schema.relations[relation]
    drawn = _engine.sample_typed(
        graph.topology,
        [
            (number, np.arange(schema.types[number].count, dtype=np.int64))
            for number in sorted({found.source, found.target})
        ],
        [[-1 if number == relation else 0] for number in range(len(schema.relations))],
        expand_targets=found.has_in or found.symmetric,
        replace=False,
        weighted=False,
        seed=0,  # nothing is drawn: every edge is taken
        max_edges=max(found.num_edges, 1),
        threads=0,
        disk=graph.disk,
    )
    count = drawn.num_edges_of(relation)
    edges = EveryEdge(
        np.empty((2, count), np.int64),
        np.empty(count, np.int64) if drawn.has_edge_ids_of(relation) else None,
        np.empty(count, np.float32) if drawn.has_weights_of(relation) else None,
    )
    drawn.copy_edges(
        relation, edge_index=edges.edge_index, e_id=edges.e_id, edge_weight=edges.edge_weight
    )
    return edges if found.has_in or found.symmetric else _in_order(edges, edges.edge_index[1])


def _in_order(edges: EveryEdge, by: npt.NDArray[np.int64]) -> EveryEdge:
    order = np.argsort(by, kind="stable")
    return EveryEdge(
        edge_index=edges.edge_index[:, order],
        e_id=None if edges.e_id is None else edges.e_id[order],
        edge_weight=None if edges.edge_weight is None else edges.edge_weight[order],
    )


def edges_by_id(client: Client, relation: int, reason: str) -> EveryEdge:
    """The same in the order of edge ids, which is that of the input, if the graph stores them."""
    every = whole_topology(client, relation, reason)
    return every if every.e_id is None else _in_order(every, every.e_id)
