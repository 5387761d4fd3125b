"""Reading files into the page cache in order, before random access to them begins."""

from __future__ import annotations

from collections.abc import Callable

from graphzero import _engine

# Small enough to stop soon, large enough for the disk; a multiple of the engine's unit of 2 MiB.
_STEP = 64 << 20


def warm_file(
    file: _engine.Topology | _engine.Matrix, stopped: Callable[[], bool] = lambda: False
) -> bool:
    """Whether the file was read to its end; False if `stopped` returned True before. Raises
    OSError."""
    for offset in range(0, file.file_bytes, _STEP):
        if stopped():
            return False
        file.warm(offset, _STEP)
    file.expect_random_access()
    return True
