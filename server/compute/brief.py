"""Which requests take less time than handing them to another thread."""

from __future__ import annotations

from graphzero.embedded.sampling import sampling_direction
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.base import Ids
from graphzero.server.compute.recipe import SampleRecipe
from graphzero.server.compute.recipes import Recipes

# Nodes and bytes of rows of a request that the event loop answers itself: that takes less time than
# to wake a worker and to be woken by it.
_BRIEF_NODES = 256
_BRIEF_BYTES = 256 << 10
# Most bytes of the result of such a request: its rows, nodes and edges.
MOST_BRIEF_BYTES = 2 * _BRIEF_BYTES
_BRIEF_MESSAGE = 4096  # bytes of a sample's message without its seeds
# The kernel is asked whether the edges of a few relations lie in memory; asking takes time too.
_MOST_LOOKED_AT = 8


def is_brief(dataset: Dataset, recipes: Recipes, request: pb.SessionRequest, ids: int) -> bool:
    """Whether the request takes a fraction of a millisecond at most if its data are in memory."""
    kind = request.WhichOneof("body")
    if kind == "gather":
        column = dataset.columns.get(request.gather.column)
        if column is not None and column.shard is not None:
            return False  # other daemons may have its rows
        return column is None or ids * column.row_bytes <= _BRIEF_BYTES
    # Even reading a long message would take too long here.
    if kind != "sample" or request.sample.ByteSize() > _BRIEF_MESSAGE:
        return False
    try:
        recipe, sizes = recipes.of(request.sample)
        work = recipe.most_work(sizes, ids)
    except Exception:  # the request will be refused with it when it runs
        return False
    if any(gathered.column.shard is not None for gathered in recipe.gathered):
        return False
    return work is not None and work[0] <= _BRIEF_NODES and work[1] <= _BRIEF_BYTES


def is_in_memory(dataset: Dataset, recipes: Recipes, request: pb.SessionRequest, ids: Ids) -> bool:
    """Whether a brief request will probably read nothing from a disk: asks the kernel about the
    first places that it will look at."""
    if request.WhichOneof("body") == "gather":
        column = dataset.columns.get(request.gather.column)
        return column is None or column.reader.rows_in_memory(ids)
    recipe, sizes = recipes.of(request.sample)
    try:
        seeds, _ = recipe.seeds(sizes, ids)
        return all(_seeds_in_memory(dataset, recipe, *of_type) for of_type in seeds)
    except ValueError:  # the request will be refused with it
        return True


def _seeds_in_memory(dataset: Dataset, recipe: SampleRecipe, number: int, ids: Ids) -> bool:
    """Whether the edges and column rows of the seeds of type `number` lie in memory."""
    graph = dataset.graph
    direction = sampling_direction(recipe.direction)
    looked_at = 0
    for relation, found in enumerate(dataset.schema.relations):
        begins_at = found.target if direction == "in" else found.source
        if begins_at == number and any(recipe.fanout[relation]) and looked_at < _MOST_LOOKED_AT:
            looked_at += 1
            stored = graph.stored_adjacency(direction, relation)
            if not graph.topology.rows_in_memory(ids, stored, relation):
                return False
    return all(
        gathered.column.reader.rows_in_memory(ids)
        for gathered in recipe.gathered
        if gathered.of != "edge" and gathered.owner == number
    )
