"""`TypedBatch`: a batch of a graph with types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from graphzero.base.extras import require_pyg
from graphzero.client.batches.batch import Batch
from graphzero.client.batches.batch_memory import BatchMemory
from graphzero.client.batches.typed_layers import TypedLayer, dgl_typed_blocks, nested_typed_layers
from graphzero.client.memory.pinned import HeldBlock
from graphzero.client.memory.results import Reply, Tensor
from graphzero.client.memory.tensors import (
    pack,
    unpack,
    users_tensor,
)
from graphzero.embedded.typed_results import EdgeFields, Fields, NodeFields, TypedResult
from graphzero.files.column_keys import split_key
from graphzero.files.schema import RelationName, Schema

F = TypeVar("F", bound="_Lazy")

# Tensors of a batch that belong to no type.
_LINK_FIELDS = (
    "source_index", "target_index", "seed_time", "input_id", "edge_label", "edge_label_time",
)  # fmt: skip


class _Lazy(Fields):
    """Tensors become torch's when they are first looked at."""

    _upcast = False
    _block: HeldBlock | None = None

    def __getitem__(self, name: str) -> Any:
        if self._block is not None:
            self._block.hand_out()
        return self._tensor(name)

    def mapped(self: F, change: Callable[[Any], Any]) -> F:
        """The same fields with every tensor changed."""
        tensors = {name: change(self._tensor(name)) for name in self}
        return type(self)(self._owner, tensors, **self.facts())

    def _tensor(self, name: str) -> Any:
        """For internal use. Before users get a tensor, the block must be told."""
        value = super().__getitem__(name)
        if isinstance(value, Tensor):
            value = users_tensor(value, self._upcast)
            self[name] = value
        return value

    def _drop(self) -> None:
        super()._drop()
        self._block = None

    def __reduce__(self) -> tuple[Any, ...]:
        packed = {name: pack(self[name]) for name in self}
        return _unpickled_fields, (type(self), self._owner, packed, self.facts())


class BatchNodes(_Lazy, NodeFields):
    """Nodes of one type in a batch, with their columns."""


class BatchEdges(_Lazy, EdgeFields):
    """Edges of one relation in a batch, with their columns."""


class TypedBatch(BatchMemory, TypedResult):
    """A sampled subgraph of a graph with types, with columns, as the daemon made it.

    It reads like PyG's HeteroData, see TypedResult; columns are fields of their type or relation:

        batch["user"].x, batch["user", "rates", "movie"].rating, model(batch.x_dict, ...)

    A view has the edge columns of its base relation. Batches of Client.link_loader() have input_id,
    edge_label and edge_label_time beside source_index, as a Batch has them. What Batch says of
    tensors, their memory, pickling and forks holds here as well.
    """

    def __init__(
        self,
        nodes: dict[str, BatchNodes],
        edges: dict[RelationName, BatchEdges],
        *,
        links: dict[str, Any],
        seed: int,
        link_relation: RelationName | None = None,
        upcast: bool = False,
        block: HeldBlock | None = None,
    ) -> None:
        """`links`: the tensors that belong to no type: source_index, target_index, seed_time, and
        what _set_link_fields() takes."""
        super().__init__(nodes, edges, seed=seed)
        self._nodes: dict[str, BatchNodes] = nodes
        self._edges: dict[RelationName, BatchEdges] = edges
        self.link_relation = link_relation
        """The relation that source_index and target_index are links of; None without links."""
        self.input_id: Any = None
        """int64: positions of the links among those of a link_loader(); None without one."""
        self.edge_label: Any = None
        """Labels of its links; None if it has none."""
        self.edge_label_time: Any = None
        """int64: times of its links; None if they have none."""
        self._set_link_fields(links)
        for fields in (*nodes.values(), *edges.values()):
            fields._upcast = upcast
            fields._block = block
        self._block = block
        if block is not None and not links:  # links are plain attributes, whose use is not noticed
            block.watch()

    def _set_link_fields(self, fields: dict[str, Any]) -> None:
        """Adds fields that a loader knows about the links of the batch."""
        unknown = fields.keys() - set(_LINK_FIELDS)
        if unknown:
            raise KeyError(f"tensors {', '.join(unknown)} of no type")
        for name, tensor in fields.items():
            setattr(self, name, tensor)

    def release(self) -> None:
        """Drops the batch's own references, so that the block is free once no other view is left.

        The tensors cannot be had from the batch any more. Releasing twice is harmless.
        """
        for _, fields in self._stores():
            fields._drop()
        self._set_link_fields(dict.fromkeys(_LINK_FIELDS))
        self._block = None

    def to_pyg(self) -> Any:
        """A torch_geometric.data.HeteroData over the same tensors; needs PyG.

        Its fields are those of PyG's NeighborLoader.
        """
        require_pyg("to_pyg()")
        from graphzero.client.pyg.data import data_of_batch

        return data_of_batch(self)

    def layers(self) -> list[TypedLayer]:
        """The batch as one bipartite graph for each layer of a network, input layer first; nested
        as those of Batch.layers(). Views: nothing is copied."""
        return nested_typed_layers(self)

    def to_dgl_blocks(self) -> tuple[Any, Any, list[Any]]:
        """(input_nodes, output_nodes, blocks) as DGL's samplers give them of a heterograph; needs
        DGL. The nodes are dicts by type.

        Blocks are layers(), input layer first, with dgl.NID of both sides set, dgl.EID of relations
        that store edge ids, and edata["edge_weight"] of those that store weights.
        """
        return dgl_typed_blocks(self.layers())

    def __reduce__(self) -> tuple[Any, ...]:
        links = {name: pack(tensor) for name, tensor in self._links().items()}
        return _unpickled_batch, (self._nodes, self._edges, links, self.seed, self.link_relation)

    def __repr__(self) -> str:
        if any(fields._tensors is None for _, fields in self._stores()):
            return "TypedBatch(released)"
        return super().__repr__()

    def _links(self) -> dict[str, Any]:
        tensors = {name: getattr(self, name) for name in _LINK_FIELDS}
        return {name: tensor for name, tensor in tensors.items() if tensor is not None}

    def _map(self, change: Callable[[Any], Any]) -> TypedBatch:
        return TypedBatch(
            {name: fields.mapped(change) for name, fields in self._nodes.items()},
            {name: fields.mapped(change) for name, fields in self._edges.items()},
            links={name: change(tensor) for name, tensor in self._links().items()},
            seed=self.seed,
            link_relation=self.link_relation,
        )


