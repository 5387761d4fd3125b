"""PyG's FeatureStore and GraphStore over a daemon, read-only."""

from __future__ import annotations

from typing import Any

import torch
from graphzero.client.client import Client
from graphzero.client.errors import NotFound
from graphzero.client.portable_client import ClientOrPlace, PortableClient
from graphzero.client.pyg.topology import whole_topology
from torch_geometric import data as pyg_data
from torch_geometric.data import EdgeAttr, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout

_READ_ONLY = "a dataset is immutable: compile a new one with graphzero convert"


class _OverClient:
    """A store of PyG's whose data a daemon has."""

    def __init__(self, data: ClientOrPlace) -> None:
        super().__init__()
        # PyG's classes turn attributes into views of tensors.
        self.__dict__["_portable_client"] = PortableClient(data)

    @property
    def client(self) -> Client:
        portable: PortableClient = self.__dict__["_portable_client"]
        return portable.client


class FeatureStore(_OverClient, pyg_data.FeatureStore):  # type: ignore[misc]
    """Node columns by name; rows are gathered by the daemon, a whole column is mapped."""

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        names = self.client.info().dataset.node_columns
        return [TensorAttr(group_name=None, attr_name=name) for name in names]

    def _get_tensor(self, attr: TensorAttr) -> Any:
        name = self._column(attr)
        if attr.index is None:
            return self.client.column(name)
        if isinstance(attr.index, int):
            return self.client.gather(name, [attr.index])[0].clone()
        num_rows = self.client.info().dataset.columns[name].shape[0]
        return self.client.gather(name, _rows(attr.index, num_rows)).clone()

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        return self.client.info().dataset.columns[self._column(attr)].shape

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)

    def _column(self, attr: TensorAttr) -> str:
        dataset = self.client.info().dataset
        if attr.attr_name not in dataset.node_columns:
            known = ", ".join(dataset.node_columns) or "none"
            raise NotFound(
                f"dataset {dataset.name!r} has no node column {attr.attr_name!r}, it has {known}"
            )
        name: str = attr.attr_name
        return name


class GraphStore(_OverClient, pyg_data.GraphStore):  # type: ignore[misc]
    """The whole graph, for what cannot do with less: PyG pulls all of it into memory.

    In every layout the third tensor has the ids of the edges, as batches of the loaders have them;
    for a graph without edge ids, the positions of the edges in csc().

    Where the graph does not fit, MemoryError points to GraphZeroSampler, which PyG's loaders take
    and which leaves it in the daemon.
    """

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        nodes = self._num_nodes()
        return [EdgeAttr(edge_type=None, layout=EdgeLayout.CSC, size=(nodes, nodes))]

    def coo(
        self, edge_types: list[Any] | None = None, store: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Sources and targets of the edges, by target; their ids if the graph stores them."""
        every = whole_topology(self.client, "GraphStore")
        sources, targets = torch.from_numpy(every.edge_index)
        return sources, targets, None if every.e_id is None else torch.from_numpy(every.e_id)

    def csc(
        self, edge_types: list[Any] | None = None, store: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Sources, first edge of each target, and the edge ids if the graph stores them."""
        sources, targets, edge_ids = self.coo()
        return sources, _first_edges(targets, self._num_nodes()), edge_ids

    def csr(
        self, edge_types: list[Any] | None = None, store: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """First edge of each source, targets, and the edge ids, or the positions in csc()."""
        sources, targets, edge_ids = self.coo()
        order = torch.argsort(sources, stable=True)
        ids = order if edge_ids is None else edge_ids[order]
        return _first_edges(sources, self._num_nodes()), targets[order], ids

    def _num_nodes(self) -> int:
        return self.client.info().dataset.num_nodes

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[torch.Tensor, torch.Tensor] | None:
        if edge_attr.edge_type is not None:
            return None
        layouts = {EdgeLayout.COO: self.coo, EdgeLayout.CSC: self.csc, EdgeLayout.CSR: self.csr}
        return layouts[EdgeLayout(edge_attr.layout)]()[:2]

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)


def _first_edges(ends: torch.Tensor, nodes: int) -> torch.Tensor:
    """Where the edges of each node begin, once they are sorted by that end."""
    first = torch.zeros(nodes + 1, dtype=torch.int64)
    torch.cumsum(torch.bincount(ends, minlength=nodes), 0, out=first[1:])
    return first


def _rows(index: Any, num_rows: int) -> Any:
    """Rows as PyG names them: ids, a mask or a slice."""
    if isinstance(index, slice):
        return range(*index.indices(num_rows))
    index = torch.as_tensor(index)
    return index.nonzero().view(-1) if index.dtype == torch.bool else index
