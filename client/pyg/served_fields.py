"""The fields of one store of a ServedData: read when they are looked at, and changed by scripts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from graphzero.client.errors import ServerUnavailable
from graphzero.client.portable_client import PortableClient
from graphzero.client.pyg.parts import EDGE_INDEX, WEIGHTS, Edges, Key, Part, key_text
from graphzero.client.pyg.topology import EveryEdge, edges_by_id, ids_are_positions
from torch_geometric.data.storage import BaseStorage
from torch_geometric.loader.utils import index_select

# Fields that never have a row for each node or edge of the graph, whatever their length.
_NEVER_SLICED = frozenset({EDGE_INDEX, "num_nodes"})


class _UNREAD:
    """Stands for a value that was not read yet: the class itself, which pickles as itself."""


@dataclass(frozen=True)
class _Rows:
    """A value with a row for each node or edge of the graph."""

    value: Any
    dimension: int
    """The dimension of its rows."""

    def select(self, index: torch.Tensor) -> Any:
        if torch.is_tensor(self.value):
            index = index.to(self.value.device)
        return index_select(self.value, index, dim=self.dimension)


@dataclass(frozen=True)
class Changes:
    """What a user changed about a store, for the batches of a loader over it."""

    hidden: frozenset[str]
    """Fields of the dataset that were deleted or replaced."""
    of_nodes: dict[str, _Rows]
    """Fields that were added or replaced, with a row for each node."""
    of_edges: dict[str, _Rows]
    """The same, with a row for each edge."""
    others: dict[str, Any]
    """The same, without such rows: every batch has them as they are."""
    edges: EveryEdge | None
    """All edges, in the order of the rows of `of_edges`; None if that is not needed, because the
    number of an edge is its id."""
    numbers_edges: bool
    """Whether e_id of a batch becomes the numbers of its edges, which index the fields of the
    store, as in PyG."""

    def apply(self, key: Key, fields: dict[str, Any], ends: Callable[[], torch.Tensor]) -> None:
        """Changes the fields of a batch. `ends` returns the nodes at the ends of its edges."""
        changed = self.hidden or self.of_nodes or self.of_edges or self.others
        if not (changed or self.edges is not None):
            return
        n_id, e_id = fields.get("n_id"), fields.get("e_id")
        for name in self.hidden:
            fields.pop(name, None)
        if n_id is not None:
            for name, rows in self.of_nodes.items():
                fields[name] = rows.select(n_id)
        numbers = e_id
        if self.edges is not None and e_id is not None:
            numbers = edge_numbers(self.edges, e_id, ends())
            if self.numbers_edges:
                fields["e_id"] = numbers
        if self.of_edges:
            if numbers is None:
                raise NotImplementedError(
                    f"{key_text(key)}.{min(self.of_edges)} has a row for each edge, but batches do "
                    "not know their edges: the dataset stores no edge ids; convert it with "
                    "--edge-ids"
                )
            for name, rows in self.of_edges.items():
                fields[name] = rows.select(numbers)
        fields.update(self.others)


class ServedFields(MutableMapping[str, Any]):
    """Names and values of a store. Those of the dataset are read when they are asked for."""

    def __init__(
        self, portable_client: PortableClient, part: Part, *, numbers_edges: bool = True
    ) -> None:
        """`numbers_edges`: whether e_id of batches of a loader over this store indexes its fields.
        Where ids are not the positions of edges, that takes all edges into memory."""
        self.portable_client = portable_client
        self.part = part
        self.numbers_edges = numbers_edges
        self._ids_are_positions: bool | None = None
        self._roles = part.roles
        self._values: dict[str, Any] = dict.fromkeys(self._roles, _UNREAD)
        if part.nodes is not None:
            self._values["num_nodes"] = part.nodes.count
        # The version that a tensor had when it was read. Every change in place raises it.
        self._versions: dict[str, int] = {}
        # Fields of the dataset that the user did not replace.
        self._original = set(self._roles)
        self._edges: EveryEdge | None = None
        # The tensor over the memory of _edges, which the user can change in place.
        self._edges_shown: torch.Tensor | None = None
        # An edge_index of the user that was found to have the dataset's edges, with its version.
        self._same_edges: tuple[torch.Tensor, int] | None = None
        # The same for fields of the user that the daemon draws by, by name.
        self._same_fields: dict[str, tuple[torch.Tensor, int]] = {}

    @property
    def num_edges(self) -> int:
        """Number of edges in the dataset."""
        return 0 if self.part.edges is None else self.part.edges.count

    def is_unread(self, name: str) -> bool:
        return self._values.get(name) is _UNREAD

    def num_values(self, name: str) -> int | None:
        """The last dimension of a column, 1 if it has no other than its rows; None if only the
        value can tell. Nothing is read."""
        column = self.part.columns.get(name) if self.is_unread(name) else None
        if column is None:
            return None
        return column.shape[-1] if len(column.shape) > 1 else 1

    def role(self, name: str) -> str | None:
        """ "node" or "edge" for a field of the dataset; None if only the value can tell."""
        return self._roles[name] if name in self._original else None

    def read(self) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if value is not _UNREAD}

    def describe(self, name: str) -> str:
        """As PyG prints a field, without reading it."""
        if not self.is_unread(name):
            value = self._values[name]
            return str(list(value.shape)) if torch.is_tensor(value) else repr(value)
        if name == EDGE_INDEX:
            return str([2, self.num_edges])
        columns = self.part.columns
        if name not in columns:
            return str([self.num_edges])
        shape = columns[name].shape
        rows = self.num_edges if self._roles[name] == "edge" else shape[0]
        return str([rows, *shape[1:]])

    def changes(self, store: BaseStorage) -> Changes:
        """How the store, whose mapping this is, differs from the dataset by now."""
        replaced = {name for name in self._values if self._is_users(name)} - _NEVER_SLICED
        edges = self.part.edges
        if WEIGHTS in replaced and edges and not edges.has_ids and self._are_weights_same():
            replaced.remove(WEIGHTS)  # an equal copy, from clone() or to(): batches have these
        arrays = {name for name in replaced if hasattr(self._values[name], "shape")}
        of_nodes = {name for name in arrays if self.part.nodes and store.is_node_attr(name)}
        of_edges = {name for name in arrays - of_nodes if edges and store.is_edge_attr(name)}
        gone = (self._roles.keys() - self._values.keys()) - _NEVER_SLICED
        self._require_edges_of_dataset()
        dimension = store._parent().__cat_dim__

        def rows(names: set[str]) -> dict[str, _Rows]:
            values = {name: self._values[name] for name in names}
            return {n: _Rows(value, dimension(n, value, store)) for n, value in values.items()}

        return Changes(
            hidden=frozenset(gone | (replaced & self._roles.keys())),
            of_nodes=rows(of_nodes),
            of_edges=rows(of_edges),
            others={name: self._values[name] for name in replaced - of_nodes - of_edges},
            edges=self._edges_for(of_edges),
            numbers_edges=self.numbers_edges,
        )

    def _edges_for(self, of_edges: set[str]) -> EveryEdge | None:
        """All edges, if a loader must know them to number those of its batches. `of_edges` are the
        fields with a row for each edge that the user added."""
        if of_edges:
            return self.edges_to_find()
        if not self.numbers_edges:
            return None
        try:
            return self.edges_to_find()
        except (MemoryError, ServerUnavailable):
            return None  # nobody can look at the edges here, so nobody can index them

    def _are_weights_same(self) -> bool:
        value, served = self._values[WEIGHTS], self._all_edges().edge_weight
        if served is None or not torch.is_tensor(value):
            return False
        changed = value._version != self._versions.get(WEIGHTS, value._version)
        return not changed and torch.equal(value.cpu(), torch.from_numpy(served))

    def _require_edges_of_dataset(self) -> None:
        """Raises NotImplementedError if a script has replaced the edges of the dataset. The daemon
        would still draw from these: test links that the script removed would be in the batches of a
        training."""
        if EDGE_INDEX not in self._values or not self._is_users(EDGE_INDEX):
            return
        value = self._values[EDGE_INDEX]
        if torch.is_tensor(value):
            if self._same_edges is not None:
                same, version = self._same_edges
                if same is value and version == value._version:
                    return
            if torch.equal(value.cpu(), torch.from_numpy(self._all_edges().edge_index)):
                self._same_edges = value, value._version
                return
        dataset = self.portable_client.info.dataset
        raise NotImplementedError(
            f"{key_text(self.part.key)}.edge_index has other edges than the dataset, from which "
            f"batches are drawn ({dataset.name!r}, {self.num_edges} edges); make a dataset of "
            "these with graphzero.import_pyg(data, DIRECTORY), and give that to the loader"
        )

    def require_dataset_s(self, name: str, argument: str) -> None:
        """Raises NotImplementedError if a script has added or changed the field `name`, which the
        argument of that name tells a loader to draw by. The daemon would still draw by the times
        and weights of the dataset: a time that the script has moved would not be heeded."""
        if name not in self._values or not self._is_users(name):
            return
        value = self._values[name]
        if name in self._roles and torch.is_tensor(value):
            same, version = self._same_fields.get(name, (None, 0))
            if same is value and version == value._version:
                return
            if torch.equal(value.cpu(), self._read(name)):  # from clone() or to(), for instance
                self._same_fields[name] = value, value._version
                return
        dataset = self.portable_client.info.dataset
        what = "was changed" if name in self._roles else "was added"
        option = "time" if argument == "time_attr" else argument
        raise NotImplementedError(
            f"{argument} is {name!r}, but {key_text(self.part.key)}.{name} {what}, and batches are "
            f"drawn by what the dataset {dataset.name!r} has; make a dataset of this with "
            f"graphzero.import_pyg(data, DIRECTORY, {option}={name!r}), and give that to the loader"
        )

    def edges_to_find(self) -> EveryEdge | None:
        """All edges, or None if the edge with id i is the i-th. That is not so if both directions
        of an edge share an id, or if edges were left out."""
        part = self.part.edges
        return None if part is None or self._are_ids_positions(part) else self._all_edges()

    def _are_ids_positions(self, edges: Edges) -> bool:
        if self._ids_are_positions is None:
            client = self.portable_client.client
            self._ids_are_positions = (
                not edges.has_ids
                or any(map(self._is_by_number, edges.columns))
                or (not edges.symmetric and ids_are_positions(client, edges.relation))
            )
        return self._ids_are_positions

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

    def __copy__(self) -> ServedFields:
        copy = ServedFields.__new__(ServedFields)
        copy.__dict__.update(self.__dict__)
        for name in ("_values", "_versions", "_original", "_same_fields"):
            copy.__dict__[name] = self.__dict__[name].copy()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        # Values that were read are not pickled: they can be read again.
        users = {name: v for name, v in self._values.items() if self._is_users(name)}
        values = {name: users.get(name, _UNREAD) for name in self._values}
        original = self._original - users.keys()
        state = {"_values": values, "_versions": {}, "_original": original}
        unread = dict.fromkeys(("_edges", "_edges_shown", "_same_edges"))
        return {**self.__dict__, **state, **unread, "_same_fields": {}}

    def _read(self, name: str) -> torch.Tensor:
        if self._roles[name] == "edge" and not self.numbers_edges:
            self._warn_of_ids(name)
        if name == EDGE_INDEX:
            self._edges_shown = torch.from_numpy(self._all_edges().edge_index)
            return self._edges_shown
        columns = self.part.columns
        if name not in columns:
            weights = self._all_edges().edge_weight
            assert weights is not None
            return torch.from_numpy(weights.copy())  # because the user may change it in place
        column: torch.Tensor = self.portable_client.client.column(columns[name].name)
        if self._roles[name] == "node" or self._is_by_number(name):
            return column
        return column[torch.from_numpy(self._all_edges().e_id)]

    def _warn_of_ids(self, name: str) -> None:
        if self._are_ids_positions(self._edges_part()):
            return
        warnings.warn(
            f"{key_text(self.part.key)}.{name} has a row for each edge, but e_id of this loader's "
            "batches are edge ids, which are other numbers: edges were left out when the dataset "
            "was made, or both directions of an edge share an id. To index the edges of the graph "
            "with e_id, give the loader a ServedData or ServedHeteroData instead of a place",
            stacklevel=5,
        )

    def _is_by_number(self, column: str) -> bool:
        """Whether the number of an edge is its id. A column of edges has a row for each edge of the
        input, so it is if there are as many rows as edges, and no two directions share one."""
        edges = self._edges_part()
        return edges.columns[column].shape[0] == edges.count and not edges.symmetric

    def _edges_part(self) -> Edges:
        edges = self.part.edges
        assert edges is not None
        return edges

    def _all_edges(self) -> EveryEdge:
        """All edges, in the order of the input if the graph knows it."""
        if self._edges_shown is not None and self._edges_shown._version != 0:
            self._edges = self._edges_shown = None  # changed in place: read them again
        if self._edges is None:
            client = self.portable_client.client
            self._edges = edges_by_id(client, self._edges_part().relation, EDGE_INDEX)
        return self._edges


def edge_numbers(every: EveryEdge, e_id: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Positions of edges in the order of ids. Both directions of an undirected edge have one id.

    A reverse that only a bidirectional sample has gets the position of the edge itself.
    """
    assert every.e_id is not None
    first = np.searchsorted(every.e_id, e_id.numpy())
    second = np.minimum(first + 1, len(every.e_id) - 1)
    has_id = every.e_id[second] == e_id.numpy()
    is_second = has_id & (every.edge_index[:, second] == ends.numpy()).all(axis=0)
    return torch.from_numpy(np.where(is_second, second, first))
