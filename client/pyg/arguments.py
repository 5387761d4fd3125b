"""PyG's sampling arguments as a client's options. What cannot be done is refused by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphzero._sampling import SUBGRAPHS, Subgraph, as_fanout
from graphzero.client.client import Client
from torch_geometric.sampler import NumNeighbors
from torch_geometric.sampler.base import SubgraphType

WEIGHTS = "edge_weight"
"""The name that a graph's weights have in a batch."""


@dataclass(frozen=True)
class SamplingArguments:
    """How PyG's samplers and loaders draw, in the words of Client.sample()."""

    fanout: tuple[int, ...]
    replace: bool
    disjoint: bool
    subgraph: Subgraph
    weighted: bool

    def as_options(self) -> dict[str, Any]:
        return {
            "fanout": self.fanout,
            "replace": self.replace,
            "disjoint": self.disjoint,
            "subgraph": self.subgraph,
            "weighted": self.weighted,
            "direction": "in",
        }


def sampling_arguments(
    client: Client,
    num_neighbors: Any,
    *,
    replace: bool,
    subgraph_type: SubgraphType | str,
    disjoint: bool,
    weight_attr: str | None,
    directed: bool,
) -> SamplingArguments:
    if not directed:
        warnings.warn(
            "directed=False is deprecated, use subgraph_type='induced'",
            DeprecationWarning,
            stacklevel=3,
        )
        subgraph_type = SubgraphType.induced
    return SamplingArguments(
        fanout=_fanout(num_neighbors),
        replace=bool(replace),
        disjoint=bool(disjoint),
        subgraph=_subgraph(subgraph_type),
        weighted=_is_weighted(client, weight_attr),
    )


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
    "transform_sampler_output": (
        "batches come with their columns, there is no output between sampling and gathering; use "
        "transform, or PyG's loaders with graphzero.pyg.GraphZeroSampler"
    ),
    "neighbor_sampler": (
        "this loader samples by itself; give the sampler to PyG's NodeLoader or LinkLoader"
    ),
    "custom_cls": "batches are torch_geometric.data.Data; use transform to make something else",
}


def _fanout(num_neighbors: Any) -> tuple[int, ...]:
    values = num_neighbors.values if isinstance(num_neighbors, NumNeighbors) else num_neighbors
    if isinstance(values, Mapping):
        raise NotImplementedError(
            "num_neighbors by edge type is not supported: datasets have one edge type; give a list"
        )
    return tuple(as_fanout(values, "num_neighbors"))


def _subgraph(subgraph_type: Any) -> Subgraph:
    try:
        found: Subgraph = SubgraphType(subgraph_type).value
    except ValueError:
        known = ", ".join(SUBGRAPHS)
        raise ValueError(f"subgraph_type is {subgraph_type!r}, expected one of {known}") from None
    return found


def _is_weighted(client: Client, weight_attr: str | None) -> bool:
    if weight_attr is None:
        return False
    info = client.info().dataset
    if weight_attr != WEIGHTS or not info.has_weights:
        known = repr(WEIGHTS) if info.has_weights else "none: the graph stores no weights"
        raise ValueError(
            f"weight_attr is {weight_attr!r}, expected {known}; weights are the third column of "
            "the edges that a dataset was made from"
        )
    return True


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"<{type(value).__name__}>"
