"""Open files of the daemon: how many it needs, and what to do where it may not have them."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from graphzero.base.errors import InputError
from graphzero.base.text import count_text

# A data file is mapped, which takes a descriptor, and is opened once more when it is read around
# the mapping. A session has a connection and a few regions of shared memory.
_PER_FILE = 2
_PER_SESSION = 16
# Sockets, the queues that files are read with, libraries that are loaded later.
_OTHERS = 256
FEWEST_OTHERS = 64


def make_room(files: int, sessions: int) -> None:
    """Raises the limit of this process as far as it is needed and allowed. InputError if not even
    the data files can be opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = needed(files, sessions)
    if soft != resource.RLIM_INFINITY and soft < enough:
        soft = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != resource.RLIM_INFINITY and soft < files + FEWEST_OTHERS:
        raise InputError(
            f"{count_text(files)} data files are to be opened, and this process may open {soft}; "
            f"{advice(enough)}"
        )


def problems(files: int, sessions: int) -> Iterator[str]:
    """What may go wrong later."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = needed(files, sessions)
    if soft != resource.RLIM_INFINITY and soft < enough:
        yield (
            f"this process may open {soft} files, and may need {enough} for {count_text(files)} "
            f"data files and {sessions} sessions; {advice(enough)}"
        )


def needed(files: int, sessions: int) -> int:
    """Descriptors of a daemon with so many data files and sessions."""
    return _OTHERS + _PER_FILE * files + _PER_SESSION * sessions


def advice(needed: int) -> str:
    """How a process may get so many."""
    return (
        f"run: ulimit -n {needed}  (systemd: LimitNOFILE={needed}, docker: --ulimit "
        f"nofile={needed})"
    )
