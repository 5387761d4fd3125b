"""Who may end the sessions of others: whoever can read the daemon's lock file.

The lock file lies beside the socket and has mode 0600, so the kernel lets in the daemon's own user
and root, and nobody else. With --group other users may connect to the socket, and gRPC does not
tell the daemon whose process a peer is. So a caller proves its right with a key from the lock file.
Each start of a daemon chooses a new key. A second socket for operators was rejected: it would need
another server and a longer name than the first, which may already have the most, 107 bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

METADATA_NAME = "graphzero-admin-key"
LOCK_ENTRY = "admin_key"


def lock_path(socket: Path) -> Path:
    """The lock file of the daemon at a socket."""
    return socket.with_name(socket.name + ".lock")


def parse_lock(content: bytes) -> dict[str, object]:
    """The entries of a lock file; {} if it is not a daemon's, or is half-written."""
    try:
        parsed = json.loads(content)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def read_admin_key(socket: Path) -> str:
    """Raises OSError if the lock file cannot be read, ValueError if there is no key in it."""
    path = lock_path(socket)
    key = parse_lock(path.read_bytes()).get(LOCK_ENTRY)
    if not isinstance(key, str) or not (key.isascii() and key.isalnum()):
        raise ValueError(
            f"{path}: found no {LOCK_ENTRY}: the daemon is of another release; restart it"
        )
    return key
