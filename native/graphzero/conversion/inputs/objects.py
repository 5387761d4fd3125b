"""Graphs that other libraries hold in memory: PyG, DGL, scipy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.conversion.inputs.streams import Array, RowStream, array_edges, array_rows
from graphzero.conversion.matrix_arrays import dtype_name
from graphzero.conversion.plan import ColumnSource, Plan, Role
from graphzero.files.column_names import RESERVED, is_column_name
from graphzero.files.column_types import MATRIX_DTYPES

_MASK = "_mask"
# What batches call the weights that a graph stores.
_WEIGHTS = "edge_weight"


def pyg_graph(data: Any) -> Any:
    """A graph of PyG, or the one that a dataset holds."""
    pyg = import_extra("torch_geometric.data", "pyg", "a PyG graph needs PyG")
    if not isinstance(data, pyg.Dataset):
        return data
    if len(data) != 1:
        raise InputError(f"{data}: found {len(data)} graphs, expected one")
    return data[0]


def is_hetero_data(data: Any) -> bool:
    pyg = import_extra("torch_geometric.data", "pyg", "a PyG graph needs PyG")
    return isinstance(data, pyg.HeteroData)


def plan_pyg(data: Any, weight_attr: str | None, time: str | None = None) -> Plan:
    """A torch_geometric Data.

    `weight_attr` has the weights that edges are drawn by, `time` the times of nodes and edges.
    """
    pyg = import_extra("torch_geometric.data", "pyg", "a PyG graph needs PyG")
    index = _edge_index(data, pyg.Data)
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        raise InputError(
            f"data.edge_index: found {index.dtype} of shape {index.shape}, expected integers of "
            "shape (2, E)"
        )
    src, dst = index
    plan = Attributes("data")
    if weight_attr not in (None, _WEIGHTS) and weight_attr not in data:
        known = ", ".join(data.keys())
        raise InputError(f"weight_attr: found no data.{weight_attr}, expected one of {known}")
    weights = plan.take_weights(data, weight_attr, len(src), required=weight_attr != _WEIGHTS)
    for name, value in data:
        if name in ("edge_index", "num_nodes") or name in plan.taken:
            continue
        if not (hasattr(value, "shape") and value.ndim):
            plan.leave_out(name, f"found {_short(value)}, expected a row for each node or edge")
        elif data.is_node_attr(name):
            plan.add(name, value, "node")
        elif data.is_edge_attr(name):
            plan.add(name, value, "edge")
        else:
            rows = f"{data.num_nodes} rows for the nodes or {len(src)} for the edges"
            plan.leave_out(name, f"found shape {tuple(value.shape)}, expected {rows}")
    own_times = _Times("data", time)
    for name in time_names(time):
        if name in data and data.is_node_attr(name):
            own_times.of_nodes(name, data[name])
        elif name in data and data.is_edge_attr(name):
            own_times.of_edges(name, data[name])
    own_times.check()
    edges = array_edges("edge_index", src, dst, weights, own_times.edges)
    return Plan(
        edges,
        plan.columns,
        int(data.num_nodes),
        notes=tuple(plan.notes),
        node_times=own_times.nodes,
        weight_name=weight_attr if weights is not None and weight_attr != _WEIGHTS else None,
    )


def _edge_index(data: Any, expected: Any) -> Array:
    """The edge_index of a graph; empty if there is none, but the number of nodes is known."""
    if not isinstance(data, expected):
        raise InputError(f"{type(data).__name__}: expected a PyG Data with edge_index")
    if data.edge_index is not None:
        return host(data.edge_index)
    other = next((name for name in ("adj_t", "adj") if name in data), None)
    if other is not None:
        raise InputError(
            f"data.{other}: found edges as a sparse matrix, expected a PyG Data with edge_index; "
            "transforms.ToSparseTensor can be left out"
        )
    if data.num_nodes is None:
        raise InputError(f"{data}: expected a PyG Data with edge_index, or with num_nodes and none")
    return np.empty((2, 0), np.int64)


def plan_dgl(graph: Any, time: str | None = None) -> Plan:
    """A homogeneous dgl.DGLGraph. Edges keep their ids."""
    src, dst = (host(end) for end in with_edge_list(graph).edges(order="eid"))
    plan = Attributes("graph", {"feat": "x", "label": "y"})
    names = [name for name in ("w", "weight", "edge_weight") if name in graph.edata]
    weights = plan.take_weights(graph.edata, names[0] if names else None, len(src))
    for name, value in graph.edata.items():
        if not name.startswith("_") and name not in plan.taken:  # dgl.EID and its like
            plan.add(name, value, "edge")
    for name, value in graph.ndata.items():
        if not name.startswith("_"):
            plan.add(name, value, "node")
    own_times = _Times("graph", time)
    if time in graph.ndata:
        own_times.of_nodes(str(time), graph.ndata[time])
    for name in time_names(time):
        if name in graph.edata:
            own_times.of_edges(name, graph.edata[name])
    own_times.check()
    edges = array_edges("graph.edges()", src, dst, weights, own_times.edges)
    return Plan(
        edges,
        plan.columns,
        int(graph.num_nodes()),
        notes=tuple(plan.notes),
        node_times=own_times.nodes,
    )


def with_edge_list(graph: Any) -> Any:
    """The graph of DGL, or a copy that may have its edges as a list: one that was restricted to
    compressed rows gives them in no other order."""
    known = [name for names in graph.formats().values() for name in names]
    return graph if "coo" in known else graph.formats(["coo", "csr", "csc"])


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
    """An array or tensor; NumPy converts other values."""
    array = value if hasattr(value, "ndim") and hasattr(value, "dtype") else np.asarray(value)
    if array.ndim == 0:
        raise InputError(f"columns[{name!r}]: found one value, expected a row for each node")
    return array


class _Times:
    """The times of nodes and edges, from attributes with the name that the user gave."""

    def __init__(self, owner: str, name: str | None) -> None:
        self._owner = owner
        self._name = name
        self.nodes: RowStream | None = None
        self.edges: npt.NDArray[np.int64] | None = None

    def of_nodes(self, name: str, value: Any) -> None:
        place = f"{self._owner}.{name}"
        self.nodes = self.nodes or array_rows(place, times_of(place, value))

    def of_edges(self, name: str, value: Any) -> None:
        if self.edges is None:
            self.edges = times_of(f"{self._owner}.{name}", value)

    def check(self) -> None:
        if self._name is not None and self.nodes is None and self.edges is None:
            raise InputError(
                f"time: found no {self._owner}.{self._name} with a time for each node or edge"
            )


def time_names(time: str | None) -> tuple[str, ...]:
    """What times of edges may be called."""
    return () if time is None else (time, f"edge_{time}")


def times_of(place: str, value: Any) -> npt.NDArray[np.int64]:
    """The values as times. Raises InputError for values that are no times."""
    times = host(value)
    if times.ndim != 1 or times.dtype.kind not in "iuf":
        raise InputError(
            f"{place}: found {times.dtype} of shape {times.shape}, expected an integer for each "
            "node or edge as time"
        )
    with np.errstate(invalid="ignore"):  # of NaN
        whole: npt.NDArray[np.int64] = times.astype(np.int64)
    bad = (whole != times) | (whole == np.iinfo(np.int64).min)
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(f"{place}[{at}]: found {times[at]}, expected an integer as time")
    return whole


class Attributes:
    """Tensors of an object as columns and splits."""

    def __init__(self, owner: str, names: dict[str, str] | None = None) -> None:
        self.columns: list[ColumnSource] = []
        self.notes: list[str] = []
        self.taken: set[str] = set()  # attributes that the graph stores, not as columns
        self._owner = owner
        self._names = names or {}

    def take_weights(
        self, attributes: Any, name: str | None, num_edges: int, required: bool = False
    ) -> Array | None:
        """The weights that edges are drawn by, as float32; None if there are none.

        They do not become a column too if nothing is lost: the graph stores them exactly, and
        batches call them edge_weight. `required`: the user chose the name, so batches need a column
        of that name, and weights that cannot be drawn by are an error; without it, such weights are
        only a column.
        """
        if name is None or name not in attributes:
            return None
        value = attributes[name]
        problem = _weight_problem(value, num_edges)
        if problem is not None and required:
            raise InputError(f"{self._owner}.{name}: {problem}")
        if problem is not None:
            self.notes.append(f"{self._owner}.{name}: a column, but nothing draws by it: {problem}")
            return None
        if dtype_name(value.dtype) == "float32" and not required:
            self.taken.add(name)
        return host(value.float() if hasattr(value, "float") else value).astype(np.float32)

    def add(self, name: str, value: Any, role: Role) -> None:
        stored = self._names.get(name, name) if role == "node" else name
        is_mask = name.endswith(_MASK) and value.ndim == 1 and "bool" in str(value.dtype)
        if is_mask and role == "node":
            self._add_split(name, value)
        problem = _problem(value)
        taken = {column.name for column in self.columns}
        if stored in taken or not is_column_name(stored, role):
            self.leave_out(name, _name_problem(stored, taken))
        elif problem is not None:
            self.leave_out(name, problem)
        else:
            own = value.detach().cpu() if hasattr(value, "detach") else value
            source = array_rows(f"{self._owner}.{name}", own)
            self.columns.append(ColumnSource(stored, source, role=role))

    def _add_split(self, mask: str, value: Any) -> None:
        """Adds a split beside the column of the mask, which scripts read from batches."""
        split = mask.removesuffix(_MASK)
        if split in {column.name for column in self.columns} or not is_column_name(split, "ids"):
            self.notes.append(f"{self._owner}.{mask}: no split, the name {split!r} is not free")
            return
        rows = array_rows(f"{self._owner}.{mask}", host(value))
        self.columns.append(ColumnSource(split, rows, role="ids"))

    def leave_out(self, name: str, why: str) -> None:
        self.notes.append(f"{self._owner}.{name}: left out, {why}")


def _weight_problem(value: Any, num_edges: int) -> str | None:
    """Why edges cannot be drawn by these weights; None: they can."""
    if not hasattr(value, "shape") or tuple(value.shape) != (num_edges,):
        shape = f"shape {tuple(value.shape)}" if hasattr(value, "shape") else _short(value)
        return f"found {shape}, expected a number for each of {num_edges} edges"
    if dtype_name(value.dtype) not in MATRIX_DTYPES:
        return f"found {dtype_name(value.dtype)}, expected numbers"
    numbers = host(value.float() if dtype_name(value.dtype) == "bfloat16" else value)
    with np.errstate(over="ignore"):
        weights = numbers.astype(np.float32)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if not bad.any():
        return None
    edge = int(np.argmax(bad))
    return f"found {numbers[edge]} for edge {edge}, expected finite numbers of at least 0"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else type(value).__name__


def _name_problem(name: str, taken: set[str]) -> str:
    if name in taken:
        return "there is another column or split of that name"
    if name in RESERVED:
        return "every batch has a field of that name"
    return "not a name for a column: a letter, then up to 63 letters, digits and underscores"


def _problem(value: Any) -> str | None:
    """Why an array or tensor cannot be a column; None: it can."""
    if getattr(value, "layout", None) is not None and "strided" not in str(value.layout):
        return f"found a tensor of layout {value.layout}, expected a dense one (.to_dense())"
    if 0 in value.shape[1:]:
        return f"found shape {tuple(value.shape)}, expected a value in each row"
    if dtype_name(value.dtype) not in MATRIX_DTYPES:
        return f"found {dtype_name(value.dtype)}, expected one of {', '.join(MATRIX_DTYPES)}"
    return None


def host(tensor: Any) -> Array:
    array: Array = tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor
    return array
