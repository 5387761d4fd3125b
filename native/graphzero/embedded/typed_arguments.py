"""Converts arguments by type, relation and time from the users' forms to the engine's.

`Graph` and clients share this code. A graph without types has one type and one relation, so the
same code serves both kinds of graphs; only the forms of seeds and fanouts differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.base.ids import Ids, id_array
from graphzero.base.numbers import whole_number
from graphzero.embedded.results import Int64Array
from graphzero.embedded.sampling import as_fanout
from graphzero.files.column_types import NO_TIME
from graphzero.files.schema import Schema, type_text

# {type: ids}, or (type, ids); for a graph without types just ids.
Seeds: TypeAlias = Mapping[str, Ids] | tuple[str, Ids] | Ids
# Edges per hop, for all relations or by relation: its triple, or a name that only one relation has.
Fanout: TypeAlias = Iterable[int] | Mapping[Any, Iterable[int]]
# One time for each seed, or one for all; "own"; with a client also the name of a column.
Times: TypeAlias = Any

TypedIds: TypeAlias = list[tuple[int, Int64Array]]
"""Seeds by the number of their type, in schema order."""


def seeds_of_types(schema: Schema, seeds: Seeds, what: str = "seeds") -> TypedIds:
    """The ids of seeds by type. Raises InputError, TypeError or ValueError for other forms. Does
    not check that nodes with these ids exist."""
    given = seeds_by_type(schema, seeds, what)
    return [
        (number, id_array(_on_cpu(ids), None, f"{what}{type_text(schema, number)}"))
        for number, ids in given.items()
    ]


def seeds_by_type(
    schema: Schema, seeds: Seeds, what: str = "seeds", *, texts: bool = False
) -> dict[int, Any]:
    """The seeds that the user gave, by the number of their type, in schema order.

    texts: ids may be texts, so that two texts are two ids in a graph without types.
    """
    if isinstance(seeds, tuple) and len(seeds) == 2 and isinstance(seeds[0], str):
        are_two_ids = texts and not schema.typed and isinstance(seeds[1], str)
        if not are_two_ids:
            seeds = {seeds[0]: seeds[1]}
    if isinstance(seeds, Mapping):
        if not schema.typed:
            raise InputError(
                f"{what}: found ids by type, expected ids: the graph has one kind of nodes"
            )
        return schema.by_type(seeds, what)
    if schema.typed:
        name = schema.type_names[0]
        raise InputError(
            f"{what}: found ids of no type, expected {{type: ids}} or (type, ids), as in "
            f"{{{name!r}: ids}}"
        )
    return {0: seeds}


def given_order(schema: Schema, seeds: Any) -> list[int]:
    """Numbers of the types of seeds, in the order in which the user gave them; empty for seeds that
    are not by type. One array of times for seeds of several types is in this order."""
    if not isinstance(seeds, Mapping) or not schema.typed:
        return []
    return [schema.type_number(name, "a type of seeds") for name in seeds]


def fanout_of_relations(
    schema: Schema, fanout: Fanout, default: Iterable[int] | None = None
) -> list[list[int]]:
    """Edges per hop of every relation, views included.

    A relation that a mapping leaves out is an error unless there is a default: a user who forgot
    one would train on a part of the graph without noticing.
    """
    if not isinstance(fanout, Mapping):
        if default is not None:
            raise InputError(
                f"default_fanout is {default!r}, but fanout is that of all relations; leave it out"
            )
        return [as_fanout(fanout)] * len(schema.relations)
    if not schema.typed:
        raise InputError("fanout is by relation, expected a list: the graph has one kind of edges")
    given = {
        number: as_fanout(hops, f"fanout[{schema.relations[number].triple}]")
        for number, hops in schema.by_relation(fanout, "fanout").items()
    }
    missing = [n for n in range(len(schema.relations)) if n not in given]
    if missing:
        if default is None:
            raise InputError(
                f"fanout has nothing for {schema.relations[missing[0]].triple}"
                + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
                + ", expected a list for each relation; 0 draws none, default_fanout stands for "
                "those that are left out"
            )
        rest = as_fanout(default, "default_fanout")
        given |= dict.fromkeys(missing, rest)
    hops = {len(given[number]): number for number in sorted(given, reverse=True)}
    if len(hops) > 1:
        (one, first), (other, second) = sorted(hops.items())[:2]
        raise InputError(
            f"fanout has {one} hops for {schema.relations[first].triple} and {other} for "
            f"{schema.relations[second].triple}, expected as many for each relation"
        )
    return [given[number] for number in range(len(schema.relations))]


@dataclass(frozen=True, eq=False)
class SeedTimes:
    """Where the times of seeds come from: exactly one field is set."""

    values: Int64Array | None = None
    """One time for each seed, all types in schema order."""
    own: bool = False
    """Each seed's own time in the graph."""
    columns: tuple[str, ...] = ()
    """Names of columns, one for each type that has seeds. Only a daemon has columns."""


