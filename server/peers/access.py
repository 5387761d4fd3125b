"""What requests need of the other daemons, in one object."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphzero.files.dataset import Dataset
from graphzero.server.peers.directory import Peers
from graphzero.server.peers.remote_rows import RemoteRows
from graphzero.server.peers.running import StopWatch


@dataclass(frozen=True)
class PeerAccess:
    """Shared by all requests. Thread-safe."""

    peers: Peers
    watch: StopWatch = field(default_factory=StopWatch)

    def rows_of(self, dataset: Dataset) -> RemoteRows:
        """Collects rows of other parts for one batch."""
        return RemoteRows(self.peers, self.watch, dataset)
