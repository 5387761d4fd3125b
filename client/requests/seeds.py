"""Turns what users name as seeds of a loader into ids."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.client.dataset.info import ColumnInfo, DatasetInfo
from graphzero.client.errors import InvalidRequest, NotFound, as_invalid_request
from graphzero.client.memory.results import Reply
from graphzero.client.process.deadline import Deadline
from graphzero.client.requests.messages import gather_messages, wire_ids
from graphzero.client.requests.request import Call, Request
from graphzero.client.requests.seed_list import SeedList, SeedPart
from graphzero.embedded.typed_arguments import seeds_by_type
from graphzero.files.dtypes import DataType
from graphzero.files.schema import type_text

# Bytes of the rows that one request reads. Their ids may take as much again, and a daemon with
# little memory has only a few megabytes for the ids of all requests.
_BYTES_PER_REQUEST = 1 << 20


def resolve_seeds(
    seeds: Any, dataset: DatasetInfo, deadline: Deadline, what: str = "seeds", type: int = 0
) -> Call[npt.NDArray[np.int64] | None]:
    """Ids of nodes of a type; None for all nodes, which need no list. `what` is the caller's name
    for them."""
    count = dataset.schema.types[type].count
    if seeds is None:
        return None
    if isinstance(seeds, slice):
        return np.arange(*seeds.indices(count), dtype=np.int64)
    from_split = isinstance(seeds, str)
    if from_split:
        seeds = yield from read_column(find_split(seeds, dataset, type), deadline)
    if hasattr(seeds, "detach"):
        seeds = seeds.detach().cpu()
    array = np.asarray(seeds)
    if array.dtype == np.bool_:
        return ids_of_mask(array, count, what)
    ids = node_ids(array, dataset, what, type)
    # The caller may change an array of their own in place. A split is nobody else's, and may be
    # large.
    return ids.copy() if not from_split and np.may_share_memory(ids, array) else ids


def seed_list(seeds: Any, dataset: DatasetInfo, deadline: Deadline) -> Call[SeedList]:
    """The seeds that a loader goes through. `seeds` is what resolve_seeds() takes; for a graph with
    types it is {type: seeds}, (type, seeds), or the name of a type for all its nodes."""
    schema = dataset.schema
    if schema.typed and isinstance(seeds, str):
        seeds = {seeds: None}
    parts = []
    with as_invalid_request():
        by_type = seeds_by_type(schema, seeds)
    for number, given in by_type.items():
        what = f"seeds{type_text(schema, number)}"
        ids = yield from resolve_seeds(given, dataset, deadline, what, number)
        count = schema.types[number].count if ids is None else len(ids)
        parts.append(SeedPart(number, count, ids))
    return SeedList(tuple(parts), typed=schema.typed)


def node_ids(ids: Any, dataset: DatasetInfo, what: str, type: int = 0) -> npt.NDArray[np.int64]:
    """Ids as an array. Raises InvalidRequest for an id that no node of the type has."""
    array = wire_ids(ids, what)
    count = dataset.schema.types[type].count
    outside = (array < 0) | (array >= count)
    if outside.any():
        position = int(outside.argmax())
        raise InvalidRequest(
            f"{what}[{position}] is {array[position]}, expected 0 to {count - 1}: "
            f"{dataset.name!r} has {count} nodes{type_text(dataset.schema, type)}"
        )
    return array


def find_split(name: str, dataset: DatasetInfo, type: int = 0) -> ColumnInfo:
    """The column of that name, which must have node ids, or a bool for each node of the type."""
    owner = dataset.schema.types[type]
    splits = {
        plain: column
        for plain, column in dataset.by_owner[owner.directory].items()
        if column.role == "ids" or (column.role == "node" and is_mask(column))
    }
    if name not in splits:
        known = ", ".join(splits) or "none"
        whose = type_text(dataset.schema, type)
        raise NotFound(f"dataset {dataset.name!r} has no split {name!r}{whose}, it has {known}")
    return splits[name]


def is_mask(column: ColumnInfo) -> bool:
    """Whether it has a bool for each row."""
    return column.dtype == "bool" and math.prod(column.shape[1:]) == 1


def read_column(column: ColumnInfo, deadline: Deadline) -> Call[npt.NDArray[Any]]:
    """All values of a column that has one for each row."""
    values = yield from read_rows(column, range(column.shape[0]), deadline)
    return values.reshape(-1)


def read_rows(
    column: ColumnInfo, rows: npt.NDArray[np.int64] | range, deadline: Deadline
) -> Call[npt.NDArray[Any]]:
    """These rows of a column, in that order. A split may have as many rows as a graph has nodes:
    nothing but the result takes memory for all of them at once."""
    item = DataType[column.dtype.upper()].storage.itemsize
    row_bytes = max(math.prod(column.shape[1:]) * item, 8)
    at_once = max(_BYTES_PER_REQUEST // row_bytes, 1)
    values: npt.NDArray[Any] | None = None
    for first in range(0, max(len(rows), 1), at_once):
        some = rows[first : first + at_once]
        if isinstance(some, range):
            some = np.arange(some.start, some.stop)
        messages = gather_messages(column.name, some)
        piece = yield Request(messages, partial(_copy_of, column.name), deadline)
        if values is None:
            values = np.empty((len(rows), *piece.shape[1:]), piece.dtype)
        values[first : first + len(piece)] = piece
    assert values is not None  # there is always a first request
    return values


def _copy_of(name: str, reply: Reply) -> npt.NDArray[Any]:
    """A copy: a loader keeps its seeds for long, and blocks are for batches."""
    return reply.tensors[name].array.copy()


def ids_of_mask(
    mask: npt.NDArray[np.bool_], count: int, what: str, item: str = "node"
) -> npt.NDArray[np.int64]:
    """Ids of the items for which the mask is True; `item` is the word for an item."""
    if mask.shape != (count,):
        raise ValueError(
            f"{what}: found a mask of shape {mask.shape}, expected ({count},), a bool for each "
            f"{item}"
        )
    return np.flatnonzero(mask).astype(np.int64, copy=False)
