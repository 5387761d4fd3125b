"""Sampling in this process: `Graph.sample`, walks, and the calls of GraphZero 0.2.

`SamplingMixin` holds the methods; `Graph` inherits it. Ids may be lists, NumPy arrays or torch
tensors; results are NumPy arrays that own their memory. The draws depend on the file, the arguments
and the seed, never on threads or processes.
"""

import operator
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.ids import Ids, id_array
from graphzero.files.topology_file import Direction, TopologyFile

Int64Array: TypeAlias = npt.NDArray[np.int64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
Subgraph: TypeAlias = Literal["directional", "bidirectional", "induced"]

SUBGRAPHS: dict[str, _engine.Subgraph] = {
    "directional": _engine.Subgraph.DRAWN,
    "bidirectional": _engine.Subgraph.BIDIRECTIONAL,
    "induced": _engine.Subgraph.INDUCED,
}

_SEED_BITS = 63  # fits a signed 64-bit integer wherever a seed may travel


@dataclass(frozen=True, eq=False)
class SampledSubgraph:
    """What `Graph.sample` drew. Local ids are positions in n_id."""

    n_id: Int64Array
    """Global ids: the seeds as given, repeats included, then the others as they were found."""
    edge_index: Int64Array
    """(2, edges): local source and target of each edge, hop by hop."""
    e_id: Int64Array | None
    """Input row of each edge; None if the file stores no edge ids."""
    edge_weight: Float32Array | None
    """Weight of each edge; None if the file stores no weights."""
    num_sampled_nodes: list[int]
    """Nodes that are new: the seeds, then each hop. Zeros are kept."""
    num_sampled_edges: list[int]
    """Edges of each hop. Zeros are kept. Empty if the edges are not those that were drawn."""
    batch_size: int
    """Number of seeds: n_id[:batch_size]."""
    seed: int
    """Draws the same sample again."""
    batch: Int64Array | None = None
    """Position of the seed that each node was found from; None unless the sample is disjoint."""


@dataclass(frozen=True, eq=False)
class RandomWalks:
    """What `Graph.random_walk` drew."""

    nodes: Int64Array
    """(walks, length + 1), start included. After a dead end the last node is repeated."""
    lengths: Int64Array
    """Steps that each walk really took: nodes[i, : lengths[i] + 1] is the walk."""
    seed: int
    """Draws the same walks again."""


class SamplingMixin:
    """Sampling for a class that has an open topology."""

    _file: TopologyFile

    def sample(
        self,
        seeds: Ids,
        fanout: Sequence[int],
        *,
        replace: bool = False,
        weighted: bool = False,
        direction: Direction | None = None,
        seed: int | None = None,
        edge_ids: bool = False,
        disjoint: bool = False,
        subgraph: Subgraph = "directional",
        exclude: tuple[Ids, Ids] | None = None,
        threads: int | None = None,
        max_edges: int = _engine.DEFAULT_MAX_EDGES,
    ) -> SampledSubgraph:
        """Draws up to fanout[h] edges for each node that hop h - 1 found; hop 0 starts at seeds.

        A fanout of -1 takes all edges, 0 none. Without replacement no edge is drawn twice; with it,
        each node that has edges draws exactly that many. `weighted` draws in proportion to the edge
        weights; edges of weight zero are never taken.

        direction "in" follows edges from target to source, as graph networks aggregate, and is the
        default; edge_index is (source, target) either way. Raises ValueError if the file does not
        store that direction, IndexError for a seed outside the graph, and InputError (a ValueError)
        if a hop would draw more than max_edges.

        disjoint: every seed has a tree of its own, whose nodes are shared with no other; `batch`
        tells them apart.
        subgraph: "directional" has the edges that were drawn, "bidirectional" also the reverse of
        each, "induced" all edges between the nodes that were found.
        exclude: sources and targets of edges that the sample must not have; they are left out
        before anything is drawn.
        """
        ids = id_array(seeds, None, "seeds")
        if edge_ids and not self._file.has_edge_ids:
            raise ValueError("the graph stores no edge ids; convert it with --edge-ids")
        resolved = resolve_seed(seed)
        drawn = draw(
            self._file,
            ids,
            fanout,
            replace=replace,
            weighted=weighted,
            direction=direction,
            seed=resolved,
            max_edges=max_edges,
            threads=threads,
            disjoint=disjoint,
            subgraph=subgraph,
            exclude=None if exclude is None else _pairs(exclude),
        )
        return place(drawn, resolved, threads)

    def random_walk(
        self,
        starts: Ids,
        length: int,
        *,
        p: float = 1.0,
        q: float = 1.0,
        restart: float = 0.0,
        weighted: bool = False,
        seed: int | None = None,
        threads: int | None = None,
    ) -> RandomWalks:
        """Walks of `length` steps along out-edges, one per start.

        p and q are those of node2vec: going back to the previous node counts 1/p, to a node that
        the previous one has an edge to 1, to any other 1/q; with `weighted`, times the edge's
        weight. A step goes back to the start with probability `restart`. A walk that finds no edge
        to follow ends there.
        """
        ids = id_array(starts, None, "starts")
        if length < 0:
            raise ValueError(f"length is {length}, expected at least 0")
        walks = RandomWalks(
            nodes=np.empty((len(ids), length + 1), np.int64),
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
        )
        return walks

    def batch_random_walk_uniform(
        self, start_nodes: Ids, walk_length: int, *, seed: int | None = None
    ) -> Int64Array:
        """Uniform walks of walk_length nodes, start included: (len(start_nodes), walk_length)."""
        return self.batch_random_walk(start_nodes, walk_length, seed=seed)

    def batch_random_walk(
        self,
        start_nodes: Ids,
        walk_length: int,
        p: float = 1.0,
        q: float = 1.0,
        *,
        seed: int | None = None,
    ) -> Int64Array:
        """node2vec walks of walk_length nodes, start included: (len(start_nodes), walk_length)."""
        if walk_length < 1:
            raise ValueError(f"walk_length is {walk_length}, expected at least 1")
        return self.random_walk(start_nodes, walk_length - 1, p=p, q=q, seed=seed).nodes

    def batch_random_fanout(
        self, start_nodes: Ids, K: int, *, return_counts: bool = False, seed: int | None = None
    ) -> Any:
        """K out-neighbours of each node: (len(start_nodes), K).

        A node with fewer gives all of them once, then further uniform draws with replacement; one
        without any is repeated itself: every entry is a valid row to average over. With
        return_counts, also min(K, degree) for each node, as a second array.
        """
        ids = id_array(start_nodes, None, "start_nodes")
        if K < 0:
            raise ValueError(f"K is {K}, expected at least 0")
        neighbours = np.empty((len(ids), K), np.int64)
        counts = np.empty(len(ids), np.int64)
        _engine.random_fanout(
            self._file.topology,
            ids,
            adjacency=self._file.stored_adjacency("out"),
            seed=resolve_seed(seed),
            threads=0,
            neighbours=neighbours,
            counts=counts,
            staged=self._file.staged,
        )
        return (neighbours, counts) if return_counts else neighbours

    def sample_neighbours(self, start_node: int, K: int, *, seed: int | None = None) -> Int64Array:
        """Up to K different out-edges of one node: the neighbours they lead to."""
        neighbours, counts = self.batch_random_fanout(
            [start_node], K, return_counts=True, seed=seed
        )
        return np.array(neighbours[0, : counts[0]], np.int64)


def sampling_direction(direction: Direction | None) -> Direction:
    """The direction that a call follows edges in, checked; None is the default."""
    if direction not in (None, "in", "out"):
        raise ValueError(f'direction is {direction!r}, expected "in", "out" or None')
    return "in" if direction is None else direction


def draw(
    graph: TopologyFile,
    ids: Int64Array,
    fanout: Sequence[int],
    *,
    replace: bool,
    weighted: bool,
    direction: Direction | None,
    seed: int,
    max_edges: int,
    threads: int | None = None,
    disjoint: bool = False,
    subgraph: str = "directional",
    exclude: tuple[Int64Array, Int64Array] | None = None,
) -> _engine.NeighbourSample:
    """The first half of `Graph.sample`: afterwards sizes are known, and copy_to() places it."""
    resolved = sampling_direction(direction)
    if subgraph not in SUBGRAPHS:
        raise ValueError(f"subgraph is {subgraph!r}, expected one of {', '.join(SUBGRAPHS)}")
    return _engine.sample_neighbours(
        graph.topology,
        ids,
        as_fanout(fanout),
        adjacency=graph.stored_adjacency(resolved),
        expand_targets=resolved == "in",
        replace=replace,
        weighted=weighted,
        seed=seed,
        max_edges=max_edges,
        threads=thread_count(threads),
        staged=graph.staged,
        disjoint=disjoint,
        subgraph=SUBGRAPHS[subgraph],
        exclude_sources=None if exclude is None else exclude[0],
        exclude_targets=None if exclude is None else exclude[1],
    )


def place(drawn: _engine.NeighbourSample, seed: int, threads: int | None = None) -> SampledSubgraph:
    """The second half of `Graph.sample`: the arrays, in memory of their own."""
    edges = drawn.num_edges
    result = SampledSubgraph(
        n_id=np.empty(drawn.num_nodes, np.int64),
        edge_index=np.empty((2, edges), np.int64),
        e_id=np.empty(edges, np.int64) if drawn.has_edge_ids else None,
        edge_weight=np.empty(edges, np.float32) if drawn.has_weights else None,
        num_sampled_nodes=drawn.num_sampled_nodes,
        num_sampled_edges=drawn.num_sampled_edges,
        batch_size=drawn.batch_size,
        seed=seed,
        batch=np.empty(drawn.num_nodes, np.int64) if drawn.disjoint else None,
    )
    drawn.copy_to(
        n_id=result.n_id,
        edge_index=result.edge_index,
        e_id=result.e_id,
        edge_weight=result.edge_weight,
        batch=result.batch,
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
) -> None:
    """`Graph.random_walk` into arrays that the caller gives."""
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
        staged=graph.staged,
    )


def _pairs(exclude: tuple[Ids, Ids]) -> tuple[Int64Array, Int64Array]:
    sources, targets = exclude
    return id_array(sources, None, "exclude[0]"), id_array(targets, None, "exclude[1]")


def as_fanout(fanout: Iterable[int], what: str = "fanout") -> list[int]:
    """Edges per node for each hop, checked; `what` is the caller's name for it."""
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
    """The seed as given, or a fresh one: different in every call and every process."""
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
    """As the engine takes it: 0 is its whole budget."""
    if threads is None:
        return 0
    if threads < 1:
        raise ValueError(f"threads is {threads}, expected at least 1")
    return int(threads)
