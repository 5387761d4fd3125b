"""How tables are read."""

from __future__ import annotations

from typing import NamedTuple

from graphzero.files.column_types import TimeUnit


class ReadOptions(NamedTuple):
    """What holds for every table of a conversion."""

    missing: tuple[str, ...] = ()  # texts that stand for a missing value
    skip: bool = False  # leave out bad lines of text
    threads: int = 0  # 0: one for each processor
    # Names of the two ends of edges, which other tables use for their columns of ids: see sides.py.
    ends: tuple[str, ...] = ()
    time_unit: TimeUnit | None = None  # that the user stated for times; None: their own unit
