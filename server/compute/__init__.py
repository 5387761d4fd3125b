"""What a request does on a worker thread: draw, find room for the result, fill it.

Each kind of request is a class with two steps. `draw` checks the request and computes the part that
decides the size of the result; `fill` writes the arrays into a block. Between the two a request may
have to wait for shared memory, and must not occupy a worker meanwhile.
"""

from __future__ import annotations

from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.base import Computation, Ids
from graphzero.server.compute.brief import MOST_BRIEF_BYTES, is_brief, is_in_memory
from graphzero.server.compute.lookup import FindComputation, GatherComputation
from graphzero.server.compute.recipe import labor_of_request
from graphzero.server.compute.recipes import Recipes
from graphzero.server.compute.sample import SampleComputation
from graphzero.server.compute.walk import WalkComputation
from graphzero.server.peers.access import PeerAccess

__all__ = [
    "MOST_BRIEF_BYTES",
    "Computation",
    "Recipes",
    "is_brief",
    "is_in_memory",
    "make_computation",
]


def make_computation(
    dataset: Dataset,
    recipes: Recipes,
    request: pb.SessionRequest,
    ids: Ids,
    max_edges: int,
    peers: PeerAccess,
) -> Computation:
    kind = request.WhichOneof("body")
    if kind == "sample":
        sample = request.sample
        recipe, sizes = recipes.of(sample)
        labor = labor_of_request(sample)
        return SampleComputation(dataset, recipe, sizes, ids, sample.seed, max_edges, labor, peers)
    if kind == "walk":
        return WalkComputation(dataset, request.walk, ids)
    if kind == "find_nodes":
        return FindComputation(dataset, request.find_nodes, ids)
    return GatherComputation(dataset, request.gather, ids, peers)
