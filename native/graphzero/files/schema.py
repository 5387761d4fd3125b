"""`Schema`: which types of nodes and which relations between them a graph has.

The engine and the wire identify both by numbers, users by names. A graph of one kind of nodes and
edges has one type and one relation, whose names are empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.text import names_text, quoted
from graphzero.files.column_keys import column_key, relation_directory, type_directory

# Source type, name, target type, as PyG writes them.
RelationName: TypeAlias = tuple[str, str, str]

# The most relations that a message lists.
_SHOWN = 10


@dataclass(frozen=True)
class NodeType:
    name: str
    count: int
    has_times: bool = False

    @cached_property
    def directory(self) -> str:
        """Where its columns lie below the dataset."""
        return type_directory(self.name)


@dataclass(frozen=True)
class Relation:
    """Edges of one kind. `source`, `target`, `base` and `inverse` are numbers."""

    source: int
    name: str
    target: int
    base: int
    """The relation's own number; for a view, the relation whose edges it has in reverse."""
    triple: RelationName
    num_edges: int = 0
    edge_id_bound: int = 0
    is_view: bool = False
    inverse: int | None = None
    """The relation that was declared to have the same edges in reverse."""
    symmetric: bool = False
    has_weights: bool = False
    has_edge_ids: bool = False
    has_times: bool = False
    has_out: bool = True
    has_in: bool = True
    time_ordered: bool = False

    @cached_property
    def directory(self) -> str:
        """The relation's part of the keys of a batch. A view has a part of its own, but the columns
        of its base."""
        return relation_directory(*self.triple)


