"""Random walks."""

from __future__ import annotations

from typing import Any

from graphzero.embedded.sampling import walk_into
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.compute.base import Computation, Ids, array_in


class WalkComputation(Computation):
    fills_by_sampling = True

    def __init__(self, dataset: Dataset, request: pb.Walk, starts: Ids) -> None:
        super().__init__(dataset)
        self._request = request
        self._starts = starts

    def draw(self) -> None:
        relations = len(self.dataset.schema.relations)
        self._metapath = list(self._request.metapath)
        for number in self._metapath:
            if number >= relations:
                raise ValueError(f"metapath has relation {number}, expected less than {relations}")
        walks = len(self._starts)
        self._nodes = self.layout.add("nodes", "int64", (walks, self._request.length + 1))
        self._lengths = self.layout.add("lengths", "int64", (walks,))

    def fill(self, block: Any) -> None:
        request = self._request
        walk_into(
            self.dataset.graph,
            self._starts,
            array_in(block, self._nodes),
            array_in(block, self._lengths),
            p=request.p,
            q=request.q,
            restart=request.restart,
            weighted=request.weighted,
            seed=request.seed,
            metapath=self._metapath,
        )

    def describe(self, result: pb.Result) -> None:
        result.seed = self._request.seed
