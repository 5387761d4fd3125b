"""The whole topology of a dataset, for what cannot do with less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from graphzero.base.resources import available_memory
from graphzero.client.client import Client
from graphzero.client.files import open_visible
from graphzero.embedded.results import SampledSubgraph
from graphzero.embedded.sampling import draw, place


def whole_topology(client: Client, reason: str) -> SampledSubgraph:
    """Every in-edge of every node, in this process: n_id is 0, 1, ..., edges are sorted by target.

    Raises MemoryError if that does not fit, ServerUnavailable if the files are not visible here.
    """
    info = client.info().dataset
    # edge_index and e_id as int64, and the working memory of the sampler, which is as much as a
    # copy in another order takes.
    needed = 8 * (5 * info.num_edges + 6 * info.num_nodes)
    found = available_memory()
    if needed > found:
        raise MemoryError(
            f"{reason} takes the whole topology of {info.name!r} into memory, about "
            f"{needed >> 20} MiB, and {found >> 20} MiB are available; sample it where it is, with "
            "graphzero.pyg.NeighborLoader, LinkNeighborLoader or GraphZeroSampler"
        )
    visible = open_visible(info, "the topology cannot be read", "use GraphZeroSampler")
    every: npt.NDArray[np.int64] = np.arange(info.num_nodes, dtype=np.int64)
    seed = 0  # nothing is drawn: every edge is taken
    drawn = draw(
        visible.graph,
        every,
        [-1],
        replace=False,
        weighted=False,
        direction="in",
        seed=seed,
        max_edges=max(info.num_edges, 1),
    )
    return place(drawn, seed)


def edges_by_id(client: Client, reason: str) -> SampledSubgraph:
    """The same in the order of edge ids, which is that of the input, if the graph stores them."""
    every = whole_topology(client, reason)
    if every.e_id is None:
        return every
    order = np.argsort(every.e_id, kind="stable")
    return replace(
        every,
        edge_index=every.edge_index[:, order],
        e_id=every.e_id[order],
        edge_weight=None if every.edge_weight is None else every.edge_weight[order],
    )
