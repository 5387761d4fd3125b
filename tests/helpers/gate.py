"""A gate in a daemon, before which its workers stand until the test lets them pass."""

from __future__ import annotations

from pathlib import Path

_SETUP = """
import itertools, time
from pathlib import Path
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
from graphzero.server.sessions.request import Request
run, numbers = Request.run, itertools.count()

def wait_and_run(self, *args):
    number = next(numbers)
    while number >= int(Path({path!r}).read_text()):
        time.sleep(0.005)
    return run(self, *args)

Request.run = wait_and_run
Request._is_brief = lambda self: False
"""


class Gate:
    """start_daemon(..., setup=gate.setup): requests that came are surely under way until open()."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.let_pass(0)

    @property
    def setup(self) -> str:
        return _SETUP.format(path=str(self._path))

    def let_pass(self, count: int) -> None:
        """So many requests in all, of which each passes again when it waited for memory."""
        draft = self._path.with_suffix(".draft")
        draft.write_text(str(count))
        draft.replace(self._path)

    def open(self) -> None:
        self.let_pass(1 << 60)
