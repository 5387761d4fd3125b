"""Graphs that other libraries hold in memory: PyG, DGL, scipy, networkx."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphzero._columns import RESERVED, is_column_name
from graphzero._convert import ColumnSource, Plan, Role
from graphzero._errors import InputError
from graphzero._extras import import_extra
from graphzero._inputs.streams import Array, array_edges, array_rows

_MASK = "_mask"


def plan_pyg(data: Any) -> Plan:
    """A torch_geometric Data, or a dataset that holds one."""
    pyg = import_extra("torch_geometric.data", "pyg", "a PyG graph needs PyG")
    if isinstance(data, pyg.HeteroData):
        raise InputError(
            "HeteroData: found several node types, expected one; data.to_homogeneous()"
        )
    if isinstance(data, pyg.Dataset):
        if len(data) != 1:
            raise InputError(f"{data}: found {len(data)} graphs, expected one")
        data = data[0]
    if not isinstance(data, pyg.Data) or data.edge_index is None:
        raise InputError(f"{type(data).__name__}: expected a PyG Data with edge_index")
    src, dst = (_host(end) for end in data.edge_index)
    weights = data.get("edge_weight") if hasattr(data, "get") else data.edge_weight
    plan = _Attributes("data")
    for name, value in data:
        if name in ("edge_index", "edge_weight", "num_nodes"):
            continue
        if not (hasattr(value, "shape") and value.ndim):
            plan.leave_out(name, f"found {type(value).__name__}, expected a tensor")
        elif data.is_node_attr(name):
            plan.add(name, value, "node")
        elif data.is_edge_attr(name):
            plan.add(name, value, "edge")
        else:
            plan.leave_out(name, f"found shape {tuple(value.shape)}, expected a row for each node")
    edges = array_edges("edge_index", src, dst, None if weights is None else _host(weights))
    return Plan(edges, plan.columns, int(data.num_nodes), notes=tuple(plan.notes))


def plan_dgl(graph: Any) -> Plan:
    """A homogeneous dgl.DGLGraph. Edges keep their ids."""
    import_extra("dgl", "dgl", "a DGL graph needs DGL")
    if not graph.is_homogeneous:
        raise InputError("DGLGraph: found several types, expected one; dgl.to_homogeneous()")
    src, dst = (_host(end) for end in graph.edges(order="eid"))
    plan = _Attributes("graph", {"feat": "x", "label": "y"})
    weights = None
    for name, value in graph.edata.items():
        if name in ("w", "weight", "edge_weight") and value.ndim == 1:
            weights = _host(value)
        elif not name.startswith("_"):  # dgl.EID and its like
            plan.add(name, value, "edge")
    for name, value in graph.ndata.items():
        if not name.startswith("_"):
            plan.add(name, value, "node")
    edges = array_edges("graph.edges()", src, dst, weights)
    return Plan(edges, plan.columns, int(graph.num_nodes()), notes=tuple(plan.notes))


def plan_scipy(matrix: Any, weights: bool | None) -> Plan:
    """A square sparse matrix: entry (i, j) is an edge from i to j."""
    if not hasattr(matrix, "tocoo"):
        raise InputError(f"found {type(matrix).__name__}, expected a scipy sparse matrix")
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(f"sparse matrix: found shape {matrix.shape}, expected a square one")
    entries = matrix.tocoo()
    if weights is None:
        weights = bool(len(entries.data)) and bool((entries.data != 1).any())
    values = entries.data if weights else None
    return Plan(array_edges("matrix", entries.row, entries.col, values), [], rows)


class NetworkxNodes:
    """The nodes of a networkx graph and their numbers: as they are if they are 0 to N - 1, else
    their places in sorted order."""

    def __init__(self, graph: Any) -> None:
        nodes = list(graph)
        kinds = {type(node) for node in nodes}
        if kinds - {int, str} or len(kinds) > 1:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise InputError(
                f"networkx graph: found nodes of type {names}, expected int or str throughout; "
                "networkx.convert_node_labels_to_integers() makes them so"
            )
        self.sorted: list[Any] = sorted(nodes, key=_order)
        self._number = {node: number for number, node in enumerate(self.sorted)}
        self.original = None if self.sorted == list(range(len(nodes))) else self._original(kinds)

    def _original(self, kinds: set[type]) -> Array:
        if kinds == {int}:
            return np.array(self.sorted, np.int64)
        encoded = np.array([node.encode() for node in self.sorted], "S")
        return encoded.view(np.uint8).reshape(len(encoded), -1)

    def numbers(self, nodes: Iterable[Any]) -> Array:
        return np.array([self._number[node] for node in nodes], np.int64)


def plan_networkx(graph: Any, columns: Sequence[str], weight: str | None) -> Plan:
    """A networkx graph, with its original ids if they are not 0 to N - 1."""
    import_extra("networkx", "networkx", "a networkx graph needs networkx")
    nodes = NetworkxNodes(graph)
    ends = list(graph.edges(data=weight, default=1.0) if weight else graph.edges())
    src, dst = nodes.numbers(edge[0] for edge in ends), nodes.numbers(edge[1] for edge in ends)
    weights = np.array([edge[2] for edge in ends], np.float32) if weight else None
    sources = [
        ColumnSource(name, array_rows(name, _attribute(graph, name, nodes.sorted)))
        for name in columns
    ]
    edges = array_edges("networkx graph", src, dst, weights)
    original = None if nodes.original is None else array_rows("nodes", nodes.original)
    return Plan(edges, sources, len(nodes.sorted), original)


def _attribute(graph: Any, name: str, nodes: Sequence[Any]) -> Array:
    for node in nodes:
        if name not in graph.nodes[node]:
            raise InputError(f"networkx node {node!r}: found no attribute {name!r}, expected one")
    return np.asarray([graph.nodes[node][name] for node in nodes])


def _order(node: Any) -> Any:
    return node.encode() if isinstance(node, str) else node


class _Attributes:
    """Tensors of an object as columns and splits."""

    def __init__(self, owner: str, names: dict[str, str] | None = None) -> None:
        self.columns: list[ColumnSource] = []
        self.notes: list[str] = []
        self._owner = owner
        self._names = names or {}

    def add(self, name: str, value: Any, role: Role) -> None:
        stored = self._names.get(name, name) if role == "node" else name
        is_mask = name.endswith(_MASK) and value.ndim == 1 and "bool" in str(value.dtype)
        if is_mask and role == "node":
            split = name.removesuffix(_MASK)
            self.columns.append(ColumnSource(split, array_rows(name, _host(value)), role="ids"))
            return
        taken = {column.name for column in self.columns}
        if stored in taken or not is_column_name(stored, role):
            why = "the name is taken" if stored in taken | RESERVED else "not a name for a column"
            self.leave_out(name, why)
        elif value.ndim > 2:
            self.leave_out(name, f"found {value.ndim} dimensions, expected 1 or 2")
        else:
            source = array_rows(f"{self._owner}.{name}", value.detach().cpu())
            self.columns.append(ColumnSource(stored, source, role=role))

    def leave_out(self, name: str, why: str) -> None:
        self.notes.append(f"{self._owner}.{name}: left out, {why}")


def _host(tensor: Any) -> Array:
    array: Array = tensor.detach().cpu().numpy()
    return array
