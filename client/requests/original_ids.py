"""Original ids of a relabelled dataset and categories, as a client asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.base.ids import Ids
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import InvalidRequest
from graphzero.client.memory.results import Reply, Tensor
from graphzero.client.process.deadline import Deadline
from graphzero.client.requests.messages import (
    find_messages,
    find_text_messages,
    gather_messages,
    wire_ids,
)
from graphzero.client.requests.request import Call, Request, the_reply
from graphzero.files.categories import decode
from graphzero.files.column_keys import column_key
from graphzero.files.original_ids import as_texts, texts_of_rows
from graphzero.files.paths import ORIGINAL_IDS
from graphzero.files.schema import type_text
from graphzero.proto.graphzero_pb2 import SessionRequest

# Texts have up to 1024 bytes, so that a result stays far below any limit.
_ROWS_PER_REQUEST = 1 << 16


def find_nodes(
    original: Any, dataset: DatasetInfo, deadline: Deadline, type: int = 0
) -> Call[npt.NDArray[np.int64]]:
    """The nodes of original ids, in that order."""
    if _kind(dataset, type) == "integer":
        requests = [find_messages(wire_ids(original, "original ids"), type)]
    else:
        requests = list(find_text_messages(as_texts(original), type))
    found = []
    for messages in requests:
        tensor = yield from _ask(messages, "n_id", deadline)
        # Copied, because a loader keeps its seeds for long, and blocks are for batches.
        found.append(tensor.array.copy())
    return np.concatenate(found) if found else np.empty(0, np.int64)


def original_ids(
    n_id: Ids, dataset: DatasetInfo, deadline: Deadline, type: int = 0
) -> Call[Tensor | list[str]]:
    """The original ids of nodes: int64, or texts."""
    kind = _kind(dataset, type)
    key = column_key(dataset.schema.types[type].directory, ORIGINAL_IDS)
    rows = yield from _ask(gather_messages(key, wire_ids(n_id, "n_id")), key, deadline)
    return rows if kind == "integer" else texts_of_rows(rows.array)


def categories(
    column: str, codes: Ids | None, dataset: DatasetInfo, deadline: Deadline
) -> Call[list[Any]]:
    """The categories that codes stand for; None: of all codes."""
    name = dataset.columns[column].categories
    if name is None or name not in dataset.columns:
        known = [found.name for found in dataset.columns.values() if found.categories]
        raise InvalidRequest(
            f"column {column!r} of dataset {dataset.name!r} has no categories; those that have: "
            f"{', '.join(known) or 'none'}"
        )
    count = dataset.columns[name].shape[0]
    found: list[Any] = []
    wanted = np.arange(count) if codes is None else wire_ids(codes, "codes")
    for first in range(0, len(wanted), _ROWS_PER_REQUEST):
        piece = wanted[first : first + _ROWS_PER_REQUEST]
        rows = None
        if count:
            messages = gather_messages(name, np.maximum(piece, 0))
            rows = (yield from _ask(messages, name, deadline)).array
        found += decode(piece, rows)
    return found


def _kind(dataset: DatasetInfo, type: int) -> str:
    found = dataset.original_ids
    if dataset.schema.typed:
        found = dataset.types[dataset.schema.types[type].name].original_ids
    if found is None:
        raise InvalidRequest(
            f"dataset {dataset.name!r} has no original ids{type_text(dataset.schema, type)}; "
            "convert it with --relabel"
        )
    return found


def _ask(messages: Sequence[SessionRequest], name: str, deadline: Deadline) -> Call[Tensor]:
    reply: Reply = yield Request(messages, the_reply, deadline)
    return reply.tensors[name]
