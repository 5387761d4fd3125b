"""Samples by time: where the times of their seeds come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from graphzero import _engine
from graphzero.embedded.typed_sampling import Temporal
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import split_key
from graphzero.files.column_types import NO_TIME
from graphzero.files.dataset import Dataset
from graphzero.files.dtypes import DataType
from graphzero.files.schema import type_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible
from graphzero.server.compute.base import Ids, TypedIds, column_of, require_whole

_STRATEGIES = (pb.TEMPORAL_STRATEGY_UNSPECIFIED, pb.TEMPORAL_STRATEGY_LAST)


@dataclass(frozen=True)
class TemporalRecipe:
    """How samples are drawn by time."""

    own: bool
    """Whether the seeds have the times that the graph stores."""
    columns: tuple[ColumnFile, ...]
    """Columns with the times, one for each type that has seeds. If there are none, and `own` is
    false, the request brings the times."""
    last: bool
    strict: bool
    window: int

    @classmethod
    def read(cls, dataset: Dataset, asked: pb.Temporal, types: Sequence[int]) -> TemporalRecipe:
        """`types` are the types of the seeds."""
        schema = dataset.schema
        if not any(relation.has_times for relation in schema.relations):
            raise NotPossible(
                f"dataset {dataset.name!r} has no times, neither of edges nor of nodes"
            )
        if asked.strategy not in _STRATEGIES:
            raise ValueError(f"strategy is {asked.strategy}, expected one of the protocol's")
        if asked.window >= 2**63:
            raise ValueError(f"window is {asked.window}, expected less than {2**63}")
        for number in types:
            if asked.own and not schema.types[number].has_times:
                raise NotPossible(f"nodes{type_text(schema, number)} have no times of their own")
        if asked.columns and asked.own:
            raise ValueError("times of seeds are their own and those of columns, expected one")
        if asked.columns and len(asked.columns) != len(types):
            raise ValueError(
                f"{len(asked.columns)} columns of times for seeds of {len(types)} types, expected "
                "one for each"
            )
        return cls(
            own=asked.own,
            columns=tuple(
                _time_column(dataset, name, number)
                for name, number in zip(asked.columns, types, strict=False)
            ),
            last=asked.strategy == pb.TEMPORAL_STRATEGY_LAST,
            strict=asked.strict,
            window=asked.window,
        )

    @property
    def are_given(self) -> bool:
        """Whether the request brings the times."""
        return not self.own and not self.columns

    def of(self, seeds: TypedIds, given: Ids | None) -> Temporal:
        """The rule for these seeds; `given` are the times that came with the request."""
        times = given if self.are_given else None
        if self.columns:
            times = self._times_in_columns(seeds)
        return Temporal(times, self.last, self.strict, self.window)

    def _times_in_columns(self, seeds: TypedIds) -> Ids:
        times = _engine.work_ids(sum(len(ids) for _, ids in seeds))
        first = 0
        for column, (_, ids) in zip(self.columns, seeds, strict=True):
            piece = times[first : first + len(ids)]
            column.reader.gather(ids, piece.view(np.uint8))
            missing = np.flatnonzero(piece == NO_TIME)
            if missing.size:
                raise ValueError(
                    f"{column.path.name}: found no time (NaT) of node {ids[missing[0]]}, expected "
                    "one for each seed"
                )
            first += len(ids)
        return times


def _time_column(dataset: Dataset, name: str, number: int) -> ColumnFile:
    column, schema = column_of(dataset, name), dataset.schema
    require_whole(column, name, "to take times from")
    is_of_type = schema.owner_of(split_key(name)[0]) == ("type", number) or not schema.typed
    if column.role != "node" or column.dtype is not DataType.INT64 or len(column.shape) != 1:
        raise ValueError(
            f"column {name!r} is {column.dtype.label} by {column.role} in {len(column.shape)} "
            "dimensions, expected an int64 for each node, to take times from"
        )
    if not is_of_type:
        raise ValueError(f"column {name!r} of times, expected one{type_text(schema, number)}")
    return column
