"""Open files of the daemon: how many it needs, and what to do if its limit is lower."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from graphzero.base.errors import InputError
from graphzero.base.text import count_text

# A data file is mapped, which takes a descriptor, and is opened once more when it is read around
# the mapping. A session has a connection and a few regions of shared memory.
_PER_FILE = 2
_PER_SESSION = 16
# Sockets, queues for reading files, libraries that are loaded later.
_OTHERS = 256
FEWEST_OTHERS = 64


def make_room(files: int, sessions: int) -> None:
    """Raises this process's limit of open files as far as needed and allowed. Raises InputError if
    not even the data files can be opened."""
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
    """A warning if the limit may be too low for the files and sessions."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = needed(files, sessions)
    if soft != resource.RLIM_INFINITY and soft < enough:
        yield (
            f"this process may open {soft} files, and may need {enough} for {count_text(files)} "
            f"data files and {sessions} sessions; {advice(enough)}"
        )


def needed(files: int, sessions: int) -> int:
    """Descriptors that a daemon with this many data files and sessions needs."""
    return _OTHERS + _PER_FILE * files + _PER_SESSION * sessions


def advice(needed: int) -> str:
    """How to raise the limit of a process to `needed` descriptors."""
    return (
        f"run: ulimit -n {needed}  (systemd: LimitNOFILE={needed}, docker: --ulimit "
        f"nofile={needed})"
    )
