"""How the rows of a column are read: from memory, through the page cache, or around it.

gather/README.md in the engine describes the paths; here is the choice between them.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Literal, get_args

from graphzero import _engine
from graphzero.base.numbers import one_of
from graphzero.base.resources import available_memory
from graphzero.base.text import size_text

# Default of `io` of FeatureStore, and of the daemon without --feature-io.
IO_VARIABLE = "GRAPHZERO_FEATURE_IO"
# Forces "io_uring" or "pread"; the engine reads it.
ENGINE_VARIABLE = "GRAPHZERO_IO_ENGINE"

ColumnIo = Literal["auto", "mapped", "cached", "direct"]

_FORCED = {
    "mapped": _engine.ColumnPath.MAPPED,
    "cached": _engine.ColumnPath.CACHED,
    "direct": _engine.ColumnPath.DIRECT,
}
# Shares of the available memory: the largest file that "auto" trusts the page cache to hold, and
# the default size of a row cache.
_CACHEABLE_SHARE = 0.75
_ROW_CACHE_SHARE = 0.25


@dataclass(frozen=True)
class ColumnReading:
    """How the rows of one column are read, and why."""

    path: _engine.ColumnPath
    reason: str


def default_io() -> str:
    return os.environ.get(IO_VARIABLE) or "auto"


def checked_io(io: str) -> ColumnIo:
    checked: ColumnIo = one_of(io, "io", get_args(ColumnIo))
    return checked


def room_for_a_file() -> int:
    """How many bytes of one file the page cache can be trusted to hold."""
    return int(available_memory() * _CACHEABLE_SHARE)


def choose_reading(io: ColumnIo, byte_size: int, room: int) -> ColumnReading:
    """How to read a column of `byte_size` bytes if `room` bytes of memory are free for it."""
    if io != "auto":
        return ColumnReading(_FORCED[io], "as asked for")
    sizes = f"{size_text(byte_size)}, room for {size_text(room)}"
    if byte_size <= room:
        return ColumnReading(_engine.ColumnPath.ADAPTIVE, f"fits into memory: {sizes}")
    return ColumnReading(_engine.ColumnPath.DIRECT, f"does not fit into memory: {sizes}")


def default_row_cache() -> int:
    """A quarter of the memory that is available now."""
    return int(available_memory() * _ROW_CACHE_SHARE)


def path_text(path: _engine.ColumnPath) -> str:
    """The name of a path in messages."""
    return {
        _engine.ColumnPath.MAPPED: "mapped",
        _engine.ColumnPath.CACHED: "cached",
        _engine.ColumnPath.DIRECT: "direct",
        _engine.ColumnPath.ADAPTIVE: "mapped or cached",
    }[path]


def engine_problem() -> str:
    """What is wrong with the way this process reads files; "" if nothing is."""
    engine = _engine.io_engine()
    if engine.name == "io_uring" or ENGINE_VARIABLE in os.environ:  # the user chose the engine
        return ""
    return (
        f"rows are read by a pool of threads, which is slower than io_uring: {engine.reason}; "
        "allow the system calls io_uring_setup, io_uring_enter and io_uring_register "
        "(containers: seccomp profile; hosts: sysctl kernel.io_uring_disabled=0)"
    )


def warn_of_problems(column: _engine.Column, name: str) -> None:
    """A RuntimeWarning for each thing that the machine does not offer."""
    problems = [engine_problem()] if column.path != _engine.ColumnPath.MAPPED else []
    if column.fallback:
        problems.append(f"{name} is {path_text(column.path)} instead of direct: {column.fallback}")
    for problem in filter(None, problems):
        warnings.warn(problem, RuntimeWarning, stacklevel=2)
