"""Descriptions of what a daemon serves, from its messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from graphzero.files.column_keys import split_key
from graphzero.files.column_names import is_reserved
from graphzero.files.paths import ORIGINAL_IDS
from graphzero.files.schema import NodeType, Relation, RelationName, Schema
from graphzero.proto import graphzero_pb2

_ROLES = {
    graphzero_pb2.COLUMN_ROLE_NODE: "node",
    graphzero_pb2.COLUMN_ROLE_EDGE: "edge",
    graphzero_pb2.COLUMN_ROLE_IDS: "ids",
    graphzero_pb2.COLUMN_ROLE_CATEGORIES: "categories",
}


@dataclass(frozen=True)
class ColumnInfo:
    """A matrix of a dataset."""

    name: str
    """Its key, if the graph has types: "user/x", "user.rates.movie/rating"."""
    dtype: str
    shape: tuple[int, ...]
    role: str
    """What a row belongs to: "node", "edge" (by edge id), or "ids": the values are node ids; or
    "categories": row i is what code i of another column stands for."""
    byte_size: int
    """Size of the file."""
    value_names: tuple[str, ...] = ()
    """Names of the values of a row, from the table that the column was made of; empty if they take
    more than 64 KiB, or those of all columns more than 1 MiB."""
    time_unit: str | None = None
    """If values are times: "D", "s", "ms", "us" or "ns" since 1970, in UTC."""
    categories: str | None = None
    """If values are codes: the column that has the categories. See Client.categories()."""
    quantised: str | None = None
    """How the file stores each value in one byte, "q8" or "q8[float16]"; None if it does not.
    `dtype` is the type of the values."""


@dataclass(frozen=True)
class TypeInfo:
    """A type of nodes."""

    name: str
    num_nodes: int
    has_times: bool
    """Whether each of its nodes has a time."""
    columns: dict[str, ColumnInfo]
    """By name, without that of the type."""

    @property
    def original_ids(self) -> str | None:
        """What the original ids of its nodes are: "integer" or "text"; None if there are none."""
        return _kind_of_ids(self.columns.get(ORIGINAL_IDS))


@dataclass(frozen=True)
class RelationInfo:
    """Edges from nodes of one type to nodes of another, or of the same."""

    source: str
    name: str
    target: str
    num_edges: int
    view_of: RelationName | None
    """The relation whose edges it has in reverse, if it is not stored itself."""
    inverse: RelationName | None
    """Another relation that was declared to have the same edges in reverse."""
    has_weights: bool
    has_edge_ids: bool
    has_times: bool
    """Whether its edges, or nodes at their ends, have times."""
    has_in_edges: bool
    has_out_edges: bool
    symmetric: bool
    columns: dict[str, ColumnInfo]
    """By name, without that of the relation. A view has the columns of its base relation."""


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset in the version that was current when it was asked for.

    Of a graph with types, `columns` are by key ("user/x"), num_nodes and num_edges are sums, and
    has_weights and the flags after it say nothing: see `relations`.
    """

    name: str
    fingerprint: str
    """Hash of the content in hex."""
    path: str
    """Where the daemon found it."""
    num_nodes: int
    num_edges: int
    has_weights: bool
    has_edge_ids: bool
    has_in_edges: bool
    has_out_edges: bool
    symmetric: bool
    columns: dict[str, ColumnInfo]
    weight_name: str = ""
    """Name of the weights in the data that the graph was made of; "" if it is not known."""
    types: dict[str, TypeInfo] = field(default_factory=dict)
    """By name. Empty if there is one kind of nodes and edges."""
    relations: dict[RelationName, RelationInfo] = field(default_factory=dict)
    """By (source type, name, target type). Empty if there is one kind of nodes and edges."""
    has_times: bool = False
    """Whether edges, or the nodes at their ends, have times, by which samples can be drawn."""
    has_node_times: bool = False
    """Whether each node of a graph without types has a time; with types, see `types`."""
    time_unit: str | None = None
    """Unit of the graph's times since 1970: "D", "s", "ms", "us" or "ns"; None if not known."""
    schema: Schema = field(default_factory=lambda: Schema.flat(0), repr=False)
    """Types and relations by number."""

    @property
    def node_columns(self) -> list[str]:
        """Names of the columns that have a row for each node, but for the original ids."""
        return [
            name
            for name, column in self.columns.items()
            if column.role == "node" and split_key(name)[1] != ORIGINAL_IDS
        ]

    @property
    def edge_columns(self) -> list[str]:
        """Names of the columns that have a row for each edge id."""
        return [name for name, column in self.columns.items() if column.role == "edge"]

    @property
    def original_ids(self) -> str | None:
        """What the original ids of a relabelled dataset are: "integer" or "text"; else None. Those
        of a graph with types belong to its types."""
        return _kind_of_ids(self.columns.get(ORIGINAL_IDS))

    @cached_property
    def by_owner(self) -> dict[str, dict[str, ColumnInfo]]:
        """Columns by directory, then by name; a view has the columns of its base relation."""
        return _columns_by_owner(self.schema, self.columns)

    @classmethod
    def from_message(cls, message: graphzero_pb2.Dataset) -> DatasetInfo:
        columns = {c.name: c for c in map(_column, message.columns) if not _hides_a_field(c)}
        schema = _schema(message)
        by_owner = _columns_by_owner(schema, columns)
        return cls(
            name=message.name,
            fingerprint=message.fingerprint.hex(),
            path=message.path,
            num_nodes=message.num_nodes,
            num_edges=message.num_edges,
            has_weights=message.has_weights,
            has_edge_ids=message.has_edge_ids,
            has_in_edges=message.has_in_edges,
            has_out_edges=message.has_out_edges,
            symmetric=message.symmetric,
            columns=columns,
            weight_name=message.weight_name,
            types={
                found.name: TypeInfo(
                    found.name, found.count, found.has_times, by_owner[found.directory]
                )
                for found in (schema.types if schema.typed else ())
            },
            relations={
                found.triple: _relation_info(schema, found, by_owner[found.directory])
                for found in (schema.relations if schema.typed else ())
            },
            has_times=message.has_times,
            has_node_times=message.has_node_times,
            time_unit=message.time_unit or None,
            schema=schema,
        )


