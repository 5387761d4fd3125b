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


def is_brief(dataset: Dataset, recipes: Recipes, request: pb.SessionRequest, ids: int) -> bool:
    """Whether it cannot cost more than a fraction of a millisecond, data in memory assumed."""
    kind = request.WhichOneof("body")
    if kind == "gather":
        column = dataset.columns.get(request.gather.column)
        return column is None or ids * column.row_bytes <= _BRIEF_BYTES
    # What is long takes long to read: not even that is done here.
    if kind != "sample" or request.sample.ByteSize() > _BRIEF_MESSAGE:
        return False
    try:
        return _is_brief_sample(recipes.of(request.sample), ids)
    except Exception:  # which it will be refused with when it runs
        return False


def is_in_memory(dataset: Dataset, recipes: Recipes, request: pb.SessionRequest, ids: Ids) -> bool:
    """Whether a brief request will probably read nothing from a disk: asks the kernel about the
    first places that it will look at."""
    if request.WhichOneof("body") == "gather":
        column = dataset.columns.get(request.gather.column)
        return column is None or column.reader.rows_in_memory(ids)
    recipe = recipes.of(request.sample)
    graph = dataset.graph
    try:
        stored = graph.stored_adjacency(sampling_direction(recipe.direction))
    except ValueError:  # which it will be refused with
        return True
    return graph.topology.rows_in_memory(ids, stored) and all(
        gathered.column.reader.rows_in_memory(ids)
        for gathered in recipe.gathered
        if gathered.of != "edge"
    )


def _is_brief_sample(recipe: SampleRecipe, seeds: int) -> bool:
    if recipe.nodes_per_seed is None:
        return False
    nodes = seeds * recipe.nodes_per_seed
    row_bytes = sum(gathered.column.row_bytes for gathered in recipe.gathered)
    return nodes <= _BRIEF_NODES and nodes * row_bytes <= _BRIEF_BYTES
