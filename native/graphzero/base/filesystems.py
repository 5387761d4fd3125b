"""What kind of file system a path lies on."""

from __future__ import annotations

import os
from pathlib import Path

NETWORK_FILESYSTEMS = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "lustre", "afs")
)


def filesystem_of(path: Path) -> str:
    """Type of the mount that holds `path`, as the kernel lists it."""
    real = os.path.realpath(path)
    best, kind = "", ""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, found, *_ = line.split()
        mount = mount.replace("\\040", " ")
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, found
    return kind
