"""What a request does, on a worker thread: draw, find room, fill it.

Each kind of request is a class with two steps. `draw` does the part whose size is not known before
(and checks the request); `fill` writes the arrays into a block. Between the two a request may have
to wait for shared memory, which must not cost a worker.
"""

from __future__ import annotations

from graphzero._dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.base import Ids, Work
from graphzero.server.compute.brief import MOST_BRIEF_BYTES, is_brief, is_in_memory
from graphzero.server.compute.lookup import FindWork, GatherWork
from graphzero.server.compute.recipe import Recipes
from graphzero.server.compute.sample import SampleWork
from graphzero.server.compute.walk import WalkWork

__all__ = ["MOST_BRIEF_BYTES", "Recipes", "Work", "is_brief", "is_in_memory", "make_work"]


def make_work(
    dataset: Dataset, recipes: Recipes, request: pb.SessionRequest, ids: Ids, max_edges: int
) -> Work:
    kind = request.WhichOneof("body")
    if kind == "sample":
        sample = request.sample
        return SampleWork(dataset, recipes.of(sample), ids, sample.seed, max_edges)
    if kind == "walk":
        return WalkWork(dataset, request.walk, ids)
    if kind == "find_nodes":
        return FindWork(dataset, request.find_nodes, ids)
    return GatherWork(dataset, request.gather, ids)
