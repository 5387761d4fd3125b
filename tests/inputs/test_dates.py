"""Dates and times become int64 in a unit that the dataset knows."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from commands import run_graphzero
from contents import column
from graphzero import InputError, _engine
from graphzero.files.original_ids import encode_texts
from hypothesis import given
from hypothesis import strategies as st
from input_graphs import convert
from pyarrow import parquet

UNITS = {
    "D": _engine.TimeUnit.DAY,
    "s": _engine.TimeUnit.SECOND,
    "ms": _engine.TimeUnit.MILLISECOND,
    "us": _engine.TimeUnit.MICROSECOND,
    "ns": _engine.TimeUnit.NANOSECOND,
}
EXACT, ROUNDED, NO_TIME, OUT_OF_RANGE = range(4)


def parse(text: str, unit: str = "s") -> tuple[int, int]:
    times, status = _engine.parse_times(*encode_texts([text]), unit=UNITS[unit])
    return int(times[0]), int(status[0])


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1970-01-01", "s", (0, EXACT)),
        ("1969-12-31T23:59:59Z", "s", (-1, EXACT)),
        ("2013-01-01T10:00:00Z", "s", (1356998400 + 36000, EXACT)),
        ("2013-01-01 10:00", "s", (1356998400 + 36000, EXACT)),
        ("2013/01/01 10:00", "s", (1356998400 + 36000, EXACT)),
        ("2013-01-01T10:00:00+02:00", "s", (1356998400 + 28800, EXACT)),
        ("2013-01-01T10:00:00 -0230", "s", (1356998400 + 45000, EXACT)),
        ("2013-01-01T10:00:00+02", "s", (1356998400 + 28800, EXACT)),
        ("2013-01-01T10:00:00.25", "ms", (1357034400250, EXACT)),
        ("2013-01-01T10:00:00.25", "s", (1357034400, ROUNDED)),
        ("1969-12-31T23:59:59.5", "s", (-1, ROUNDED)),  # down, not towards zero
        ("1969-12-31T12:00", "D", (-1, ROUNDED)),
        ("2000-02-29", "D", (11016, EXACT)),
        ("2013-01-01T10:00:00.123456789", "ns", (1357034400123456789, EXACT)),
        ("2013-01-01T10:00:00.1234567891", "ns", (1357034400123456789, ROUNDED)),
        ("0001-01-01", "D", (-719162, EXACT)),
        ("9999-12-31", "D", (2932896, EXACT)),
    ],
)
def test_iso_dates(text: str, unit: str, expected: tuple[int, int]) -> None:
    assert parse(text, unit) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "2013", "2013-1-1", "2013-02-29", "2013-13-01", "2013-00-10", "2013-01-32", "1/2/2013",
        "2013-01-01T", "2013-01-01T25:00", "2013-01-01T10:60", "2013-01-01T10:00:60", "20130101",
        "2013-01-01T10:00:00.", "2013-01-01T10:00:00X", "2013-01-01T10:00:00+2", "2013-01-01x",
        "2013-01-01T10:00:00+02:", "2013-01-01T10:00:00Z ", "-2013-01-01", "2013-01-01T10",
        "2013/01-01", "2013-01/01", "2013/1/1", "1900-02-29", "2100-02-29",
    ],
)  # fmt: skip
def test_other_spellings_are_no_dates(text: str) -> None:
    assert parse(text)[1] == NO_TIME


def test_what_64_bits_do_not_hold() -> None:
    assert parse("9999-12-31", "ns")[1] == OUT_OF_RANGE
    assert parse("1677-09-21T00:12:43", "ns")[1] == OUT_OF_RANGE
    assert parse("1677-09-21T00:12:44", "ns")[1] == EXACT


@given(st.datetimes(), st.sampled_from(["s", "ms", "us"]))
def test_times_agree_with_numpy(time: dt.datetime, unit: str) -> None:
    exact = np.datetime64(time, "us").astype(np.int64)
    step = {"s": 10**6, "ms": 10**3, "us": 1}[unit]
    assert parse(time.isoformat(), unit) == (exact // step, int(exact % step != 0))


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("0,1\n1,2\n")
    return path


TIMES = ["2013-01-01T10:00:00Z", "2013-01-02T00:30:00+01:00", "1999-12-31"]
SECONDS = [1357034400, 1357083000, 946598400]


def test_text_and_parquet_give_the_same_times(tmp_path: Path, edges: Path) -> None:
    (tmp_path / "csv").mkdir()
    lines = "".join(f"{node},{time}\n" for node, time in enumerate(TIMES))
    (tmp_path / "t.csv").write_text("id,at\n" + lines)
    stamps = pa.array(SECONDS, pa.int64())
    kinds = {
        "texts": pa.array(TIMES),
        "seconds": stamps.cast(pa.timestamp("s")),
        "zoned": stamps.cast(pa.timestamp("s")).cast(pa.timestamp("ms", "Europe/Berlin")),
        "integers": stamps,
    }
    sources = {"csv": tmp_path / "t.csv"}
    for name, values in kinds.items():
        if name == "zoned":  # the same moments, which is what Arrow stores
            values = stamps.cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("ms", "Europe/Berlin"))
        parquet.write_table(pa.table({"id": [0, 1, 2], "at": values}), tmp_path / f"{name}.parquet")
        sources[name] = tmp_path / f"{name}.parquet"
    for name, source in sources.items():
        out = tmp_path / f"ds-{name}"
        report = gz.import_files(
            edges, out, nodes=source, columns={"at": ["at"]}, dtypes={"at": "date[s]"}
        )
        assert column(out, "at").tolist() == SECONDS
        assert gz.FeatureStore(out / "at.gd").unit == "s"
        assert report.columns["at"].times == (min(SECONDS), max(SECONDS))
        assert (out / "at.gd").read_bytes() == (tmp_path / "ds-csv/at.gd").read_bytes()


@pytest.mark.parametrize(
    ("kind", "unit"),
    [(pa.timestamp("ms"), "ms"), (pa.timestamp("us", "UTC"), "us"), (pa.date32(), "D")],
)
def test_arrow_says_the_unit_itself(tmp_path: Path, edges: Path, kind: Any, unit: str) -> None:
    values = pa.array([dt.date(2013, 1, 31), dt.date(1969, 12, 31), dt.date(2000, 1, 1)])
    table = pa.table({"at": values.cast(pa.timestamp("s")).cast(kind)})
    parquet.write_table(table, tmp_path / "t.parquet")
    gz.import_files(edges, tmp_path / "ds", columns={"at": tmp_path / "t.parquet"})
    store = gz.FeatureStore(tmp_path / "ds/at.gd")
    assert store.unit == unit
    found = store.get_tensor().astype(f"datetime64[{unit}]").astype("datetime64[D]")
    assert found.tolist() == [value.as_py() for value in values]


def test_dates_of_text_want_a_unit(tmp_path: Path, edges: Path) -> None:
    (tmp_path / "t.csv").write_text("id,at\n0,2013-01-01\n1,2014-01-01\n2,\n")
    options = {"nodes": tmp_path / "t.csv", "columns": {"at": ["at"]}}
    with pytest.raises(InputError, match=r"column 'at': found dates, expected their unit: at:date"):
        gz.import_files(edges, tmp_path / "ds", **options)
    with pytest.raises(
        InputError, match=r"t\.csv line 4: column 'at': found an empty field.*--fill"
    ):
        gz.import_files(edges, tmp_path / "ds", dtypes={"at": "date[D]"}, **options)
    gz.import_files(
        edges, tmp_path / "ds", dtypes={"at": "date[D]"}, fill={"at": "1970-01-02"}, **options
    )
    assert column(tmp_path / "ds", "at").tolist() == [15706, 16071, 1]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_no_date_is_named(tmp_path: Path, edges: Path, suffix: str) -> None:
    table = pa.table({"id": [0, 1, 2], "at": ["2013-01-01", "01/02/2013", "2013-01-03"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("id,at\n0,2013-01-01\n1,01/02/2013\n2,2013-01-03\n")
    place = "line 3: column 'at'" if suffix == "csv" else "column 'at' row 1"
    with pytest.raises(InputError, match=rf"{place}: found .01/02/2013., expected a date such as"):
        gz.import_files(
            edges,
            tmp_path / "ds",
            columns={"at": tmp_path / f"t.{suffix}"},
            dtypes={"at": "date[s]"},
        )


def test_the_unit_is_shown_and_exported(tmp_path: Path, edges: Path) -> None:
    lines = ["id,a,b", "0,2013-01-01,2013-01-01T00:00:00.5", "1,2014-01-01,10", "2,5,6"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    done = convert(
        "--edges", edges, "--nodes", tmp_path / "t.csv", "--columns", "at=a,b:date[s]",
        "--out", tmp_path / "ds",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "at: 3 x 2 int64, dates in s from 1970-01-01T00:00:05 to 2014-01-01T00:00:00, 1 of them "
        "rounded down to that" in done.stdout
    )
    shown = run_graphzero("info", "--json", tmp_path / "ds/at.gd")
    facts = json.loads(shown.stdout)["files"][0]
    assert (facts["unit"], facts["columns"]) == ("s", ["a", "b"])
    for kind in ("parquet", "npy"):
        gz.export_dataset(tmp_path / "ds", tmp_path / kind, format=kind)
        gz.import_folder(tmp_path / kind, tmp_path / f"again-{kind}")
        again = (tmp_path / f"again-{kind}/at.gd").read_bytes()
        assert again == (tmp_path / "ds/at.gd").read_bytes()
    nodes = parquet.read_table(tmp_path / "parquet/nodes.parquet")
    times = nodes.column("at").type.value_type
    assert times == pa.timestamp("ms", "UTC")  # Parquet has no seconds
