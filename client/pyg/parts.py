"""What PyG keeps in one store, and a dataset in one place: all of a flat graph, a type of nodes, or
a relation.

The adapters work store by store. A flat dataset has one part, whose key is None and which has nodes
and edges; one with types has a part for each type and each relation, with the keys that HeteroData
has for them. So most of the adapters need not ask whether there are types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from graphzero.client.dataset.info import ColumnInfo, DatasetInfo
from graphzero.files.column_keys import relation_directory, type_directory
from graphzero.files.paths import ORIGINAL_IDS
from graphzero.files.schema import RelationName

WEIGHTS = "edge_weight"
"""The name that a graph's weights have in a batch."""
SCALES = "edge_scale"
"""The name of the scales that the edges of a LABOR sample by weight have in a batch."""
EDGE_INDEX = "edge_index"

Key: TypeAlias = str | RelationName | None


@dataclass(frozen=True)
class Nodes:
    """The nodes of a part."""

    type: int
    """The type's number in the schema."""
    count: int
    has_times: bool
    columns: dict[str, ColumnInfo]
    """By field name; the ColumnInfo has the name by which the client knows the column."""


@dataclass(frozen=True)
class Edges:
    """The edges of a part."""

    relation: int
    """The relation's number in the schema."""
    count: int
    has_ids: bool
    has_weights: bool
    has_weight_field: bool
    """Whether batches have the weights as edge_weight: weights of another name are a column."""
    has_times: bool
    symmetric: bool
    columns: dict[str, ColumnInfo]
    """The same for edges; empty without edge ids, by which a batch finds the rows of its edges."""


@dataclass(frozen=True)
class Part:
    key: Key
    directory: str
    """The first part of the keys of its columns."""
    nodes: Nodes | None
    edges: Edges | None

    @property
    def columns(self) -> dict[str, ColumnInfo]:
        """The columns of nodes, then those of edges."""
        of_nodes = self.nodes.columns if self.nodes else {}
        return {**of_nodes, **(self.edges.columns if self.edges else {})}

    @property
    def roles(self) -> dict[str, str]:
        """What a row of each field belongs to, "node" or "edge"; derived fields, such as num_nodes,
        are not among them."""
        roles = dict.fromkeys(self.nodes.columns, "node") if self.nodes else {}
        if self.edges is not None:
            roles[EDGE_INDEX] = "edge"
            if self.edges.has_weight_field:
                roles[WEIGHTS] = "edge"
            roles.update(dict.fromkeys(self.edges.columns, "edge"))
        return roles


def key_text(key: Key) -> str:
    """How a script names the store: data, data['user'] or data['user', 'rates', 'movie']."""
    if key is None:
        return "data"
    names = (key,) if isinstance(key, str) else key
    return f"data[{', '.join(map(repr, names))}]"


def parts_of(dataset: DatasetInfo) -> dict[Key, Part]:
    """The parts of a dataset by key, in the order of the schema."""
    named_weights = dataset.weight_name in ("", WEIGHTS)
    if not dataset.schema.typed:
        columns = dataset.columns
        nodes = Nodes(
            0,
            dataset.num_nodes,
            dataset.has_node_times,
            {name: columns[name] for name in dataset.node_columns},
        )
        edges = Edges(
            relation=0,
            count=dataset.num_edges,
            has_ids=dataset.has_edge_ids,
            has_weights=dataset.has_weights,
            has_weight_field=dataset.has_weights and named_weights,
            has_times=dataset.has_times,
            symmetric=dataset.symmetric,
            columns=(
                {name: columns[name] for name in dataset.edge_columns}
                if dataset.has_edge_ids
                else {}
            ),
        )
        return {None: Part(None, "", nodes, edges)}
    parts: dict[Key, Part] = {}
    for number, (name, found) in enumerate(dataset.types.items()):
        of_nodes = {
            column: info
            for column, info in found.columns.items()
            if info.role == "node" and column != ORIGINAL_IDS
        }
        nodes = Nodes(number, found.num_nodes, found.has_times, of_nodes)
        parts[name] = Part(name, type_directory(name), nodes, None)
    for number, (triple, relation) in enumerate(dataset.relations.items()):
        of_edges = {
            column: info for column, info in relation.columns.items() if info.role == "edge"
        }
        edges = Edges(
            relation=number,
            count=relation.num_edges,
            has_ids=relation.has_edge_ids,
            has_weights=relation.has_weights,
            has_weight_field=relation.has_weights and named_weights,
            has_times=relation.has_times,
            symmetric=relation.symmetric,
            columns=of_edges if relation.has_edge_ids else {},
        )
        parts[triple] = Part(triple, relation_directory(*triple), None, edges)
    return parts
