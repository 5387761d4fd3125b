"""Turns PyG's sampling arguments into a client's, and refuses by name what is not supported."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.pyg.parts import WEIGHTS, Key, parts_of
from graphzero.embedded.sampling import SUBGRAPHS, as_fanout
from graphzero.files.schema import RelationName
from graphzero.files.topology_file import Direction
from torch_geometric.sampler import NumNeighbors
from torch_geometric.sampler.base import SubgraphType
from torch_geometric.typing import EdgeTypeStr

SampleDirection = Literal["forward", "backward"]
_DIRECTIONS: dict[str, Direction] = {"forward": "in", "backward": "out"}

FanoutOfRelations: TypeAlias = list[int] | dict[RelationName, list[int]]


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
    """Raises NotImplementedError for the first argument that is not None or False, instead of
    ignoring it."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{name}={_short(value)} is not supported: {_REASONS[name]}")


_REASONS = {
    "keep_orig_edges": "bidirectional samples do not keep the edges that were drawn apart",
    "custom_cls": "batches are Data or HeteroData; use transform to make something else",
}


# ---- types and relations ----


def split_input_nodes(dataset: DatasetInfo, input_nodes: Any) -> dict[Key, Any]:
    """Turns PyG's (type, nodes), or a mapping of several types, into nodes by the name of the type,
    which is None in a dataset without types. Nodes are ids, a mask, a split, or None for all."""
    if not dataset.schema.typed:
        return {None: _without_type(input_nodes, "input_nodes")}
    names = dataset.schema.type_names
    if isinstance(input_nodes, Mapping):
        if not input_nodes:
            raise ValueError("input_nodes names no type")
        return {_known_type(name, names): nodes for name, nodes in input_nodes.items()}
    if isinstance(input_nodes, str):
        return {_known_type(input_nodes, names): None}
    is_pair = isinstance(input_nodes, (list, tuple)) and len(input_nodes) == 2
    if is_pair and isinstance(input_nodes[0], str):
        return {_known_type(input_nodes[0], names): input_nodes[1]}
    raise ValueError(
        f"input_nodes is {_short(input_nodes)}, but dataset {dataset.name!r} has types: expected "
        f'("{names[0]}", ids), or a mapping of several types; the types are {_listed(names)}'
    )


def split_edge_label_index(
    dataset: DatasetInfo, edge_label_index: Any
) -> tuple[RelationName | None, Any]:
    """Turns PyG's (relation, links), or the relation alone, into both. The relation is None in a
    dataset without types; the links are None for all edges."""
    if not dataset.schema.typed:
        return None, _without_type(edge_label_index, "edge_label_index")
    found = dataset.schema.relation_names
    is_tuple = isinstance(edge_label_index, (list, tuple)) and len(edge_label_index) > 0
    if is_tuple and isinstance(edge_label_index[0], str):
        return relation_of(dataset, edge_label_index, "edge_label_index"), None
    if is_tuple and len(edge_label_index) == 2 and _is_relation(edge_label_index[0]):
        named = relation_of(dataset, edge_label_index[0], "edge_label_index[0]")
        return named, edge_label_index[1]
    raise ValueError(
        f"edge_label_index is {_short(edge_label_index)}, but dataset {dataset.name!r} has types: "
        f"expected (relation, links); the relations are {_listed(found)}"
    )


def relation_of(dataset: DatasetInfo, relation: Any, what: str) -> RelationName:
    """A relation as PyG's HeteroData finds it: all three names, or its two ends, if only one
    relation is between those, or the one called "to"."""
    names = tuple(relation)
    known = dataset.schema.relation_names
    if len(names) == 2:
        between = [triple for triple in known if triple[::2] == names]
        names = between[0] if len(between) == 1 else (names[0], "to", names[1])
    if len(names) != 3:
        raise ValueError(f"{what} is {relation!r}, expected (source type, name, target type)")
    for name in names[::2]:
        _known_type(name, dataset.schema.type_names, f"a type of {what}")
    return names


