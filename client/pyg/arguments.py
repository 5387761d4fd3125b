"""PyG's sampling arguments in a client's words. What cannot be done is refused by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal

from graphzero.client.info import DatasetInfo
from graphzero.embedded.sampling import SUBGRAPHS, as_fanout
from graphzero.files.topology_file import Direction
from torch_geometric.sampler import NumNeighbors
from torch_geometric.sampler.base import SubgraphType

WEIGHTS = "edge_weight"
"""The name that a graph's weights have in a batch."""


SampleDirection = Literal["forward", "backward"]
_DIRECTIONS: dict[str, Direction] = {"forward": "in", "backward": "out"}


def induced_if_undirected(directed: bool, subgraph_type: SubgraphType | str) -> SubgraphType | str:
    """What PyG's deprecated `directed` means."""
    if directed:
        return subgraph_type
    warnings.warn(
        "directed=False is deprecated, use subgraph_type='induced'",
        DeprecationWarning,
        stacklevel=4,
    )
    return SubgraphType.induced


def refuse(**given: Any) -> None:
    """Raises for the first argument that is not None, False or "uniform": never ignored."""
    for name, value in given.items():
        if value is None or value is False or (name == "temporal_strategy" and value == "uniform"):
            continue
        raise NotImplementedError(f"{name}={_short(value)} is not supported: {_REASONS[name]}")


def without_type(ids: Any, what: str) -> Any:
    """PyG's (type, ids) as ids alone. The type can only be None: datasets have one of each."""
    if not isinstance(ids, tuple):
        return ids
    if len(ids) == 2 and ids[0] is None:
        return ids[1]
    # ("paper", ids), ("paper", "cites", "paper") or (("paper", "cites", "paper"), ids)
    first = ids[0] if ids else None
    if isinstance(first[0] if isinstance(first, tuple) and first else first, str):
        raise NotImplementedError(
            f"{what} by type is not supported, found {_short(ids)}: datasets have one type of "
            "nodes and of edges; give the ids alone"
        )
    return ids


_REASONS = {
    "input_time": "datasets have no timestamps that sampling could follow",
    "edge_label_time": "datasets have no timestamps that sampling could follow",
    "time_attr": "datasets have no timestamps that sampling could follow",
    "temporal_strategy": "datasets have no timestamps that sampling could follow",
    "keep_orig_edges": "bidirectional samples do not keep the edges that were drawn apart",
    "custom_cls": "batches are torch_geometric.data.Data; use transform to make something else",
}


def fanout_of(num_neighbors: Any) -> list[int]:
    """Edges for each node and hop."""
    values = num_neighbors.values if isinstance(num_neighbors, NumNeighbors) else num_neighbors
    if isinstance(values, Mapping):
        raise NotImplementedError(
            "num_neighbors by edge type is not supported: datasets have one edge type; give a list"
        )
    return as_fanout(values, "num_neighbors")


def subgraph_of(subgraph_type: Any) -> SubgraphType:
    try:
        return SubgraphType(subgraph_type)
    except ValueError:
        known = ", ".join(SUBGRAPHS)
        raise ValueError(f"subgraph_type is {subgraph_type!r}, expected one of {known}") from None


def direction_of(sample_direction: Any) -> Direction:
    if sample_direction not in _DIRECTIONS:
        known = ", ".join(map(repr, _DIRECTIONS))
        raise ValueError(f"sample_direction is {sample_direction!r}, expected one of {known}")
    return _DIRECTIONS[sample_direction]


def check_weights(info: DatasetInfo, weight_attr: str | None) -> None:
    """Raises ValueError unless the graph stores weights of that name."""
    if weight_attr is None:
        return
    name = info.weight_name or WEIGHTS
    if weight_attr != name or not info.has_weights:
        known = repr(name) if info.has_weights else "none: the graph stores no weights"
        raise ValueError(
            f"weight_attr is {weight_attr!r}, expected {known}; weights to draw by are chosen when "
            "a dataset is made: import_pyg(data, out, weight_attr=...), or a column of the edges"
        )


def has_weight_field(info: DatasetInfo) -> bool:
    """Whether batches have the graph's weights as edge_weight: weights of another name are a
    column."""
    return info.has_weights and info.weight_name in ("", WEIGHTS)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"<{type(value).__name__}>"
