"""What a dataset with types holds, read node by node, in a form that can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import graphzero as gz
from contents import column
from graphzero import _engine
from graphzero.files.paths import find_problems

Triple = tuple[str, str, str]


class Edge(NamedTuple):
    source: int
    target: int
    time: int | None = None
    weight: float | None = None
    id: int | None = None


class TypedContents:
    """Opened and verified."""

    def __init__(self, dataset: Path) -> None:
        self._path = dataset
        self.graph = _engine.Topology.open(str(dataset / "graph.gl"))
        assert find_problems(self.graph) == []
        for file in dataset.rglob("*.gd"):
            assert find_problems(_engine.Matrix.open(str(file))) == []
        names = [own.name for own in self.graph.types]
        self.counts = {own.name: own.count for own in self.graph.types}
        self.triples: list[Triple] = [
            (names[own.source], own.name, names[own.target]) for own in self.graph.relations
        ]

    @property
    def stored(self) -> list[Triple]:
        relations = zip(self.triples, self.graph.relations, strict=True)
        return [triple for triple, own in relations if not own.is_view]

    @property
    def views(self) -> list[Triple]:
        return [triple for triple in self.triples if triple not in self.stored]

    def relation(self, triple: Triple) -> Any:
        return self.graph.relations[self.triples.index(triple)]

    def edges(self, triple: Triple) -> list[Edge]:
        """As the rows of sources have them; those of targets must have the same."""
        number = self.triples.index(triple)
        out = self._edges_of_rows(number, "out", self.counts[triple[0]])
        if self.graph.relations[number].has_in:
            into = self._edges_of_rows(number, "in", self.counts[triple[2]])
            turned = [edge._replace(source=edge.target, target=edge.source) for edge in into]
            assert sorted(turned, key=str) == sorted(out, key=str)
        return out

    def _edges_of_rows(self, number: int, direction: str, rows: int) -> list[Edge]:
        found = []
        own = self.graph.relations[number]
        for node in range(rows):
            others = self.graph.neighbours(node, direction, number).tolist()
            empty = [None] * len(others)
            times = self.graph.times(node, direction, number).tolist() or empty
            weights: Any = empty
            if own.has_weights:
                weights = self.graph.weights(node, direction, number).tolist()
            ids: Any = empty
            if own.has_edge_ids:
                ids = self.graph.edge_ids(node, direction, number).tolist()
            for parts in zip(others, times, weights, ids, strict=True):
                found.append(Edge(node, *parts))
        return found

    def pairs(self, triple: Triple) -> list[tuple[int, int]]:
        return sorted((edge.source, edge.target) for edge in self.edges(triple))

    def times(self, type_name: str) -> list[int]:
        number = list(self.counts).index(type_name)
        return [int(time) for time in self.graph.node_times(number)]

    def column(self, directory: str, name: str) -> Any:
        return column(self._path / directory, name)

    def files(self) -> list[str]:
        return sorted(
            str(file.relative_to(self._path)) for file in self._path.rglob("*") if file.is_file()
        )

    def keys(self, type_name: str) -> list[Any]:
        """The original ids of a type."""
        ids = gz.OriginalIds(self._path / type_name)
        return list(ids.gather(range(len(ids))))
