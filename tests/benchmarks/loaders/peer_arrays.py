"""The arrays of common/datasets.py for the peers: loaded, or mapped as np.load(mmap_mode="r") does.

Mapped, all processes of the machine share one copy of them in the page cache.
"""

from __future__ import annotations

import mmap
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

# NumPy's mapped arrays cannot be written to, and torch says so.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


@dataclass(frozen=True)
class PeerArguments:
    """Of `peer_*.py ARRAYS SECONDS WORKERS THREADS IDS loaded|mapped`."""

    folder: Path
    seconds: float
    workers: int
    threads: int
    ids: str
    mapped: bool

    @classmethod
    def read(cls) -> PeerArguments:
        folder, seconds, workers, threads, ids, how = sys.argv[1:7]
        return cls(Path(folder), float(seconds), int(workers), int(threads), ids, how == "mapped")

    def load(self, name: str) -> torch.Tensor:
        path = self.folder / f"{name}.npy"
        if not self.mapped:
            return torch.from_numpy(np.load(path))
        array = np.load(path, mmap_mode="r")
        array._mmap.madvise(mmap.MADV_HUGEPAGE)
        int(array.reshape(-1)[:: max(1, mmap.PAGESIZE // array.itemsize)].astype("int64").sum())
        return torch.from_numpy(array)
