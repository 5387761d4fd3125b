"""Which requests take less time than handing them to another thread."""

from __future__ import annotations

from graphzero._dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb

# What the event loop may do by itself: less than it takes to wake a worker and to be woken.
_BRIEF_NODES = 256
_BRIEF_HOPS = 8
_BRIEF_BYTES = 256 << 10


def is_brief(dataset: Dataset, request: pb.SessionRequest, ids: int) -> bool:
    """Whether it cannot cost more than a fraction of a millisecond, data in memory assumed."""
    kind = request.WhichOneof("body")
    if kind == "gather":
        column = dataset.columns.get(request.gather.column)
        return column is None or ids * column.row_bytes <= _BRIEF_BYTES
    # Weights, whole rows and rejected negatives: work that the sizes asked for do not bound.
    unbounded = request.sample.weighted or request.sample.subgraph == pb.SUBGRAPH_INDUCED
    if kind != "sample" or unbounded or request.sample.HasField("links"):
        return False
    if len(request.sample.fanout) > _BRIEF_HOPS:
        return False
    nodes = level = ids
    for edges in request.sample.fanout:
        if edges < 0 or nodes > _BRIEF_NODES:
            return False
        level *= edges
        nodes += level
    row_bytes = sum(
        dataset.columns[name].row_bytes
        for name in (*request.sample.columns, *request.sample.seed_columns)
        if name in dataset.columns
    )
    return nodes <= _BRIEF_NODES and nodes * row_bytes <= _BRIEF_BYTES
