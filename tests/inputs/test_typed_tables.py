"""Tables that refer to each other become a dataset with types."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from contents import file_bytes, names
from graphzero import InputError
from input_graphs import convert
from pyarrow import feather, parquet
from typed_contents import TypedContents

ORIGIN = ("flights", "origin", "airports")
TAIL = ("flights", "tail", "planes")

FLIGHTS = """\
when,origin,tail,miles,delay,kind
2013-01-01T10:00:00Z,JFK,N1,1400,11,a
2013-01-01T12:00:00Z,LGA,N2,1416,,b
2013-01-02,JFK,N1,1089,-3,a
2013-01-03,EWR,N2,762,0,
"""
AIRPORTS = (
    "faa,lat,lon,name\nLGA,40.7,-73.8,La Guardia\nEWR,40.6,-74.1,Newark\nJFK,40.6,-73.7,JFK\n"
)
PLANES = "tail,year,maker\nN2,1998,AIRBUS\nN1,2004,BOEING\nN3,2010,AIRBUS\n"
DESCRIPTION = """
[tables.flights]
file = "flights.csv"
time = "when"
references = { origin = "airports", tail = "planes" }
features = ["miles"]
label = "delay"

[tables.airports]
file = "airports.csv"
key = "faa"
features = ["lat", "lon"]

