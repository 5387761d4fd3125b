"""Small requests: one seed and five of its neighbours with their rows, one request after the other.

Beside it stands a call of gRPC's health service, which the same daemon answers at once: what the
round trip costs before anything is sampled.
"""

from __future__ import annotations

import json
import subprocess
import sys

from common.contest import BENCHMARKS, Daemon
from common.datasets import rmat_dataset
from common.rounds import Turn, medians, take_turns
from common.settings import Settings
from report.document import Column, Subject

COLUMNS = [
    Column("p50_ms", "median ms", ".2f"),
    Column("p99_ms", "99 % within ms", ".2f"),
    Column("grpc_ms", "gRPC alone ms", ".2f"),
]
NAME = "graphzero, one seed x [5]"


def measure(settings: Settings) -> Subject:
    subject = Subject("requests", "Small requests", __doc__, COLUMNS)
    count = 300 if settings.quick else 2000

    def take_turn() -> Turn:
        with Daemon(rmat_dataset(settings.directory, settings.shape)).wait_until_warm() as daemon:
            script = str(BENCHMARKS / "loaders/small_requests.py")
            command = [sys.executable, script, daemon.address, str(count)]
            found: Turn = json.loads(subprocess.check_output(command, text=True))
            return found

    subject.turns = take_turns({NAME: take_turn}, settings.rounds, subject.skipped)
    whole, grpc = (medians(subject.turns[NAME], key).median for key in ("p50_ms", "grpc_ms"))
    subject.notes.append(f"gRPC's own round trip is {grpc / whole:.0%} of the median.")
    return subject
