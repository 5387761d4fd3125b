"""What a topology file of given edges must be, worked out with NumPy and the reference writer."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import reference_writer as rw
from graphzero import _engine
from graphzero.conversion.compile_graph import GraphOptions, GraphReport, compile_edges

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EdgeList:
    """Edges in input order. `row` is the input row number of each, `rows` how many there were."""

    src: Ids
    dst: Ids
    row: Ids
    rows: int
    weight: npt.NDArray[np.float32] | None = None

    @classmethod
    def make(cls, src: Any, dst: Any, weight: Any = None) -> EdgeList:
        src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
        weight = None if weight is None else np.asarray(weight, np.float32)
        return cls(src, dst, np.arange(len(src)), len(src), weight)

    def take(self, index: Any) -> EdgeList:
        """Some of the edges, under their old row numbers."""
        weight = None if self.weight is None else self.weight[index]
        return replace(
            self, src=self.src[index], dst=self.dst[index], row=self.row[index], weight=weight
        )


def stored_edges(edges: EdgeList, options: GraphOptions) -> EdgeList:
    """Adds reverse edges and drops repeats, as the options say."""
    if options.undirected:
        index = np.concatenate([np.arange(len(edges.src)), np.flatnonzero(edges.src != edges.dst)])
        both = edges.take(index)
        half = len(edges.src)
        edges = replace(
            both,
            src=np.concatenate([both.src[:half], both.dst[half:]]),
            dst=np.concatenate([both.dst[:half], both.src[half:]]),
        )
    if options.dedup:
        first: dict[tuple[int, int], int] = {}
        order = np.argsort(edges.row, kind="stable").tolist()
        pairs = list(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
        for i in order:
            first.setdefault(pairs[i], i)
        edges = edges.take(np.array(sorted(first.values()), np.int64))
    return edges


def topology_bytes(edges: EdgeList, options: GraphOptions) -> bytes:
    """The whole file."""
    num_nodes = options.num_nodes
    if num_nodes is None:
        num_nodes = int(max(edges.src.max(), edges.dst.max())) + 1
    kept = stored_edges(edges, options)
    symmetric = options.undirected
    sections: list[rw.Section] = []
    if symmetric or options.direction != "in":
        sections += _adjacency("out", num_nodes, kept.src, kept.dst, kept, options)
    if not symmetric and options.direction != "out":
        sections += _adjacency("in", num_nodes, kept.dst, kept.src, kept, options)
    if options.weight_name and edges.weight is not None:
        sections.append(rw.weight_name(options.weight_name))
    flags = rw.SORTED | rw.SYMMETRIC * symmetric | rw.MULTI_EDGES_DROPPED * options.dedup
    properties = struct.pack("<4Q", num_nodes, num_nodes, len(kept.src), edges.rows)
    return rw.container(rw.TOPOLOGY_MAGIC, properties, sections, optional_flags=flags).bytes()


def _adjacency(
    name: str, num_nodes: int, row: Ids, neighbour: Ids, edges: EdgeList, options: GraphOptions
) -> list[rw.Section]:
    kind = rw.FIRST_KIND[name]
    order = np.lexsort((edges.row, neighbour, row))
    starts = np.zeros(num_nodes + 1, np.uint64)
    starts[1:] = np.cumsum(np.bincount(row, minlength=num_nodes))
    sections = [
        rw.array_section(kind + rw.INDPTR, starts),
        rw.array_section(kind + rw.INDICES, neighbour[order].astype(np.uint32)),
    ]
    if edges.weight is not None:
        sections.append(rw.array_section(kind + rw.WEIGHTS, edges.weight[order]))
    if options.edge_ids:
        sections.append(rw.array_section(kind + rw.EDGE_IDS, edges.row[order].astype(np.uint32)))
    return sections


@dataclass(frozen=True)
class Compiled:
    data: bytes
    report: GraphReport


def ample(directory: Path, threads: int = 2) -> _engine.Resources:
    return _engine.Resources.make(memory=64 << 20, threads=threads, temp_dir=str(directory))


def tiny(directory: Path, threads: int, memory: int, wide: bool = False) -> _engine.Resources:
    """So little memory that a thousand edges exceed a leaf and ten thousand spill."""
    return _engine.Resources.make_for_tests(
        memory=memory, threads=threads, temp_dir=str(directory), wide_records=wide
    )


def compile_file(
    source: Path,
    options: GraphOptions | None = None,
    resources: _engine.Resources | None = None,
    *,
    skip_errors: bool = False,
) -> Compiled:
    """Compiles beside the source and takes the result away."""
    target = source.with_name("made.gl")
    try:
        report = compile_edges(
            source,
            target,
            GraphOptions() if options is None else options,
            ample(source.parent) if resources is None else resources,
            skip_errors=skip_errors,
        )
        return Compiled(target.read_bytes(), report)
    finally:
        target.unlink(missing_ok=True)


def compile_text(
    directory: Path, text: bytes | str, options: GraphOptions | None = None, **limits: Any
) -> Compiled:
    source = directory / "edges.csv"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    return compile_file(source, options, **limits)


def edge_lines(edges: EdgeList, delimiter: str = ",") -> str:
    columns = [edges.src.tolist(), edges.dst.tolist()]
    if edges.weight is not None:
        columns.append(edges.weight.tolist())
    return "".join(delimiter.join(map(str, line)) + "\n" for line in zip(*columns, strict=True))