[tables.planes]
file = "planes.csv"
key = "tail"
features = { year = "year" }
categories = ["maker"]
"""


def write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (directory / name).write_text(text)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    files = {"flights.csv": FLIGHTS, "airports.csv": AIRPORTS, "planes.csv": PLANES}
    write(tmp_path, {**files, "flights.toml": DESCRIPTION})
    return tmp_path


def linked(target: str, kind: Any = None) -> dict[str, Any]:
    """A table without rows that refers to another one: a dataset has a relation at least."""
    empty = pa.table({"r": pa.array([], kind or pa.int64())})
    return {"link": {"data": empty, "references": {"r": target}}}


def imported(tmp_path: Path, tables: Any, **options: Any) -> TypedContents:
    gz.import_tables(tables, tmp_path / "out", **options)
    return TypedContents(tmp_path / "out")


def problem(tmp_path: Path, tables: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        gz.import_tables(tables, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
    return str(caught.value)


def seconds(text: str) -> int:
    return int(np.datetime64(text, "s").astype(np.int64))


# --- What becomes of them ---


def test_the_command_makes_types_relations_times_and_columns(tables: Path) -> None:
    done = convert(tables / "flights.toml", "--out", tables / "out")
    assert done.returncode == 0, done.stderr
    found = TypedContents(tables / "out")
    assert found.counts == {"flights": 4, "airports": 3, "planes": 3}
    assert found.stored == [ORIGIN, TAIL]
    assert found.views == [
        ("airports", "rev_origin", "flights"),
        ("planes", "rev_tail", "flights"),
    ]
    # Keyed rows are numbered in the order of their keys: EWR, JFK, LGA; N1, N2, N3.
    assert found.keys("airports") == ["EWR", "JFK", "LGA"]
    assert found.keys("planes") == ["N1", "N2", "N3"]
    assert found.pairs(ORIGIN) == [(0, 1), (1, 2), (2, 1), (3, 0)]
    assert found.pairs(TAIL) == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert found.graph.time_unit == "s"
    expected = ["2013-01-01T10:00", "2013-01-01T12:00", "2013-01-02", "2013-01-03"]
    assert found.times("flights") == [seconds(text) for text in expected]
    assert found.column("flights", "time").tolist() == found.times("flights")
    assert found.column("flights", "x").tolist() == [[1400], [1416], [1089], [762]]
    delay = found.column("flights", "y")
    assert delay.dtype == np.float32  # one is missing, and no integer could say so
    assert delay.tolist()[0] == 11
    assert np.isnan(delay[1])
    np.testing.assert_allclose(
        found.column("airports", "x"), [[40.6, -74.1], [40.6, -73.7], [40.7, -73.8]], rtol=1e-6
    )
    assert found.column("planes", "year").tolist() == [2004, 1998, 2010]
    assert gz.Categories(tables / "out/planes/maker.gd").gather([0, 1]) == ["AIRBUS", "BOEING"]
    assert found.column("planes", "maker").tolist() == [1, 0, 0]
    assert found.files() == [
        "airports/original_id.gd",
        "airports/x.gd",
        "flights/time.gd",
        "flights/x.gd",
        "flights/y.gd",
        "graph.gl",
        "planes/maker.categories.gd",
        "planes/maker.gd",
        "planes/original_id.gd",
        "planes/year.gd",
    ]


def test_the_command_says_what_it_made_and_what_was_not_taken(tables: Path) -> None:
    text = (tables / "flights.toml").read_text()
    text = text.replace('label = "delay"', 'label = "delay"\nsplit = { at = [2013-01-02] }')
    (tables / "flights.toml").write_text(text)
    done = convert(tables / "flights.toml", "--out", tables / "out")
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == f"{tables / 'out'}: 10 nodes of 3 types, 8 edges of 2 relations"
    assert "flights: 4 nodes, times from 2013-01-01T10:00:00 to 2013-01-03T00:00:00" in lines
    assert "y: 4 float32, missing 1 in 'delay' (NaN)" in lines
    assert "splits: train 1, test 2, 1 row without a label in none of them" in lines
    assert "flights - origin - airports: 4 edges, back as rev_origin" in lines
    assert "maker: 3 int64, 2 categories" in lines
    assert "note: flights.csv: not taken: 'kind'" in lines
    assert "note: airports.csv: not taken: 'name'" in lines
    assert lines[-1].startswith("read ")


def test_the_report_has_the_same(tables: Path) -> None:
    report = gz.import_tables(tables / "flights.toml", tables / "out")
    assert report.types["flights"].num_nodes == 4
    assert report.types["flights"].times == (seconds("2013-01-01T10:00"), seconds("2013-01-03"))
    assert report.types["flights"].columns["y"].missing == {"delay": 1}
    assert report.relations[ORIGIN].num_edges == 4
    assert report.relations[ORIGIN].view == ("airports", "rev_origin", "flights")
    assert report.num_nodes == 10
    assert report.time_unit == "s"
    assert report.notes == (
        "flights.csv: not taken: 'kind'",
        "airports.csv: not taken: 'name'",
    )
    size = sum(len(content) for content in file_bytes(tables / "out").values())
    assert report.output_bytes == size


def test_slot_times_are_those_of_the_rows_that_refer(tables: Path) -> None:
    gz.import_tables(tables / "flights.toml", tables / "out")
    found = TypedContents(tables / "out")
    number = found.triples.index(ORIGIN)
    assert found.graph.neighbours(1, "in", number).tolist() == [0, 2]
    expected = [seconds("2013-01-01T10:00"), seconds("2013-01-02")]
    assert found.graph.slot_times(1, "in", number).tolist() == expected


# --- Where tables come from ---


def as_arrow(text: str) -> Any:
    from io import BytesIO

    from pyarrow import csv

    return csv.read_csv(BytesIO(text.encode()))


def as_frame(text: str) -> Any:
    pandas = pytest.importorskip("pandas")
    from io import StringIO

    return pandas.read_csv(StringIO(text))


def description(**sources: Any) -> dict[str, Any]:
    """That of the file, with tables from elsewhere."""
    own: dict[str, Any] = {
        "flights": {
            "time": "when",
            "references": {"origin": "airports", "tail": "planes"},
            "features": ["miles"],
            "label": "delay",
        },
        "airports": {"key": "faa", "features": ["lat", "lon"]},
        "planes": {"key": "tail", "features": {"year": "year"}, "categories": ["maker"]},
    }
    return {name: {**table, **sources[name]} for name, table in own.items()}


def test_tables_of_all_kinds_become_the_same_bytes(tables: Path) -> None:
    gz.import_tables(tables / "flights.toml", tables / "expected")
    expected = file_bytes(tables / "expected")
    flights = as_arrow(FLIGHTS)
    # Text says nothing about the unit, and pyarrow reads dates as times of seconds.
    parquet.write_table(flights, tables / "flights.parquet", store_schema=True)
    feather.write_feather(as_arrow(AIRPORTS), tables / "airports.feather")
    (tables / "planes").mkdir()
    planes = as_arrow(PLANES)
    parquet.write_table(planes.slice(0, 1), tables / "planes/part-0.parquet")
    parquet.write_table(planes.slice(1), tables / "planes/part-1.parquet")
    (tables / "flights.tsv.gz").write_bytes(gzip.compress(FLIGHTS.replace(",", "\t").encode()))
    variants = {
        "files": description(
            flights={"file": tables / "flights.tsv.gz"},
            airports={"file": tables / "airports.feather"},
            planes={"file": tables / "planes"},
        ),
        "parquet": description(
            flights={"file": tables / "flights.parquet"},
            airports={"data": as_arrow(AIRPORTS)},
            planes={"data": planes.to_batches()[0]},
        ),
        "arrays": description(
            flights={"data": {c: flights[c].to_pylist() for c in flights.column_names}},
            airports={"data": {c: as_arrow(AIRPORTS)[c] for c in ("faa", "lat", "lon")}},
            planes={
                "data": {
                    "tail": np.array(["N2", "N1", "N3"]),
                    "year": np.array([1998, 2004, 2010], np.int32),
                    "maker": ["AIRBUS", "BOEING", "AIRBUS"],
                }
            },
        ),
    }
    for name, variant in variants.items():
        gz.import_tables(variant, tables / name, time_unit="s")
        assert file_bytes(tables / name) == expected, name


def test_frames_of_pandas_become_the_same_bytes(tables: Path) -> None:
    gz.import_tables(tables / "flights.toml", tables / "expected")
    frames = description(
        flights={"data": as_frame(FLIGHTS)},
        airports={"data": as_frame(AIRPORTS).set_index("faa")},  # the key is its index
        planes={"data": as_frame(PLANES)},
    )
    gz.import_tables(frames, tables / "out")
    assert file_bytes(tables / "out") == file_bytes(tables / "expected")


def test_tensors_and_matrices_are_columns_too(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    data = {
        "id": torch.tensor([7, 3, 5]),
        "emb": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        "half": torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16),
    }
    spec = {"data": data, "key": "id", "features": {"emb": "emb", "half": "half"}}
    found = imported(tmp_path, {"t": spec, **linked("t")})
    assert found.keys("t") == [3, 5, 7]
    assert found.column("t", "emb").tolist() == [[3, 4], [5, 6], [1, 2]]
    assert found.column("t", "half").tolist() == [2, 3, 1]


def test_paths_of_a_description_are_relative_to_its_folder(tables: Path) -> None:
    (tables / "below").mkdir()
    (tables / "flights.toml").rename(tables / "below/flights.toml")
    with pytest.raises(FileNotFoundError, match=r"below/flights\.csv"):
        gz.import_tables(tables / "below/flights.toml", tables / "out")
    for name in ("flights.csv", "airports.csv", "planes.csv"):
        (tables / name).rename(tables / "below" / name)
    gz.import_tables(tables / "below/flights.toml", tables / "out")


# --- Keys and references ---


def test_integer_keys_are_numbered_by_value(tmp_path: Path) -> None:
    data = {"id": [10, -4, 2**62], "boss": [-4, 2**62, 2**62]}
    found = imported(
        tmp_path, {"t": {"data": data, "key": "id", "references": {"boss": "t"}, "reverse": False}}
    )
    assert found.keys("t") == [-4, 10, 2**62]
    assert found.pairs(("t", "boss", "t")) == [(0, 2), (1, 0), (2, 2)]


def test_a_reference_within_a_table_becomes_symmetric(tmp_path: Path) -> None:
    data = {"id": ["a", "b", "c"], "boss": ["b", None, "b"]}
    spec = {"data": data, "key": "id", "references": {"boss": "t"}, "missing": "drop"}
    found = imported(tmp_path, {"t": spec})
    own = found.relation(("t", "boss", "t"))
    assert own.symmetric
    assert found.views == []
    number = found.triples.index(("t", "boss", "t"))
    assert found.graph.neighbours(1, "out", number).tolist() == [0, 2]
    assert found.graph.neighbours(0, "out", number).tolist() == [1]


def test_a_reference_within_a_table_keeps_its_direction_if_its_reverse_has_a_name(
    tmp_path: Path,
) -> None:
    data = {"id": ["a", "b", "c"], "boss": ["b", None, "b"]}
    boss = {"table": "t", "reverse": "reports"}
    spec = {"data": data, "key": "id", "references": {"boss": boss}, "missing": "drop"}
    found = imported(tmp_path, {"t": spec})
    assert not found.relation(("t", "boss", "t")).symmetric
    assert found.pairs(("t", "boss", "t")) == [(0, 1), (2, 1)]
    assert found.views == [("t", "reports", "t")]
    assert found.pairs(("t", "reports", "t")) == [(1, 0), (1, 2)]


def test_rows_without_a_key_are_named_by_their_number(tmp_path: Path) -> None:
    tables = {
        "a": {"data": {"v": [1.0, 2.0, 3.0]}, "features": ["v"]},
        "b": {"data": {"r": [2, 0]}, "references": {"r": "a"}},
    }
    found = imported(tmp_path, tables)
    assert found.pairs(("b", "r", "a")) == [(0, 2), (1, 0)]
    assert not (tmp_path / "out/a/original_id.gd").exists()


def test_a_table_without_a_file_has_the_keys_that_references_name(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(
        "user,movie,stars,when\n7,m2,5,100\n3,m1,4,50\n7,m1,1,70\n"
    )
    tables = {
        "users": {},
        "movies": {},
        "ratings": {
            "file": tmp_path / "ratings.csv",
            "edges": {
                "source": {"column": "user", "table": "users"},
                "target": {"column": "movie", "table": "movies"},
            },
            "name": "rates",
            "time": "when",
            "weight": "stars",
            "features": {"stars": "stars"},
        },
    }
    found = imported(tmp_path, tables)
    assert found.keys("users") == [3, 7]
    assert found.keys("movies") == ["m1", "m2"]
    edges = found.edges(("users", "rates", "movies"))
    assert sorted(edges) == [(0, 0, 50, 4.0, 1), (1, 0, 70, 1.0, 2), (1, 1, 100, 5.0, 0)]
    assert found.views == [("movies", "rev_rates", "users")]
    assert found.column("users.rates.movies", "stars").tolist() == [5, 4, 1]
    assert found.graph.time_unit == ""


def test_padded_numbers_are_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n007\n7\n")
    (tmp_path / "b.csv").write_text("r\n7\n007\n")
    tables = {
        "a": {"file": tmp_path / "a.csv", "key": "id"},
        "b": {"file": tmp_path / "b.csv", "references": {"r": "a"}},
    }
    found = imported(tmp_path, tables)
    assert found.keys("a") == ["007", "7"]
    assert found.pairs(("b", "r", "a")) == [(0, 1), (1, 0)]


def test_whole_floating_numbers_name_integer_keys(tmp_path: Path) -> None:
    """As pandas writes integers of which some are missing."""
    (tmp_path / "b.csv").write_text("r,v\n7.0,1\n,1\n3.0,1\n")
    tables = {
        "a": {"data": {"id": [3, 7]}, "key": "id"},
        "b": {"file": tmp_path / "b.csv", "references": {"r": "a"}, "missing": "drop"},
        "c": {"data": {"r": np.array([np.nan, 7.0])}, "references": {"r": "a"}, "missing": "drop"},
    }
    found = imported(tmp_path, tables)
    assert found.pairs(("b", "r", "a")) == [(0, 1), (2, 0)]
    assert found.pairs(("c", "r", "a")) == [(1, 1)]


def test_decimals_name_integer_keys_to_the_last_digit(tmp_path: Path) -> None:
    # Floating values do not tell these two keys apart.
    large = [2**53, 2**53 + 1]
    users = {"data": {"id": large}, "key": "id"}
    named = pa.table({"u": pa.array([2**53 + 1, None], pa.decimal128(38, 0))})
    events = {"data": named, "references": {"u": "users"}, "missing": "drop"}
    found = imported(tmp_path, {"users": users, "events": events})
    assert found.keys("users") == large
    assert found.pairs(("events", "u", "users")) == [(0, 1)]


@pytest.mark.parametrize(("dtype", "digits"), [("float64", 53), ("float32", 24), ("float16", 11)])
@pytest.mark.parametrize("sign", [1, -1])
def test_floating_ids_that_may_be_rounded_are_refused(
    tmp_path: Path, dtype: str, digits: int, sign: int
) -> None:
    """pandas stores integers as floating values where one is missing: 2^53 + 1 becomes 2^53, which
    is another key."""
    pd = pytest.importorskip("pandas")
    large = [sign * 2**digits, sign * (2**digits + 1), sign * (2**digits - 1)]
    tables: dict[str, Any] = {
        "users": {"data": {"id": large}, "key": "id"},
        "events": {
            "data": pd.DataFrame({"u": pd.Series([large[2], large[1], None], dtype=dtype)}),
            "references": {"u": "users"},
            "missing": "drop",
        },
    }
    found = problem(tmp_path, tables)
    assert f"events column 'u' row 1: found {sign * 2**digits} as " in found
    assert f"expected an id below 2^{digits}, because floating values round" in found
    assert "store the column as integers with nulls (of pandas, dtype 'Int64')" in found
    events = pd.DataFrame({"u": pd.Series([large[2], large[1], None], dtype="Int64")})
    tables["events"]["data"] = events
    kept = imported(tmp_path, tables)
    ids = kept.keys("users")
    pairs = kept.pairs(("events", "u", "users"))
    assert [ids[target] for _, target in pairs] == [large[2], large[1]]
    # The floating values themselves, where none can have been rounded.
    events = pd.DataFrame({"u": pd.Series([large[2], None], dtype=dtype)})
    tables["events"]["data"] = events
    gz.import_tables(tables, tmp_path / "exact")
    pairs = TypedContents(tmp_path / "exact").pairs(("events", "u", "users"))
    assert [ids[target] for _, target in pairs] == [large[2]]


@pytest.mark.parametrize("text", [f"{2**53 + 1}.5", "1.5", f"{2**63}.0"])
def test_decimals_that_are_no_integers_are_named_with_their_row(tmp_path: Path, text: str) -> None:
    named = pa.table({"u": pa.array([Decimal("7.0"), Decimal(text)], pa.decimal128(38, 1))})
    tables = {
        "users": {"data": {"id": [7]}, "key": "id"},
        "events": {"data": named, "references": {"u": "users"}},
    }
    message = f"events column 'u' row 1: found {text}, expected an integer that 64 bits hold"
    assert message in problem(tmp_path, tables)


NOTHING = {"id": [0, 1], "f": [None, None], "c": [None, None], "r": [None, None], "s": [2, 3]}


@pytest.mark.parametrize("form", ["pandas", "parquet", "a folder", "one part"])
@pytest.mark.parametrize("keys", [[5, 6], ["p", "q"]])
def test_a_column_without_any_value_is_as_in_text(
    tmp_path: Path, form: str, keys: list[Any]
) -> None:
    """Arrow gives such a column the type null, as pandas does one of only None."""
    from pyarrow import parquet

    data: Any = NOTHING
    if form == "one part":  # the other one has values and so a type
        data = {name: [*values, *values] for name, values in NOTHING.items()}
        data.update(id=[0, 1, 2, 3], f=[None, None, 1.5, 2], c=[None, None, "x", "y"])
        data["r"] = [None, None, *keys]
    lines = [list(data), *([*row] for row in zip(*data.values(), strict=True))]
    text = "\n".join(",".join("" if v is None else str(v) for v in line) for line in lines)
    (tmp_path / "events.csv").write_text(text + "\n")
    table = pa.table(data)
    source: dict[str, Any] = {"data": table}
    if form == "pandas":
        pytest.importorskip("pandas")
        source["data"] = table.to_pandas()
    elif form != "parquet":
        (tmp_path / "events").mkdir()
        source = {"file": tmp_path / "events"}
        for number in range(0, table.num_rows, 2):
            part = {name: column[number : number + 2] for name, column in data.items()}
            parquet.write_table(pa.table(part), tmp_path / f"events/{number}.parquet")
    else:
        parquet.write_table(table, tmp_path / "events.parquet")
        source = {"file": tmp_path / "events.parquet"}
    for name, own in (("text", {"file": tmp_path / "events.csv"}), ("out", source)):
        tables = {
            "users": {"data": {"id": keys}, "key": "id"},
            "events": {
                **own,
                "key": "id",
                "missing": "drop",
                "references": {"r": "users"},
                "features": {"x": ["s", "f"], "alone": "f"},
                "categories": ["c"],
            },
        }
        gz.import_tables(tables, tmp_path / name)
    assert file_bytes(tmp_path / "out") == file_bytes(tmp_path / "text")


def test_numeric_features_are_not_those_without_a_type(tmp_path: Path) -> None:
    tables = {
        "a": {"data": pa.table({**NOTHING, "r": [0, 1]}), "key": "id", "features": "numeric"},
        "b": {"data": {"r": [0, 1]}, "references": {"r": "a"}},
    }
    assert imported(tmp_path, tables).column("a", "x").tolist() == [[0, 2], [1, 3]]


def test_references_of_encoded_texts_may_all_be_missing(tmp_path: Path) -> None:
    named = pa.table({"u": pa.array([None, None], pa.string()).dictionary_encode()})
    tables = {
        "users": {"data": {"id": ["a"]}, "key": "id"},
        "events": {"data": named, "references": {"u": "users"}, "missing": "drop"},
    }
    report = gz.import_tables(tables, tmp_path / "out")
    own = report.relations["events", "u", "users"]
    assert (own.num_edges, own.empty) == (0, 2)


def test_a_reference_to_nothing_is_an_error_with_its_place(tables: Path) -> None:
    write(tables, {"planes.csv": "tail,year,maker\nN2,1998,AIRBUS\n"})
    assert problem(tables, tables / "flights.toml") == (
        f"{tables}/flights.csv line 2 column 'tail': found 'N1', expected a key of "
        f"{tables}/planes.csv column 'tail'; missing = \"drop\" leaves out such edges and counts "
        "them"
    )


def test_references_to_nothing_are_dropped_and_counted_on_request(tables: Path) -> None:
    write(tables, {"planes.csv": "tail,year,maker\nN2,1998,AIRBUS\n"})
    text = (tables / "flights.toml").read_text()
    (tables / "flights.toml").write_text(f'missing = "drop"\n{text}')
    report = gz.import_tables(tables / "flights.toml", tables / "out")
    found = TypedContents(tables / "out")
    assert found.counts["flights"] == 4
    assert found.pairs(TAIL) == [(1, 0), (3, 0)]
    own = report.relations[TAIL]
    assert (own.num_edges, own.dangling, own.empty) == (2, 2, 0)
    done = convert(tables / "flights.toml", "--out", tables / "again")
    assert (
        "flights - tail - planes: 2 edges, back as rev_tail, dropped 2 references to nothing"
        in (done.stdout)
    )
    assert f"the first: {tables}/flights.csv line 2 column 'tail': found 'N1'" in done.stdout


def test_a_word_for_nothing_can_be_declared_for_tables_in_memory(tmp_path: Path) -> None:
    tables: dict[str, Any] = {
        "a": {"data": {"id": ["x"]}, "key": "id"},
        "b": {"data": {"r": ["x", "NA"]}, "references": {"r": "a"}, "missing_texts": ["NA"]},
    }
    assert "b column 'r' row 1: found 'NA', expected a value" in problem(tmp_path, tables)
    tables["b"]["missing"] = "drop"
    report = gz.import_tables(tables, tmp_path / "out")
    assert (report.relations["b", "r", "a"].empty, report.relations["b", "r", "a"].dangling) == (
        1,
        0,
    )


def test_a_word_for_nothing_gets_a_hint_and_can_be_declared(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("r\nx\nNA\n")
    tables: dict[str, Any] = {
        "a": {"data": {"id": ["x"]}, "key": "id"},
        "b": {"file": tmp_path / "b.csv", "references": {"r": "a"}},
    }
    assert problem(tmp_path, tables) == (
        f"{tmp_path}/b.csv line 3 column 'r': found 'NA', expected a key of a column 'id'; if it "
        'stands for a missing value, missing_texts = ["NA"] says so; missing = "drop" leaves out '
        "such edges and counts them"
    )
    tables["b"]["missing_texts"] = ["NA"]
    assert problem(tmp_path, tables) == (
        f'{tmp_path}/b.csv line 3: column \'r\': found "NA", expected a text; missing = "drop" '
        'leaves out such edges and counts them: "NA"'
    )
    tables["b"]["missing"] = "drop"
    report = gz.import_tables(tables, tmp_path / "out")
    assert (report.relations["b", "r", "a"].empty, report.relations["b", "r", "a"].dangling) == (
        1,
        0,
    )


def test_a_key_that_is_there_twice_is_named_with_both_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\nx\ny\nz\ny\n")
    tables = {"a": {"file": tmp_path / "a.csv", "key": "id"}, **linked("a", pa.string())}
    assert problem(tmp_path, tables) == (
        f"{tmp_path}/a.csv line 5 column 'id': found key 'y' again, expected each key once; it is "
        f"also at {tmp_path}/a.csv line 3"
    )
    data = {"id": np.r_[np.arange(100_000), 77]}
    assert problem(tmp_path, {"a": {"data": data, "key": "id"}, **linked("a")}) == (
        "a row 100000 column 'id': found key 77 again, expected each key once; it is also at a row "
        "77"
    )


def test_rows_without_a_key_or_time_are_errors_or_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,t\nx,3\n,4\nz,\ny,6\n")
    (tmp_path / "b.csv").write_text("r\nx\nz\ny\n")
    a: dict[str, Any] = {"file": tmp_path / "a.csv", "key": "id", "time": "t"}
    b = {"file": tmp_path / "b.csv", "references": {"r": "a"}, "missing": "drop"}
    assert problem(tmp_path, {"a": a, "b": b}) == (
        f"{tmp_path}/a.csv line 3: column 'id': found an empty field, expected a text; missing = "
        '"drop" leaves out such rows and counts them: ",4"'
    )
    del a["key"]
    assert "line 4: column 't': found an empty field, expected a date" in problem(
        tmp_path, {"a": a, "b": b}
    )
    a |= {"key": "id", "missing": "drop"}
    report = gz.import_tables({"a": a, "b": b}, tmp_path / "out")
    found = TypedContents(tmp_path / "out")
    assert report.types["a"].dropped == 2
    assert found.keys("a") == ["x", "y"]
    assert found.times("a") == [3, 6]
    assert found.pairs(("b", "r", "a")) == [(0, 0), (2, 1)]
    assert report.relations["b", "r", "a"].dangling == 1


def test_where_rows_without_keys_are_dropped_numbers_still_name_the_others(tmp_path: Path) -> None:
    tables = {
        "a": {"data": {"t": [3, None, 5], "v": [1, 2, 3]}, "time": "t", "features": {"v": "v"}},
        "b": {"data": {"r": [0, 1, 2]}, "references": {"r": "a"}},
    }
    report = gz.import_tables({"tables": tables, "missing": "drop"}, tmp_path / "out")
    found = TypedContents(tmp_path / "out")
    assert found.counts == {"a": 2, "b": 3}
    assert found.keys("a") == [0, 2]
    assert found.column("a", "v").tolist() == [1, 3]
    assert found.times("a") == [3, 5]
    assert found.pairs(("b", "r", "a")) == [(0, 0), (2, 1)]
    assert report.relations["b", "r", "a"].dangling == 1


# --- Tables of edges ---


def edges_spec(data: Any, **more: Any) -> dict[str, Any]:
    ends = {
        "source": {"column": "u", "table": "a"},
        "target": {"column": "v", "table": "b"},
    }
    return {"data": data, "edges": ends, **more}


TWO_TYPES: dict[str, Any] = {
    "a": {"data": {"id": ["p", "q"]}, "key": "id"},
    "b": {"data": {"id": [1, 2, 3]}, "key": "id"},
}


def test_edges_that_lack_an_end_or_a_time_are_dropped_with_their_columns(tmp_path: Path) -> None:
    data = {
        "u": ["p", None, "q", "x", "q", "p"],
        "v": [1, 2, 3, 1, 2, 9],
        "t": [10, 20, None, 40, 50, 60],
        "w": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
        "k": ["one", "two", "three", "four", "five", "six"],
    }
    spec = edges_spec(
        data, time="t", weight="w", features={"w": "w"}, categories=["k"], missing="drop"
    )
    report = gz.import_tables({**TWO_TYPES, "e": spec}, tmp_path / "out")
    found = TypedContents(tmp_path / "out")
    triple = ("a", "e", "b")
    # An edge's id is its row, so dropped ones leave gaps.
    assert sorted(found.edges(triple)) == [(0, 0, 10, 0.5, 0), (1, 1, 50, 2.5, 4)]
    own = report.relations[triple]
    assert (own.num_edges, own.empty, own.dangling, own.untimed) == (2, 1, 2, 1)
    assert own.times == (10, 50)
    assert found.column("a.e.b", "w").tolist() == [0.5, 0, 0, 0, 2.5, 0]
    codes = found.column("a.e.b", "k")
    names_of = gz.Categories(tmp_path / "out/a.e.b/k.gd")
    assert names_of.gather(codes[[0, 4]]) == ["one", "five"]
    assert len(names_of) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"u": ["p", ""]}, "e column 'u' row 1: found '', expected a value; missing = \"drop\""),
        (
            {"u": ["p", None]},
            "e column 'u' row 1: found null, expected a value; missing = \"drop\"",
        ),
        ({"u": ["p", "x"]}, "e row 1 column 'u': found 'x', expected a key of a column 'id'"),
        ({"v": [1, 9]}, "e row 1 column 'v': found 9, expected a key of b column 'id'"),
        ({"t": [1, None]}, "e column 't' row 1: found null, expected a value; missing = \"drop\""),
        ({"v": ["1", "2"]}, "e column 'v': found string, expected integers"),
        ({"t": ["2020-01-01", "y"]}, "e column 't' row 1: found 'y', expected a date such as"),
        ({"t": [True, False]}, "e column 't': found bool, expected integers or dates as times"),
        ({"t": [0.5, 1.5]}, "e column 't' row 0: found 0.5, expected an integer"),
        ({"t": [1, -(2**63)]}, "e row 1 column 't': found the time -9223372036854775808, which"),
        ({"w": [1.0, -1.0]}, "expected"),
        ({"w": [1.0, None]}, "e column 'w' row 1: found null, expected a value"),
    ],
)
def test_what_is_wrong_with_an_edge_is_named_with_its_place(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    data = {"u": ["p", "q"], "v": [1, 2], "t": [1, 2], "w": [1.0, 2.0], **change}
    found = problem(tmp_path, {**TWO_TYPES, "e": edges_spec(data, time="t", weight="w")})
    assert message in found


def test_repeated_edges_can_be_left_out(tmp_path: Path) -> None:
    data = {"u": ["p", "p", "q"], "v": [1, 1, 2]}
    spec = edges_spec(data, dedup=True)
    report = gz.import_tables({**TWO_TYPES, "e": spec}, tmp_path / "out")
    assert report.relations["a", "e", "b"].repeated == 1
    assert TypedContents(tmp_path / "out").pairs(("a", "e", "b")) == [(0, 0), (1, 1)]


def edges_within_a_type(**options: Any) -> dict[str, Any]:
    data = {"u": ["p", "p", "q"], "v": ["q", "r", "r"], "at": [5, 6, 7]}
    ends = {end: {"column": c, "table": "a"} for end, c in (("source", "u"), ("target", "v"))}
    return {"a": {}, "follows": {"data": data, "edges": ends, "time": "at", **options}}


@pytest.mark.parametrize(
    ("options", "view"),
    [
        ({}, "rev_follows"),
        ({"reverse": "followed_by"}, "followed_by"),
        ({"reverse": False}, None),
    ],
)
def test_edges_within_a_type_keep_their_direction(
    tmp_path: Path, options: dict[str, Any], view: str | None
) -> None:
    found = imported(tmp_path, edges_within_a_type(**options))
    follows = ("a", "follows", "a")
    assert not found.relation(follows).symmetric
    assert found.pairs(follows) == [(0, 1), (0, 2), (1, 2)]
    assert found.views == ([] if view is None else [("a", view, "a")])
    if view is not None:
        assert found.pairs(("a", view, "a")) == [(1, 0), (2, 0), (2, 1)]
    # A link sees its own edge in neither relation; what is earlier stays.
    graph = gz.Graph(tmp_path / "out")
    for (source, target), time in zip([(0, 1), (0, 2), (1, 2)], [5, 6, 7], strict=True):
        batch = graph.sample_links([source], [target], [-1, -1], relation=follows, time=[time])
        nodes = batch["a"].n_id
        ends = [nodes[batch[triple].edge_index].T.tolist() for triple in found.triples]
        pairs = {frozenset(pair) for own in ends for pair in own}
        assert frozenset((source, target)) not in pairs
        assert bool(pairs) == (time > 5) or view is None


def test_edges_within_a_type_can_be_undirected(tmp_path: Path) -> None:
    found = imported(tmp_path, edges_within_a_type(undirected=True))
    assert found.relation(("a", "follows", "a")).symmetric
    assert found.pairs(("a", "follows", "a")) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert found.views == []


@pytest.mark.parametrize(
    ("direction", "has_in", "has_out"), [("in", True, False), ("out", False, True)]
)
def test_one_direction_can_be_stored_alone(
    tmp_path: Path, direction: str, has_in: bool, has_out: bool
) -> None:
    spec = edges_spec({"u": ["p"], "v": [1]}, direction=direction)
    found = imported(tmp_path, {**TWO_TYPES, "e": spec})
    own = found.relation(("a", "e", "b"))
    assert (own.has_in, own.has_out) == (has_in, has_out)
    assert found.views == []


def test_edge_ids_are_stored_where_something_needs_them(tmp_path: Path) -> None:
    data = {"u": ["p", "q"], "v": [1, 2], "t": [5, 6]}
    cases: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({"edge_ids": True}, True),
        ({"time": "t"}, True),
        ({"time": "t", "edge_ids": False}, False),
        ({"features": ["t"]}, True),
    ]
    for number, (more, expected) in enumerate(cases):
        out = tmp_path / str(number)
        gz.import_tables({**TWO_TYPES, "e": edges_spec(data, **more)}, out)
        assert TypedContents(out).relation(("a", "e", "b")).has_edge_ids is expected, more


# --- Times ---


def timed(data: Any, time: Any = "t") -> dict[str, Any]:
    return {"data": data, "time": time}


def test_the_finest_unit_of_all_tables_is_that_of_the_dataset(tmp_path: Path) -> None:
    days = pa.table({"t": pa.array([1, 2], pa.date32())})
    millis = pa.table({"t": pa.array([1, 86_400_001], pa.timestamp("ms"))})
    found = imported(tmp_path, {"a": timed(days), "b": timed(millis), **linked("a")})
    assert found.graph.time_unit == "ms"
    assert found.times("a") == [86_400_000, 172_800_000]
    assert found.times("b") == [1, 86_400_001]


def test_a_unit_that_is_stated_holds_and_says_what_was_rounded(tmp_path: Path) -> None:
    millis = pa.table({"t": pa.array([1, 2_500], pa.timestamp("ms"))})
    tables = {"a": timed(millis), **linked("a")}
    report = gz.import_tables(tables, tmp_path / "out", time_unit="s")
    found = TypedContents(tmp_path / "out")
    assert (found.graph.time_unit, found.times("a")) == ("s", [0, 2])
    assert report.types["a"].rounded_times == 2
    assert gz.FeatureStore(tmp_path / "out/a/time.gd").unit == "s"


def test_times_are_not_rounded_unless_somebody_says_to_what(tmp_path: Path) -> None:
    # Rounded down, the second event would be known when the first one was.
    write(tmp_path, {"a.csv": "t\n2020-01-01T00:00:00.25\n2020-01-01T00:00:00.75\n"})
    tables = {"a": {"file": str(tmp_path / "a.csv"), "time": "t"}, **linked("a")}
    message = problem(tmp_path, tables)
    assert "a.csv column 't': found times that are finer than s" in message
    assert 'time_unit = "ms"' in message
    found = imported(tmp_path, tables, time_unit="ms")
    assert np.diff(found.times("a")).tolist() == [500]


@pytest.mark.parametrize(
    ("unit", "advice"),
    [
        ("s", 'time_unit = "ms", us or ns keeps them apart, time_unit = "s" rounds them down'),
        ("ms", 'time_unit = "us" or ns keeps them apart, time_unit = "ms" rounds them down'),
        ("us", 'time_unit = "ns" keeps them apart, time_unit = "us" rounds them down'),
        ("ns", 'expected the unit of the dataset: time_unit = "ns" rounds them down'),
    ],
)
def test_only_finer_units_are_advised(tmp_path: Path, unit: str, advice: str) -> None:
    write(tmp_path, {"b.csv": "t\n2020-01-01T00:00:00.1234567891\n"})
    tables = {
        "a": timed({"t": np.array([0], f"datetime64[{unit}]")}),
        "b": {"file": str(tmp_path / "b.csv"), "time": "t"},
    }
    message = problem(tmp_path, {**tables, **linked("a")})
    assert f"b.csv column 't': found times that are finer than {unit}, " in message
    assert message.endswith(advice)


def test_days_that_pyarrow_would_cut_off_are_refused(tmp_path: Path) -> None:
    days = np.array([5, 2**31 + 5], "datetime64[D]")
    message = problem(tmp_path, {"a": timed({"t": days}), **linked("a")})
    assert f"a column 't': found ndarray that pyarrow does not take: found {2**31 + 5}" in message


@pytest.mark.parametrize("kind", [pa.timestamp("ms"), pa.date32(), pa.date64()])
def test_times_may_be_encoded_by_a_dictionary(tmp_path: Path, kind: Any) -> None:
    days = pa.array([1, 2, 1], pa.date32()).cast(kind)
    encoded = pa.table({"t": days.dictionary_encode()})
    gz.import_tables({"a": timed(pa.table({"t": days})), **linked("a")}, tmp_path / "plain")
    found = imported(tmp_path, {"a": timed(encoded), **linked("a")})
    expected = TypedContents(tmp_path / "plain")
    assert found.graph.time_unit == expected.graph.time_unit
    assert found.times("a") == expected.times("a")


def test_integers_stay_on_their_scale(tmp_path: Path) -> None:
    found = imported(tmp_path, {"a": timed({"t": [-5, 7, 7]}), **linked("a")})
    assert (found.graph.time_unit, found.times("a")) == ("", [-5, 7, 7])


def test_integers_of_another_unit_are_converted(tmp_path: Path) -> None:
    tables = {
        "a": timed({"t": [1_500, 3_000]}, {"column": "t", "unit": "ms"}),
        "b": timed({"t": ["1970-01-01T00:00:07"]}),
        **linked("a"),
    }
    found = imported(tmp_path, tables, time_unit="s")
    assert (found.times("a"), found.times("b")) == ([1, 3], [7])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"a": timed({"t": [1]}), "b": timed({"t": ["2020-01-01"]})},
            "a column 't': found integers and in b column 't' dates, expected one scale: time_unit "
            "says what integers count (D, s, ms, us or ns), or time = { column = NAME, unit = UNIT "
            "} of one table",
        ),
        (
            {"a": timed({"t": ["2020-01-01"]}, {"column": "t", "unit": "s"})},
            "a column 't': found dates and the unit s, expected integers: dates need none",
        ),
        (
            {"a": timed({"t": ["soon"]})},
            "a column 't' row 0: found 'soon', expected a date such as 2013-01-31",
        ),
        (
            {
                "a": timed({"t": [2**62]}, {"column": "t", "unit": "D"}),
                "b": timed({"t": ["2020-01-01"]}),
            },
            "a row 0 column 't': found a time that 64 bits do not hold in s",
        ),
    ],
)
def test_times_that_do_not_fit_together_are_refused(
    tmp_path: Path, tables: Any, message: str
) -> None:
    assert message in problem(tmp_path, {**tables, **linked("a")})


# --- Splits ---


def test_splits_are_cut_by_time_and_leave_out_rows_without_a_label(tmp_path: Path) -> None:
    data = {"id": [5, 4, 3, 2, 1, 0], "t": [10, 20, 30, 40, 50, 60], "y": [1, 2, None, 4, 5, 6]}
    spec = {
        "data": data,
        "key": "id",
        "time": "t",
        "label": "y",
        "split": {"at": [30, 50]},
    }
    report = gz.import_tables({"a": spec, **linked("a")}, tmp_path / "out")
    found = TypedContents(tmp_path / "out")
    # A point belongs to what begins there. Nodes are numbered by their keys.
    assert found.column("a", "train").tolist() == [4, 5]
    assert found.column("a", "valid").tolist() == [2]
    assert found.column("a", "test").tolist() == [0, 1]
    assert report.types["a"].unlabelled == 1


@pytest.mark.parametrize("label", ["y", {"column": "y", "fill": 0}])
@pytest.mark.parametrize("split", [{"at": [25]}, {"column": "part"}])
def test_a_label_that_was_filled_in_is_none(tmp_path: Path, label: Any, split: Any) -> None:
    data = {
        "id": [4, 3, 2, 1],
        "t": [10, 20, 30, 40],
        "y": [1, None, 2, None],
        "part": ["train", "train", "test", "test"],
    }
    spec = {"data": data, "key": "id", "time": "t", "label": label, "split": split}
    report = gz.import_tables({"a": spec, **linked("a")}, tmp_path / "out")
    found = TypedContents(tmp_path / "out")
    assert found.column("a", "train").tolist() == [3]
    assert found.column("a", "test").tolist() == [1]
    assert report.types["a"].unlabelled == 2


@pytest.mark.parametrize("split", [{"at": [25]}, {"column": "part"}])
def test_splits_of_edges_leave_out_those_that_dedup_drops(tmp_path: Path, split: Any) -> None:
    data = {
        "u": ["p", "q", "p", "q", "q"],
        "v": [1, 3, 1, 3, 3],
        "t": [10, 20, 10, 20, 30],
        "part": ["train", "train", "train", "train", "test"],
    }
    spec = edges_spec(data, time="t", split=split, dedup=True)
    found = imported(tmp_path, {**TWO_TYPES, "e": spec})
    assert found.column("a.e.b", "train").tolist() == [0, 1]
    assert found.column("a.e.b", "test").tolist() == [4]


def test_a_split_of_edges_needs_edge_ids(tmp_path: Path) -> None:
    data = {"u": ["p"], "v": [1], "part": ["train"]}
    spec = edges_spec(data, split={"column": "part"}, edge_ids=False)
    found = problem(tmp_path, {**TWO_TYPES, "e": spec})
    assert "tables.e.edge_ids: found False, expected true, or nothing: a split lists" in found


@pytest.mark.parametrize("stated", ["s", "ms", "us", None])
def test_integer_points_count_the_unit_of_their_table(tmp_path: Path, stated: str | None) -> None:
    """Whatever the dataset counts: its unit may be stated, or follow from another table."""
    time = {"column": "t", "unit": "ms"}
    other = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    for rows in ("nodes", "edges"):
        data = {"u": ["p", "q"], "v": [1, 3], "t": [4000, 6000]}
        spec: dict[str, Any] = {"data": data, "time": time, "split": {"at": [5000]}}
        tables = {"e": spec, **linked("e"), "other": timed(other)}
        where = "e"
        if rows == "edges":
            tables = {**TWO_TYPES, "e": edges_spec(**spec), "other": timed(other)}
            where = "a.e.b"
        gz.import_tables(tables, tmp_path / rows, time_unit=stated)
        found = TypedContents(tmp_path / rows)
        assert found.graph.time_unit == (stated or "ns")
        assert found.column(where, "train").tolist() == [0]
        assert found.column(where, "test").tolist() == [1]


@pytest.mark.parametrize(
    ("unit", "point", "stated", "message"),
    [
        (
            "ms",
            5500,
            "s",
            "tables.a.split: found 5500 (in ms, the unit of the table's times), which is finer "
            "than the unit of the dataset, s, so that rows would be on the wrong side of it",
        ),
        (
            "D",
            2**60,
            "ns",
            f"tables.a.split: found {2**60} (in D, the unit of the table's times), which 64 bits "
            "do not hold in ns, the unit of the dataset",
        ),
    ],
)
def test_integer_points_that_the_unit_of_the_dataset_has_not_are_refused(
    tmp_path: Path, unit: str, point: int, stated: str, message: str
) -> None:
    spec = {**timed({"t": [1]}, {"column": "t", "unit": unit}), "split": {"at": [point]}}
    assert message in problem(tmp_path, {"a": spec, **linked("a")}, time_unit=stated)


def test_splits_of_edges_are_lists_of_edge_ids(tmp_path: Path) -> None:
    data = {"u": ["p", "x", "q", "p"], "v": [1, 2, 3, 1], "t": [10, 20, 30, 40]}
    spec = edges_spec(data, time="t", split={"at": [25]}, missing="drop")
    found = imported(tmp_path, {**TWO_TYPES, "e": spec})
    assert found.column("a.e.b", "train").tolist() == [0]
    assert found.column("a.e.b", "test").tolist() == [2, 3]


def test_splits_are_named_by_a_column(tmp_path: Path) -> None:
    data = {"id": ["c", "b", "a", "d"], "part": ["train", "test", None, "train"]}
    spec = {"data": data, "key": "id", "split": {"column": "part"}}
    found = imported(tmp_path, {"a": spec, **linked("a", pa.string())})
    assert found.column("a", "train").tolist() == [2, 3]
    assert found.column("a", "test").tolist() == [1]
    edges = edges_spec(
        {"u": ["p", "q"], "v": [1, 2], "s": ["test", "train"]}, split={"column": "s"}
    )
    gz.import_tables({**TWO_TYPES, "e": edges}, tmp_path / "edges")
    assert TypedContents(tmp_path / "edges").column("a.e.b", "test").tolist() == [0]


@pytest.mark.parametrize(
    ("data", "split", "message"),
    [
        (
            {"t": [1]},
            {"at": ["2020-01-01"]},
            "expected an integer as the times are; time_unit says",
        ),
        (
            {"t": ["2020-01-01"]},
            {"at": ["soon"]},
            "found 'soon', expected a date such as 2013-01-31",
        ),
        (
            {"t": ["2020-01-01"]},
            {"at": [2020, 2021]},
            "tables.a.split: found 2020, expected a date such as 2013-01-31, as the times are",
        ),
        (
            {"t": np.array(["2020-01-01"], "datetime64[s]")},
            {"at": ["2020-01-01", 2021]},
            "tables.a.split: found 2021, expected a date such as 2013-01-31, as the times are",
        ),
        ({"t": [1]}, {"at": [5, 5]}, "found 5, 5, expected points in time that ascend"),
        (
            {"t": ["2020-01-01"]},
            {"at": ["2020-01-02T00:00:00.5"]},
            "found '2020-01-02T00:00:00.5', which is finer than the unit of the dataset, s",
        ),
        ({"t": [1]}, {"at": [2**63]}, f"found {2**63}, which 64 bits do not hold"),
        (
            {"t": [1], "c": [1]},
            {"column": "c"},
            "a column 'c': found int64, expected texts such as",
        ),
        (
            {"t": [1], "c": ["a b"]},
            {"column": "c"},
            "as the name of a split, column 'a b': expected",
        ),
        (
            {"t": [1], "c": ["time"]},
            {"column": "c"},
            "found 'time', which a column is called already",
        ),
        (
            {"t": range(65), "c": [f"s{i}" for i in range(65)]},
            {"column": "c"},
            "a column 'c': found 65 texts, expected names of splits such as train, valid, test, 64",
        ),
    ],
)
def test_what_is_wrong_with_a_split_is_named(
    tmp_path: Path, data: Any, split: Any, message: str
) -> None:
    tables = {"a": {**timed(data), "split": split}, **linked("a")}
    assert message in problem(tmp_path, tables)


# --- Columns ---


def test_all_numeric_columns_that_are_nothing_else_can_be_features(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,t,u,v,w,name,y\n1,5,0.5,3,true,x,1\n2,6,1.5,,false,z,0\n")
    spec = {
        "file": tmp_path / "a.csv",
        "key": "id",
        "time": "t",
        "features": "numeric",
        "label": "y",
    }
    report = gz.import_tables({"a": spec, **linked("a")}, tmp_path / "out")
    x = TypedContents(tmp_path / "out").column("a", "x")
    assert x[0].tolist() == [0.5, 3, 1]
    assert np.isnan(x[1][1])
    assert gz.FeatureStore(tmp_path / "out/a/x.gd").columns == ("u", "v", "w")
    assert report.notes == ("a.csv: not taken: 'name'",)


def test_integers_of_a_label_that_are_rounded_are_counted(tmp_path: Path) -> None:
    """A label with a missing value becomes floating without being asked for that."""
    data = {"v": [2**24 + 1, None, 5, 2**24 + 3]}
    tables = {"a": {"data": data, "label": "v", "features": ["v"]}, **linked("a")}
    columns = gz.import_tables(tables, tmp_path / "out").types["a"].columns
    assert {name: columns[name].rounded_integers for name in ("x", "y")} == {"x": 2, "y": 2}
    asked = {"a": {"data": data, "label": {"column": "v", "type": "float32"}}, **linked("a")}
    columns = gz.import_tables(asked, tmp_path / "asked").types["a"].columns
    assert columns["y"].rounded_integers == 0


@pytest.mark.parametrize("kind", [pa.decimal128(20, 0), pa.decimal256(50, 0)])
def test_decimals_without_digits_after_the_point_are_integers(tmp_path: Path, kind: Any) -> None:
    """As databases store them. Floating values would round them without a word."""
    large = [2**24 + 1, 2**53 + 1, -(2**63)]
    data = pa.table({"k": pa.array(large, kind), "v": pa.array(large, kind)})
    spec = {"data": data, "key": "k", "label": "v", "categories": {"c": "v"}}
    found = imported(tmp_path, {"a": spec, **linked("a")})
    assert found.keys("a") == found.column("a", "y").tolist() == sorted(large)
    assert found.column("a", "y").dtype == np.int64
    assert found.column("a", "c").tolist() == [0, 1, 2]
    # Beside a missing value a label becomes floating, which counts what that rounds.
    label = pa.table({"v": pa.array([2**24 + 1, None, 5], kind)})
    tables = {"a": {"data": label, "label": "v"}, **linked("a")}
    columns = gz.import_tables(tables, tmp_path / "missing").types["a"].columns
    assert columns["y"].rounded_integers == 1
    # As ends of edges they are ids.
    parquet.write_table(
        pa.table({"source": pa.array([0, 2**24 + 1], kind), "target": pa.array([1, 0], kind)}),
        tmp_path / "edges.parquet",
    )
    gz.import_files(tmp_path / "edges.parquet", tmp_path / "edges", relabel=True)
    assert gz.OriginalIds(tmp_path / "edges").gather([0, 1, 2]).tolist() == [0, 1, 2**24 + 1]


def test_decimals_that_64_bits_do_not_hold_are_named_with_their_row(tmp_path: Path) -> None:
    data = pa.table({"v": pa.array([1, 2**63], pa.decimal128(38, 0))})
    message = problem(tmp_path, {"a": {"data": data, "label": "v"}, **linked("a")})
    assert (
        f"a column 'v' row 1: found {2**63}, expected an integer that 64 bits hold; as float64 the "
        "column takes larger ones, rounded" in message
    )
    asked = {"data": data, "label": {"column": "v", "type": "float64"}}
    found = imported(tmp_path, {"a": asked, **linked("a")})
    assert found.column("a", "y").tolist() == [1, 2.0**63]


@pytest.mark.parametrize("size", [2, -1])
def test_lists_of_decimals_are_lists_of_numbers(tmp_path: Path, size: int) -> None:
    prices = [[Decimal("0.25"), Decimal("-1.50")], [Decimal("3.75"), None]]
    counts = [[1, 2**53 + 1], [2, 3]]
    data = pa.table(
        {
            "p": pa.array(prices, pa.list_(pa.decimal128(5, 2), size)),
            "n": pa.array(counts, pa.list_(pa.decimal128(20, 0), size)),
        }
    )
    spec = {"data": data, "features": {"p": "p", "n": "n"}}
    found = imported(tmp_path, {"a": spec, **linked("a")})
    np.testing.assert_array_equal(found.column("a", "p"), [[0.25, -1.5], [3.75, np.nan]])
    assert found.column("a", "p").dtype == np.float32
    assert found.column("a", "n").tolist() == counts
    too_large = pa.table({"n": pa.array([[1, 2], [3, 2**63]], pa.list_(pa.decimal128(20, 0)))})
    refused = {"a": {"data": too_large, "features": {"n": "n"}}, **linked("a")}
    message = problem(tmp_path / "no", refused)
    assert f"a column 'n' row 1: found {2**63}, expected an integer that 64 bits hold" in message


def test_null_within_a_dictionary_is_a_missing_value(tmp_path: Path) -> None:
    encoded = pc.dictionary_encode(pa.array([7, None, 7]), null_encoding="encode")
    assert encoded.null_count == 0
    data = pa.table({"v": encoded})
    spec = {"data": data, "features": {"v": "v"}}
    assert "a column 'v' row 1: found null, expected a value" in problem(
        tmp_path, {"a": spec, **linked("a")}
    )
    found = imported(tmp_path, {"a": {"data": data, "label": "v"}, **linked("a")})
    assert found.column("a", "y").dtype == np.float32
    np.testing.assert_array_equal(found.column("a", "y"), [7, np.nan, 7])


def test_missing_values_are_filled_on_request(tmp_path: Path) -> None:
    data = {"a": [1.0, None, 3.0], "b": [1, None, 5], "c": ["x", None, "y"]}
    spec = {
        "data": data,
        "features": {
            "a": {"column": "a", "fill": "mean"},
            "b": {"column": "b", "fill": -7, "type": "int32"},
        },
        "categories": {"c": {"column": "c", "fill": "none"}},
        "label": {"columns": ["a"], "fill": 0},
    }
    found = imported(tmp_path, {"t": spec, **linked("t")})
    assert found.column("t", "a").tolist() == [1, 2, 3]
    assert found.column("t", "b").tolist() == [1, -7, 5]
    assert gz.Categories(tmp_path / "out/t/c.gd").gather(found.column("t", "c")) == [
        "x",
        "none",
        "y",
    ]
    assert found.column("t", "y").tolist() == [1, 0, 3]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"features": ["a", "name"]},
            "t column 'name': found string beside other columns of 'x', expected numbers; give it "
            'a name of its own, such as features = { name = "name" }, or leave it out',
        ),
        (
            {"features": {"b": "b"}},
            "t column 'b' row 1: found null, expected a value; fill = 0 replaces it, type = "
            '"float32" keeps it as NaN',
        ),
        ({"features": ["c"]}, "t: found no column 'c', expected one of 'a', 'b', 'name', 'd'"),
        ({"key": "a"}, "t column 'a' row 0: found 0.5, expected an integer"),
        ({"key": "d"}, "t column 'd': found timestamp[s], expected integers or texts as ids"),
        ({"key": "flag"}, "t: found no column 'flag'"),
        (
            {"features": {"d": {"column": "d", "type": "category"}}},
            "t column 'd': found timestamp[s], expected texts or integers as categories",
        ),
    ],
)
def test_what_is_wrong_with_a_column_is_answered_in_the_words_of_the_description(
    tmp_path: Path, spec: Any, message: str
) -> None:
    data = pa.table(
        {
            "a": [0.5, 1.5],
            "b": pa.array([1, None]),
            "name": ["x", "y"],
            "d": pa.array([1, 2], pa.timestamp("s")),
        }
    )
    assert message in problem(tmp_path, {"t": {"data": data, **spec}, **linked("t")})


def test_dates_of_text_get_the_hint_of_a_description(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("d\n2020-01-01\n")
    spec = {"file": tmp_path / "a.csv", "features": {"d": "d"}}
    assert problem(tmp_path, {"a": spec, **linked("a")}) == (
        f"{tmp_path}/a.csv column 'd': found dates, expected their unit: {{ column = \"d\", type = "
        '"date[s]" } counts seconds since 1970 (or D, ms, us, ns), { column = "d", type = '
        '"category" } takes them as texts'
    )


def test_half_precision_is_an_option(tables: Path) -> None:
    convert(tables / "flights.toml", "--out", tables / "out", "--dtype", "float16")
    assert gz.FeatureStore(tables / "out/airports/x.gd").dtype is gz.DataType.FLOAT16
    assert gz.FeatureStore(tables / "out/flights/y.gd").dtype is gz.DataType.FLOAT16


# --- Objects and files that are no tables ---


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (5, "t: found int, expected a table: the path of a file, a table of pyarrow, pandas or"),
        ({"a": [1], "b": [1, 2]}, "t: found lengths a 1, b 2, expected them equal"),
        ({5: [1]}, "t: found column 5, expected a text as its name"),
        ({"a": [1, "x"]}, "t column 'a': found list that pyarrow does not take"),
        ({"a": np.zeros((2, 2, 2))}, "found shape (2, 2, 2), expected (rows,) or (rows, values)"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, data: Any, message: str) -> None:
    assert message in problem(tmp_path, {"t": {"data": data}, **linked("t")})


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.gd", "a.gl"])
def test_arrays_are_no_tables(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"anything")
    assert "expected a table: text, Parquet, Arrow" in problem(
        tmp_path, {"t": {"file": tmp_path / name}, **linked("t")}
    )


def test_arguments_of_wrong_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="expected a dict of tables by name, or the path of a TOML"):
        gz.import_tables(5, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected the path of the dataset to make"):
        gz.import_tables({}, 5)  # type: ignore[arg-type]
    tables = {"a": {"data": {"x": [1]}}, **linked("a")}
    with pytest.raises(ValueError, match="time_unit: found 'h', expected one of D, s, ms, us, ns"):
        gz.import_tables(tables, tmp_path / "out", time_unit="h")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        gz.import_tables(tables, tmp_path / "out", colour=1)  # type: ignore[call-arg]


# --- How it is done ---


def test_a_table_that_changes_while_it_is_read_is_refused(
    tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphzero.conversion import convert_typed

    whole = convert_typed._Making.make_relations

    def make_relations(self: Any) -> Any:
        with (tables / "planes.csv").open("a") as file:
            file.write("N9,2001,X\n")
        return whole(self)

    monkeypatch.setattr(convert_typed._Making, "make_relations", make_relations)
    assert "planes.csv: found 71 bytes, expected 61 as before: it changed while it was read" in (
        problem(tables, tables / "flights.toml")
    )


def test_a_dataset_is_replaced_only_on_request(tables: Path) -> None:
    gz.import_tables(tables / "flights.toml", tables / "out")
    before = file_bytes(tables / "out")
    with pytest.raises(FileExistsError, match="overwrite"):
        gz.import_tables(tables / "flights.toml", tables / "out")
    write(tables, {"planes.csv": PLANES.replace("N3", "N4")})
    gz.import_tables(tables / "flights.toml", tables / "out", overwrite=True)
    after = file_bytes(tables / "out")
    assert after.keys() == before.keys()
    assert after["planes/original_id.gd"] != before["planes/original_id.gd"]
    assert [name for name in names(tables) if "part-" in name] == []


def test_a_folder_with_other_things_is_never_replaced(tables: Path) -> None:
    gz.import_tables(tables / "flights.toml", tables / "out")
    (tables / "out/planes/notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="holds 'planes', which is no part of a dataset"):
        gz.import_tables(tables / "flights.toml", tables / "out", overwrite=True)
    assert (tables / "out/planes/notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--edges", "e.csv"), "found --edges, which is for datasets of one type"),
        (("--fill", "0"), "found --fill, which is for datasets of one type"),
        (("--num-nodes", "5"), "found --num-nodes, which is for datasets of one type"),
        (("--on-error", "skip"), "found --on-error skip, which is for datasets of one type"),
        (("--no-reverse",), "found --no-reverse, which is for folders of datasets with types"),
    ],
)
def test_options_of_datasets_of_one_type_are_refused(
    tables: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = convert(tables / "flights.toml", "--out", tables / "out", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tables / "out").exists()


def test_no_directory_is_made_for_a_type_without_columns(tmp_path: Path) -> None:
    tables = {"a": {"data": {"v": [1, 2]}}, "b": {"data": {"r": [0]}, "references": {"r": "a"}}}
    found = imported(tmp_path, tables)
    assert found.files() == ["graph.gl"]
    assert names(tmp_path / "out") == ["graph.gl"]


def test_tables_without_rows_are_types_without_nodes(tmp_path: Path) -> None:
    spec = {"data": {"v": pa.array([], pa.float32())}, "features": ["v"]}
    found = imported(tmp_path, {"a": spec, **linked("a")})
    assert found.counts == {"a": 0, "link": 0}
    assert found.column("a", "x").shape == (0, 1)


def test_times_of_a_text_without_rows_are_of_any_unit(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "t\n"})
    tables = {
        "a": {"file": str(tmp_path / "a.csv"), "time": "t"},
        "b": timed({"t": ["2020-01-01"]}),
        **linked("a"),
    }
    found = imported(tmp_path, tables)
    assert (found.graph.time_unit, found.counts["a"]) == ("s", 0)


def test_tables_without_any_relation_are_refused(tmp_path: Path) -> None:
    assert problem(tmp_path, {"a": {"data": {"v": [1]}}}) == (
        "import_tables(): found no references and no table of edges, expected one relation at least"
    )


def test_names_of_any_letters_become_encoded_directories(tmp_path: Path) -> None:
    tables = {
        "Größe 1": {"data": {"id": [1], "v": [0.5]}, "key": "id", "features": ["v"]},
        "b": {"data": {"a.b": [1]}, "references": {"a.b": "Größe 1"}},
    }
    found = imported(tmp_path, tables)
    assert found.counts == {"Größe 1": 1, "b": 1}
    assert found.stored == [("b", "a.b", "Größe 1")]
    assert (tmp_path / "out/Gr%C3%B6%C3%9Fe%201/x.gd").is_file()


def test_a_list_of_one_feature_is_a_matrix_as_one_of_several_is(tmp_path: Path) -> None:
    data = {"n": [3, 4], "name": ["p", "q"]}
    features = {"x": ["n"], "plain": "n", "name": ["name"], "small": {"columns": ["n"]}}
    found = imported(tmp_path, {"a": {"data": data, "features": features}, **linked("a")})
    for name in ("x", "small"):
        assert found.column("a", name).dtype == np.float32
        assert found.column("a", name).tolist() == [[3], [4]]
    assert found.column("a", "plain").dtype == np.int64
    assert found.column("a", "plain").tolist() == [3, 4]
    assert found.column("a", "name").tolist() == [0, 1]  # categories


def test_splits_of_a_table_of_edges_that_are_all_dropped_are_empty(tmp_path: Path) -> None:
    tables = {
        "a": {"data": {"id": [1, 2]}, "key": "id"},
        "rates": {
            "data": {"s": [7, 8], "d": [1, 2], "t": [5, 6], "y": [0.5, None]},
            "edges": {
                "source": {"column": "s", "table": "a"},
                "target": {"column": "d", "table": "a"},
            },
            "time": "t",
            "label": "y",
            "split": {"at": [6]},
            "missing": "drop",
        },
    }
    found = imported(tmp_path, tables)
    assert found.pairs(("a", "rates", "a")) == []
    for name in ("train", "test"):
        assert gz.FeatureStore(tmp_path / f"out/a.rates.a/{name}.gd").get_tensor().shape == (0,)
