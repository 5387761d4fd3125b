"""Describes a dataset to trainers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from graphzero.files.column_file import ColumnFile
from graphzero.files.column_types import quantised_type
from graphzero.files.dataset import Dataset
from graphzero.files.paths import CATEGORIES_SUFFIX
from graphzero.files.schema import Relation
from graphzero.proto import graphzero_pb2 as pb

# Most bytes of the names of one column's values, and of all names of values in one message. With
# more of them a message might be longer than 4 MiB, which is what gRPC's receivers take: a trainer
# could not connect, and peers would not learn which part a daemon has.
_MAX_VALUE_NAME_BYTES = 64 << 10
_MAX_MESSAGE_NAME_BYTES = 1 << 20
# More than Protocol Buffers add to a name of that length.
_BYTES_BESIDE_A_NAME = 4
_ROLES = {
    "node": pb.COLUMN_ROLE_NODE,
    "edge": pb.COLUMN_ROLE_EDGE,
    "ids": pb.COLUMN_ROLE_IDS,
    "categories": pb.COLUMN_ROLE_CATEGORIES,
}


def describe_datasets(datasets: Iterable[Dataset]) -> list[pb.Dataset]:
    """All datasets of one message. Columns beyond the limit are described without the names of
    their values."""
    left = _Room(_MAX_MESSAGE_NAME_BYTES)
    return [_describe(dataset, left) for dataset in datasets]


def describe_dataset(dataset: Dataset) -> pb.Dataset:
    """The only dataset of a message."""
    return describe_datasets([dataset])[0]


@dataclass
class _Room:
    """What is left of a message for names."""

    byte_size: int

    def take(self, byte_size: int) -> bool:
        """Whether there is room for that much; then it is taken."""
        fits = byte_size <= self.byte_size
        self.byte_size -= byte_size if fits else 0
        return fits


def _describe(dataset: Dataset, room: _Room) -> pb.Dataset:
    graph, schema = dataset.graph, dataset.schema
    return pb.Dataset(
        name=dataset.name,
        fingerprint=dataset.fingerprint,
        path=str(dataset.path),
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        has_weights=graph.has_weights,
        has_edge_ids=graph.has_edge_ids,
        has_in_edges=graph.has_direction("in"),
        has_out_edges=graph.has_direction("out"),
        symmetric=graph.symmetric,
        weight_name=graph.topology.weight_name,
        types=[
            pb.NodeType(name=found.name, num_nodes=found.count, has_times=found.has_times)
            for found in (schema.types if schema.typed else ())
        ],
        relations=[_relation(found) for found in (schema.relations if schema.typed else ())],
        time_unit=schema.time_unit,
        has_times=any(found.has_times for found in schema.relations),
        has_node_times=not schema.typed and schema.types[0].has_times,
        shard=None
        if dataset.shard is None
        else pb.Shard(part=dataset.shard.part, parts=dataset.shard.parts, layout=dataset.layout),
        columns=[
            pb.Column(
                name=name,
                dtype=column.dtype.label,
                shape=column.shape,
                role=_ROLES[column.role],
                byte_size=column.byte_size,
                value_names=_value_names(column, room),
                time_unit=column.description.unit or "",
                categories=f"{name}{CATEGORIES_SUFFIX}" if column.description.categories else "",
                quantised=quantised_type(column.quantisation.delivered)
                if column.quantisation is not None
                else "",
                block_rows=dataset.block_rows.get(name, 0),
            )
            for name, column in dataset.columns.items()
        ],
    )


def _relation(relation: Relation) -> pb.Relation:
    return pb.Relation(
        source=relation.source,
        target=relation.target,
        name=relation.name,
        is_view=relation.is_view,
        base=relation.base,
        inverse=relation.inverse,
        num_edges=relation.num_edges,
        edge_id_bound=relation.edge_id_bound,
        has_weights=relation.has_weights,
        has_edge_ids=relation.has_edge_ids,
        has_in_edges=relation.has_in or relation.symmetric,
        has_out_edges=relation.has_out or relation.symmetric,
        symmetric=relation.symmetric,
        has_times=relation.has_times,
    )


def _value_names(column: ColumnFile, room: _Room) -> tuple[str, ...]:
    names = column.description.columns
    size = sum(len(name.encode()) for name in names)
    fits = size <= _MAX_VALUE_NAME_BYTES and room.take(size + _BYTES_BESIDE_A_NAME * len(names))
    return names if fits else ()
