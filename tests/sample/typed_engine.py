"""Calls of the engine for typed samples, in the terms of typed_reference_sampler.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from graphzero import _engine
from labor_reference import LaborOptions
from typed_graphs import TypedGraph
from typed_reference_sampler import Excluded, Temporal, TypedSample


def ids(values: Any) -> Any:
    return np.asarray(list(values), np.int64)


class TypedEngine:
    def __init__(self, path: Any, *, disk: bool = False, direction: str = "in") -> None:
        self.topology = _engine.Topology.open(str(path))
        self.disk = _engine.DiskTopology.open(self.topology) if disk else None
        self.inward = direction == "in"

    def draw(
        self,
        seeds: dict[int, list[int]],
        fanout: list[list[int]],
        *,
        replace: bool = False,
        weighted: bool = False,
        seed: int = 0,
        disjoint: bool = False,
        temporal: Temporal | None = None,
        excluded: Excluded | None = None,
        subgraph: Any = _engine.Subgraph.DRAWN,
        threads: int = 0,
        max_edges: int = 2**28,
        labor: LaborOptions | None = None,
    ) -> _engine.NeighbourSample:
        excluded = excluded or Excluded()
        in_trees = []
        for relation, entries in excluded.in_trees.items():
            trees, sources, targets, edge_ids = zip(*sorted(entries, key=str), strict=True)
            named = None if edge_ids[0] is None else ids(edge_ids)
            in_trees.append((relation, ids(sources), ids(targets), ids(trees), named))
        pairs = []
        for relation, chosen in excluded.pairs.items():
            sources, targets = zip(*sorted(chosen), strict=True)
            pairs.append((relation, ids(sources), ids(targets)))
        times: dict[str, Any] = {}
        if temporal is not None:
            times = {
                "times": ids(temporal.times),
                "strict": temporal.strict,
                "window": temporal.window,
                "last": temporal.last,
            }
        return _engine.sample_typed(
            self.topology,
            [(t, ids(seeds[t])) for t in sorted(seeds)],
            fanout,
            expand_targets=self.inward,
            replace=replace,
            weighted=weighted,
            seed=seed,
            max_edges=max_edges,
            threads=threads,
            disjoint=disjoint,
            subgraph=subgraph,
            exclude=pairs,
            exclude_in_trees=in_trees,
            spare_history=excluded.spare_history,
            labor=labor_request(labor, seed),
            disk=self.disk,
            **times,
        )


def labor_request(labor: LaborOptions | None, seed: int) -> _engine.LaborRequest | None:
    if labor is None:
        return None
    return _engine.LaborRequest(
        run_seed=seed if labor.run_seed is None else labor.run_seed,
        batch=labor.batch,
        dependency=labor.dependency,
        one_for_all_hops=labor.one_for_all_hops,
    )


def placed(drawn: _engine.NeighbourSample) -> dict[str, list[Any]]:
    """Everything that a sample has, as lists by type and by relation."""
    found: dict[str, list[Any]] = {name: [] for name in FIELDS}
    for t in range(drawn.num_types):
        n_id = np.empty(drawn.num_nodes_of(t), np.int64)
        batch = np.empty(drawn.num_nodes_of(t), np.int64) if drawn.disjoint else None
        drawn.copy_nodes(t, n_id=n_id, batch=batch)
        assert n_id.tolist() == drawn.nodes_of(t).tolist()
        found["n_id"].append(n_id.tolist())
        found["batch"].append(None if batch is None else batch.tolist())
        found["num_sampled_nodes"].append(drawn.num_sampled_nodes_of(t))
        assert drawn.batch_size_of(t) == drawn.num_sampled_nodes_of(t)[0]
    for r in range(drawn.num_relations):
        count = drawn.num_edges_of(r)
        edge_index = np.empty((2, count), np.int64)
        e_id = np.empty(count, np.int64) if drawn.has_edge_ids_of(r) else None
        weight = np.empty(count, np.float32) if drawn.has_weights_of(r) else None
        drawn.copy_edges(r, edge_index=edge_index, e_id=e_id, edge_weight=weight)
        found["edge_index"].append(edge_index.tolist())
        found["e_id"].append(None if e_id is None else e_id.tolist())
        found["edge_weight"].append(None if weight is None else weight.tolist())
        found["num_sampled_edges"].append(drawn.num_sampled_edges_of(r))
    return found


FIELDS = (
    "n_id",
    "batch",
    "num_sampled_nodes",
    "edge_index",
    "e_id",
    "edge_weight",
    "num_sampled_edges",
)


def assert_same(graph: TypedGraph, drawn: Any, expected: TypedSample, *, disjoint: bool) -> None:
    """The sample of the engine is that of the reference, byte for byte."""
    found = placed(drawn)
    assert found["n_id"] == expected.n_id
    assert found["num_sampled_nodes"] == expected.num_sampled_nodes
    assert found["num_sampled_edges"] == expected.num_sampled_edges
    assert found["batch"] == (expected.batch if disjoint else [None] * len(expected.batch))
    for r, edges in enumerate(expected.edges):
        base = graph.relations[graph.base(r)]
        assert found["edge_index"][r] == [[e[0] for e in edges], [e[1] for e in edges]], r
        if found["e_id"][r] is not None:
            edge_ids = base.edge_ids()
            assert found["e_id"][r] == [edge_ids[place] for _, _, place in edges]
        if found["edge_weight"][r] is not None:
            assert base.weights is not None
            weights = [float(np.float32(base.weights[place])) for _, _, place in edges]
            assert found["edge_weight"][r] == weights
