"""Times as PyG names them: which attribute has them, and how edges are drawn by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.client.client import Client
from graphzero.client.dataset.files import open_visible
from graphzero.client.errors import ServerUnavailable
from graphzero.client.pyg.parts import Key, Part, key_text, parts_of
from graphzero.files.dataset import Dataset
from graphzero.files.schema import Schema

_STRATEGIES = ("uniform", "last")
_ANY_TIME = "time"
"""The name for times of which a dataset has no column."""
_COMPARED = 1000
"""How many rows of a column of nodes are compared with the times, and of how many nodes edges."""
_COMPARED_OF_NODE = 64
"""Of how many edges of a node at most."""

_Times = npt.NDArray[np.int64]


def check_strategy(temporal_strategy: Any, time_attr: str | None) -> None:
    if temporal_strategy not in _STRATEGIES:
        known = ", ".join(map(repr, _STRATEGIES))
        raise ValueError(f"temporal_strategy is {temporal_strategy!r}, expected one of {known}")
    if temporal_strategy != "uniform" and time_attr is None:
        raise ValueError(
            f"temporal_strategy is {temporal_strategy!r} without time_attr, so that there are no "
            "times to go by; name the attribute that the times are"
        )


def check_time_attr(client: Client, time_attr: str) -> None:
    """Raises ValueError unless the times of the graph are those of that attribute, of nodes or of
    edges. All times of the graph count, also those that come from other attributes.

    Files do not say what their times are called, but an import keeps them as a column as well. So
    columns are compared with the times, if the files are visible here; else only names count.
    """
    dataset = client.info().dataset
    how = "times to sample by are chosen when a dataset is made: import_pyg(data, out, time=...)"
    if not dataset.has_times:
        raise ValueError(
            f"time_attr is {time_attr!r}, but dataset {dataset.name!r} has no times; {how}"
        )
    columns = _columns_of_times(client)
    names = {name for _, name in columns}
    if time_attr not in names and (names or time_attr != _ANY_TIME):
        known = ", ".join(f"{name!r} of {key_text(key)}" for key, name in columns)
        raise ValueError(
            f"time_attr is {time_attr!r}, expected the attribute that the times of dataset "
            f"{dataset.name!r} are: {known or f'none of its columns, so {_ANY_TIME!r}'}; {how}"
        )


def _columns_of_times(client: Client) -> list[tuple[Key, str]]:
    """Columns that have the graph's times, by store and name. If the files are not visible here,
    all columns that could have them."""
    dataset = client.info().dataset
    parts = parts_of(dataset)
    found = [
        (key, name)
        for key, part in parts.items()
        for name, column in part.columns.items()
        if "int" in column.dtype and len(column.shape) == 1
    ]
    try:
        visible = open_visible(dataset, "times cannot be looked at", "they are taken as named")
    except ServerUnavailable:
        return found
    return [(key, name) for key, name in found if _has_times(visible, parts[key], name)]


def _has_times(visible: Dataset, part: Part, name: str) -> bool:
    """Whether the rows of a column are the times of the nodes or edges that they belong to."""
    topology = visible.graph.topology
    if part.nodes is not None and name in part.nodes.columns:
        times: _Times = topology.node_times(part.nodes.type)
        rows = _spread(len(times), _COMPARED)
        times = times[rows]
    else:
        assert part.edges is not None
        rows, times = _times_of_edges(visible.schema, topology, part.edges.relation)
    column = visible.columns[part.columns[name].name].view()
    return len(rows) > 0 and bool(np.array_equal(column[rows], times))


def _times_of_edges(
    schema: Schema, topology: _engine.Topology, number: int
) -> tuple[_Times, _Times]:
    """Ids and times of some edges: the first of the file, which there are unless it has none, and
    edges of nodes that are spread over the file, because edges may differ from the first ones."""
    relation = schema.relations[number]
    direction, owner = ("in", relation.target) if relation.has_in else ("out", relation.source)
    ids: list[_Times] = [np.empty(0, np.int64)]
    times: list[_Times] = [np.empty(0, np.int64)]
    first: Any = _engine.EdgeReader(topology, number).next()
    if first is not None and first[4] is not None:
        ids.append(first[3][:_COMPARED])
        times.append(first[4][:_COMPARED])
    for node in _spread(schema.types[owner].count, _COMPARED):
        own = topology.times(int(node), direction, number)
        if len(own):
            some = _spread(len(own), _COMPARED_OF_NODE)
            times.append(own[some])
            ids.append(topology.edge_ids(int(node), direction, number)[some])
    return np.concatenate(ids), np.concatenate(times)


def _spread(count: int, most: int) -> _Times:
    """At most so many of the numbers below `count`, from the first to the last."""
    return np.linspace(0, max(count - 1, 0), min(count, most), dtype=np.int64)
