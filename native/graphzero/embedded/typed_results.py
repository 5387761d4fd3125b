"""Samples of a graph with types: fields by type and relation, as in PyG's HeteroData.

    TypedResult           the fields that every typed sample has
    ├── TypedSample       Graph.sample(): NumPy arrays that own their memory
    └── TypedBatch        Client.sample() and loaders: torch tensors where torch is installed, with
                          the columns of nodes and edges beside them (client/batches/typed_batch.py)

sample[name] has the fields of a type, sample[triple] those of a relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphzero.files.schema import RelationName

_NODE_FIELDS = ("n_id", "batch")
_EDGE_FIELDS = ("edge_index", "e_id", "edge_weight", "edge_scale")
_DICT = "_dict"


class Fields:
    """Fields of one type or relation: attributes (`fields.x`) and items (`fields["x"]`).

    A field that the sample lacks (e_id of a graph without edge ids) is None as an attribute, and no
    item.
    """

    _optional: tuple[str, ...] = ()
    _facts: tuple[str, ...] = ()

    def __init__(self, owner: str, tensors: dict[str, Any]) -> None:
        """`owner` names the type or relation in messages."""
        self._owner = owner
        self._tensors: dict[str, Any] | None = tensors

    def keys(self) -> list[str]:
        """Names of the tensors: those of the topology, then the columns."""
        return list(self._held())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._held()

    def __getitem__(self, name: str) -> Any:
        held = self._held()
        if name not in held:
            raise KeyError(f"{self._owner} has no {name!r}, it has {', '.join(held) or 'nothing'}")
        return held[name]

    def __setitem__(self, name: str, tensor: Any) -> None:
        self._held()[name] = tensor

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._tensors or ())]

    def __getattr__(self, name: str) -> Any:
        # Called only for names that are no ordinary attributes; private names are never fields.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._optional and name not in self._held():
            return None
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name in self._facts:
            object.__setattr__(self, name, value)
        else:
            self[name] = value

    def facts(self) -> dict[str, Any]:
        """The values beside tensors, such as batch_size, by name."""
        return {name: getattr(self, name) for name in self._facts}

    def _held(self) -> dict[str, Any]:
        if self._tensors is None:
            raise RuntimeError("this batch was released; use it before release(), or clone() it")
        return self._tensors

    def _drop(self) -> None:
        self._tensors = None

    def __repr__(self) -> str:
        if self._tensors is None:
            return "released"
        shapes = [f"{name}={list(shape_of(value))}" for name, value in self._tensors.items()]
        return f"{{{', '.join(shapes + self._facts_text())}}}"

    def _facts_text(self) -> list[str]:
        return []


class NodeFields(Fields):
    """Fields of the nodes of one type in a sample, and their columns. Local ids are positions in
    n_id.

    n_id: int64, ids within the type. The seeds of the type as given come first, repeats included:
    n_id[:batch_size]. The other nodes follow in the order in which they were found.
    batch: int64, the number of the seed that each node was found from, counted over the seeds of
    all types in schema order; None unless disjoint.
    """

    _optional = _NODE_FIELDS
    _facts = ("num_sampled_nodes", "batch_size")

    def __init__(
        self,
        owner: str,
        tensors: dict[str, Any],
        *,
        num_sampled_nodes: list[int],
        batch_size: int,
    ) -> None:
        super().__init__(owner, tensors)
        self.num_sampled_nodes = num_sampled_nodes
        """Number of seeds, then of new nodes in each hop. Zeros are kept."""
        self.batch_size = batch_size
        """Number of seeds of this type."""

    @property
    def num_nodes(self) -> int:
        return shape_of(self._held()["n_id"])[0]

    def _facts_text(self) -> list[str]:
        return [f"batch_size={self.batch_size}"] if self.batch_size else []


class EdgeFields(Fields):
    """Fields of the edges of one relation in a sample, and their columns.

    edge_index: int64, (2, edges): local source, a position in n_id of the source type, and local
    target, a position in n_id of the target type, hop by hop.
    e_id: int64, input row of each edge; None if the relation stores no edge ids.
    edge_weight: float32; None if the relation stores no weights.
    edge_scale: float32, a factor for each edge (see SampleResult); None unless the sample is a
    LABOR sample by weight.
    """

    _optional = _EDGE_FIELDS
    _facts = ("num_sampled_edges",)

    def __init__(
        self, owner: str, tensors: dict[str, Any], *, num_sampled_edges: list[int]
    ) -> None:
        super().__init__(owner, tensors)
        self.num_sampled_edges = num_sampled_edges
        """Number of edges of each hop. Zeros are kept. Empty if the edges are not the drawn
        ones."""

    @property
    def num_edges(self) -> int:
        return shape_of(self._held()["edge_index"])[1]


class TypedResult:
    """A sample of a graph with types:

        sample["user"].n_id                             fields of a type
        sample["user", "rates", "movie"].edge_index     fields of a relation
        sample["rates"], sample["user", "movie"]        the same, if only one relation matches
        sample.x_dict, sample.edge_index_dict           one field of all types or relations, by name

    All types and relations are there, empty ones too.
    """

    seed: int
    """With this seed, the same call draws the same sample again."""
    source_index: Any = None
    """int64: local ids of the sources of links, then of negative pairs; None without links."""
    target_index: Any = None
    """int64: local ids of the targets of links, then of negatives; None without links."""
    seed_time: Any = None
    """int64: the time of each seed, all types in schema order: `batch` are positions in it. None
    unless the sample was drawn by time."""

    def __init__(
        self,
        nodes: Mapping[str, NodeFields],
        edges: Mapping[RelationName, EdgeFields],
        *,
        seed: int,
        source_index: Any = None,
        target_index: Any = None,
        seed_time: Any = None,
    ) -> None:
        self._nodes: Mapping[str, NodeFields] = nodes
        self._edges: Mapping[RelationName, EdgeFields] = edges
        self.seed = seed
        self.source_index = source_index
        self.target_index = target_index
        self.seed_time = seed_time

    @property
    def node_types(self) -> list[str]:
        return list(self._nodes)

    @property
    def edge_types(self) -> list[RelationName]:
        return list(self._edges)

    def metadata(self) -> tuple[list[str], list[RelationName]]:
        """(node_types, edge_types), as PyG's to_hetero() and HeteroConv take them."""
        return self.node_types, self.edge_types

    @property
    def num_sampled_nodes(self) -> dict[str, list[int]]:
        """For each type: number of seeds, then of new nodes in each hop."""
        return {name: fields.num_sampled_nodes for name, fields in self._nodes.items()}

    @property
    def num_sampled_edges(self) -> dict[RelationName, list[int]]:
        """For each relation: number of edges of each hop."""
        return {name: fields.num_sampled_edges for name, fields in self._edges.items()}

    def __getitem__(self, which: Any) -> Any:
        """NodeFields for the name of a type; EdgeFields for a triple, or for a name or a pair of
        end types that only one triple has."""
        if isinstance(which, str) and which in self._nodes:
            return self._nodes[which]
        if isinstance(which, tuple) and which in self._edges:
            return self._edges[which]
        found = [triple for triple in self._edges if which in (triple[1], triple[::2])]
        if len(found) == 1:
            return self._edges[found[0]]
        if found:
            raise KeyError(f"{which!r} may be any of {_listed(found)}; say which")
        known = self.edge_types if isinstance(which, tuple) else self.node_types
        raise KeyError(f"the sample has no {which!r}, it has {_listed(known)}")

    def __contains__(self, which: object) -> bool:
        return which in self._nodes or which in self._edges

    def __dir__(self) -> list[str]:
        names = {name for _, fields in self._stores() for name in fields._tensors or ()}
        return [*super().__dir__(), *(f"{name}{_DICT}" for name in sorted(names))]

    def __getattr__(self, name: str) -> Any:
        # Called only for names that are no ordinary attributes.
        if name.startswith("_"):
            raise AttributeError(name)
        if not name.endswith(_DICT):
            raise AttributeError(
                f"{type(self).__name__} has no {name!r}: fields belong to a type or relation, as "
                f'in sample["{next(iter(self._nodes), "user")}"].{name}'
            )
        return self.collect(name.removesuffix(_DICT))

    def collect(self, name: str) -> dict[Any, Any]:
        """One field of all types or relations that have it, by type or triple.

        Raises AttributeError if none has it.
        """
        found: dict[Any, Any] = {}
        for owner, fields in self._stores():
            value = getattr(fields, name, None)
            if value is not None:
                found[owner] = value
        if not found:
            raise AttributeError(f"no type and no relation of the sample has {name!r}")
        return found

    def _stores(self) -> Iterator[tuple[Any, Fields]]:
        yield from self._nodes.items()
        yield from self._edges.items()

    def __repr__(self) -> str:
        stores = [f"{_owner_text(owner)}={fields!r}" for owner, fields in self._stores()]
        return f"{type(self).__name__}({', '.join(stores)})"


class TypedSample(TypedResult):
    """What `Graph.sample` and `Graph.sample_links` drew from a graph with types, as NumPy arrays.

    `TypedBatch` is the corresponding result of a daemon; the same seed draws the same sample.
    """

    link_relation: RelationName | None = None
    """The relation of the links in source_index and target_index; None without links."""
    num_links: int = 0
    """The first num_links entries of source_index and target_index are links; the rest are
    negatives."""


def shape_of(value: Any) -> tuple[int, ...]:
    """Shape of an array or tensor, or of the one that an object holds in its field `array`."""
    return tuple(getattr(value, "array", value).shape)


def _owner_text(owner: Any) -> str:
    return owner if isinstance(owner, str) else f"({', '.join(owner)})"


def _listed(names: Any, most: int = 10) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "none"
