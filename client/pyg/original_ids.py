"""Original ids that a loader is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.client.client import Client
from graphzero.client.original_ids import find_nodes


def find_original(client: Client, original: Any) -> npt.NDArray[np.int64]:
    """The nodes of original ids, by a session that is free again: a loader needs just one."""
    client._require_features(["find_nodes"])
    link = client._pool.take(1)
    try:
        return find_nodes(original, client.info().dataset, link, link.deadline(None))
    finally:
        client._pool.give_back(link)
