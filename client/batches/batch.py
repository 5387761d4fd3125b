"""What a trainer gets: tensors that lie in the daemon's shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graphzero.base.extras import require_pyg
from graphzero.client.batches.batch_memory import BatchMemory
from graphzero.client.batches.layers import Layer, dgl_blocks, nested_layers
from graphzero.client.memory.pinned import HeldBlock
from graphzero.client.memory.results import Reply, Tensor
from graphzero.client.memory.tensors import (
    pack,
    unpack,
    users_tensor,
)
from graphzero.embedded.results import SampleResult, Walks
from graphzero.embedded.typed_results import shape_of

_TOPOLOGY = (
    "n_id", "edge_index", "e_id", "edge_weight", "edge_scale", "batch", "source_index",
    "target_index", "seed_time", "input_id", "edge_label", "edge_label_time",
)  # fmt: skip


class Batch(BatchMemory, SampleResult):
    """A sampled subgraph with the columns of its nodes and edges, as the daemon made it.

    The fields of the subgraph are those of SampleResult. SampledSubgraph, which `Graph.sample`
    draws without a daemon, has the same ones.

    Tensors are torch's when torch is installed, else NumPy arrays. They are attributes (`batch.x`)
    and items (`batch["x"]`, for any name). All of one batch lie in one block of shared memory that
    belongs to this process: they may be changed in place. The block goes back to the daemon when
    the last tensor or view of it dies; a trainer that keeps batches therefore keeps their memory,
    and clone() is the way to keep one for long.

    Batches of Client.link_loader() also have input_id, the positions of their links among those of
    the loader, and edge_label and edge_label_time, their labels and times, or None.

    A pickled batch is a copy. A forked child may read an inherited one while its parent holds it.
    """

    def __init__(
        self,
        tensors: dict[str, Any],
        *,
        batch_size: int,
        num_sampled_nodes: list[int],
        num_sampled_edges: list[int],
        seed: int,
        upcast: bool = False,
        block: HeldBlock | None = None,
    ) -> None:
        self._tensors: dict[str, Any] | None = tensors
        self._upcast = upcast
        self._block = block
        if block is not None:
            block.watch()
        self.batch_size = batch_size
        self.num_sampled_nodes = num_sampled_nodes
        self.num_sampled_edges = num_sampled_edges
        self.seed = seed

    @property
    def num_nodes(self) -> int:
        """Number of nodes: entries of n_id."""
        return shape_of(self._held()["n_id"])[0]

    @property
    def num_edges(self) -> int:
        """Number of edges: columns of edge_index."""
        return shape_of(self._held()["edge_index"])[1]

    def keys(self) -> list[str]:
        """Names of the tensors: the topology's, then the columns."""
        return list(self._held())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._tensors or ())]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._held()

    def __getitem__(self, name: str) -> Any:
        held = self._held()
        if name not in held:
            raise KeyError(f"the batch has no {name!r}, it has {', '.join(held)}")
        self._hand_out()
        return self._tensor(name)

    def __getattr__(self, name: str) -> Any:
        # Called only for names that are no ordinary attributes; private names are never columns.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _TOPOLOGY and name not in self._held():
            return None
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def _set_link_fields(self, fields: dict[str, Any]) -> None:
        """Adds fields that a loader knows about the links of the batch."""
        self._held().update(fields)

    def release(self) -> None:
        """Drops the batch's own references, so that the block is free once no other view is left.

        The tensors cannot be had from the batch any more. Releasing twice is harmless.
        """
        self._tensors = self._block = None

    def to_pyg(self) -> Any:
        """A torch_geometric.data.Data over the same tensors; needs PyG.

        Its fields are those of PyG's NeighborLoader, which graphzero.pyg.NeighborLoader gives too.
        """
        require_pyg("to_pyg()")
        from graphzero.client.pyg.data import data_of_batch

        return data_of_batch(self)

    def layers(self) -> list[Layer]:
        """The batch as one bipartite graph for each layer of a network, input layer first.

        Layers are nested: each has the edges of all hops that it needs, so a node of an early hop
        keeps the neighbours that it drew. DGL draws anew for each layer instead, and reads fanouts
        in reverse, the input layer's first; here fanout[0] is that of the seeds. Views: nothing is
        copied.
        """
        return nested_layers(
            n_id=self.n_id,
            edge_index=self.edge_index,
            e_id=self.e_id,
            edge_weight=self.edge_weight,
            num_sampled_nodes=self.num_sampled_nodes,
            num_sampled_edges=self.num_sampled_edges,
            edge_scale=self.edge_scale,
        )

    def to_dgl_blocks(self) -> tuple[Any, Any, list[Any]]:
        """(input_nodes, output_nodes, blocks) as DGL's samplers give them; needs DGL.

        Blocks are layers(), input layer first, with dgl.NID of both sides set, dgl.EID if the graph
        stores edge ids, and the edge weights as edata["edge_weight"] if it stores those.
        """
        return dgl_blocks(self.layers())

    def __reduce__(self) -> tuple[Any, ...]:
        packed = {name: pack(self[name]) for name in self}
        return _unpickle, (packed, self._facts())

    def __repr__(self) -> str:
        if self._tensors is None:
            return "Batch(released)"
        shapes = ", ".join(f"{name}={list(shape_of(t))}" for name, t in self._tensors.items())
        return f"Batch(batch_size={self.batch_size}, {shapes})"

    def _held(self) -> dict[str, Any]:
        if self._tensors is None:
            raise RuntimeError("this batch was released; use it before release(), or clone() it")
        return self._tensors

    def _facts(self) -> dict[str, Any]:
        return {
            "batch_size": self.batch_size,
            "num_sampled_nodes": self.num_sampled_nodes,
            "num_sampled_edges": self.num_sampled_edges,
            "seed": self.seed,
        }

    def _tensor(self, name: str) -> Any:
        """For internal use. Before users get a tensor, _hand_out() must tell the block."""
        held = self._held()
        value = held[name]
        if isinstance(value, Tensor):
            value = held[name] = users_tensor(value, self._upcast)
        return value

    def _map(self, change: Callable[[Any], Any]) -> Batch:
        return Batch({name: change(self._tensor(name)) for name in self}, **self._facts())


def batch_of_reply(reply: Reply, upcast: bool = False) -> Batch:
    """`upcast`: 16-bit floating columns become float32 when they are first looked at."""
    result = reply.result
    return Batch(
        dict(reply.tensors),
        batch_size=result.batch_size,
        num_sampled_nodes=list(result.num_sampled_nodes),
        num_sampled_edges=list(result.num_sampled_edges),
        seed=result.seed,
        upcast=upcast,
        block=reply.block,
    )


def walks_of_reply(reply: Reply) -> Walks:
    return Walks(
        nodes=users_tensor(reply.tensors["nodes"]),
        lengths=users_tensor(reply.tensors["lengths"]),
        seed=reply.result.seed,
    )


def _unpickle(packed: dict[str, tuple[str, Any]], facts: dict[str, Any]) -> Batch:
    return Batch({name: unpack(*value) for name, value in packed.items()}, **facts)
