"""The calls of GraphZero 0.2 that `sample()` and `random_walk()` have replaced.

They keep their names, arguments and results, so that programs for GraphZero 0.2 run unchanged; all
follow out-edges, as before. get_degree(), get_neighbours(), FeatureStore.get_data() and
FeatureStore.get_tensor() are calls of GraphZero 0.2 too, and have no successor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphzero import _engine
from graphzero.base.ids import Ids, id_array
from graphzero.embedded.links import LinkSamplingMixin
from graphzero.embedded.results import Int64Array
from graphzero.embedded.sampling import resolve_seed


class LegacyCalls(LinkSamplingMixin):
    """Calls of GraphZero 0.2, for programs that use them. New programs call random_walk() and
    sample()."""

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
        walks = self.random_walk(start_nodes, walk_length - 1, p=p, q=q, seed=seed)
        nodes: Int64Array = walks.nodes
        return nodes

    def batch_random_fanout(
        self, start_nodes: Ids, K: int, *, return_counts: bool = False, seed: int | None = None
    ) -> Any:
        """K out-neighbours of each node: (len(start_nodes), K).

        A node with fewer than K neighbours gives each of them once, then uniform draws with
        replacement; a node without neighbours gives itself. So every entry is a valid row to
        average over. With return_counts, returns min(K, degree) for each node as a second array.
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
            disk=self._file.disk,
        )
        return (neighbours, counts) if return_counts else neighbours

    def sample_neighbours(self, start_node: int, K: int, *, seed: int | None = None) -> Int64Array:
        """Up to K different out-edges of one node: the neighbours they lead to."""
        neighbours, counts = self.batch_random_fanout(
            [start_node], K, return_counts=True, seed=seed
        )
        return np.array(neighbours[0, : counts[0]], np.int64)
