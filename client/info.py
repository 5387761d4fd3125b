"""What a daemon serves, as it told."""

from __future__ import annotations

from dataclasses import dataclass

from graphzero.files.column_names import is_reserved
from graphzero.files.paths import ORIGINAL_IDS
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
    dtype: str
    shape: tuple[int, ...]
    role: str
    """What a row belongs to: "node", "edge" (by edge id), or "ids": the values are node ids; or
    "categories": row i is what code i of another column stands for."""
    byte_size: int
    value_names: tuple[str, ...] = ()
    """Names of the values of a row, as the table had them that it was made of; none of a column
    whose names take more than 64 KiB."""
    time_unit: str | None = None
    """If values are times: "D", "s", "ms", "us" or "ns" since 1970, in UTC."""
    categories: str | None = None
    """If values are codes of categories: the column that has these. See Client.categories()."""


@dataclass(frozen=True)
class DatasetInfo:
    """A dataset in the version that was current when it was asked for."""

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
    """What the weights are called where they come from; "" if nothing is known about it."""

    @property
    def node_columns(self) -> list[str]:
        """Names of the columns that have a row for each node, but for the original ids."""
        return [
            name
            for name, column in self.columns.items()
            if column.role == "node" and name != ORIGINAL_IDS
        ]

    @property
    def edge_columns(self) -> list[str]:
        """Names of the columns that have a row for each edge id."""
        return [name for name, column in self.columns.items() if column.role == "edge"]

    @property
    def original_ids(self) -> str | None:
        """What the original ids of a relabelled dataset are: "integer" or "text"; else None."""
        column = self.columns.get(ORIGINAL_IDS)
        if column is None:
            return None
        return "integer" if column.dtype == "int64" else "text"

    @classmethod
    def from_message(cls, message: graphzero_pb2.Dataset) -> DatasetInfo:
        columns = (
            ColumnInfo(
                c.name,
                c.dtype,
                tuple(c.shape),
                _ROLES.get(c.role, "node"),
                c.byte_size,
                tuple(c.value_names),
                c.time_unit or None,
                c.categories or None,
            )
            for c in message.columns
        )
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
            # An older daemon may serve columns that would hide fields of a batch.
            columns={c.name: c for c in columns if not is_reserved(c.name, c.role)},
            weight_name=message.weight_name,
        )


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
