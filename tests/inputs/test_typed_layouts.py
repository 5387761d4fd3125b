"""Folders of datasets with types: OGB's layout, RelBench's in both releases."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from graphzero import InputError
from graphzero.conversion.inputs.simple_yaml import parse_yaml
from input_graphs import convert
from pyarrow import parquet
from typed_contents import TypedContents

WRITES = ("author", "writes", "paper")
CITES = ("paper", "cites", "paper")


def write_lines(path: Path, lines: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [row if isinstance(row, list | tuple) else [row] for row in lines]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def mag(tmp_path: Path) -> Path:
    """As ogbn-mag is after unpacking, in small."""
    folder = tmp_path / "mag"
    raw = folder / "raw"
    write_lines(raw / "num-node-dict.csv.gz", [["author", "paper"], [3, 4]])
    write_lines(raw / "triplet-type-list.csv.gz", [WRITES, CITES])
    write_lines(raw / "nodetype-has-feat.csv.gz", [["author", "paper"], [False, True]])
    writes, cites = (
        raw / "relations/author___writes___paper",
        raw / "relations/paper___cites___paper",
    )
    write_lines(writes / "edge.csv.gz", [(0, 0), (0, 3), (2, 1)])
    write_lines(writes / "num-edge-list.csv.gz", [3])
    write_lines(writes / "edge_reltype.csv.gz", [7, 7, 7])
    write_lines(cites / "edge.csv.gz", [(0, 1), (3, 1)])
    write_lines(cites / "num-edge-list.csv.gz", [2])
    write_lines(raw / "node-feat/paper/node-feat.csv.gz", [(i, i + 0.5) for i in range(4)])
    write_lines(raw / "node-feat/paper/node_year.csv.gz", [2010, 2009, 2012, 2011])
    write_lines(raw / "node-label/paper/node-label.csv.gz", [3, "nan", 1, 0])
    for name, ids in {"train": [1, 0], "valid": [3], "test": [2]}.items():
        write_lines(folder / f"split/time/paper/{name}.csv.gz", ids)
    write_lines(
        folder / "split/time/nodetype-has-split.csv.gz", [["author", "paper"], [False, True]]
    )
    return folder


def test_the_layout_of_mag(tmp_path: Path, mag: Path) -> None:
    done = convert(mag, "--out", tmp_path / "ds")
    assert done.returncode == 0, done.stderr
    found = TypedContents(tmp_path / "ds")
    assert found.counts == {"author": 3, "paper": 4}
    assert found.stored == [WRITES, CITES]
    assert found.views == [("paper", "rev_writes", "author")]
    assert found.pairs(WRITES) == [(0, 0), (0, 3), (2, 1)]
    assert found.relation(CITES).symmetric
    assert found.column("paper", "x").tolist() == [[i, i + 0.5] for i in range(4)]
    assert found.column("paper", "node_year").tolist() == [2010, 2009, 2012, 2011]
    assert found.column("paper", "y").tolist() == [3, -1, 1, 0]
    assert found.column("paper", "train").tolist() == [1, 0]
    assert found.column("author.writes.paper", "edge_reltype").tolist() == [7, 7, 7]
    assert found.times("paper") == []


def test_mag_with_times_and_without_reverses(tmp_path: Path, mag: Path) -> None:
    convert(mag, "--out", tmp_path / "ds", "--time", "node_year", "--no-reverse")
    found = TypedContents(tmp_path / "ds")
    assert found.times("paper") == [2010, 2009, 2012, 2011]
    assert found.views == []
    assert not found.relation(CITES).symmetric
    gz.import_folder(mag, tmp_path / "again", time="node_year", reverse=False)
    assert (tmp_path / "again/graph.gl").read_bytes() == (tmp_path / "ds/graph.gl").read_bytes()


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        (
            "raw/num-node-dict.csv.gz",
            [["a"], [1], [2]],
            "num-node-dict.csv.gz: found 3 lines, expe",
        ),
        (
            "raw/num-node-dict.csv.gz",
            [["a", "b"], [1]],
            "num-node-dict.csv.gz: found 2 lines, expe",
        ),
        (
            "raw/num-node-dict.csv.gz",
            [["author"], [3]],
            "found type 'paper', expected those of num",
        ),
        (
            "raw/triplet-type-list.csv.gz",
            [["a", "b"]],
            "found 'a,b', expected lines of source,rela",
        ),
        (
            "raw/triplet-type-list.csv.gz",
            [("paper", "likes", "paper")],
            "names paper likes paper, found no ",
        ),
        (
            "raw/relations/paper___cites___paper/edge.csv.gz",
            [(0, 9)],
            "found target 9, expected an id below 4, the number of nodes of type paper",
        ),
        ("raw/node-feat/paper/node_year.csv.gz", [2010], "found 1 rows, expected 4, one for each"),
    ],
)
def test_what_is_wrong_with_a_folder_of_ogb_is_named(
    tmp_path: Path, mag: Path, file: str, lines: Any, message: str
) -> None:
    write_lines(mag / file, lines)
    with pytest.raises(InputError) as caught:
        gz.import_folder(mag, tmp_path / "ds")
    assert message in str(caught.value)
    assert not (tmp_path / "ds").exists()


def test_a_column_of_times_must_be_there(tmp_path: Path, mag: Path) -> None:
    with pytest.raises(InputError, match=r"found no when\.csv\.gz of any type, expected times"):
        gz.import_folder(mag, tmp_path / "ds", time="when")
    with pytest.raises(ValueError, match="undirected, direction, dedup and edge_ids are for"):
        gz.import_folder(mag, tmp_path / "ds", dedup=True)


# --- RelBench ---

MANIFEST = """\
name: rel-tiny
manifest_version: 1
description: 'A small one: races, and who took part.'
val_timestamp: '2005-01-01'
test_timestamp: '2010-01-01'
tables:
  races:
    pkey: raceId
    time_col: date
    fkeys: {}
  results:
    pkey: resultId
    time_col: date
    fkeys:
      raceId: races
      driverId: drivers
  drivers:
    pkey: driverId
    time_col: null
    fkeys: {}
