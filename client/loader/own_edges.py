"""Which edges are the links' own, where links are edges of a relation and have times.

By default the edges between the ends of a link at exactly its time are left out of its trees. A
link that is later than its edge would see it, as history. Such links name their edges by id; if the
relation has no edge ids, all edges between their ends are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from graphzero.client.dataset.files import open_visible
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import InvalidRequest
from graphzero.client.loader.relation_edges import RelationEdges
from graphzero.embedded.link_request import ANY_EDGE, ExcludeSeedEdges
from graphzero.files.column_types import NO_TIME

IdArray = npt.NDArray[np.int64]


def own_edge_ids(
    dataset: DatasetInfo, relation: int, edges: RelationEdges, times: IdArray | None
) -> IdArray | None:
    """Ids of the links' own edges, or ANY_EDGE for each if nobody knows them. None if their times
    tell them, or if the links are not known to be edges."""
    if times is None or not edges.are_edges or not _come_after(dataset, relation, edges, times):
        return None
    return edges.ids if edges.ids is not None else np.full(len(times), ANY_EDGE)


def left_out(
    exclude: ExcludeSeedEdges | None, edge_ids: IdArray | None
) -> tuple[ExcludeSeedEdges | None, IdArray | None]:
    """`exclude` and `edge_ids` of a request for links with these own edges."""
    if edge_ids is None or not len(edge_ids) or edge_ids[0] != ANY_EDGE:
        return exclude, edge_ids
    return ("pair" if exclude in (None, "own") else exclude), None


def require_order(edges: RelationEdges, given: npt.NDArray[np.generic], what: str) -> None:
    """Raises InvalidRequest if the user gives different values for all edges of a relation, and
    nobody knows whose they are, because the order of edges is that of the input only with ids."""
    if not edges.are_edges or edges.ids is not None or not len(given):
        return
    if np.all(given == given[0]):
        return
    raise InvalidRequest(
        f"{what} has a value for each edge, but the graph stores no edge ids, so that nobody knows "
        "which value is whose: give the links as (sources, targets), one value for all links, or "
        "convert with edge ids"
    )


def _come_after(dataset: DatasetInfo, relation: int, edges: RelationEdges, times: IdArray) -> bool:
    """Whether any link is later than the edge that it is."""
    since = np.full(len(times), NO_TIME) if edges.times is None else edges.times
    found = dataset.schema.relations[relation]
    node_times: Callable[[int], IdArray] | None = None
    for number, nodes in ((found.source, edges.sources), (found.target, edges.targets)):
        if not dataset.schema.types[number].has_times:
            continue
        if node_times is None:
            opened = open_visible(dataset, "times cannot be read", "give the links by their ends")
            node_times = opened.graph.topology.node_times
        # An edge exists from the latest of its own time and those of its ends on.
        since = np.maximum(since, node_times(number)[nodes])
    return bool(np.any((since != NO_TIME) & (since < times)))
