"""Which requests take less time than handing them to another thread."""

from __future__ import annotations

from graphzero.embedded.sampling import sampling_direction
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.base import Ids
from graphzero.server.compute.recipe import Recipes, SampleRecipe

# What the event loop may do by itself: less than it takes to wake a worker and to be woken.
_BRIEF_NODES = 256
_BRIEF_BYTES = 256 << 10
# What such a result has at most, with its nodes and edges.
MOST_BRIEF_BYTES = 2 * _BRIEF_BYTES
_BRIEF_MESSAGE = 4096  # bytes of a sample without its seeds
# Relations of which the kernel is asked whether they lie in memory; asking takes its time too.
_MOST_LOOKED_AT = 8


def is_brief(dataset: Dataset, recipes: Recipes, request: pb.SessionRequest, ids: int) -> bool:
    """Whether it cannot cost more than a fraction of a millisecond, data in memory assumed."""
    kind = request.WhichOneof("body")
    if kind == "gather":
        column = dataset.columns.get(request.gather.column)
        if column is not None and column.shard is not None:
            return False  # its rows may be elsewhere
        return column is None or ids * column.row_bytes <= _BRIEF_BYTES
    # What is long takes long to read: not even that is done here.
    if kind != "sample" or request.sample.ByteSize() > _BRIEF_MESSAGE:
        return False
    try:
        recipe, sizes = recipes.of(request.sample)
        work = recipe.most_work(sizes, ids)
    except Exception:  # which it will be refused with when it runs
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
    except ValueError:  # which it will be refused with
        return True


def _seeds_in_memory(dataset: Dataset, recipe: SampleRecipe, number: int, ids: Ids) -> bool:
    """Whether the edges and rows of seeds of a type lie there."""
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
