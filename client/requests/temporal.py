"""Samples by time: where the times of seeds come from, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.client.dataset.info import ColumnInfo, DatasetInfo
from graphzero.client.errors import InvalidRequest, NotFound, as_invalid_request
from graphzero.client.requests.messages import TemporalOptions
from graphzero.embedded.sample_calls import TemporalStrategy
from graphzero.embedded.typed_arguments import SeedTimes, seed_times, time_window
from graphzero.files.column_keys import column_key
from graphzero.files.schema import type_text

TypedSizes = Sequence[tuple[int, Sized]]
"""Pairs of a type's number and its seeds, of which only the length counts here."""


@dataclass(frozen=True)
class TimedDraws:
    """How a sample is drawn by time, as users say it."""

    strict: bool = False
    window: Any = None
    strategy: TemporalStrategy = "uniform"

    def require_none(self) -> None:
        """Raises ValueError if anything says how to draw by time; for samples without times."""
        given = {
            "time_strict": self.strict or None,
            "time_window": self.window,
            "temporal_strategy": None if self.strategy == "uniform" else self.strategy,
        }
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is {value!r}, but there is no time to draw by; give one")


def temporal_options(
    dataset: DatasetInfo,
    time: Any,
    seeds: TypedSizes,
    draws: TimedDraws,
    order: Sequence[int] = (),
) -> tuple[TemporalOptions | None, npt.NDArray[np.int64] | None]:
    """How to draw by time, None for not at all; and times of the seeds, None where the daemon knows
    them. `order` is given_order() of the seeds, for one array of times for several types."""
    if time is None:
        draws.require_none()
        return None, None
    if not dataset.has_times:
        raise InvalidRequest(
            f"time is given, but dataset {dataset.name!r} has no times, of edges or of nodes"
        )
    with as_invalid_request():
        times = seed_times(dataset.schema, time, seeds, order)
        window = time_window(dataset.schema, draws.window)
    assert times is not None
    _check_own(dataset, times, seeds)
    columns = {
        number: _time_column(dataset, number, name)
        for (number, _), name in zip(seeds, times.columns, strict=False)
    }
    options = TemporalOptions(
        strategy=draws.strategy,
        strict=bool(draws.strict),
        window=window,
        own=times.own,
        columns=columns,
    )
    return options, times.values


class GivenTimes:
    """Stands for times that come with each batch of a sampler: its NodeSeeds and LinkRequests have
    them. For adapters, which make such batches."""


GIVEN_TIMES = GivenTimes()


def sampler_temporal_options(
    dataset: DatasetInfo, time: Any, draws: TimedDraws
) -> TemporalOptions | None:
    """How to draw by time for batches that a user's sampler makes, whose types are not known
    before."""
    if isinstance(time, GivenTimes):
        window = time_window(dataset.schema, draws.window)
        return TemporalOptions(draws.strategy, bool(draws.strict), window)
    if time is not None and not isinstance(time, str):
        raise ValueError(
            'time is an array, expected "own" or the name of a column: batch_sampler makes the '
            "batches, and nobody knows which times belong to them"
        )
    types = [
        (number, ())
        for number, found in enumerate(dataset.schema.types)
        if (found.has_times if time == "own" else time in dataset.by_owner[found.directory])
    ]
    # If no type fits, the first one is passed on, and the error says what it lacks.
    return temporal_options(dataset, time, types or [(0, ())], draws)[0]


def _check_own(dataset: DatasetInfo, times: SeedTimes, seeds: TypedSizes) -> None:
    for number, _ in seeds:
        if times.own and not dataset.schema.types[number].has_times:
            raise InvalidRequest(
                f'time is "own", but nodes{type_text(dataset.schema, number)} have no times; give '
                "an array, or the name of a column of times"
            )


def _time_column(dataset: DatasetInfo, number: int, name: str) -> str:
    """The key of a column of a type that has a time for each node."""
    schema = dataset.schema
    directory = schema.types[number].directory
    column = dataset.by_owner[directory].get(name)
    if column is None or not _holds_times(column):
        known = [n for n, c in dataset.by_owner[directory].items() if _holds_times(c)]
        raise NotFound(
            f'time is {name!r}, expected times, dates, "own" or an int64 column of nodes'
            f"{type_text(schema, number)}: {', '.join(known) or 'there is none'}"
        )
    if column.time_unit and schema.time_unit and column.time_unit != schema.time_unit:
        raise InvalidRequest(
            f"column {column.name!r} counts time in {column.time_unit}, the graph in "
            f"{schema.time_unit}; give times as an array of dates instead"
        )
    return column_key(directory, name)


def _holds_times(column: ColumnInfo) -> bool:
    return column.role == "node" and column.dtype == "int64" and len(column.shape) == 1
