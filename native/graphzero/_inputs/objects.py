"""Graphs that other libraries hold in memory: PyG, DGL, scipy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphzero._columns import RESERVED, is_column_name
from graphzero._errors import InputError
from graphzero._extras import import_extra
from graphzero._inputs.streams import Array, array_edges, array_rows
from graphzero._matrix_arrays import dtype_name
from graphzero._matrix_types import MATRIX_DTYPES
from graphzero._plan import ColumnSource, Plan, Role

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
    index = _host(data.edge_index)
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        raise InputError(
            f"data.edge_index: found {index.dtype} of shape {index.shape}, expected integers of "
            "shape (2, E)"
        )
    src, dst = index
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


def plan_scipy(matrix: Any, columns: Mapping[str, Any], weights: bool | None) -> Plan:
    """A square sparse matrix: entry (i, j) is an edge from i to j."""
    if not hasattr(matrix, "tocoo"):
        raise InputError(f"found {type(matrix).__name__}, expected a scipy sparse matrix")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"sparse matrix: found shape {matrix.shape}, expected a square one")
    entries = matrix.tocoo()
    if weights is None:
        weights = bool(len(entries.data)) and bool((entries.data != 1).any())
    if weights and entries.data.dtype.kind not in "biuf":
        raise InputError(
            f"sparse matrix: found {entries.data.dtype} values, expected numbers as weights; "
            "weights=False leaves them out"
        )
    values = entries.data if weights else None
    sources = [
        ColumnSource(name, array_rows(f"columns[{name!r}]", _array(name, value)))
        for name, value in columns.items()
    ]
    return Plan(array_edges("matrix", entries.row, entries.col, values), sources, matrix.shape[0])


def _array(name: str, value: Any) -> Any:
    """An array or tensor, or what NumPy makes one of."""
    array = value if hasattr(value, "ndim") and hasattr(value, "dtype") else np.asarray(value)
    if array.ndim not in (1, 2):
        raise InputError(
            f"columns[{name!r}]: found {array.ndim} dimensions, expected a row for each node"
        )
    return array


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
            self._add_split(name, value)
        problem = _problem(value)
        taken = {column.name for column in self.columns}
        if stored in taken or not is_column_name(stored, role):
            why = "the name is taken" if stored in taken | RESERVED else "not a name for a column"
            self.leave_out(name, why)
        elif problem is not None:
            self.leave_out(name, problem)
        else:
            own = value.detach().cpu() if hasattr(value, "detach") else value
            source = array_rows(f"{self._owner}.{name}", own)
            self.columns.append(ColumnSource(stored, source, role=role))

    def _add_split(self, mask: str, value: Any) -> None:
        """Beside the column of the mask itself, which scripts read from batches."""
        split = mask.removesuffix(_MASK)
        if split in {column.name for column in self.columns} or not is_column_name(split, "ids"):
            self.notes.append(f"{self._owner}.{mask}: no split, the name {split!r} is not free")
            return
        rows = array_rows(f"{self._owner}.{mask}", _host(value))
        self.columns.append(ColumnSource(split, rows, role="ids"))

    def leave_out(self, name: str, why: str) -> None:
        self.notes.append(f"{self._owner}.{name}: left out, {why}")


def _problem(value: Any) -> str | None:
    """Why an array or tensor cannot be a column; None: it can."""
    if getattr(value, "layout", None) is not None and "strided" not in str(value.layout):
        return f"found a tensor of layout {value.layout}, expected a dense one (.to_dense())"
    if value.ndim > 2:
        return f"found {value.ndim} dimensions, expected 1 or 2"
    if 0 in value.shape[1:]:
        return f"found shape {tuple(value.shape)}, expected a value in each row"
    if dtype_name(value.dtype) not in MATRIX_DTYPES:
        return f"found {dtype_name(value.dtype)}, expected one of {', '.join(MATRIX_DTYPES)}"
    return None


def _host(tensor: Any) -> Array:
    array: Array = tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor
    return array