"""


def tables() -> dict[str, Any]:
    def dates(*texts: str) -> Any:
        return pa.array(np.array(texts, "datetime64[ns]"))

    races = {
        "raceId": [0, 1, 2],
        "date": dates("2004-05-01", "2007-05-01", "2011-05-01"),
        "name": ["Monza", "Spa", "Monza"],
        "laps": [53, 44, 53],
    }
    results = {
        "resultId": [0, 1, 2, 3],
        "raceId": [0, 1, 2, 2],
        "driverId": pa.array([1.0, None, 0.0, 1.0]),
        "date": dates("2004-05-01", "2007-05-01", "2011-05-01", "2011-05-01"),
        "points": [10.0, 4.5, 1.0, 0.0],
        "won": [True, False, True, False],
    }
    drivers = {"driverId": [0, 1], "surname": ["A", "B"]}
    return {"races": pa.table(races), "results": pa.table(results), "drivers": pa.table(drivers)}


def write_relbench(folder: Path) -> Path:
    (folder / "db").mkdir(parents=True)
    (folder / "manifest.yaml").write_text(MANIFEST)
    for name, table in tables().items():
        parquet.write_table(table, folder / f"db/{name}.parquet")
    (folder / "tasks/driver-dnf").mkdir(parents=True)
    return folder


def check_relbench(dataset: Path, *, splits: bool) -> None:
    found = TypedContents(dataset)
    assert found.counts == {"races": 3, "results": 4, "drivers": 2}
    assert found.pairs(("results", "raceId", "races")) == [(0, 0), (1, 1), (2, 2), (3, 2)]
    assert found.pairs(("results", "driverId", "drivers")) == [(0, 1), (2, 0), (3, 1)]
    assert len(found.views) == 2
    assert found.graph.time_unit == "s"
    assert found.times("races")[0] == int(np.datetime64("2004-05-01", "s").astype(int))
    assert found.column("results", "x").tolist() == [[10, 1], [4.5, 0], [1, 1], [0, 0]]
    if splits:
        assert found.column("races", "train").tolist() == [0]
        assert found.column("races", "valid").tolist() == [1]
        assert found.column("races", "test").tolist() == [2]


def test_a_database_of_relbench(tmp_path: Path) -> None:
    folder = write_relbench(tmp_path / "rel-tiny")
    done = convert(folder, "--out", tmp_path / "ds")
    assert done.returncode == 0, done.stderr
    check_relbench(tmp_path / "ds", splits=True)
    assert "note: races.parquet: not taken: 'name'" in done.stdout
    assert "note: tasks/driver-dnf: left out, labels of a task are not of the database" in (
        done.stdout
    )
    assert "results - driverId - drivers: 3 edges, back as rev_driverId, 1 reference is empty" in (
        done.stdout
    )


def test_a_database_of_relbench_before_release_3(tmp_path: Path) -> None:
    facts = {
        "races": ("raceId", "date", {}),
        "results": ("resultId", "date", {"raceId": "races", "driverId": "drivers"}),
        "drivers": ("driverId", None, {}),
    }
    folder = tmp_path / "db"
    folder.mkdir()
    for name, table in tables().items():
        own = dict(
            zip(("pkey_col", "time_col", "fkey_col_to_pkey_table"), facts[name], strict=True)
        )
        metadata = {key: json.dumps(value) for key, value in own.items()}
        parquet.write_table(table.replace_schema_metadata(metadata), folder / f"{name}.parquet")
    report = gz.import_folder(folder, tmp_path / "ds")
    assert isinstance(report, gz.TypedConversionReport)
    check_relbench(tmp_path / "ds", splits=False)
    gz.import_folder(folder, tmp_path / "directed", reverse=False)
    assert TypedContents(tmp_path / "directed").views == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "tables:",
            "tabels:",
            "manifest.yaml: found no tables, expected the manifest of a RelBench",
        ),
        ("  drivers:", "  riders:", "found no db/riders.parquet, expected the table 'riders'"),
        (
            "driverId: drivers",
            "driverId: riders",
            "found no table 'riders', expected one of 'races'",
        ),
        (
            "pkey: raceId",
            "pkey: id",
            "races.parquet: found no column 'id', expected one of 'raceId'",
        ),
        (
            "    fkeys: {}\n  results",
            "    fkeys: 5\n  results",
            "tables.races: expected pkey, time_col",
        ),
        ("time_col: date", "time_col: name", "found 'Monza', expected a date such as 2013-01-31"),
        (
            "name: rel-tiny",
            "name: [a, b",
            "manifest.yaml line 1: found YAML that only PyYAML reads",
        ),
    ],
)
def test_what_is_wrong_with_a_folder_of_relbench_is_named(
    tmp_path: Path, old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)  # as for users who have no PyYAML
    folder = write_relbench(tmp_path / "rel-tiny")
    (folder / "manifest.yaml").write_text(MANIFEST.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        gz.import_folder(folder, tmp_path / "ds")
    assert message in str(caught.value)


def test_yaml_that_is_beyond_this_reader_goes_to_pyyaml(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    folder = write_relbench(tmp_path / "rel-tiny")
    manifest = folder / "manifest.yaml"
    manifest.write_text("!!map\n" + manifest.read_text())
    gz.import_folder(folder, tmp_path / "ds")
    manifest.write_text("name: [a, b\n")
    with pytest.raises(InputError, match="not readable as YAML"):
        gz.import_folder(folder, tmp_path / "other")


def test_yaml_as_programs_write_it_is_read() -> None:
    text = """\
