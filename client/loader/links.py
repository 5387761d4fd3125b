"""Links of a loader as users name them: by their ends or as edges, with times and labels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.client.dataset.info import ColumnInfo, DatasetInfo
from graphzero.client.errors import InvalidRequest, NotFound, as_invalid_request
from graphzero.client.loader.own_edges import require_order
from graphzero.client.loader.relation_edges import EdgeFile, RelationEdges
from graphzero.client.process.deadline import Deadline
from graphzero.client.requests.original_ids import find_nodes
from graphzero.client.requests.request import Call
from graphzero.client.requests.seeds import is_mask, node_ids, read_column, read_rows
from graphzero.embedded.typed_arguments import time_array
from graphzero.files.schema import RelationName

IdArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Links:
    """Links at positions 0, 1, ... by their ends."""

    relation: RelationName | None
    """None in a dataset without types."""
    sources: IdArray
    targets: IdArray
    times: IdArray | None = None
    """The time of each link; None if they have none, or none are asked for."""
    edge_ids: IdArray | None = None
    """The id of the edge that each link is; None if it is not known."""

    def __len__(self) -> int:
        return len(self.sources)

    def digest(self) -> str:
        """Differs for other links, and for other times or edge ids of the same links."""
        digest = hashlib.blake2b(np.ascontiguousarray(self.sources).data, digest_size=16)
        digest.update(np.ascontiguousarray(self.targets).data)
        if self.relation is not None:
            digest.update("\0".join(self.relation).encode())
        for name, array in (("times", self.times), ("edge ids", self.edge_ids)):
            if array is not None:
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def split_links(dataset: DatasetInfo, links: Any) -> tuple[int, Any]:
    """The number of the relation, and the value that names its links: None for all its edges."""
    schema = dataset.schema
    if not schema.typed:
        return 0, links
    with as_invalid_request():
        if isinstance(links, str) or _is_triple(links):
            return schema.relation_number(links, "the relation of links"), None
        named = isinstance(links, tuple) and len(links) == 2
        if named and (isinstance(links[0], str) or _is_triple(links[0])):
            return schema.relation_number(links[0], "the relation of links"), links[1]
    raise InvalidRequest(
        f"links have no relation, but dataset {dataset.name!r} has types: expected (relation, "
        f"links), or a relation for all its edges; it has {schema.relations_text()}"
    )


def named_links(
    dataset: DatasetInfo, relation: int, given: Any, original_ids: bool, deadline: Deadline
) -> Call[RelationEdges]:
    """The links that `given` names. If they are edges, with the edges' ids and times."""
    if original_ids and (given is None or isinstance(given, str) or not _is_pair(given)):
        raise InvalidRequest(
            "original_ids is set, but the links are edges, which have none; expected (sources, "
            "targets), or original_ids=False"
        )
    if given is None:
        return EdgeFile(dataset, relation).all_edges()
    if isinstance(given, str):
        return (yield from _edges_of_split(dataset, relation, given, deadline))
    if not _is_pair(given):
        array = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
        return EdgeFile(dataset, relation).edges_of(array)
    found = dataset.schema.relations[relation]
    types = found.source, found.target
    sources, targets = yield from ends_of_links(
        given, dataset, types, deadline if original_ids else None, "links"
    )
    return RelationEdges(sources, targets, None, None, are_edges=False)


def ends_of_links(
    links: Any, dataset: DatasetInfo, types: tuple[int, int], original: Deadline | None, what: str
) -> Call[tuple[IdArray, IdArray]]:
    """Ids of both ends. If `original` is given, they are original ids, for whose nodes the daemon
    is asked until that deadline. `what` is the caller's word for the links."""
    if isinstance(links, str) or not hasattr(links, "__len__"):
        raise TypeError(f"{what} is {links!r}, expected ids in two rows")
    if len(links) != 2:
        raise ValueError(f"{what} has {len(links)} rows, expected 2: sources and targets")
    ends = []
    for row, (nodes, number) in enumerate(zip(links, types, strict=True)):
        if original is None:
            # A copy: the caller may change an array of their own in place.
            ends.append(node_ids(nodes, dataset, f"{what}[{row}]", number).copy())
        else:
            ends.append((yield from find_nodes(nodes, dataset, original, number)))
    sources, targets = ends
    if len(sources) != len(targets):
        raise ValueError(f"{what} has {len(sources)} sources, {len(targets)} targets")
    return sources, targets


