"""What a run was made on: processor, memory, kernel, disk, file system, caches, versions."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_PACKAGES = ("graphzero-server", "numpy", "torch", "torch_geometric", "grpcio")
_FIO_FILE_BYTES = 256 << 20
_FIO_S = 3.0


def describe_machine(directory: Path) -> dict[str, Any]:
    """For data that lies in `directory`."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": memory / 2**30,
        "kernel": f"Linux {platform.release()}",
        "virtual": _virtual(),
        "file_system": _file_system(directory),
        "huge_pages": _chosen(_HUGE_PAGES / "enabled"),
        "huge_pages_shm": _chosen(_HUGE_PAGES / "shmem_enabled"),
        "load_at_start": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _virtual() -> bool:
    return "hypervisor" in Path("/proc/cpuinfo").read_text()


def _file_system(directory: Path) -> str:
    done = subprocess.run(
        ["findmnt", "-n", "-o", "FSTYPE,SOURCE", "-T", str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    kind, _, source = " ".join(done.stdout.split()).partition(" ")
    rotates = Path(f"/sys/block/{Path(source).name}/queue/rotational")
    turning = ", rotating" if rotates.exists() and rotates.read_text().strip() == "1" else ""
    return f"{kind or 'unknown'} on {source or 'unknown'}{turning}"


def _chosen(path: Path) -> str:
    """Of "always [madvise] never"."""
    try:
        return path.read_text().partition("[")[2].partition("]")[0]
    except OSError:
        return "not there"


def fio_reads(
    file: Path, block: int, threads: int = 1, seconds: float = _FIO_S
) -> dict[str, float]:
    """Reads and bytes a second, at random places of a file around the page cache, 256 at a time for
    each thread."""
    command = ["fio", "--name=reads", f"--filename={file}", "--readonly", "--rw=randread"]
    command += [f"--bs={block}", "--direct=1", "--ioengine=io_uring", "--iodepth=256"]
    command += ["--norandommap", f"--numjobs={threads}", "--thread", "--group_reporting"]
    command += ["--time_based", f"--runtime={seconds}", "--output-format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    read = json.loads(done.stdout)["jobs"][0]["read"]
    return {"reads_s": float(read["iops"]), "bytes_s": float(read["bw_bytes"])}


def fio_limit(directory: Path) -> dict[str, Any]:
    """What fio gets from the disk below `directory`; says so if it is not installed or fails."""
    if shutil.which("fio") is None:
        return {"missing": "fio is not installed: the disk's own limit was not measured"}
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        for _ in range(_FIO_FILE_BYTES >> 24):
            file.write(os.urandom(1 << 24))
        file.flush()
        os.fsync(file.fileno())
        try:
            return {str(block): fio_reads(Path(file.name), block) for block in (512, 4096)}
        except (subprocess.CalledProcessError, ValueError) as error:
            return {"missing": f"fio failed: {getattr(error, 'stderr', error)}"[:300]}
