"""Results of sampling and of random walks, embedded and through a daemon.

    SampleResult          the fields that every sample has
    ├── SampledSubgraph   Graph.sample(): NumPy arrays that own their memory
    │   └── SampledLinks  Graph.sample_links()
    └── Batch             Client.sample(), sample_links() and loaders: torch tensors where torch is
                          installed, in the daemon's shared memory, with the columns of nodes and
                          edges beside them (client/batches/batch.py)
    Walks                 random_walk() of both

Code that reads a sample need not know where it comes from: names and meaning are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero.embedded.typed_results import shape_of

Int64Array: TypeAlias = npt.NDArray[np.int64]
Float32Array: TypeAlias = npt.NDArray[np.float32]


class SampleResult:
    """A subgraph that was drawn, as arrays or tensors. Local ids are positions in n_id."""

    n_id: Any
    """int64: global ids. The seeds as given come first, repeats included: n_id[:batch_size]. The
    other nodes follow in the order in which they were found."""
    edge_index: Any
    """int64, (2, edges): local source and target of each edge, hop by hop."""
    e_id: Any
    """int64: input row of each edge; None if the graph stores no edge ids."""
    edge_weight: Any
    """float32: weight of each edge; None if the graph stores no weights."""
    batch: Any
    """int64: position of the seed that each node was found from; None unless disjoint."""
    source_index: Any
    """int64: local ids of the sources of links, then of negative pairs; None without links."""
    target_index: Any
    """int64: local ids of the targets of links, then of negatives; None without links."""
    seed_time: Any
    """int64: the time of each seed; None unless the sample was drawn by time."""
    edge_scale: Any
    """float32: a factor for each edge. The sum of edge_scale times x over the drawn edges of a node
    is an unbiased estimate of the sum of weight times x over all its edges. None unless the sample
    is a LABOR sample by weight."""
    batch_size: int
    """Number of seeds."""
    num_sampled_nodes: list[int]
    """Number of seeds, then of new nodes in each hop. Zeros are kept."""
    num_sampled_edges: list[int]
    """Number of edges of each hop. Zeros are kept. Empty if the edges are not the drawn ones."""
    seed: int
    """With this seed, the same call draws the same sample again."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes: entries of n_id."""
        return shape_of(self.n_id)[0]

    @property
    def num_edges(self) -> int:
        """Number of edges: columns of edge_index."""
        return shape_of(self.edge_index)[1]


@dataclass(frozen=True, eq=False, repr=False)
class SampledSubgraph(SampleResult):
    """What `Graph.sample` drew: the fields of SampleResult as NumPy arrays.

    `Batch` is the corresponding result of a daemon; the same seed draws the same sample.
    """

    n_id: Int64Array
    edge_index: Int64Array
    e_id: Int64Array | None
    edge_weight: Float32Array | None
    num_sampled_nodes: list[int]
    num_sampled_edges: list[int]
    batch_size: int
    seed: int
    batch: Int64Array | None = None
    source_index: Int64Array | None = None
    target_index: Int64Array | None = None
    seed_time: Int64Array | None = None
    edge_scale: Float32Array | None = None

    def __repr__(self) -> str:
        shapes = [
            f"{name}={list(shape_of(value))}"
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray)
        ]
        return f"{type(self).__name__}({', '.join([*self._facts_text(), *shapes])})"

    def _facts_text(self) -> list[str]:
        return [f"batch_size={self.batch_size}"]


@dataclass(frozen=True, eq=False, repr=False)
class SampledLinks(SampledSubgraph):
    """What `Graph.sample_links` drew: a sample around the ends of the links and negatives.

    `Client.sample_links` gives a `Batch`, which has source_index and target_index too.
    """

    num_links: int = 0
    """The first num_links entries of source_index and target_index are links; the rest are
    negatives."""

    @property
    def sample(self) -> SampledSubgraph:
        """This object itself, for older code, which found the sample in this field."""
        return self

    def _facts_text(self) -> list[str]:
        return [*super()._facts_text(), f"num_links={self.num_links}"]


@dataclass(frozen=True, eq=False)
class Walks:
    """Result of random_walk() of a Graph (NumPy arrays) or of a client (tensors as in a Batch)."""

    nodes: Any
    """int64, (walks, length + 1), start included. After a dead end the last node is repeated; along
    a metapath it is of the type where the walk ended, whatever the type of the column."""
    lengths: Any
    """int64: steps that each walk took before a dead end: nodes[i, : lengths[i] + 1] is walk i."""
    seed: int
    """With this seed, the same call draws the same walks again."""