def seed_times(
    schema: Schema,
    time: Times,
    seeds: Sequence[tuple[int, Sized]],
    order: Sequence[int] = (),
    what: str = "time",
) -> SeedTimes | None:
    """None for a sample that is not by time. Of `seeds`, only the types and the number of seeds of
    each type are used; they are in schema order.

    order: given_order() of the seeds, by which one array for several types is divided. Without it
    such an array is an error: to guess would show some seeds the future.
    """
    if time is None:
        return None
    if isinstance(time, str):
        return SeedTimes(own=True) if time == "own" else SeedTimes(columns=(time,) * len(seeds))
    if not isinstance(time, Mapping):
        total = sum(len(ids) for _, ids in seeds)
        times = time_array(time, total, schema.time_unit, what)
        if len(seeds) > 1 and np.ndim(_on_cpu(time)) > 0:
            times = _in_schema_order(schema, times, seeds, order, what)
        return SeedTimes(values=times)
    if not schema.typed:
        raise InputError(f"{what} is by type, expected one for each seed: the graph has no types")
    given = schema.by_type(time, what)
    wanted = [number for number, _ in seeds]
    if list(given) != wanted:
        odd = sorted(set(given) ^ set(wanted))[0]
        seen = "times but no seeds" if odd in given else "seeds but no times"
        raise InputError(f"{what}: found {seen}{type_text(schema, odd)}, expected both or none")
    texts = [value for value in given.values() if isinstance(value, str)]
    if len(texts) < len(given):
        if texts:
            raise InputError(
                f"{what} is {texts[0]!r} for one type and an array for another, expected one kind"
            )
        unit = schema.time_unit
        pieces = [
            time_array(given[n], len(ids), unit, f"{what}{type_text(schema, n)}")
            for n, ids in seeds
        ]
        return SeedTimes(values=np.concatenate(pieces) if pieces else np.empty(0, np.int64))
    if "own" in texts and set(texts) != {"own"}:
        raise InputError(f'{what} is "own" for one type and a column for another, expected one')
    return SeedTimes(own=True) if "own" in texts else SeedTimes(columns=tuple(texts))


def _in_schema_order(
    schema: Schema,
    times: Int64Array,
    seeds: Sequence[tuple[int, Sized]],
    order: Sequence[int],
    what: str,
) -> Int64Array:
    """Times of seeds of several types, moved from the order in which the user gave the types to
    that of the schema."""
    sizes = {number: len(ids) for number, ids in seeds}
    if sorted(order) != sorted(sizes):
        names = ", ".join(f"{schema.types[number].name!r}: times" for number in sizes)
        raise InputError(
            f"{what} is one array for seeds of {len(sizes)} types, and nobody knows which times "
            f"belong to which type; expected {{{names}}}"
        )
    ends = np.cumsum([sizes[number] for number in order])
    pieces = dict(zip(order, np.split(times, ends[:-1]), strict=True))
    return np.concatenate([pieces[number] for number in sizes])


def time_array(
    time: Any, count: int, unit: str, what: str = "time", of: str = "seed"
) -> Int64Array:
    """`count` times on the graph's scale; a single time stands for all of them. `of` is what each
    is the time of, for messages."""
    array = np.asarray(_on_cpu(time))
    if array.dtype == object:
        array = _dates_of_objects(array, what)
    if array.dtype.kind == "M":
        array = _in_unit(array, "datetime64", unit, what)
    elif array.size == 0 and array.ndim == 1:
        array = np.empty(0, np.int64)  # NumPy makes floats of an empty list
    elif array.dtype.kind not in "iu":
        raise TypeError(f"{what}: found {array.dtype}, expected integers or dates")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise ValueError(f"{what}: found {int(array.max())}, expected at most {2**63 - 1}")
    if array.ndim == 0:
        array = np.full(count, array)
    times = np.ascontiguousarray(array, np.int64)
    if times.shape != (count,):
        raise ValueError(
            f"{what}: found shape {times.shape}, expected {count} times, one for each {of}"
        )
    missing = np.flatnonzero(times == NO_TIME)
    if missing.size:
        raise ValueError(
            f"{what}[{int(missing[0])}] is no time (NaT, {NO_TIME}), expected one for each {of}"
        )
    return times


def time_window(schema: Schema, window: Any) -> int:
    """How far back a sample may look, on the graph's scale; 0 for no limit."""
    if window is None:
        return 0
    if isinstance(window, timedelta | np.timedelta64):
        span = np.asarray(_as_numpy(window, "to_timedelta64", np.timedelta64))
        window = int(_in_unit(span, "timedelta64", schema.time_unit, "time_window"))
    width = whole_number(window, "time_window", least=1)
    if width >= 2**63:
        raise ValueError(f"time_window is {width}, expected less than 2**63")
    return width


def _in_unit(array: npt.NDArray[Any], kind: str, unit: str, what: str) -> npt.NDArray[np.int64]:
    """Dates or spans as numbers of the graph's unit. Nothing is rounded, because rounding could
    decide whether a sample has an edge."""
    if not unit:
        raise ValueError(
            f"{what}: found {array.dtype}, but the graph does not say in which unit its times "
            "count; give them as int64 on its scale"
        )
    times = array.astype(f"{kind}[{unit}]")
    # A time that was rounded, or did not fit, differs when it is converted back.
    unequal = np.flatnonzero((times.astype(array.dtype) != array) & ~np.isnat(array))
    if unequal.size:
        value = array.reshape(-1)[unequal[0]]
        raise ValueError(
            f"{what}: found {value}, which is no whole number of the graph's unit, {unit}, or too "
            "far away for it; round it first"
        )
    return times.astype(np.int64)


def _dates_of_objects(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    try:
        dates = [_as_numpy(one, "to_datetime64", np.datetime64) for one in array.reshape(-1)]
        return np.array(dates, "datetime64").reshape(array.shape)
    except (TypeError, ValueError):
        kind = type(array.reshape(-1)[0]).__name__ if array.size else "nothing"
        raise TypeError(f"{what}: found {kind}, expected integers or dates") from None


def _as_numpy(value: Any, method: str, kind: Callable[[Any], Any]) -> Any:
    """pandas' own dates count nanoseconds, which NumPy would take for Python's microseconds."""
    convert = getattr(value, method, None)
    return kind(value) if convert is None else convert()


def _on_cpu(values: Any) -> Any:
    return values.detach().cpu() if hasattr(values, "detach") else values
