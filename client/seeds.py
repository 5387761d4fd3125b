"""What users name as seeds of a loader, as ids."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.client.deadline import Deadline
from graphzero.client.errors import InvalidRequest, NotFound
from graphzero.client.info import ColumnInfo, DatasetInfo
from graphzero.client.messages import gather_messages, wire_ids
from graphzero.client.request import Call, Request
from graphzero.client.results import Reply

# 8 MiB of ids at a time: far below any limit of a result.
_ROWS_PER_REQUEST = 1 << 20


def resolve_seeds(
    seeds: Any, dataset: DatasetInfo, deadline: Deadline, what: str = "seeds"
) -> Call[npt.NDArray[np.int64] | None]:
    """Ids; None for all nodes, which need no list. `what` is the caller's name for them."""
    if seeds is None:
        return None
    if isinstance(seeds, slice):
        return np.arange(*seeds.indices(dataset.num_nodes), dtype=np.int64)
    if isinstance(seeds, str):
        seeds = yield from _read_split(find_split(seeds, dataset), deadline)
    if hasattr(seeds, "detach"):
        seeds = seeds.detach().cpu()
    array = np.asarray(seeds)
    if array.dtype == np.bool_:
        return _ids_of_mask(array, dataset.num_nodes, what)
    return node_ids(array, dataset, what)


def node_ids(ids: Any, dataset: DatasetInfo, what: str) -> npt.NDArray[np.int64]:
    """Ids of nodes that there are: told here, not when a batch needs them."""
    array = wire_ids(ids, what)
    outside = (array < 0) | (array >= dataset.num_nodes)
    if outside.any():
        position = int(outside.argmax())
        raise InvalidRequest(
            f"{what}[{position}] is {array[position]}, expected 0 to {dataset.num_nodes - 1}: "
            f"{dataset.name!r} has {dataset.num_nodes} nodes"
        )
    return array


def find_split(name: str, dataset: DatasetInfo) -> ColumnInfo:
    """The column of that name, which must tell nodes."""
    splits = {
        column.name: column
        for column in dataset.columns.values()
        if column.role == "ids" or (column.role == "node" and _is_mask(column))
    }
    if name not in splits:
        known = ", ".join(splits) or "none"
        raise NotFound(f"dataset {dataset.name!r} has no split {name!r}, it has {known}")
    return splits[name]


def _is_mask(column: ColumnInfo) -> bool:
    return column.dtype == "bool" and math.prod(column.shape[1:]) == 1


def _read_split(column: ColumnInfo, deadline: Deadline) -> Call[npt.NDArray[Any]]:
    pieces = []
    for first in range(0, column.shape[0], _ROWS_PER_REQUEST):
        rows = np.arange(first, min(first + _ROWS_PER_REQUEST, column.shape[0]))
        messages = gather_messages(column.name, rows)
        pieces.append((yield Request(messages, partial(_copy_of, column.name), deadline)))
    return np.concatenate(pieces) if pieces else np.empty(0, np.int64)


def _copy_of(name: str, reply: Reply) -> npt.NDArray[Any]:
    """A copy: a loader keeps its seeds for long, and blocks are for batches."""
    return reply.tensors[name].array.reshape(-1).copy()


def _ids_of_mask(mask: npt.NDArray[np.bool_], num_nodes: int, what: str) -> npt.NDArray[np.int64]:
    if mask.shape != (num_nodes,):
        raise ValueError(
            f"{what}: found a mask of shape {mask.shape}, expected ({num_nodes},), a bool for each "
            "node"
        )
    return np.flatnonzero(mask).astype(np.int64, copy=False)
