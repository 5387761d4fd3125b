"""The files that the daemon serves, where this process can see them too."""

from __future__ import annotations

from pathlib import Path

from graphzero._dataset import Dataset, open_dataset
from graphzero.client.errors import DatasetChanged, ServerUnavailable
from graphzero.client.info import DatasetInfo


def open_visible(info: DatasetInfo, what: str, instead: str) -> Dataset:
    """The dataset of a client, opened here; `what` needs that, `instead` does without.

    Raises ServerUnavailable if its directory is not visible, DatasetChanged if it was replaced.
    """
    directory = Path(info.path)
    if not directory.is_dir():
        raise ServerUnavailable(
            f"{directory}: the daemon's data directory is not visible here, so {what}; {instead}, "
            "or share the directory with this process"
        )
    found = open_dataset(directory)
    if found.fingerprint.hex() != info.fingerprint:
        raise DatasetChanged(
            f"{directory} was replaced: found fingerprint {found.fingerprint.hex()}, "
            f"expected {info.fingerprint}; connect anew to use the new version"
        )
    return found
