"""Samples and walks of an open topology. A sample is drawn first, then copied to its place.

`Graph` (sample_calls.py) and the daemon both call these. The draws depend on the file, the
arguments and the seed, never on threads or processes.
"""

import operator
import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from graphzero import _engine
from graphzero.base.result_arrays import result_array
from graphzero.embedded.results import Int64Array, SampledSubgraph
from graphzero.files.topology_file import Direction, TopologyFile

Subgraph: TypeAlias = Literal["directional", "bidirectional", "induced"]

SUBGRAPHS: dict[str, _engine.Subgraph] = {
    "directional": _engine.Subgraph.DRAWN,
    "bidirectional": _engine.Subgraph.BIDIRECTIONAL,
    "induced": _engine.Subgraph.INDUCED,
}

_SEED_BITS = 63  # fits into a signed 64-bit integer


def sampling_direction(direction: Direction | None) -> Direction:
    """The checked direction in which a call follows edges; None stands for "in"."""
    if direction not in (None, "in", "out"):
        raise ValueError(f'direction is {direction!r}, expected "in", "out" or None')
    return "in" if direction is None else direction


def place(drawn: _engine.NeighbourSample, seed: int, threads: int | None = None) -> SampledSubgraph:
    """The second half of `Graph.sample`: copies the sample into new arrays."""
    edges = drawn.num_edges
    result = SampledSubgraph(
        n_id=result_array(drawn.num_nodes, np.int64),
        edge_index=result_array((2, edges), np.int64),
        e_id=result_array(edges, np.int64) if drawn.has_edge_ids else None,
        edge_weight=result_array(edges, np.float32) if drawn.has_weights else None,
        num_sampled_nodes=drawn.num_sampled_nodes,
        num_sampled_edges=drawn.num_sampled_edges,
        batch_size=drawn.batch_size,
        seed=seed,
        batch=result_array(drawn.num_nodes, np.int64) if drawn.disjoint else None,
        seed_time=drawn.seed_times.copy() if drawn.temporal else None,
        edge_scale=result_array(edges, np.float32) if drawn.has_scales else None,
    )
    drawn.copy_to(
        n_id=result.n_id,
        edge_index=result.edge_index,
        e_id=result.e_id,
        edge_weight=result.edge_weight,
        batch=result.batch,
        edge_scale=result.edge_scale,
        threads=thread_count(threads),
    )
    return result


def walk_into(
    graph: TopologyFile,
    ids: Int64Array,
    nodes: Int64Array,
    lengths: Int64Array,
    *,
    p: float,
    q: float,
    restart: float,
    weighted: bool,
    seed: int,
    threads: int | None = None,
    metapath: Sequence[int] = (),
) -> None:
    """`Graph.random_walk` into the caller's arrays; `metapath` has numbers of relations."""
    if metapath or graph.schema.typed:
        if not metapath:
            raise ValueError(
                "walks of a graph with types follow a metapath, expected metapath=[relation, ...]"
            )
        if p != 1 or q != 1 or restart != 0:
            raise ValueError(
                f"walks along a metapath are plain, found p={p}, q={q}, restart={restart}, "
                "expected p=1, q=1, restart=0"
            )
        _engine.metapath_walk(
            graph.topology,
            ids,
            list(metapath),
            weighted=weighted,
            seed=seed,
            threads=thread_count(threads),
            nodes=nodes,
            lengths=lengths,
            disk=graph.disk,
        )
        return
    _engine.random_walk(
        graph.topology,
        ids,
        adjacency=graph.stored_adjacency("out"),
        p=p,
        q=q,
        restart=restart,
        weighted=weighted,
        seed=seed,
        threads=thread_count(threads),
        nodes=nodes,
        lengths=lengths,
        disk=graph.disk,
    )


def as_fanout(fanout: Iterable[int], what: str = "fanout") -> list[int]:
    """Edges per node for each hop, checked; `what` names the argument in messages."""
    try:
        hops = list(fanout)
    except TypeError:
        hops = None
    if hops is None or isinstance(fanout, (str, bytes)):
        raise TypeError(
            f"{what} is {fanout!r}, expected a list of numbers of edges, one for each hop: [10, 5]"
        )
    return [_edges_of_hop(hop, edges, what) for hop, edges in enumerate(hops)]


def _edges_of_hop(hop: int, edges: Any, what: str) -> int:
    expected = "expected -1 (all), 0 (none) or a number of edges"
    try:
        number = operator.index(edges)
    except TypeError:
        raise TypeError(f"{what} of hop {hop} is {edges!r}, {expected}") from None
    if not -1 <= number < 2**63:
        raise ValueError(f"{what} of hop {hop} is {edges!r}, {expected}")
    return number


def resolve_seed(seed: int | None) -> int:
    """The given seed, or a fresh one that differs in every call and every process."""
    if seed is None:
        return secrets.randbits(_SEED_BITS)
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed is {seed!r}, expected a whole number") from None
    if not 0 <= number < 2**64:
        raise ValueError(f"seed is {seed}, expected 0 to 2**64 - 1")
    return number


def thread_count(threads: int | None) -> int:
    """The number for the engine; 0, its whole budget, for None."""
    if threads is None:
        return 0
    if threads < 1:
        raise ValueError(f"threads is {threads}, expected at least 1")
    return int(threads)
