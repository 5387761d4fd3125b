"""Running a command with little memory and a cold page cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Groups that bound memory are made as for the tests.
sys.path.append(str(Path(__file__).parents[2] / "helpers"))
from control_groups import DiskGroup, MemoryGroup, disk_group, memory_group

__all__ = [
    "DiskGroup",
    "MemoryGroup",
    "disk_group",
    "drop_caches",
    "memory_group",
    "run_limited",
]


def drop_caches() -> None:
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def run_limited(script: Path, arguments: Sequence[str], limit: int) -> dict[str, Any]:
    """The JSON object that a script of this folder prints, from a cold start within `limit`."""
    with memory_group(limit) as group:
        drop_caches()
        done = subprocess.run(
            [sys.executable, str(script), *arguments],
            preexec_fn=group.join,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
