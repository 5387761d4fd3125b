"""Seeds, fanouts and times as users write them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from graphzero.base.errors import InputError
from graphzero.embedded.typed_arguments import (
    fanout_of_relations,
    given_order,
    seed_times,
    seeds_of_types,
    time_array,
    time_window,
)
from graphzero.files.schema import NodeType, Relation, Schema

RATES, REV = ("user", "rates", "movie"), ("movie", "rev_rates", "user")
SCHEMA = Schema(
    (NodeType("user", 10), NodeType("movie", 5)),
    (Relation(0, "rates", 1, 0, RATES), Relation(1, "rev_rates", 0, 0, REV, is_view=True)),
    time_unit="s",
)
FLAT = Schema.flat(10, time_unit="s")
SEEDS = [(0, np.array([1, 2])), (1, np.array([3]))]


@pytest.mark.parametrize(
    "seeds",
    [{"movie": [3], "user": [1, 2]}, {"user": torch.tensor([1, 2]), "movie": np.array([3])}],
)
def test_seeds_come_in_the_order_of_the_types(seeds: Any) -> None:
    found = seeds_of_types(SCHEMA, seeds)
    assert [(number, ids.tolist()) for number, ids in found] == [(0, [1, 2]), (1, [3])]


def test_seeds_of_one_type() -> None:
    ((number, ids),) = seeds_of_types(SCHEMA, ("movie", [3, 3]))
    assert (number, ids.tolist(), ids.dtype) == (1, [3, 3], np.int64)
    ((number, ids),) = seeds_of_types(FLAT, [3, 3])
    assert (number, ids.tolist()) == (0, [3, 3])
    ((_, ids),) = seeds_of_types(FLAT, (3, 4))
    assert ids.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("schema", "seeds", "error", "message"),
    [
        (SCHEMA, {"film": [1]}, InputError, "a type of seeds is 'film', expected one of 'movie'"),
        (SCHEMA, [1, 2], InputError, "seeds: found ids of no type, expected .*'user': ids"),
        (FLAT, {"user": [1]}, InputError, "seeds: found ids by type, expected ids"),
        (SCHEMA, {"user": [1.5]}, TypeError, "seeds of type 'user': found float64"),
        (SCHEMA, {"user": [[1]]}, ValueError, r"seeds of type 'user': found shape \(1, 1\)"),
    ],
)
def test_seeds_that_are_none(schema: Schema, seeds: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        seeds_of_types(schema, seeds)


def test_a_fanout_for_all_relations_or_for_each() -> None:
    assert fanout_of_relations(SCHEMA, [4, 3]) == [[4, 3], [4, 3]]
    assert fanout_of_relations(SCHEMA, {REV: [0, 1], "rates": [4, 3]}) == [[4, 3], [0, 1]]
    assert fanout_of_relations(SCHEMA, {RATES: (4,)}, [0]) == [[4], [0]]
    assert fanout_of_relations(FLAT, [4, 3]) == [[4, 3]]


@pytest.mark.parametrize(
    ("schema", "fanout", "default", "error", "message"),
    [
        (SCHEMA, {RATES: [1]}, None, InputError, r"nothing for \('movie', 'rev_rates', 'user'\)"),
        (SCHEMA, {}, None, InputError, r"\('user', 'rates', 'movie'\) and 1 more, expected a list"),
        (SCHEMA, {"buys": [1]}, None, InputError, "a relation of fanout is 'buys', expected one"),
        (SCHEMA, {RATES: [1], REV: [1, 2]}, None, InputError, "1 hops for .*rates.* and 2 for"),
        (SCHEMA, {RATES: [1]}, [1, 2], InputError, "1 hops for .* and 2 for .*rev_rates"),
        (SCHEMA, {RATES: 3, REV: [1]}, None, TypeError, r"fanout\[\('user'.* is 3, expected a li"),
        (SCHEMA, {RATES: [-2], REV: [1]}, None, ValueError, "of hop 0 is -2"),
        (SCHEMA, [1], [1], InputError, "default_fanout is .1., but fanout is that of all"),
        (FLAT, {RATES: [1]}, None, InputError, "by relation, expected a list"),
    ],
)
def test_fanouts_that_are_none(
    schema: Schema, fanout: Any, default: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        fanout_of_relations(schema, fanout, default)


@pytest.mark.parametrize(
    "time",
    [
        [60, 0, -60],
        np.array([60, 0, -60], np.int16),
        torch.tensor([60, 0, -60]),
        np.array([60, 0, -60], "datetime64[s]"),
        np.array([60, 0, -60], "datetime64[s]").astype("datetime64[ns]"),
        np.array([1, 0, -1], "datetime64[m]"),
        [datetime(1970, 1, 1, 0, 1), datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59)],
        {"user": [60, 0], "movie": [-60]},
        {"movie": np.array([-60], "datetime64[s]"), "user": np.array([60, 0])},
    ],
)
def test_times_on_the_scale_of_the_graph(time: Any) -> None:
    found = seed_times(SCHEMA, time, SEEDS, order=[0, 1])
    assert found is not None
    assert found.values is not None
    assert found.values.dtype == np.int64
    assert found.values.tolist() == [60, 0, -60]


@pytest.mark.parametrize("time", [[-60, 60, 0], torch.tensor([-60, 60, 0])])
def test_times_of_several_types_follow_the_order_in_which_these_were_given(time: Any) -> None:
    order = given_order(SCHEMA, {"movie": [3], "user": [1, 2]})
    assert order == [1, 0]
    found = seed_times(SCHEMA, time, SEEDS, order)
    assert found is not None
    assert found.values is not None
    assert found.values.tolist() == [60, 0, -60]


def test_times_of_several_types_in_an_unknown_order_are_refused() -> None:
    assert given_order(SCHEMA, ("movie", [3])) == given_order(FLAT, [3]) == []
    with pytest.raises(InputError, match=r"expected {'user': times, 'movie': times}"):
        seed_times(SCHEMA, [60, 0, -60], SEEDS)
    one = seed_times(SCHEMA, [60, 0], SEEDS[:1])
    assert one is not None
    assert one.values is not None
    assert one.values.tolist() == [60, 0]


def test_dates_of_pandas_keep_their_nanoseconds() -> None:
    moment = pd.Timestamp("2026-11-18 10:00:00.123456789")
    zoned = moment.tz_localize("UTC").tz_convert("Asia/Tokyo")
    expected = np.datetime64("2026-11-18T10:00:00.123456789").astype(np.int64)
    for time in (moment, zoned, [moment, zoned, moment], pd.Series([moment] * 3)):
        assert time_array(time, 3, "ns").tolist() == [expected] * 3
    with pytest.raises(ValueError, match="no whole number of the graph's unit, us"):
        time_array(moment, 3, "us")
    nanoseconds = replace(SCHEMA, time_unit="ns")
    assert time_window(nanoseconds, pd.Timedelta(1001, "ns")) == 1001


def test_one_time_for_all_seeds() -> None:
    for time in (7, np.int32(7), np.datetime64(7, "s"), torch.tensor(7)):
        found = seed_times(SCHEMA, time, SEEDS)
        assert found is not None
        assert found.values is not None
        assert found.values.tolist() == [7, 7, 7]
    found = seed_times(SCHEMA, {"user": 7, "movie": [8]}, SEEDS)
    assert found is not None
    assert found.values is not None
    assert found.values.tolist() == [7, 7, 8]


def test_times_that_the_data_has() -> None:
    assert seed_times(SCHEMA, None, SEEDS) is None
    own, column = seed_times(SCHEMA, "own", SEEDS), seed_times(SCHEMA, "seen", SEEDS)
    assert own is not None
    assert own.own
    assert column is not None
    assert column.columns == ("seen", "seen")
    each = seed_times(SCHEMA, {"user": "seen", "movie": "out"}, SEEDS)
    assert each is not None
    assert each.columns == ("seen", "out")
    assert time_array([], 0, "").tolist() == []


@pytest.mark.parametrize(
    ("time", "error", "message"),
    [
        ([1, 2], ValueError, r"found shape \(2,\), expected 3 times"),
        ([[1, 2, 3]], ValueError, r"found shape \(1, 3\)"),
        ([1.0, 2.0, 3.0], TypeError, "found float64, expected integers or dates"),
        (["a", "b", "c"], TypeError, "expected integers or dates"),
        ([True, False, True], TypeError, "found bool"),
        ([1, -(2**63), 3], ValueError, r"time\[1\] is no time \(NaT"),
        (np.array(["2020-01-01", "NaT", "2020-01-02"], "datetime64[s]"), ValueError, r"time\[1\]"),
        (np.array([1, 2, 2**63], np.uint64), ValueError, f"found {2**63}"),
        (np.array([1, 2, 3], "datetime64[ms]"), ValueError, "no whole number of the graph's unit"),
        (np.array([1, 2, 2**62], "datetime64[D]"), ValueError, "too far away"),
        ({"user": [1, 2]}, InputError, "seeds but no times of type 'movie'"),
        ({"user": [1, 2], "film": [1]}, InputError, "a type of time is 'film'"),
        ({"user": "own", "movie": [1]}, InputError, "'own' for one type and an array"),
        ({"user": "own", "movie": "seen"}, InputError, "a column for another"),
        ({"user": [1], "movie": [1]}, ValueError, "time of type 'user': found shape"),
    ],
)
def test_times_that_are_none(time: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        seed_times(SCHEMA, time, SEEDS)


def test_dates_need_a_unit() -> None:
    with pytest.raises(ValueError, match="does not say in which unit"):
        time_array(np.array([1], "datetime64[s]"), 1, "")
    assert time_array([5], 1, "").tolist() == [5]


@pytest.mark.parametrize(
    "window", [86_400, timedelta(days=1), np.timedelta64(1, "D"), np.timedelta64(24, "h")]
)
def test_a_window_on_the_scale_of_the_graph(window: Any) -> None:
    assert time_window(SCHEMA, window) == 86_400
    assert time_window(SCHEMA, None) == 0


@pytest.mark.parametrize(
    ("window", "error", "message"),
    [
        (0, ValueError, "time_window is 0, expected at least 1"),
        (-5, ValueError, "at least 1"),
        (1.5, TypeError, "expected a whole number"),
        (2**63, ValueError, "less than"),
        (timedelta(milliseconds=5), ValueError, "no whole number"),
    ],
)
def test_windows_that_are_none(window: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        time_window(SCHEMA, window)