def _column(message: graphzero_pb2.Column) -> ColumnInfo:
    return ColumnInfo(
        message.name,
        message.dtype,
        tuple(message.shape),
        _ROLES.get(message.role, "node"),
        message.byte_size,
        tuple(message.value_names),
        message.time_unit or None,
        message.categories or None,
        message.quantised or None,
    )


def _hides_a_field(column: ColumnInfo) -> bool:
    """Whether the column would hide a field of a batch. An older daemon may serve such columns."""
    return is_reserved(split_key(column.name)[1], column.role)


def _schema(message: graphzero_pb2.Dataset) -> Schema:
    """Raises IndexError for a number that no type has."""
    if not message.types:
        return Schema.flat(
            message.num_nodes,
            has_times=message.has_node_times,
            time_unit=message.time_unit,
            num_edges=message.num_edges,
        )
    types = tuple(NodeType(found.name, found.num_nodes, found.has_times) for found in message.types)
    return Schema(
        types,
        tuple(
            Relation(
                source=found.source,
                name=found.name,
                target=found.target,
                base=found.base,
                triple=(types[found.source].name, found.name, types[found.target].name),
                num_edges=found.num_edges,
                edge_id_bound=found.edge_id_bound,
                is_view=found.is_view,
                inverse=found.inverse if found.HasField("inverse") else None,
                symmetric=found.symmetric,
                has_weights=found.has_weights,
                has_edge_ids=found.has_edge_ids,
                has_times=found.has_times,
                has_out=found.has_out_edges,
                has_in=found.has_in_edges,
            )
            for found in message.relations
        ),
        time_unit=message.time_unit,
    )


def _relation_info(schema: Schema, found: Relation, columns: dict[str, ColumnInfo]) -> RelationInfo:
    inverse = found.inverse
    return RelationInfo(
        source=found.triple[0],
        name=found.name,
        target=found.triple[2],
        num_edges=found.num_edges,
        view_of=schema.relations[found.base].triple if found.is_view else None,
        inverse=None if inverse is None else schema.relations[inverse].triple,
        has_weights=found.has_weights,
        has_edge_ids=found.has_edge_ids,
        has_times=found.has_times,
        has_in_edges=found.has_in,
        has_out_edges=found.has_out,
        symmetric=found.symmetric,
        columns=columns,
    )


def _columns_by_owner(
    schema: Schema, columns: dict[str, ColumnInfo]
) -> dict[str, dict[str, ColumnInfo]]:
    directories = [kind.directory for kind in schema.types]
    directories += [relation.directory for relation in schema.relations]
    found: dict[str, dict[str, ColumnInfo]] = {directory: {} for directory in directories}
    for key, column in columns.items():
        directory, name = split_key(key)
        found.setdefault(directory, {})[name] = column
    for relation in schema.relations:
        if relation.is_view:
            found[relation.directory] = found[schema.relations[relation.base].directory]
    return found


def _kind_of_ids(column: ColumnInfo | None) -> str | None:
    if column is None:
        return None
    return "integer" if column.dtype == "int64" else "text"


@dataclass(frozen=True)
class ClientInfo:
    """What a client is connected to."""

    address: str
    transport: str
    """ "shared_memory" or "inline"."""
    dataset: DatasetInfo
    sampler_version: int
    """Equal versions draw equal batches."""
    max_request_edges: int
    max_result_byte_size: int
    suggested_prefetch: int
    """Batches that loaders ask for ahead unless they are told how many."""
