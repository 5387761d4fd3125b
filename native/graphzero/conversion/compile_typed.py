"""Types, relations and their edges -> a typed topology file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import Report
from graphzero.conversion.compile_graph import StoredDirection, stored_directions, stream_input
from graphzero.conversion.time_arrays import check_unit
from graphzero.files.publish import StrPath

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from graphzero.conversion.inputs.streams import EdgeStream


@dataclass(frozen=True)
class NodeType:
    """Nodes of one kind."""

    name: str
    count: int
    times: npt.NDArray[np.int64] | None = None
    """When each node began to exist; may be a mapped file. NaT is refused."""


class RelationEdges(NamedTuple):
    """A relation and where its edges come from; its ends are names of types."""

    source: str
    name: str
    target: str
    edges: EdgeStream | _engine.EdgeInput
    undirected: bool = False
    """Store the reverse of every edge too; the relation is within one type."""
    symmetric_source: bool = False
    """The reverse of every edge is among the edges."""
    direction: StoredDirection = "both"
    dedup: bool = False
    """Keep the first of the edges between the same two nodes (at the same time, if they have
    times)."""
    edge_ids: bool = False
    weight_name: str = ""

    @property
    def triple(self) -> tuple[str, str, str]:
        return (self.source, self.name, self.target)


class RelationCounts(NamedTuple):
    """What became of the edges of a relation."""

    num_edges: int
    input_rows: int
    dropped: int  # repeats that dedup removed
    skipped: int  # lines left out
    messages: tuple[str, ...]  # what was wrong with the first of them
    first_time: int | None  # of its earliest edge, if edges have times
    last_time: int | None


def compile_typed_graph(
    out_file: StrPath,
    types: Sequence[NodeType],
    relations: Sequence[RelationEdges],
    resources: _engine.Resources,
    *,
    views: Mapping[tuple[str, str, str], str] | None = None,
    inverses: Sequence[tuple[tuple[str, str, str], tuple[str, str, str]]] = (),
    time_unit: str = "",
    report: Report | None = None,
) -> list[RelationCounts]:
    """Compiles a typed graph into `out_file`, which must not exist; returns what became of each
    relation.

    `views` maps a relation to the name of its reverse relation, which stores no edges of its own.
    `inverses` are pairs of relations that hold each other's edges reversed. Node ids of a relation
    are below the counts of its types.

    If it raises, an unfinished `out_file` may be left, so write to a place that nobody reads yet.
    """
    numbers = {node_type.name: i for i, node_type in enumerate(types)}
    places = {relation.triple: i for i, relation in enumerate(relations)}

    def type_number(name: str, relation: RelationEdges) -> int:
        if name not in numbers:
            raise InputError(
                f"relation {relation.triple}: found type {name!r}, expected one of "
                f"{', '.join(map(repr, numbers))}"
            )
        return numbers[name]

    def relation_number(triple: tuple[str, str, str], what: str) -> int:
        if triple not in places:
            raise InputError(f"{what} of {triple}: there is no such relation")
        return places[triple]

    inputs = [_input_of(relation) for relation in relations]
    specs = []
    for relation, edges in zip(relations, inputs, strict=True):
        out, in_ = stored_directions(relation.direction)
        spec = _engine.RelationSpec.make(
            type_number(relation.source, relation),
            relation.name,
            type_number(relation.target, relation),
            edges,
            undirected=relation.undirected,
            symmetric_source=relation.symmetric_source,
            out=out,
            in_=in_,
            dedup=relation.dedup,
            edge_ids=relation.edge_ids,
            weight_name=relation.weight_name,
        )
        specs.append(spec)
    result = _engine.compile_typed_topology(
        os.fspath(out_file),
        types=[_engine.TypeSpec.make(t.name, _count(t), t.times) for t in types],
        relations=specs,
        views=[(name, relation_number(base, "view")) for base, name in (views or {}).items()],
        inverses=[
            (relation_number(a, "inverse"), relation_number(b, "inverse")) for a, b in inverses
        ],
        time_unit=check_unit(time_unit),
        resources=resources,
        report=report,
    )
    return [
        _counts(relation, edges, found)
        for relation, edges, found in zip(relations, inputs, result.relations, strict=True)
    ]


def _input_of(relation: RelationEdges) -> _engine.EdgeInput:
    if isinstance(relation.edges, _engine.EdgeInput):
        return relation.edges
    return stream_input(relation.edges)


def _count(node_type: NodeType) -> int:
    if not 0 <= node_type.count < 2**63:
        raise InputError(
            f"type {node_type.name!r}: found {node_type.count} nodes, expected 0 to 2^63 - 1"
        )
    return node_type.count


def _counts(
    relation: RelationEdges, edges: _engine.EdgeInput, found: _engine.RelationReport
) -> RelationCounts:
    skipped, messages = edges.skipped, tuple(edges.messages)
    if not isinstance(relation.edges, _engine.EdgeInput) and relation.edges.tally is not None:
        skipped, messages = relation.edges.tally.skipped, relation.edges.tally.messages
    return RelationCounts(
        num_edges=found.num_edges,
        input_rows=found.input_rows,
        dropped=found.dropped,
        skipped=skipped,
        messages=messages,
        first_time=found.first_time,
        last_time=found.last_time,
    )
