"""Graphs with types that other libraries hold in memory: PyG's HeteroData, DGL's heterographs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.objects import (
    Attributes,
    host,
    time_names,
    times_of,
    with_edge_list,
)
from graphzero.conversion.inputs.streams import Array, array_edges
from graphzero.conversion.inverses import pair_inverses, times_of_reverses
from graphzero.conversion.typed_plan import (
    PlannedSource,
    RelationKey,
    RelationName,
    RelationPlan,
    TypedPlan,
    TypePlan,
)

# What PyG calls the weights of edges.
WEIGHTS = "edge_weight"


def plan_hetero_data(
    data: Any,
    weight_attr: str | None,
    time: str | None,
    inverses: Mapping[RelationKey, RelationKey] | None = None,
) -> PlannedSource:
    """A torch_geometric.data.HeteroData. `weight_attr` has the weights that edges are drawn by,
    `time` the times of nodes and edges, `inverses` relations that have each other's edges in
    reverse."""
    planning = _Planning("data", weight_attr, time)
    indices = {
        triple: _edge_index(f"data[{triple}]", data[triple])
        for triple in map(tuple, data.edge_types)
    }
    for name in _node_types(data.node_types, indices):
        stored = dict(data[name].items()) if name in data.node_types else {}
        count = data[name].num_nodes if name in data.node_types else None
        if count is None:
            count = _largest(name, indices) + 1
        stored.pop("num_nodes", None)
        planning.add_type(name, int(count), stored)
    for triple, index in indices.items():
        stored = {key: value for key, value in data[triple].items() if key != "edge_index"}
        planning.add_relation(triple, index[0], index[1], stored)
    for name in list(data._global_store.keys()):
        planning.notes.append(f"data.{name}: left out, it is of the whole graph")
    planning.check_given(data)
    return PlannedSource("HeteroData", planning.plan(inverses))


def plan_heterograph(
    graph: Any, time: str | None, inverses: Mapping[RelationKey, RelationKey] | None = None
) -> PlannedSource:
    """A dgl.DGLGraph of several types. Edges keep their ids."""
    planning = _Planning("graph", None, time, {"feat": "x", "label": "y"})
    for name in graph.ntypes:
        stored = {key: value for key, value in graph.nodes[name].data.items() if key[0] != "_"}
        planning.add_type(name, int(graph.num_nodes(name)), stored)
    listed = with_edge_list(graph)
    for triple in graph.canonical_etypes:
        src, dst = (host(end) for end in listed.edges(order="eid", etype=triple))
        own = {key: value for key, value in graph.edges[triple].data.items() if key[0] != "_"}
        weights = next((name for name in ("w", "weight", WEIGHTS) if name in own), None)
        planning.add_relation(tuple(triple), src, dst, own, weights)
    planning.check_given(graph)
    return PlannedSource("DGLGraph", planning.plan(inverses))


class _EdgeArrays(NamedTuple):
    place: str  # for messages
    src: Array
    dst: Array
    weights: Array | None
    times: npt.NDArray[np.int64] | None


class _Planning:
    """Types and relations, one after the other."""

    def __init__(
        self,
        owner: str,
        weight_attr: str | None,
        time: str | None,
        names: dict[str, str] | None = None,
    ) -> None:
        self._owner = owner
        self._weight_attr = weight_attr
        self._time = time
        self._names = names
        self._types: list[TypePlan] = []
        self._relations: list[RelationPlan] = []
        self._arrays: dict[RelationName, _EdgeArrays] = {}
        self._has_time = self._has_weights = False
        self.notes: list[str] = []

    def add_type(self, name: str, count: int, stored: Mapping[str, Any]) -> None:
        own = Attributes(f"{self._owner}[{name!r}]", self._names)
        time = None
        for key, value in stored.items():
            if key == self._time and _rows(value) != count:
                raise InputError(
                    f"{self._owner}[{name!r}].{key}: found times of {_found(value)}, expected "
                    f"{count}, one for each node"
                )
            if _rows(value) != count:
                own.leave_out(key, f"found {_found(value)}, expected {count} rows for the nodes")
                continue
            own.add(key, value, "node")
            if key == self._time:
                times_of(f"{self._owner}[{name!r}].{key}", value)
                time = key
        self._has_time |= time is not None
        self.notes += own.notes
        self._types.append(TypePlan(name, count, own.columns, time))

    def add_relation(
        self,
        triple: RelationName,
        src: Array,
        dst: Array,
        stored: Mapping[str, Any],
        weights: str | None = None,
    ) -> None:
        place = f"{self._owner}[{triple}]"
        own = Attributes(place)
        required = self._weight_attr not in (None, WEIGHTS)
        name = weights or self._weight_attr
        found = own.take_weights(stored, name, len(src), required=required and name in stored)
        self._has_weights |= found is not None
        times = None
        for key in time_names(self._time):
            if key in stored and times is None:
                times = times_of(f"{place}.{key}", stored[key])
        self._has_time |= times is not None
        for key, value in stored.items():
            if key in own.taken:
                continue
            if _rows(value) != len(src):
                own.leave_out(key, f"found {_found(value)}, expected {len(src)} rows for the edges")
                continue
            own.add(key, value, "edge")
        self.notes += own.notes
        arrays = _EdgeArrays(f"{place}.edge_index", src, dst, found, times)
        self._arrays[triple] = arrays
        self._relations.append(
            RelationPlan(triple, array_edges(*arrays), own.columns, edge_ids=True)
        )

    def check_given(self, data: Any) -> None:
        """Raises InputError for an attribute that the user named and nothing has."""
        if self._weight_attr not in (None, WEIGHTS) and not self._has_weights:
            raise InputError(f"weight_attr: found no relation of {data} with {self._weight_attr!r}")
        if self._time is not None and not self._has_time:
            raise InputError(f"time: found no type or relation of {data} with {self._time!r}")

    def plan(self, inverses: Mapping[RelationKey, RelationKey] | None) -> TypedPlan:
        pairing = pair_inverses(self._relations, inverses)
        relations = {relation.triple: relation for relation in self._relations}
        for timed, untimed in pairing.half_timed:
            times = self._times_of_inverse(timed, untimed)
            edges = array_edges(*self._arrays[untimed]._replace(times=times))
            relations[untimed] = replace(relations[untimed], edges=edges)
            self.notes.append(
                f"{self._owner}[{untimed}]: its edges got the times of {self._owner}[{timed}], "
                "whose edges they are in reverse"
            )
        return TypedPlan(
            self._types,
            list(relations.values()),
            pairing.inverses,
            notes=tuple(self.notes),
            cautions=pairing.cautions,
        )

    def _times_of_inverse(
        self, timed: RelationName, untimed: RelationName
    ) -> npt.NDArray[np.int64]:
        own, other = self._arrays[timed], self._arrays[untimed]
        assert own.times is not None
        return times_of_reverses((own.src, own.dst), own.times, (other.src, other.dst))


def _node_types(known: list[str], indices: Mapping[RelationName, Array]) -> list[str]:
    """All types of nodes, including those that only edges name."""
    ends = [end for triple in indices for end in (triple[0], triple[2])]
    return list(dict.fromkeys([*known, *ends]))


def _largest(name: str, indices: Mapping[RelationName, Array]) -> int:
    """The largest id of a type that edges name, -1 if there is none."""
    largest = -1
    for (source, _, target), index in indices.items():
        for end, ids in ((source, index[0]), (target, index[1])):
            if end == name and ids.size:
                largest = max(largest, int(ids.max()))
    return largest


def _edge_index(place: str, store: Any) -> Array:
    if "edge_index" not in store:
        other = next((name for name in ("adj_t", "adj") if name in store), None)
        found = "no edges" if other is None else f"edges as a sparse matrix, {other},"
        raise InputError(f"{place}: found {found} expected edge_index")
    index = host(store["edge_index"])
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        raise InputError(
            f"{place}.edge_index: found {index.dtype} of shape {index.shape}, expected integers of "
            "shape (2, E)"
        )
    return index


def _rows(value: Any) -> int | None:
    """The number of rows; None if the value has no rows."""
    return int(value.shape[0]) if hasattr(value, "shape") and value.ndim else None


def _found(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"shape {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 40 else type(value).__name__