def _is_relation(value: Any) -> bool:
    is_tuple = isinstance(value, (list, tuple)) and len(value) in (2, 3)
    return is_tuple and all(isinstance(name, str) for name in value)


def _known_type(name: Any, known: list[str], what: str = "the type of input_nodes") -> str:
    if name not in known:
        raise ValueError(f"{what} is {name!r}, expected one of {_listed(known)}")
    return str(name)


def _without_type(ids: Any, what: str) -> Any:
    """PyG's (type, ids) as ids alone. The type can only be None: the dataset has none."""
    if isinstance(ids, Mapping):
        raise ValueError(f"{what} is by type, but the dataset has no types; give the ids alone")
    if not isinstance(ids, tuple):
        return ids
    if len(ids) == 2 and ids[0] is None:
        return ids[1]
    # ("paper", ids), ("paper", "cites", "paper") or (("paper", "cites", "paper"), ids)
    first = ids[0] if ids else None
    if isinstance(first[0] if isinstance(first, tuple) and first else first, str):
        raise ValueError(
            f"{what} is {_short(ids)}, by type, but the dataset has no types; give the ids alone"
        )
    return ids


def fanout_of(num_neighbors: Any, dataset: DatasetInfo) -> FanoutOfRelations:
    """Edges for each node and hop: of all relations, or of each."""
    default = None
    if isinstance(num_neighbors, NumNeighbors):
        num_neighbors, default = num_neighbors.values, num_neighbors.default
    if not isinstance(num_neighbors, Mapping):
        return as_fanout(num_neighbors, "num_neighbors")
    if not dataset.schema.typed:
        raise ValueError(
            "num_neighbors is by edge type, but the dataset has no types; expected a list"
        )
    known = dataset.schema.relation_names
    fanout = {}
    for relation, edges in num_neighbors.items():
        name = relation.to_tuple() if isinstance(relation, EdgeTypeStr) else relation
        if not _is_relation(name):
            raise ValueError(f"num_neighbors has {relation!r}, expected relations as keys")
        triple = relation_of(dataset, name, "a relation of num_neighbors")
        if triple not in known:
            raise ValueError(f"num_neighbors has {triple}, expected only {_listed(known)}")
        fanout[triple] = as_fanout(edges, f"num_neighbors[{triple}]")
    missing = [triple for triple in known if triple not in fanout]
    if missing:
        if default is None:
            raise ValueError(
                f"num_neighbors has none for {_listed(missing)}, expected some for every relation; "
                "0 leaves one out"
            )
        others = as_fanout(default, "default of num_neighbors")
        fanout.update(dict.fromkeys(missing, others))
    hops = {triple: len(edges) for triple, edges in fanout.items()}
    if len(set(hops.values())) > 1:
        least, most = min(hops, key=hops.__getitem__), max(hops, key=hops.__getitem__)
        raise ValueError(
            f"num_neighbors has {hops[least]} hops for {least} and {hops[most]} for {most}: the "
            "number of hops must be the same across all relations"
        )
    return {triple: fanout[triple] for triple in known}


# ---- the other arguments of a sampler ----


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


def check_weights(dataset: DatasetInfo, weight_attr: str | None) -> None:
    """Raises ValueError unless the graph stores weights of that name."""
    if weight_attr is None:
        return
    name = dataset.weight_name or WEIGHTS
    has_weights = any(part.edges and part.edges.has_weights for part in parts_of(dataset).values())
    if weight_attr != name or not has_weights:
        known = repr(name) if has_weights else "none: the graph stores no weights"
        raise ValueError(
            f"weight_attr is {weight_attr!r}, expected {known}; weights to draw by are chosen when "
            "a dataset is made: import_pyg(data, out, weight_attr=...), or a column of the edges"
        )


def _listed(names: Any, most: int = 10) -> str:
    shown = ", ".join(str(name) for name in list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "none"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"<{type(value).__name__}>"
