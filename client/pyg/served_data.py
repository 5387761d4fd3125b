"""`ServedData` and `ServedHeteroData`: a dataset that looks like PyG's Data or HeteroData and reads
nothing before it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import torch
from graphzero.client.client import Client
from graphzero.client.portable_client import ClientOrPlace, PortableClient
from graphzero.client.pyg.data import Stores
from graphzero.client.pyg.parts import EDGE_INDEX, WEIGHTS, Key, Part, key_text, parts_of
from graphzero.client.pyg.served_fields import Changes, ServedFields, edge_numbers
from torch_geometric.data import Data, HeteroData
from torch_geometric.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage


class _ServedStorage(BaseStorage):  # type: ignore[misc]
    """A storage that asks the dataset for what PyG's storage finds out by reading values."""

    @property
    def num_edges(self) -> int:
        fields: ServedFields = self._mapping
        if fields.is_unread(EDGE_INDEX):
            return fields.num_edges
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


class _ServedNodeStorage(_ServedStorage, NodeStorage):  # type: ignore[misc]
    @property
    def num_node_features(self) -> int:
        found: int | None = self._mapping.num_values("x")
        return int(super().num_node_features) if found is None else found


class _ServedEdgeStorage(_ServedStorage, EdgeStorage):  # type: ignore[misc]
    @property
    def num_edge_features(self) -> int:
        found: int | None = self._mapping.num_values("edge_attr")
        return int(super().num_edge_features) if found is None else found


class _ServedGlobalStorage(_ServedNodeStorage, _ServedEdgeStorage, GlobalStorage):  # type: ignore[misc]
    pass


@dataclass(frozen=True)
class DataChanges:
    """What a user changed about a ServedData, for the batches of a loader over it."""

    by_key: dict[Key, Changes]
    of_all: dict[str, Any]
    """Fields beside the stores of a ServedHeteroData: every batch has them as they are."""

    def apply(self, stores: Stores) -> None:
        """Changes the fields of a batch."""
        for key, changes in self.by_key.items():
            changes.apply(key, stores[key], partial(ends_of, stores, key))


def ends_of(stores: Stores, key: Key) -> torch.Tensor:
    """The nodes at the ends of the edges of a batch."""
    source, target = (key[0], key[2]) if isinstance(key, tuple) else (key, key)
    local = stores[key][EDGE_INDEX]
    return torch.stack([stores[source]["n_id"][local[0]], stores[target]["n_id"][local[1]]])


class _Served:
    """What the two classes have in common. PyG's classes take attributes for fields, so other
    values are set in __dict__."""

    def _serve(self, portable_client: PortableClient) -> None:
        self.__dict__["_portable_client"] = portable_client

    @property
    def client(self) -> Client:
        return self.portable_client.client

    @property
    def portable_client(self) -> PortableClient:
        """The client of the dataset, for loaders and samplers over this object."""
        portable: PortableClient = self.__dict__["_portable_client"]
        return portable

    def require_drawn_by(self, time_attr: str | None, weight_attr: str | None) -> None:
        """Raises NotImplementedError if a script has changed a field that one of these arguments
        of a loader names: batches are drawn by the times and weights of the dataset."""
        stores: list[BaseStorage] = self.stores  # type: ignore[attr-defined]
        for argument, name in (("time_attr", time_attr), ("weight_attr", weight_attr)):
            for fields in (store._mapping for store in stores):
                if name is not None and isinstance(fields, ServedFields):
                    fields.require_dataset_s(name, argument)

    def weights_of(self, stores: Stores, key: Key) -> torch.Tensor:
        """The weights of the edges of a batch, found by their ids."""
        store = self._store if key is None else self[key]  # type: ignore[attr-defined,index]
        every, e_id = store._mapping.edges_to_find(), stores[key]["e_id"]
        numbers = e_id if every is None else edge_numbers(every, e_id, ends_of(stores, key))
        found: torch.Tensor = store[WEIGHTS][numbers]
        return found

    @property
    def is_cuda(self) -> bool:
        """Whether a field that was read or added is on a GPU: looking at others would read them."""
        stores: list[BaseStorage] = self.stores  # type: ignore[attr-defined]
        fields = (store._mapping for store in stores)
        read = (f.read() if isinstance(f, ServedFields) else f for f in fields)
        return any(torch.is_tensor(v) and v.is_cuda for values in read for v in values.values())