AnyBatch: TypeAlias = Batch | TypedBatch
"""Of a graph without types, or with."""


def typed_batch_of_reply(schema: Schema, reply: Reply, upcast: bool = False) -> TypedBatch:
    """Raises KeyError, IndexError or ValueError for a result that does not fit the schema."""
    result = reply.result
    by_owner: dict[str, dict[str, Any]] = {}
    for key, tensor in reply.tensors.items():
        directory, name = split_key(key)
        by_owner.setdefault(directory, {})[name] = tensor
    nodes = {
        found.name: BatchNodes(
            f"type {found.name!r} of the batch",
            by_owner.pop(found.directory),
            num_sampled_nodes=list(counts.num_sampled_nodes),
            batch_size=counts.batch_size,
        )
        for found, counts in zip(schema.types, result.type_counts, strict=True)
    }
    edges = {
        found.triple: BatchEdges(
            f"relation {found.triple!r} of the batch",
            by_owner.pop(found.directory),
            num_sampled_edges=list(counts.num_sampled_edges),
        )
        for found, counts in zip(schema.relations, result.relation_counts, strict=True)
    }
    links = {name: users_tensor(tensor) for name, tensor in by_owner.pop("", {}).items()}
    if by_owner:
        raise KeyError(f"tensors of {', '.join(by_owner)}, which the dataset does not have")
    of_links = result.HasField("link_relation")
    return TypedBatch(
        nodes,
        edges,
        links=links,
        seed=result.seed,
        link_relation=schema.relations[result.link_relation].triple if of_links else None,
        upcast=upcast,
        block=reply.block,
    )


def _unpickled_fields(
    kind: type[F], owner: str, packed: dict[str, tuple[str, Any]], facts: dict[str, Any]
) -> F:
    return kind(owner, _unpacked(packed), **facts)


def _unpickled_batch(
    nodes: dict[str, BatchNodes],
    edges: dict[RelationName, BatchEdges],
    links: dict[str, Any],
    seed: int,
    link_relation: RelationName | None,
) -> TypedBatch:
    links = _unpacked(links)
    return TypedBatch(nodes, edges, links=links, seed=seed, link_relation=link_relation)


def _unpacked(packed: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    return {name: unpack(*value) for name, value in packed.items()}
