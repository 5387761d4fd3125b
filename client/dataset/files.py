"""The files that the daemon serves, where this process can see them too."""

from __future__ import annotations

import os
from pathlib import Path

from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import AccessDenied, DatasetChanged, ServerUnavailable
from graphzero.files.dataset import Dataset, open_dataset


def is_directory(path: str | os.PathLike[str]) -> bool:
    """Raises AccessDenied where this user may not look."""
    try:
        found = Path(path).is_dir()
        if found:
            os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
    except PermissionError:
        raise AccessDenied(
            f"{os.fspath(path)}: the directory is not open to you (uid {os.geteuid()}); its owner "
            "can let you read it, or serve it to a group with graphzero-server --group NAME"
        ) from None
    return found


def open_visible(info: DatasetInfo, what: str, instead: str) -> Dataset:
    """Opens the dataset of a client in this process. In an error, `what` says what is not possible
    without that, and `instead` what to do.

    Raises ServerUnavailable if its directory is not visible, DatasetChanged if it was replaced.
    """
    directory = Path(info.path)
    try:
        found = open_dataset(directory)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise ServerUnavailable(
            f"{directory}: the daemon's data directory is not visible here ({error.strerror}), so "
            f"{what}; {instead}, or share the directory with this process"
        ) from None
    if found.fingerprint.hex() != info.fingerprint:
        raise DatasetChanged(
            f"{directory} was replaced: found fingerprint {found.fingerprint.hex()}, "
            f"expected {info.fingerprint}; connect anew to use the new version"
        )
    return found
