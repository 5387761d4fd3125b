"""What the disk gives, as fio measures it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

DEPTH = 256


def random_reads_per_second(file: Path, seconds: float, threads: int = 1) -> float:
    """4 KiB at random places of the file, around the page cache, 256 at a time for each thread."""
    done = subprocess.run(
        [
            "fio",
            "--name=reads",
            f"--filename={file}",
            "--readonly",
            "--rw=randread",
            "--bs=4k",
            "--direct=1",
            "--ioengine=io_uring",
            f"--iodepth={DEPTH}",
            "--norandommap",
            f"--numjobs={threads}",
            "--thread",
            "--group_reporting",
            "--time_based",
            f"--runtime={seconds}",
            "--output-format=json",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    iops: float = json.loads(done.stdout)["jobs"][0]["read"]["iops"]
    return iops
