"""Gathers the columns of a result from this daemon's files, and rows of other parts from peers."""

from __future__ import annotations

from typing import Any

from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset, key_of
from graphzero.server.compute.base import Ids
from graphzero.server.compute.layout import Placement
from graphzero.server.peers.access import PeerAccess


class BatchGather:
    """add() each column, then run()."""

    def __init__(self, dataset: Dataset, peers: PeerAccess, block: Any) -> None:
        self._dataset = dataset
        self._block = block
        self._own: list[tuple[ColumnFile, Ids, Any]] = []
        self._remote = peers.rows_of(dataset)

    def add(self, column: ColumnFile, ids: Ids, placement: Placement) -> None:
        out = self._block.array(placement.offset, [placement.byte_size], "uint8")
        if column.sharded is None:
            self._own.append((column, ids, out))
        else:
            self._remote.add(key_of(self._dataset.path, column.path), column, ids, out)

    def run(self) -> None:
        self._remote.gather(self._gather_own)

    def _gather_own(self) -> None:
        for column, ids, out in self._own:
            column.reader.gather(ids, out)
