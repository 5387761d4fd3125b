"""Samples of an open topology by type, relation and time: drawn first, then copied to their place.

`Graph` and the daemon both call these. Types and relations are given by their numbers in the
schema; a graph without types has one of each, number 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from graphzero import _engine
from graphzero.base.result_arrays import result_array
from graphzero.embedded.labor import Labor
from graphzero.embedded.results import Int64Array
from graphzero.embedded.sampling import SUBGRAPHS, sampling_direction, thread_count
from graphzero.embedded.typed_arguments import TypedIds
from graphzero.embedded.typed_results import EdgeFields, NodeFields, TypedSample
from graphzero.files.schema import Schema
from graphzero.files.topology_file import Direction, TopologyFile

# (relation, sources, targets) of edges that a sample must not have.
ExcludedPairs: TypeAlias = tuple[int, Int64Array, Int64Array]


@dataclass(frozen=True, eq=False)
class Temporal:
    """Makes a sample temporal, and so disjoint: a tree contains nothing later than its seed's
    time."""

    times: Int64Array | None
    """One time for each seed, all types in schema order; None: each seed's own in the graph."""
    last: bool = False
    """Takes the latest edges instead of random ones."""
    strict: bool = False
    """Takes only edges and nodes before the seed's time; otherwise also those at that time."""
    window: int = 0
    """How far back a tree may look, on the graph's scale; 0 for no limit."""


@dataclass(frozen=True, eq=False)
class ExcludedInTrees:
    """Edges that some trees of a disjoint sample must not have: those between the ends of a link,
    in the trees of that link."""

    relation: int
    sources: Int64Array
    targets: Int64Array
    trees: Int64Array
    """Each tree is given by the number of its seed, over all types in schema order."""
    edge_ids: Int64Array | None = None
    """Leaves out only the edges with these ids; None: all edges between the pairs."""


def draw_typed(
    graph: TopologyFile,
    seeds: TypedIds,
    fanout: list[list[int]],
    *,
    replace: bool,
    weighted: bool,
    direction: Direction | None,
    seed: int,
    max_edges: int,
    threads: int | None = None,
    disjoint: bool = False,
    subgraph: str = "directional",
    exclude: Sequence[ExcludedPairs] = (),
    temporal: Temporal | None = None,
    exclude_in_trees: Sequence[ExcludedInTrees] = (),
    spare_history: bool = False,
    labor: Labor | None = None,
) -> _engine.NeighbourSample:
    """`fanout` has a list for every relation, views included.

    spare_history: keep edges of exclude_in_trees that existed before the time of the tree's seed.
    """
    if subgraph not in SUBGRAPHS:
        raise ValueError(f"subgraph is {subgraph!r}, expected one of {', '.join(SUBGRAPHS)}")
    if not graph.schema.typed:
        graph.stored_adjacency(sampling_direction(direction))  # raises with advice if it is missing
    return _engine.sample_typed(
        graph.topology,
        seeds,
        fanout,
        expand_targets=sampling_direction(direction) == "in",
        symmetric=graph.symmetric and not graph.schema.typed,
        replace=replace,
        weighted=weighted,
        seed=seed,
        max_edges=max_edges,
        threads=thread_count(threads),
        disjoint=disjoint,
        subgraph=SUBGRAPHS[subgraph],
        exclude=list(exclude),
        times=None if temporal is None else temporal.times,
        own_times=temporal is not None and temporal.times is None,
        last=temporal is not None and temporal.last,
        strict=temporal is not None and temporal.strict,
        window=0 if temporal is None else temporal.window,
        exclude_in_trees=[
            (each.relation, each.sources, each.targets, each.trees, each.edge_ids)
            for each in exclude_in_trees
        ],
        spare_history=spare_history,
        labor=None if labor is None else labor.request(seed),
        disk=graph.disk,
    )


def place_typed(
    drawn: _engine.NeighbourSample,
    schema: Schema,
    seed: int,
    threads: int | None = None,
) -> TypedSample:
    """Copies the sample into new arrays."""
    return TypedSample(
        {
            found.name: _placed_nodes(drawn, number, found.name, thread_count(threads))
            for number, found in enumerate(schema.types)
        },
        {
            found.triple: _placed_edges(drawn, number, str(found.triple), thread_count(threads))
            for number, found in enumerate(schema.relations)
        },
        seed=seed,
        seed_time=drawn.seed_times.copy() if drawn.temporal else None,
    )


def _placed_nodes(
    drawn: _engine.NeighbourSample, number: int, name: str, threads: int
) -> NodeFields:
    count = drawn.num_nodes_of(number)
    arrays = {"n_id": result_array(count, np.int64)}
    if drawn.disjoint:
        arrays["batch"] = result_array(count, np.int64)
    drawn.copy_nodes(number, **arrays, threads=threads)
    return NodeFields(
        name,
        arrays,
        num_sampled_nodes=drawn.num_sampled_nodes_of(number),
        batch_size=drawn.batch_size_of(number),
    )


def _placed_edges(
    drawn: _engine.NeighbourSample, number: int, name: str, threads: int
) -> EdgeFields:
    count = drawn.num_edges_of(number)
    edge_index = result_array((2, count), np.int64)
    e_id = result_array(count, np.int64) if drawn.has_edge_ids_of(number) else None
    weight = result_array(count, np.float32) if drawn.has_weights_of(number) else None
    scale = result_array(count, np.float32) if drawn.has_scales else None
    drawn.copy_edges(
        number,
        edge_index=edge_index,
        e_id=e_id,
        edge_weight=weight,
        edge_scale=scale,
        threads=threads,
    )
    arrays = {"edge_index": edge_index, "e_id": e_id, "edge_weight": weight, "edge_scale": scale}
    return EdgeFields(
        name,
        {name: array for name, array in arrays.items() if array is not None},
        num_sampled_edges=drawn.num_sampled_edges_of(number),
    )
