"""`ServedData`: a dataset that looks like PyG's Data and reads nothing before it is looked at."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from graphzero.client.client import Client
from graphzero.client.info import DatasetInfo
from graphzero.client.portable_client import ClientOrPlace, PortableClient
from graphzero.client.pyg.arguments import WEIGHTS, has_weight_field
from graphzero.client.pyg.topology import edges_by_id
from graphzero.embedded.results import SampledSubgraph
from torch_geometric.data import Data
from torch_geometric.data.storage import GlobalStorage
from torch_geometric.loader.utils import index_select

_EDGE_INDEX = "edge_index"
# Not a row for each node or edge of the whole graph, whatever their length.
_NEVER_SLICED = frozenset({_EDGE_INDEX, "num_nodes"})


class _UNREAD:
    """Stands for a value that was not read yet: the class itself, which pickles as itself."""


class ServedData(Data):  # type: ignore[misc]
    """A dataset as torch_geometric.data.Data: for scripts that use their graph beside loaders.

    data: a client, the directory of a dataset (a daemon is started if need be), or an address.

    Columns are mapped from the files when they are first looked at, instantly and at any size;
    edge_index, in the order of edge ids, is read into memory. Both need the daemon's directory to
    be visible here. Fields can be added, replaced and deleted: the dataset stays as it is, and
    batches of a loader over this object follow, as those of PyG's loaders do. Edges are the
    exception: batches are drawn from those of the dataset, so a loader raises NotImplementedError
    where edge_index has others, as after RandomLinkSplit; import_pyg() makes a dataset of them.
    """

    def __init__(self, data: ClientOrPlace) -> None:
        super().__init__()
        store = _ServedStorage(_parent=self)
        store._mapping = _Fields(PortableClient(data))
        self.__dict__["_store"] = store

    @property
    def client(self) -> Client:
        return self.portable_client.client

    @property
    def portable_client(self) -> PortableClient:
        """What it is a view of, for loaders and samplers over it."""
        return self._fields.portable_client

    @property
    def is_cuda(self) -> bool:
        """Of what was read or added: looking at the rest would read it."""
        return any(torch.is_tensor(v) and v.is_cuda for v in self._fields.read().values())

    @property
    def changes(self) -> Changes:
        """How this object differs from the dataset by now."""
        return self._fields.changes(self._store)

    @property
    def _fields(self) -> _Fields:
        fields: _Fields = self._store._mapping
        return fields

    def __repr__(self) -> str:
        shapes = (f"{name}={self._fields.describe(name)}" for name in self._fields)
        return f"{type(self).__name__}({', '.join(shapes)})"


def served(data: ClientOrPlace | ServedData) -> ServedData:
    """What loaders and samplers get as data: a ServedData as it is, or one of what is named."""
    return data if isinstance(data, ServedData) else ServedData(data)


@dataclass(frozen=True)
class Changes:
    """What a user made of a ServedData, for the batches of a loader over it."""

    hidden: frozenset[str]
    """Fields of the dataset that were deleted or replaced."""
    of_nodes: dict[str, Any]
    """Added or replaced, with a row for each node."""
    of_edges: dict[str, Any]
    """The same, with a row for each edge."""
    others: dict[str, Any]
    """The same for the graph: every batch has them as they are."""
    edges: SampledSubgraph | None
    """All edges, in whose order the rows of `of_edges` are; None where these have no need of it,
    because the number of an edge is its id."""

    def apply(self, fields: dict[str, Any]) -> None:
        """Changes the fields of a batch."""
        if not (self.hidden or self.of_nodes or self.of_edges or self.others):
            return
        n_id, e_id = fields["n_id"], fields.get("e_id")
        for name in self.hidden:
            fields.pop(name, None)
        for name, value in self.of_nodes.items():
            fields[name] = _rows(name, value, n_id)
        if self.of_edges and e_id is None:
            raise NotImplementedError(
                f"data.{min(self.of_edges)} has a row for each edge, but batches do not know "
                "their edges: the dataset stores no edge ids; convert it with --edge-ids"
            )
        numbers: Any = e_id
        if self.of_edges and self.edges is not None:
            numbers = _edge_numbers(self.edges, numbers, n_id[fields[_EDGE_INDEX]])
        for name, value in self.of_edges.items():
            fields[name] = _rows(name, value, numbers)
        fields.update(self.others)


class _ServedStorage(GlobalStorage):  # type: ignore[misc]
    """PyG's storage, which finds out by looking at values what a dataset knows without reading."""

    @property
    def num_edges(self) -> int:
        fields: _Fields = self._mapping
        if fields.is_unread(_EDGE_INDEX):
            return fields.dataset.num_edges
        found: int = super().num_edges
        return found

    def is_node_attr(self, key: str) -> bool:
        role = self._mapping.role(key)
        return bool(super().is_node_attr(key)) if role is None else role == "node"

    def is_edge_attr(self, key: str) -> bool:
        role = self._mapping.role(key)
        return bool(super().is_edge_attr(key)) if role is None else role == "edge"

    def to_dict(self) -> dict[str, Any]:
        return dict(self._mapping)