class ServedData(_Served, Data):  # type: ignore[misc]
    """A dataset as torch_geometric.data.Data: for scripts that use their graph beside loaders.

    data: a client, the directory of a dataset (a daemon is started if need be), or an address. A
    dataset with types is a ServedHeteroData instead.

    Columns are mapped from the files when they are first looked at, instantly and at any size (but
    those that are dealt to parts are read into memory, as Client.column() does);
    edge_index, in the order of edge ids, is read into memory. Both need the daemon's directory to
    be visible here. As in PyG, `data.edge_index[:, batch.e_id]` are the edges of a batch of a
    loader over this object, and fields of edges are indexed likewise; where edges were left out of
    the dataset, or are undirected, the loader reads all edges for that.

    Fields can be added, replaced and deleted: the dataset stays as it is, and batches of a loader
    over this object follow, as those of PyG's loaders do. Edges are the exception: batches are
    drawn from those of the dataset, so a loader raises NotImplementedError where edge_index has
    others, as after RandomLinkSplit; import_pyg() makes a dataset of them. The same holds for
    fields that the arguments time_attr and weight_attr of a loader name.
    """

    def __init__(self, data: ClientOrPlace) -> None:
        super().__init__()
        portable = PortableClient(data)
        parts = parts_of(portable.info.dataset)
        if None not in parts:
            raise TypeError(
                f"dataset {portable.info.dataset.name!r} has types, expected one without; "
                "ServedHeteroData shows it"
            )
        self._serve(portable)
        self.__dict__["_store"] = _storage(_ServedGlobalStorage, self, portable, parts[None])

    @property
    def changes(self) -> DataChanges:
        """How this object differs from the dataset by now."""
        return DataChanges({None: self._store._mapping.changes(self._store)}, {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_described(self._store)})"


class ServedHeteroData(_Served, HeteroData):  # type: ignore[misc]
    """A dataset with types as torch_geometric.data.HeteroData: for scripts that use their graph
    beside loaders. What ServedData says holds here for each type and relation.

    All types and relations of the dataset are there, reverse relations too, and a loader raises
    NotImplementedError where a script added one or took one away.
    """

    def __init__(self, data: ClientOrPlace) -> None:
        super().__init__()
        portable = PortableClient(data)
        parts = parts_of(portable.info.dataset)
        if None in parts:
            raise TypeError(
                f"dataset {portable.info.dataset.name!r} has no types, expected one that has; "
                "ServedData shows it"
            )
        self._serve(portable)
        for key, part in parts.items():
            kind, stores = (
                (_ServedNodeStorage, self._node_store_dict)
                if part.nodes is not None
                else (_ServedEdgeStorage, self._edge_store_dict)
            )
            stores[key] = _storage(kind, self, portable, part)

    @property
    def changes(self) -> DataChanges:
        """How this object differs from the dataset by now."""
        stores = {**self._node_store_dict, **self._edge_store_dict}
        dataset = self.portable_client.info.dataset
        for key in parts_of(dataset):
            if key not in stores:
                raise NotImplementedError(
                    f"{key_text(key)} was deleted, but batches are drawn from the dataset "
                    f"{dataset.name!r}, which has it; num_neighbors of 0 leave a relation out"
                )
        for key, store in stores.items():
            if not isinstance(store._mapping, ServedFields) and len(store):
                raise NotImplementedError(
                    f"{key_text(key)} was added, but batches are drawn from the dataset "
                    f"{dataset.name!r}, which has no such type or relation; make a dataset of this "
                    "with graphzero.import_pyg(data, DIRECTORY), and give that to the loader"
                )
        served = {
            k: store for k, store in stores.items() if isinstance(store._mapping, ServedFields)
        }
        by_key = {key: store._mapping.changes(store) for key, store in served.items()}
        return DataChanges(by_key, dict(self._global_store._mapping))

    def __repr__(self) -> str:
        stores = {**self._node_store_dict, **self._edge_store_dict}
        lines = [f"{name}={value!r}" for name, value in self._global_store.items()]
        lines += [f"{_owner(key)}={{ {_described(store)} }}" for key, store in stores.items()]
        return f"{type(self).__name__}(\n  " + ",\n  ".join(lines) + "\n)"


AnyServedData: TypeAlias = ServedData | ServedHeteroData


def served(data: ClientOrPlace | AnyServedData) -> AnyServedData:
    """Turns the `data` argument of loaders and samplers into served data, if it is not yet."""
    if isinstance(data, AnyServedData):
        return data
    portable = PortableClient(data)
    typed = portable.info.dataset.schema.typed
    made = ServedHeteroData(portable.client) if typed else ServedData(portable.client)
    # Scripts that only name a place hardly look at the edges of the graph, which may be larger than
    # memory: their batches have edge ids as they are.
    for store in made.stores:
        if isinstance(store._mapping, ServedFields):
            store._mapping.numbers_edges = False
    return made


def _storage(kind: Any, parent: Any, portable: PortableClient, part: Part) -> BaseStorage:
    store = kind(_parent=parent) if part.key is None else kind(_parent=parent, _key=part.key)
    store._mapping = ServedFields(portable, part)
    return store


def _described(store: BaseStorage) -> str:
    fields = store._mapping
    if not isinstance(fields, ServedFields):
        return ", ".join(f"{name}={value!r}" for name, value in fields.items())
    return ", ".join(f"{name}={fields.describe(name)}" for name in fields)


def _owner(key: Key) -> str:
    return f"({', '.join(key)})" if isinstance(key, tuple) else str(key)
