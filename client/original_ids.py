"""Original ids of a relabelled dataset, as a client asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero._files import ORIGINAL_IDS
from graphzero._ids import Ids
from graphzero._original_ids import as_texts, texts_of_rows
from graphzero.client.deadline import Deadline
from graphzero.client.errors import InvalidRequest
from graphzero.client.info import DatasetInfo
from graphzero.client.link import Link
from graphzero.client.requests import (
    find_messages,
    find_text_messages,
    gather_messages,
    wire_ids,
)
from graphzero.client.session import Tensor


def find_nodes(
    original: Any, dataset: DatasetInfo, link: Link, deadline: Deadline
) -> npt.NDArray[np.int64]:
    """The nodes of original ids, in that order."""
    if _kind(dataset) == "integer":
        requests = [find_messages(wire_ids(original, "original ids"))]
    else:
        requests = list(find_text_messages(as_texts(original)))
    # A copy each: a loader keeps its seeds for long, and blocks are for batches.
    found = [_ask(link, messages, "n_id", deadline).array.copy() for messages in requests]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def original_ids(
    n_id: Ids, dataset: DatasetInfo, link: Link, deadline: Deadline
) -> Tensor | list[str]:
    """The original ids of nodes: int64, or texts."""
    kind = _kind(dataset)
    rows = _ask(link, gather_messages(ORIGINAL_IDS, wire_ids(n_id, "n_id")), ORIGINAL_IDS, deadline)
    return rows if kind == "integer" else texts_of_rows(rows.array)


def _kind(dataset: DatasetInfo) -> str:
    if dataset.original_ids is None:
        raise InvalidRequest(
            f"dataset {dataset.name!r} has no original ids; convert it with --relabel"
        )
    return dataset.original_ids


def _ask(link: Link, messages: Any, name: str, deadline: Deadline) -> Tensor:
    return link.ask(messages, deadline).tensors[name]
