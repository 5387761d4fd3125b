"""Rows of one column, and nodes by their original ids."""

from __future__ import annotations

from typing import Any

from graphzero.files.dataset import Dataset
from graphzero.files.schema import type_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible
from graphzero.server.compute.base import Computation, Ids, array_in, column_of
from graphzero.server.compute.gathering import BatchGather
from graphzero.server.peers.access import PeerAccess


class GatherComputation(Computation):
    def __init__(self, dataset: Dataset, request: pb.Gather, ids: Ids, peers: PeerAccess) -> None:
        super().__init__(dataset)
        self._peers = peers
        self._name = request.column
        self._store = column_of(dataset, request.column)
        self._ids = ids

    def draw(self) -> None:
        shape = (len(self._ids), *self._store.shape[1:])
        self._placement = self.layout.add(self._name, self._store.dtype.label, shape)

    def fill(self, block: Any) -> None:
        gather = BatchGather(self.dataset, self._peers, block)
        gather.add(self._store, self._ids, self._placement)
        gather.run()


class FindComputation(Computation):
    """Finds nodes by their original ids."""

    def __init__(self, dataset: Dataset, request: pb.FindNodes, ids: Ids) -> None:
        super().__init__(dataset)
        self._request = request
        self._ids = ids

    def draw(self) -> None:
        schema, number = self.dataset.schema, self._request.type
        if number >= len(schema.types):
            raise ValueError(f"type is {number}, expected less than {len(schema.types)}")
        original = self.dataset.original_ids_by_type.get(number)
        if original is None:
            raise NotPossible(
                f"dataset {self.dataset.name!r} has no original ids{type_text(schema, number)}; "
                "convert it with --relabel"
            )
        texts = list(self._request.texts)
        if original.are_texts != bool(texts) and (texts or len(self._ids)):
            kinds = ("integers", "texts")
            raise ValueError(
                f"found {kinds[bool(texts)]} as original ids, expected {kinds[original.are_texts]}"
            )
        self._found = original.find(texts if original.are_texts else self._ids)
        self._n_id = self.layout.add("n_id", "int64", (len(self._found),))

    def fill(self, block: Any) -> None:
        array_in(block, self._n_id)[:] = self._found
