"""PyG's FeatureStore and GraphStore over a daemon, read-only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from graphzero.client.client import Client
from graphzero.client.dataset.info import ColumnInfo
from graphzero.client.errors import NotFound
from graphzero.client.portable_client import ClientOrPlace, PortableClient
from graphzero.client.pyg.parts import Key, Part, key_text, parts_of
from graphzero.client.pyg.topology import EveryEdge, edges_by_id, whole_topology
from torch_geometric import data as pyg_data
from torch_geometric.data import EdgeAttr, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout

_Three: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]

_READ_ONLY = "a dataset is immutable: compile a new one with graphzero convert"


class _OverClient:
    """A store of PyG's whose data a daemon has."""

    def __init__(self, data: ClientOrPlace) -> None:
        super().__init__()
        # Set in __dict__, because PyG's classes turn attributes into views of tensors.
        portable = PortableClient(data)
        self.__dict__["_portable_client"] = portable
        self.__dict__["_parts"] = parts_of(portable.info.dataset)

    @property
    def client(self) -> Client:
        portable: PortableClient = self.__dict__["_portable_client"]
        return portable.client

    def _own_parts(self) -> dict[Key, Part]:
        parts: dict[Key, Part] = self.__dict__["_parts"]
        return parts


class FeatureStore(_OverClient, pyg_data.FeatureStore):  # type: ignore[misc]
    """Columns by name; rows are gathered by the daemon, a whole column is mapped.

    These are the columns of nodes; in a dataset with types, group_name is the type. Such a dataset
    also has columns of edges here, with the relation as group_name and edge ids as index.
    """

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        return [
            TensorAttr(group_name=key, attr_name=name)
            for key, part in self._own_parts().items()
            for name in _columns(part)
        ]

    def _get_tensor(self, attr: TensorAttr) -> Any:
        column = self._column(attr)
        if attr.index is None:
            return self.client.column(column.name)
        if isinstance(attr.index, int):
            return self.client.gather(column.name, [attr.index])[0].clone()
        return self.client.gather(column.name, _rows(attr.index, column.shape[0])).clone()

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        return self._column(attr).shape

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)

    def _column(self, attr: TensorAttr) -> ColumnInfo:
        parts = self._own_parts()
        # A dataset without types has one group, whatever PyG calls it.
        part = parts[None] if None in parts else parts.get(attr.group_name)
        if part is None:
            known = ", ".join(map(str, parts))
            raise NotFound(f"there is no type or relation {attr.group_name!r}, there are {known}")
        columns = _columns(part)
        if attr.attr_name not in columns:
            known = ", ".join(columns) or "none"
            raise NotFound(f"{key_text(part.key)} has no column {attr.attr_name!r}, it has {known}")
        return columns[attr.attr_name]


class GraphStore(_OverClient, pyg_data.GraphStore):  # type: ignore[misc]
    """Whole relations, for code that cannot do with less: PyG pulls all of them into memory.

    In every layout the third tensor has the ids of the edges, as batches of the loaders have them;
    for a graph without edge ids, the positions of the edges in csc(). Of a dataset with types, each
    of the three is a dictionary by relation. csc() has the edges of a target in the order of their
    times, if there are times, as PyG's sampling by time needs them.

    Where the graph does not fit, MemoryError points to GraphZeroSampler, which PyG's loaders take
    and which leaves it in the daemon.
    """

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        return [
            EdgeAttr(edge_type=key, layout=EdgeLayout.CSC, is_sorted=True, size=self._size(key))
            for key in self._relations(None)
        ]

    def coo(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """Sources and targets of the edges, and their ids if the graph stores them. Edges are in
        the order of their ids, which is that of the input and of labels of links; without ids, they
        are sorted by target."""
        return self._converted(self._coo, edge_types)

    def csc(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """Sources, first edge of each target, and the edge ids if the graph stores them."""
        return self._converted(self._csc, edge_types)

    def csr(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """First edge of each source, targets, and the edge ids, or the positions in csc()."""
        return self._converted(self._csr, edge_types)

    def _converted(self, layout: Callable[[Key], _Three], edge_types: list[Any] | None) -> Any:
        found = {key: layout(key) for key in self._relations(edge_types)}
        if None in found:
            return found[None]
        return tuple({key: tensors[i] for key, tensors in found.items()} for i in range(3))

    def _coo(self, key: Key) -> _Three:
        return _tensors(edges_by_id(self.client, self._relation(key), "GraphStore"))

    def _csc(self, key: Key) -> _Three:
        sources, targets, edge_ids = self._by_target(key)
        return sources, _first_edges(targets, self._size(key)[1]), edge_ids

    def _csr(self, key: Key) -> _Three:
        sources, targets, edge_ids = self._by_target(key)
        order = torch.argsort(sources, stable=True)
        ids = order if edge_ids is None else edge_ids[order]
        return _first_edges(sources, self._size(key)[0]), targets[order], ids

    def _by_target(self, key: Key) -> _Three:
        return _tensors(whole_topology(self.client, self._relation(key), "GraphStore"))

    def _relation(self, key: Key) -> int:
        edges = self._own_parts()[key].edges
        assert edges is not None
        return edges.relation

    def _relations(self, edge_types: list[Any] | None) -> list[Key]:
        known = [key for key, part in self._own_parts().items() if part.edges is not None]
        if edge_types is None or None in known:
            return known
        for edge_type in edge_types:
            if edge_type not in known:
                text = ", ".join(map(str, known))
                raise NotFound(f"there is no relation {edge_type!r}, there are {text}")
        return [key for key in known if key in edge_types]

    def _size(self, key: Key) -> tuple[int, int]:
        ends = (key[0], key[2]) if isinstance(key, tuple) else (None, None)
        sources, targets = (self._own_parts()[end].nodes for end in ends)
        assert sources is not None
        assert targets is not None
        return sources.count, targets.count

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[torch.Tensor, torch.Tensor] | None:
        if edge_attr.edge_type not in self._relations(None):
            return None
        layouts = {EdgeLayout.COO: self._coo, EdgeLayout.CSC: self._csc, EdgeLayout.CSR: self._csr}
        return layouts[EdgeLayout(edge_attr.layout)](edge_attr.edge_type)[:2]

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(_READ_ONLY)


def _columns(part: Part) -> dict[str, ColumnInfo]:
    """The columns of a part. In a dataset without types those of nodes alone, because PyG takes
    every column of such a store for one of nodes."""
    return part.columns if part.nodes is None else part.nodes.columns


def _tensors(every: EveryEdge) -> _Three:
    sources, targets = torch.from_numpy(every.edge_index)
    return sources, targets, None if every.e_id is None else torch.from_numpy(every.e_id)


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