@dataclass(frozen=True)
class Schema:
    """Types and relations in the order of their numbers: stored relations, then views."""

    types: tuple[NodeType, ...]
    relations: tuple[Relation, ...]
    time_unit: str = ""
    """Unit of all times of the graph: D, s, ms, us or ns since 1970; "" if it is not stated."""
    typed: bool = field(default=True)
    """False for a graph of one kind of nodes and edges, whose names are empty."""

    @classmethod
    def of(cls, topology: _engine.Topology, *, symmetric: bool = False) -> Schema:
        """The schema of a file. `symmetric` states for all relations within one type that the
        reverse of every edge is stored too, for files that cannot state it themselves."""
        types = tuple(NodeType(t.name, t.count, t.has_times) for t in topology.types)
        relations = tuple(
            Relation(
                source=r.source,
                name=r.name,
                target=r.target,
                base=r.base,
                triple=(types[r.source].name, r.name, types[r.target].name),
                num_edges=r.num_edges,
                edge_id_bound=r.edge_id_bound,
                is_view=r.is_view,
                inverse=r.inverse,
                symmetric=r.symmetric or (symmetric and r.source == r.target),
                has_weights=r.has_weights,
                has_edge_ids=r.has_edge_ids,
                has_times=r.has_times,
                has_out=r.has_out,
                has_in=r.has_in,
                time_ordered=r.time_ordered,
            )
            for r in topology.relations
        )
        return cls(types, relations, topology.time_unit, typed=topology.typed)

    @classmethod
    def flat(
        cls, num_nodes: int, *, has_times: bool = False, time_unit: str = "", **relation: Any
    ) -> Schema:
        """The schema of a graph of one kind of nodes and edges. `has_times` is a field of the
        NodeType, `relation` are fields of the Relation."""
        only = Relation(0, "", 0, 0, ("", "", ""), **relation)
        return cls((NodeType("", num_nodes, has_times),), (only,), time_unit, typed=False)

    @cached_property
    def _type_numbers(self) -> dict[str, int]:
        return {found.name: number for number, found in enumerate(self.types)}

    @cached_property
    def _relation_numbers(self) -> dict[RelationName, int]:
        return {found.triple: number for number, found in enumerate(self.relations)}

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for number, found in enumerate(self.relations):
            numbers.setdefault(found.name, []).append(number)
        return numbers

    @cached_property
    def _directories(self) -> dict[str, tuple[str, int]]:
        types = {found.directory: ("type", number) for number, found in enumerate(self.types)}
        return types | {
            found.directory: ("relation", number) for number, found in enumerate(self.relations)
        }

    @property
    def type_names(self) -> list[str]:
        return [found.name for found in self.types]

    @property
    def relation_names(self) -> list[RelationName]:
        return [found.triple for found in self.relations]

    @property
    def without_edge_ids(self) -> str | None:
        """For a message: the graph, or one of its relations, that stores no edge ids; None if all
        store them."""
        lacking = next((found for found in self.relations if not found.has_edge_ids), None)
        if lacking is None:
            return None
        return f"relation {lacking.triple}" if self.typed else "the graph"

    def type_number(self, name: Any, what: str = "type") -> int:
        """Raises InputError for a name that no type has; `what` names the argument in the
        message."""
        number = self._type_numbers.get(name) if isinstance(name, str) else None
        if number is None:
            raise InputError(f"{what} is {name!r}, expected one of {names_text(self.type_names)}")
        return number

    def relation_number(self, relation: Any, what: str = "relation") -> int:
        """The number of a relation, by its triple or by a name that only one relation has. Raises
        InputError for others."""
        if isinstance(relation, str):
            numbers = self._by_name.get(relation, [])
            if len(numbers) > 1:
                found = ", ".join(str(self.relations[n].triple) for n in numbers[:_SHOWN])
                raise InputError(
                    f"{what} is {relation!r}, which several have: {found}; give one of these"
                )
            if numbers:
                return numbers[0]
        number = self._relation_numbers.get(_as_triple(relation))
        if number is None:
            raise InputError(f"{what} is {relation!r}, expected one of {self.relations_text()}")
        return number

    def relations_text(self) -> str:
        """For a message: the triples of the first relations."""
        shown = ", ".join(str(found.triple) for found in self.relations[:_SHOWN])
        more = len(self.relations) - _SHOWN
        return f"{shown} and {more} more" if more > 0 else shown or "none"

    def by_type(self, values: Mapping[Any, Any], what: str) -> dict[int, Any]:
        """Values by the numbers of their types, in schema order; `values` has them by name."""
        numbered = {self.type_number(name, f"a type of {what}"): values[name] for name in values}
        return dict(sorted(numbered.items()))

    def by_relation(self, values: Mapping[Any, Any], what: str) -> dict[int, Any]:
        """Values by the numbers of their relations; `values` has them by triple or by name."""
        numbered: dict[int, Any] = {}
        for name, value in values.items():
            number = self.relation_number(name, f"a relation of {what}")
            if number in numbered:
                raise InputError(f"{what} has {self.relations[number].triple} twice")
            numbered[number] = value
        return dict(sorted(numbered.items()))

    def owner_of(self, directory: str) -> tuple[str, int] | None:
        """("type", number) or ("relation", number) of a directory of columns in a graph with types;
        None if no type or relation has this directory."""
        return self._directories.get(directory)

    def number_of(self, directory: str) -> int:
        """Number of the type or relation that a directory belongs to; 0 in a graph without
        types."""
        return self._directories[directory][1] if self.typed else 0

    def stored_key(self, key: str) -> str:
        """The key of the file that has the rows of a column: a view has the columns of its base."""
        directory, slash, name = key.rpartition("/")
        kind, number = self._directories.get(directory, ("", 0))
        if not slash or kind != "relation":
            return key
        return column_key(self.relations[self.relations[number].base].directory, name)


def type_text(schema: Schema, number: int) -> str:
    """ " of type 'user'", to follow a noun in a message; nothing where there is only one type."""
    return f" of type {quoted(schema.types[number].name)}" if schema.typed else ""


def _as_triple(relation: Any) -> Any:
    is_sequence = isinstance(relation, Sequence) and not isinstance(relation, str)
    if not is_sequence or not all(isinstance(part, str) for part in relation):
        return None
    return tuple(relation)
