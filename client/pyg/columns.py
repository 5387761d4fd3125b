"""Which columns the batches of a loader have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphzero.client.dataset.column_choice import chosen_columns
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.pyg.parts import Key, Part
from graphzero.files.column_keys import column_key


def asked_columns(
    dataset: DatasetInfo, parts: Mapping[Key, Part], columns: Any
) -> dict[Key, list[str]]:
    """Names of columns by store. `columns` is what Client.sample() takes, or None for all columns
    that PyG's loaders would slice, which are those of nodes and of edges.
    """
    if columns is None:
        return {key: list(part.columns) for key, part in parts.items()}
    chosen = set(chosen_columns(dataset, columns, None)[0])
    return {
        key: [name for name in part.columns if column_key(part.directory, name) in chosen]
        for key, part in parts.items()
    }
