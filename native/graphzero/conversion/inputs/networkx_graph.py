"""A networkx graph, with the names of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphzero.base.errors import InputError
from graphzero.base.extras import import_extra
from graphzero.conversion.inputs.streams import Array, array_edges, array_rows
from graphzero.conversion.plan import ColumnSource, Plan

# The most bytes of an id that is a text: the limit of the engine for relabelled ids.
_LONGEST_NAME = 1024


def plan_networkx(graph: Any, columns: Sequence[str], weight: str | None) -> Plan:
    """A networkx graph, with its original ids if they are not 0 to N - 1."""
    networkx = import_extra("networkx", "networkx", "a networkx graph needs networkx")
    if not isinstance(graph, networkx.Graph):
        raise InputError(f"found {type(graph).__name__}, expected a networkx graph")
    if isinstance(columns, str):
        raise TypeError(f"columns: found the text {columns!r}, expected a sequence of names")
    nodes = _Nodes(list(graph))
    ends = list(graph.edges())
    src, dst = nodes.numbers(edge[0] for edge in ends), nodes.numbers(edge[1] for edge in ends)
    weights = None if weight is None else _weights(graph, weight)
    sources = [
        ColumnSource(name, array_rows(f"node attribute {name!r}", _attribute(graph, name, nodes)))
        for name in columns
    ]
    return Plan(
        array_edges("networkx graph", src, dst, weights),
        sources,
        len(nodes.sorted),
        None if nodes.original is None else array_rows("nodes", nodes.original),
        undirected=not graph.is_directed(),
    )


class _Nodes:
    """The nodes and their numbers: as they are if they are 0 to N - 1, else their places in sorted
    order."""

    def __init__(self, nodes: list[Any]) -> None:
        kinds = {_kind(node) for node in nodes}
        if kinds - {"int", "str"} or len(kinds) > 1:
            raise InputError(
                f"networkx graph: found nodes of type {', '.join(sorted(kinds))}, expected int or "
                "str throughout; networkx.convert_node_labels_to_integers() makes them so"
            )
        self.sorted = sorted(nodes, key=_order)
        self._number = {node: number for number, node in enumerate(self.sorted)}
        self.original: Array | None = None
        if self.sorted != list(range(len(nodes))):
            self.original = self._names() if kinds == {"str"} else self._integers()

    def numbers(self, nodes: Iterable[Any]) -> Array:
        return np.array([self._number[node] for node in nodes], np.int64)

    def _integers(self) -> Array:
        for node in (self.sorted[0], self.sorted[-1]):
            if not -(2**63) <= node < 2**63:
                raise InputError(f"networkx node {node}: expected an integer of 64 bits")
        return np.array(self.sorted, np.int64)

    def _names(self) -> Array:
        for node in self.sorted:
            if not 0 < len(node.encode()) <= _LONGEST_NAME or "\0" in node:
                raise InputError(
                    f"networkx node {node[:60]!r}: expected a text of 1 to {_LONGEST_NAME} bytes "
                    "without a zero byte"
                )
        encoded = np.array([node.encode() for node in self.sorted], "S")
        return encoded.view(np.uint8).reshape(len(encoded), -1)


def _kind(node: Any) -> str:
    is_integer = isinstance(node, np.integer | int) and not isinstance(node, bool)
    return "int" if is_integer else type(node).__name__


def _order(node: Any) -> Any:
    if not isinstance(node, str):
        return node
    try:
        return node.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"networkx node {node!r}: cannot be written as UTF-8") from error


def _weights(graph: Any, attribute: str) -> Array:
    found = list(graph.edges(data=attribute))
    if found and all(value is None for *_, value in found):
        raise InputError(
            f"networkx graph: found no edge with the attribute {attribute!r}, expected weights"
        )
    weights = np.ones(len(found), np.float32)
    for place, (source, target, value) in enumerate(found):
        if value is None:
            continue
        if not isinstance(value, int | float | np.number):
            raise InputError(
                f"networkx edge {source!r}, {target!r}: found {attribute}={value!r}, expected a "
                "number"
            )
        weights[place] = value
    return weights


def _attribute(graph: Any, name: str, nodes: _Nodes) -> Array:
    """A number, or numbers of one shape, of each node."""
    rows: list[Array] = []
    for node in nodes.sorted:
        if name not in graph.nodes[node]:
            raise InputError(f"networkx node {node!r}: found no attribute {name!r}, expected one")
        row = _numbers(graph.nodes[node][name])
        if row is None or (rows and row.shape != rows[0].shape):
            expected = "a number, or a list of numbers of one shape for all nodes"
            raise InputError(
                f"networkx node {node!r}: found {name}={graph.nodes[node][name]!r}, expected "
                f"{expected}"
            )
        rows.append(row)
    return np.stack(rows) if rows else np.empty(0)


def _numbers(value: Any) -> Array | None:
    try:
        array = np.asarray(value)
    except ValueError:  # lists of several lengths
        return None
    return array if array.dtype.kind in "biuf" else None
