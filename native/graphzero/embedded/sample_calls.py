"""`Graph.sample` and `Graph.random_walk`.

Ids may be lists, NumPy arrays or torch tensors; results (results.py, typed_results.py) are NumPy
arrays that own their memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.ids import Ids, id_array
from graphzero.base.result_arrays import result_array
from graphzero.embedded.labor import Sampler, labor_of
from graphzero.embedded.link_seeds import excluded_pairs
from graphzero.embedded.results import Int64Array, SampledSubgraph, Walks
from graphzero.embedded.sampling import (
    Subgraph,
    place,
    resolve_seed,
    walk_into,
)
from graphzero.embedded.typed_arguments import (
    Fanout,
    Seeds,
    Times,
    TypedIds,
    fanout_of_relations,
    given_order,
    seed_times,
    seeds_of_types,
    time_window,
)
from graphzero.embedded.typed_results import TypedSample
from graphzero.embedded.typed_sampling import ExcludedPairs, Temporal, draw_typed, place_typed
from graphzero.files.schema import Schema
from graphzero.files.topology_file import Direction, TopologyFile

TemporalStrategy: TypeAlias = Literal["uniform", "last"]


class SamplingMixin:
    """Sampling for a class that has an open topology."""

    _file: TopologyFile

    @overload
    def sample(
        self,
        seeds: Mapping[str, Ids] | tuple[str, Ids],
        fanout: Fanout,
        *,
        default_fanout: Iterable[int] | None = ...,
        time: Times = ...,
        time_strict: bool = ...,
        time_window: Any = ...,
        temporal_strategy: TemporalStrategy = ...,
        replace: bool = ...,
        weighted: bool = ...,
        sampler: Sampler = ...,
        direction: Direction | None = ...,
        seed: int | None = ...,
        edge_ids: bool = ...,
        disjoint: bool = ...,
        subgraph: Subgraph = ...,
        exclude: Mapping[Any, tuple[Ids, Ids]] | None = ...,
        threads: int | None = ...,
        max_edges: int = ...,
    ) -> TypedSample: ...

    @overload
    def sample(
        self,
        seeds: Ids,
        fanout: Iterable[int],
        *,
        default_fanout: None = ...,
        time: Times = ...,
        time_strict: bool = ...,
        time_window: Any = ...,
        temporal_strategy: TemporalStrategy = ...,
        replace: bool = ...,
        weighted: bool = ...,
        sampler: Sampler = ...,
        direction: Direction | None = ...,
        seed: int | None = ...,
        edge_ids: bool = ...,
        disjoint: bool = ...,
        subgraph: Subgraph = ...,
        exclude: tuple[Ids, Ids] | None = ...,
        threads: int | None = ...,
        max_edges: int = ...,
    ) -> SampledSubgraph: ...

    def sample(
        self,
        seeds: Seeds,
        fanout: Fanout,
        *,
        default_fanout: Iterable[int] | None = None,
        time: Times = None,
        time_strict: bool = False,
        time_window: Any = None,
        temporal_strategy: TemporalStrategy = "uniform",
        replace: bool = False,
        weighted: bool = False,
        sampler: Sampler = "neighbour",
        direction: Direction | None = None,
        seed: int | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        exclude: Any = None,
        threads: int | None = None,
        max_edges: int = _engine.DEFAULT_MAX_EDGES,
    ) -> SampledSubgraph | TypedSample:
        """Draws up to fanout[h] edges for each node that hop h - 1 found; hop 0 starts at seeds.

        A fanout of -1 takes all edges, 0 none. Without replacement no edge is drawn twice; with it,
        each node that has edges draws exactly that many. `weighted` draws in proportion to the edge
        weights; edges of weight zero are never taken. Of a graph with types, relations without
        weights then draw uniformly, unless the sampler is LABOR.

        sampler: "labor", or a gz.Labor with options, makes nodes of a hop prefer the same
        neighbours: the same fanout, far fewer different nodes. With weights the sample has
        edge_scale.

        seeds: ids of nodes; for a graph with types {type: ids} or (type, ids), and the result is a
        TypedSample, which reads like PyG's HeteroData.
        fanout: for a graph with types one list for all relations, or one for each,
        {(source, name, target): list}, with default_fanout for the others.

        time: the time of each seed (integers on the graph's scale, or dates), or one for all seeds;
        "own" for the time that each seed has in the graph. For seeds of several types {type:
        times}, or one array in the order in which `seeds` has them. The seed's tree contains
        nothing later, and disjoint is implied. time_strict also leaves out edges and nodes of
        exactly that time; time_window leaves out those that are older than the seed's time minus
        the window; temporal_strategy "last" takes the latest edges instead of random ones.

        direction "in" follows edges from target to source, as graph networks aggregate, and is the
        default; edge_index is (source, target) either way. Raises ValueError if the file does not
        store that direction, IndexError for a seed outside the graph, and InputError (a ValueError)
        if a hop would draw more than max_edges.

        disjoint: every seed has a tree of its own, whose nodes are shared with no other; `batch`
        has the seed of each node.
        subgraph: "directional" has the edges that were drawn, "bidirectional" also the reverse of
        each, "induced" all edges between the nodes that were found.
        exclude: (sources, targets) of edges that the sample must not have; they are left out before
        anything is drawn. For a graph with types {relation: (sources, targets)}; they are then left
        out in the relation, in its view (or the relation that it is a view of) and in its declared
        inverse, undirected edges in both directions. In a graph without types exactly the edges
        from sources to targets are left out: give both directions of an undirected edge.
        """
        schema = self._file.schema
        by_type = seeds_of_types(schema, seeds)
        if edge_ids and schema.without_edge_ids is not None:
            raise ValueError(
                f"{schema.without_edge_ids} stores no edge ids; convert it with --edge-ids"
            )
        resolved = resolve_seed(seed)
        drawn = draw_typed(
            self._file,
            by_type,
            fanout_of_relations(schema, fanout, default_fanout),
            replace=replace,
            weighted=weighted,
            direction=direction,
            seed=resolved,
            max_edges=max_edges,
            threads=threads,
            disjoint=disjoint,
            subgraph=subgraph,
            exclude=_excluded(schema, exclude),
            labor=labor_of(sampler),
            temporal=_temporal(
                schema,
                time,
                by_type,
                given_order(schema, seeds),
                time_strict,
                time_window,
                temporal_strategy,
            ),
        )
        if schema.typed:
            return place_typed(drawn, schema, resolved, threads)
        return place(drawn, resolved, threads)

    def random_walk(
        self,
        starts: Ids,
        length: int,
        *,
        p: float = 1.0,
        q: float = 1.0,
        restart: float = 0.0,
        metapath: Iterable[Any] = (),
        weighted: bool = False,
        seed: int | None = None,
        threads: int | None = None,
    ) -> Walks:
        """Walks of `length` steps along out-edges, one per start.

        p and q are those of node2vec: a step back to the previous node has weight 1/p, to a node
        that the previous one has an edge to 1, to any other node 1/q; with `weighted`, times the
        edge's weight. A step goes back to the start with probability `restart`. A walk ends at a
        node without an edge to follow.

        metapath: relations of a graph with types. Steps follow them one after the other, from
        source to target, and begin again with the first. Starts are nodes of the first relation's
        source type; column i of `nodes` has nodes of the type where step i - 1 ended. A walk that
        ends early repeats its last node, whose type is then not that of the column: only
        nodes[i, : lengths[i] + 1] is walk i.
        """
        schema = self._file.schema
        ids = id_array(starts, None, "starts")
        if length < 0:
            raise ValueError(f"length is {length}, expected at least 0")
        walks = Walks(
            nodes=result_array((len(ids), length + 1), np.int64),
            lengths=np.empty(len(ids), np.int64),
            seed=resolve_seed(seed),
        )
        walk_into(
            self._file,
            ids,
            walks.nodes,
            walks.lengths,
            p=p,
            q=q,
            restart=restart,
            weighted=weighted,
            seed=walks.seed,
            threads=threads,
            metapath=[schema.relation_number(each, "a step of metapath") for each in metapath],
        )
        return walks


def _temporal(
    schema: Schema,
    time: Times,
    seeds: TypedIds,
    order: list[int],
    strict: bool,
    window: Any,
    strategy: TemporalStrategy,
) -> Temporal | None:
    found = seed_times(schema, time, seeds, order)
    if found is not None and found.columns:
        raise InputError(
            f'time is {found.columns[0]!r}, expected times or "own": a graph has no columns; '
            "gz.FeatureStore reads one, and a client takes its name"
        )
    values = None if found is None else found.values
    return temporal_rule(schema, values, found is not None, strict, window, strategy)


def temporal_rule(
    schema: Schema,
    times: Int64Array | None,
    is_temporal: bool,
    strict: bool,
    window: Any,
    strategy: TemporalStrategy,
) -> Temporal | None:
    """None for a sample that is not by time; the other arguments are then errors. For a sample by
    time, `times` None stands for each seed's own time."""
    if strategy not in ("uniform", "last"):
        raise ValueError(f'temporal_strategy is {strategy!r}, expected "uniform" or "last"')
    if is_temporal:
        return Temporal(times, strategy == "last", bool(strict), time_window(schema, window))
    if strict or window is not None or strategy != "uniform":
        raise InputError(
            "time_strict, time_window and temporal_strategy say what a sample by time may have: "
            "expected a time too"
        )
    return None


def _excluded(schema: Schema, exclude: Any) -> list[ExcludedPairs]:
    """Parses {relation: (sources, targets)}, or (sources, targets) for a graph without types."""
    if exclude is None:
        return []
    if not schema.typed:
        return [(0, *_pair(exclude, "exclude"))]
    if not isinstance(exclude, Mapping):
        raise InputError("exclude is of no relation, expected {relation: (sources, targets)}")
    given = schema.by_relation(exclude, "exclude")
    pairs = [
        (number, *_pair(pair, f"exclude[{schema.relations[number].triple}]"))
        for number, pair in given.items()
    ]
    for number, sources, targets in pairs:
        if len(sources) != len(targets):
            raise ValueError(
                f"exclude[{schema.relations[number].triple}] has {len(sources)} sources and "
                f"{len(targets)} targets, expected as many"
            )
    return excluded_pairs(schema, pairs)


def _pair(pair: tuple[Ids, Ids], what: str) -> tuple[Int64Array, Int64Array]:
    sources, targets = pair
    return id_array(sources, None, f"{what}[0]"), id_array(targets, None, f"{what}[1]")