class _Fields(MutableMapping[str, Any]):
    """Names and values of a ServedData. Those of the dataset are read when they are asked for."""

    def __init__(self, portable_client: PortableClient) -> None:
        self.portable_client = portable_client
        dataset = portable_client.info.dataset
        self._roles = _roles(dataset)
        self._values: dict[str, Any] = dict.fromkeys(self._roles, _UNREAD)
        self._values["num_nodes"] = dataset.num_nodes
        # Of a tensor that was read: its version, which every change in place raises.
        self._versions: dict[str, int] = {}
        # Fields of the dataset that the user did not replace.
        self._original = set(self._roles)
        self._edges: SampledSubgraph | None = None
        # The tensor over the memory of _edges, which its owner can change in place.
        self._edges_shown: torch.Tensor | None = None
        # An edge_index of the user's that has the edges of the dataset, and its version then.
        self._same_edges: tuple[torch.Tensor, int] | None = None

    @property
    def dataset(self) -> DatasetInfo:
        return self.portable_client.info.dataset

    def is_unread(self, name: str) -> bool:
        return self._values.get(name) is _UNREAD

    def role(self, name: str) -> str | None:
        """ "node" or "edge" for a field of the dataset; None where the value has to tell."""
        return self._roles[name] if name in self._original else None

    def read(self) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if value is not _UNREAD}

    def describe(self, name: str) -> str:
        """As PyG prints a field, without reading it."""
        if not self.is_unread(name):
            value = self._values[name]
            return str(list(value.shape)) if torch.is_tensor(value) else repr(value)
        if name == _EDGE_INDEX:
            return str([2, self.dataset.num_edges])
        if name not in self.dataset.columns:
            return str([self.dataset.num_edges])
        shape = self.dataset.columns[name].shape
        rows = self.dataset.num_edges if self._roles[name] == "edge" else shape[0]
        return str([rows, *shape[1:]])

    def changes(self, store: _ServedStorage) -> Changes:
        replaced = {name for name in self._values if self._is_users(name)} - _NEVER_SLICED
        if WEIGHTS in replaced and not self.dataset.has_edge_ids and self._are_weights_same():
            replaced.remove(WEIGHTS)  # a copy, as clone() and to() make it: batches have them
        arrays = {name for name in replaced if hasattr(self._values[name], "shape")}
        of_nodes = {name for name in arrays if store.is_node_attr(name)}
        of_edges = {name for name in arrays - of_nodes if store.is_edge_attr(name)}
        gone = (self._roles.keys() - self._values.keys()) - _NEVER_SLICED
        self._require_edges_of_dataset()
        return Changes(
            hidden=frozenset(gone | (replaced & self._roles.keys())),
            of_nodes={name: self._values[name] for name in of_nodes},
            of_edges={name: self._values[name] for name in of_edges},
            others={name: self._values[name] for name in replaced - of_nodes - of_edges},
            edges=self._edges_to_find() if of_edges else None,
        )

    def _are_weights_same(self) -> bool:
        value, served = self._values[WEIGHTS], self._all_edges().edge_weight
        if served is None or not torch.is_tensor(value):
            return False
        changed = value._version != self._versions.get(WEIGHTS, value._version)
        return not changed and torch.equal(value.cpu(), torch.from_numpy(served))

    def _require_edges_of_dataset(self) -> None:
        """The daemon draws from the edges of the dataset, whatever a script has put in their place:
        test links that it removed would be in the batches of a training."""
        if _EDGE_INDEX not in self._values or not self._is_users(_EDGE_INDEX):
            return
        value = self._values[_EDGE_INDEX]
        if torch.is_tensor(value):
            if self._same_edges is not None:
                same, version = self._same_edges
                if same is value and version == value._version:
                    return
            if torch.equal(value.cpu(), torch.from_numpy(self._all_edges().edge_index)):
                self._same_edges = value, value._version
                return
        raise NotImplementedError(
            "data.edge_index has other edges than the dataset, from which batches are drawn "
            f"({self.dataset.name!r}, {self.dataset.num_edges} edges); make a dataset of these "
            "with graphzero.import_pyg(data, DIRECTORY), and give that to the loader"
        )

    def _edges_to_find(self) -> SampledSubgraph | None:
        """None if the edge with id i is the i-th: not so where both directions of an edge share an
        id, or where repeated edges were dropped."""
        dataset = self.dataset
        if not dataset.has_edge_ids or any(map(self._is_by_number, dataset.edge_columns)):
            return None
        edges = self._all_edges()
        if edges.e_id is None or np.array_equal(edges.e_id, np.arange(len(edges.e_id))):
            return None
        return edges

    def _is_users(self, name: str) -> bool:
        """Whether the user added it, replaced it, or changed it in place."""
        if name not in self._original:
            return True
        value = self._values[name]
        return torch.is_tensor(value) and value._version != self._versions[name]

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        if value is _UNREAD:
            value = self._values[name] = self._read(name)
            self._versions[name] = value._version
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value
        self._original.discard(name)

    def __delitem__(self, name: str) -> None:
        del self._values[name]
        self._original.discard(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __copy__(self) -> _Fields:
        copy = _Fields.__new__(_Fields)
        copy.__dict__.update(self.__dict__)
        for name in ("_values", "_versions", "_original"):
            copy.__dict__[name] = self.__dict__[name].copy()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        # What was read can be read again: it does not travel.
        users = {name: v for name, v in self._values.items() if self._is_users(name)}
        values = {name: users.get(name, _UNREAD) for name in self._values}
        original = self._original - users.keys()
        state = {"_values": values, "_versions": {}, "_original": original}
        unread = dict.fromkeys(("_edges", "_edges_shown", "_same_edges"))
        return {**self.__dict__, **state, **unread}

    def _read(self, name: str) -> torch.Tensor:
        if name == _EDGE_INDEX:
            self._edges_shown = torch.from_numpy(self._all_edges().edge_index)
            return self._edges_shown
        if name not in self.dataset.columns:
            weights = self._all_edges().edge_weight
            assert weights is not None
            return torch.from_numpy(weights.copy())  # which the user may change in place
        column: torch.Tensor = self.portable_client.client.column(name)
        if self._roles[name] == "node" or self._is_by_number(name):
            return column
        return column[torch.from_numpy(self._all_edges().e_id)]

    def _is_by_number(self, column: str) -> bool:
        """Whether the number of an edge is its id, as a column of edges can tell: it has a row for
        each edge of the input. The directions of an undirected edge share one."""
        dataset = self.dataset
        return dataset.columns[column].shape[0] == dataset.num_edges and not dataset.symmetric

    def _all_edges(self) -> SampledSubgraph:
        """In the order of the input, where the graph knows it."""
        if self._edges_shown is not None and self._edges_shown._version != 0:
            self._edges = self._edges_shown = None  # changed in place: read them again
        if self._edges is None:
            self._edges = edges_by_id(self.portable_client.client, "edge_index")
        return self._edges


def _roles(dataset: DatasetInfo) -> dict[str, str]:
    """What a row of each field of the dataset belongs to."""
    roles = dict.fromkeys(dataset.node_columns, "node")
    roles[_EDGE_INDEX] = "edge"
    if has_weight_field(dataset):
        roles[WEIGHTS] = "edge"
    if dataset.has_edge_ids:
        roles.update(dict.fromkeys(dataset.edge_columns, "edge"))
    return roles


def _edge_numbers(every: SampledSubgraph, e_id: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Where edges are in the order of ids. Two have the same id if they are the directions of one.

    A reverse that only a bidirectional sample has is where the edge itself is.
    """
    assert every.e_id is not None
    first = np.searchsorted(every.e_id, e_id.numpy())
    second = np.minimum(first + 1, len(every.e_id) - 1)
    has_id = every.e_id[second] == e_id.numpy()
    is_second = has_id & (every.edge_index[:, second] == ends.numpy()).all(axis=0)
    return torch.from_numpy(np.where(is_second, second, first))


def _rows(name: str, value: Any, index: torch.Tensor) -> Any:
    """As PyG does it: an index has its items side by side, and data may lie on a device."""
    dimension = -1 if "index" in name or name == "face" else 0
    if torch.is_tensor(value):
        index = index.to(value.device)
    return index_select(value, index, dim=dimension)