def times_of_links(dataset: DatasetInfo, edges: RelationEdges, time: Any) -> IdArray | None:
    """The time of each link; None if `time` is. "own" takes the times of the links' edges."""
    if time is None:
        return None
    if not isinstance(time, str):
        with as_invalid_request():
            times = time_array(time, len(edges.sources), dataset.schema.time_unit, of="link")
        require_order(edges, times, "time")
        return times
    if time != "own":
        raise InvalidRequest(f'time is {time!r}, expected times, one for each link, or "own"')
    if edges.times is None:
        raise InvalidRequest(
            'time is "own", but these links have no times of their own: expected edges of a '
            "relation with times, by their ids or all of them; give one time for each link"
        )
    return edges.times


def labels_of_links(
    dataset: DatasetInfo, relation: int, edges: RelationEdges, label: Any, deadline: Deadline
) -> Call[npt.NDArray[Any] | None]:
    """One row for each link: as given, or those of an edge column."""
    if label is None:
        return None
    count = len(edges.sources)
    if not isinstance(label, str):
        array = np.asarray(label.detach().cpu() if hasattr(label, "detach") else label)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"edge_label: found {array.dtype}, expected numbers")
        if array.ndim == 0 or len(array) != count:
            raise ValueError(
                f"edge_label: found shape {array.shape}, expected {count} labels, one for each link"
            )
        require_order(edges, array, "edge_label")
        return array
    columns = dataset.by_owner[dataset.schema.relations[relation].directory]
    of_edges = {name: column for name, column in columns.items() if column.role == "edge"}
    if label not in of_edges:
        known = ", ".join(of_edges) or "none"
        raise NotFound(f"edge_label is {label!r}, expected an array or a column of edges: {known}")
    if of_edges[label].dtype == "bfloat16":
        raise InvalidRequest(
            f"edge_label is {label!r}, a column of bfloat16, which NumPy does not have; give an "
            "array of labels"
        )
    if edges.ids is None:
        raise InvalidRequest(
            f"edge_label is {label!r}, a column of edges, but nobody knows which edge each link "
            "is: expected links that are edges of a graph with edge ids; give an array of labels"
        )
    return (yield from read_rows(of_edges[label], edges.ids, deadline))


def _edges_of_split(
    dataset: DatasetInfo, relation: int, name: str, deadline: Deadline
) -> Call[RelationEdges]:
    column = _find_edge_split(dataset, relation, name)
    values = yield from read_column(column, deadline)
    return EdgeFile(dataset, relation).edges_of(values)


def _find_edge_split(dataset: DatasetInfo, relation: int, name: str) -> ColumnInfo:
    """The column of that name, which must select edges: a list of edge ids, or a bool for each
    edge. In a graph without types a list of ids is one of nodes, and does not count."""
    found = dataset.schema.relations[relation]
    splits = {
        plain: column
        for plain, column in dataset.by_owner[found.directory].items()
        if (column.role == "ids" and dataset.schema.typed)
        or (column.role == "edge" and is_mask(column))
    }
    if name not in splits:
        whose = f"edges of {found.triple}" if dataset.schema.typed else "edges"
        known = ", ".join(splits) or "none"
        raise NotFound(f"dataset {dataset.name!r} has no split {name!r} of {whose}, it has {known}")
    return splits[name]


def _is_triple(value: Any) -> bool:
    is_sequence = isinstance(value, (list, tuple)) and len(value) == 3
    return is_sequence and all(isinstance(name, str) for name in value)


def _is_pair(given: Any) -> bool:
    """Whether these are two rows of ends, and not edge ids."""
    if isinstance(given, (list, tuple)):
        return len(given) == 2 and all(hasattr(row, "__len__") for row in given)
    return getattr(given, "ndim", 1) == 2