---
# A comment.
name: rel-x   # another
'quoted key': "a\\u00e9 \\"b\\""
sql: |-
  select *
    from t

  where x
folded: >
  one
  two
count: 12
ratio: -0.5
yes: true
nothing:
none: ~
long: this goes on
  in the next line
list:
- a
- 'b: c'
empty: []
nested:
    deeper:
        column: table
    other: null
"""
    assert parse_yaml("x.yaml", text) == {
        "name": "rel-x",
        "quoted key": 'aé "b"',
        "sql": "select *\n  from t\n\nwhere x",
        "folded": "one two\n",
        "count": 12,
        "ratio": -0.5,
        "yes": True,
        "nothing": None,
        "none": None,
        "long": "this goes on in the next line",
        "list": ["a", "b: c"],
        "empty": [],
        "nested": {"deeper": {"column": "table"}, "other": None},
    }
    assert parse_yaml("x.yaml", "") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: {b: 1}", 1),
        ("a: 1\na: 2", 2),
        ("a: &anchor b", 1),
        ("a:\n\tb: 1", 2),
        ("just text", 1),
        ("a: 1\n  b: 2\n c: 3", 1),
        ("a: 'unfinished", 1),
        ('a: "\\x"', 1),
        ("a:\n- b: 1", 2),
        ("5: a", 1),
    ],
)
def test_other_yaml_is_left_to_pyyaml(
    text: str, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "yaml", None)  # not installed
    with pytest.raises(
        InputError, match=rf"x\.yaml line {line}: found YAML that only PyYAML reads"
    ):
        parse_yaml("x.yaml", text)
