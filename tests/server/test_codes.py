"""Which code a trainer gets for which error: every row of the table, through a daemon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import CODES

# What a client may rely on, by gRPC's numbers.
EXPECTED = {
    "ProtocolViolation": 3,
    "RequestCancelled": 1,
    "RequestTimedOut": 4,
    "OutOfMemory": 8,
    "TooManyCalls": 8,
    "NotPossible": 9,
    "DatasetReplaced": 6,
    "NotFound": 5,
    "UnknownDataset": 5,
    "UnusableDataset": 15,
    "FormatError": 15,
    "UnreadableFile": 15,
    "PeerUnavailable": 14,
    "PeerFailed": 15,
    "InputError": 3,
    "IndexError": 3,
    "ValueError": 3,
    "TypeError": 3,
    "MemoryError": 8,
    "OSError": 14,
    # Anything else is a fault of the daemon.
    "KeyError": 13,
}
INTERNAL = 13
OF_THE_MACHINE = {"FormatError", "UnreadableFile", "MemoryError", "OSError", "PeerFailed"}

# Fails each request with an error of the class whose number is the seed of the request.
FAIL = """
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
from graphzero.server.codes import CODES
from graphzero.server.sessions.result_maker import ResultMaker

kinds = [kind for kind, _ in CODES] + [KeyError]

def fail(self, *_):
    kind = kinds[self._message.sample.seed]
    error = kind.__new__(kind)
    error.args = (f"a test of {kind.__name__}",)
    raise error

ResultMaker.draw = fail
"""


def test_every_error_has_its_code_and_faults_of_the_machine_are_logged(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    kinds = [kind.__name__ for kind, _ in CODES] + ["KeyError"]
    failing = start_daemon(dataset, setup=FAIL)
    assert set(kinds) == set(EXPECTED)
    session = raw(failing.address)
    for number, kind in enumerate(kinds):
        session.sample(2 + number, [1], [2], seed=number)
        answer = session.receive()
        assert (answer.request_id, answer.error.code) == (2 + number, EXPECTED[kind]), kind
        assert f"a test of {kind}" in answer.error.message
        logged = f", request {2 + number} (sample on small) failed" in failing.output()
        assert logged == (kind in OF_THE_MACHINE or EXPECTED[kind] == INTERNAL), kind
    stats = session.stub.GetStats(pb.GetStatsRequest())
    assert stats.failed_requests == len(kinds) - 1  # what was cancelled is no failure
    session.close()


def test_no_row_hides_another() -> None:
    for row, (kind, code) in enumerate(CODES):
        for before, other in CODES[:row]:
            assert not issubclass(kind, before) or code == other, f"{kind} after {before}"
