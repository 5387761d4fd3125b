"""Things about the machine that will hurt later, each with the command that mends it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from graphzero.base import descriptors
from graphzero.base.filesystems import NETWORK_FILESYSTEMS, filesystem_of
from graphzero.base.text import size_text
from graphzero.files.paths import columns_beside_datasets
from graphzero.server.settings.config import Config


def warnings(config: Config, files: int) -> Iterator[str]:
    """`files` is the number of data files that are open."""
    yield from config.memory.warnings()
    yield from _shared_memory(config)
    yield from descriptors.problems(files, config.limits.max_sessions)
    yield from _filesystem(config.data)
    yield from _files_beside_datasets(config.data)


def _shared_memory(config: Config) -> Iterator[str]:
    info = os.statvfs("/dev/shm")
    free = info.f_frsize * info.f_bavail
    limit = config.limits.shm_limit
    # A larger /dev/shm does not help where there is no memory for it: the division of memory warns
    # of that.
    if free < limit <= config.memory.available:
        size = info.f_frsize * info.f_blocks + limit - free
        yield (
            f"/dev/shm has {size_text(free)} free, --shm-limit is {size_text(limit)}; run: "
            f"mount -o remount,size={-(-size >> 20)}M /dev/shm  (docker: --shm-size or --ipc=host)"
        )


def _files_beside_datasets(data: Path) -> Iterator[str]:
    for file in columns_beside_datasets(data):
        yield (
            f"{file} lies beside the datasets in {data} and is not served; move it into the one "
            "that it belongs to"
        )


def _filesystem(data: Path) -> Iterator[str]:
    kind = filesystem_of(data)
    if kind in NETWORK_FILESYSTEMS:
        yield (
            f"{data} is on a network filesystem ({kind}): reads are slow and can fail; "
            "copy the dataset to a local disk"
        )
