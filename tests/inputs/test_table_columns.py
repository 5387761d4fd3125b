"""Columns of tables by name: the same table becomes the same dataset from text and from Parquet."""

from __future__ import annotations

import csv
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from contents import column, file_bytes
from graphzero import InputError
from graphzero.conversion.compile_graph import GraphOptions
from graphzero.conversion.convert import convert as convert_plan
from graphzero.conversion.plan import ColumnOptions, ColumnSource, Plan, WorkOptions
from input_graphs import convert
from pyarrow import parquet

PEOPLE = {
    "name": ["ann", "Bob, Jr.", "eve", "dan"],
    "person_id": [3, 1, 0, 2],
    "age": [30, 41, 22, 57],
    "income": [1.5, None, 2.5, None],
    "height": [1.7, 1.8, 1.6, None],
    "label": [1, 0, 1, 2],
    "member": [True, False, True, True],
}
TEXT = pytest.mark.parametrize("kind", ["csv", "parquet"])


def save_text(path: Path, table: dict[str, list[Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow("" if value is None else value for value in row)
    return path


def save(folder: Path, kind: str, table: dict[str, list[Any]], name: str = "people") -> Path:
    path = folder / f"{name}.{kind}"
    if kind == "csv":
        return save_text(path, table)
    parquet.write_table(pa.table(table), path)
    return path


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n0,1\n1,2\n2,3\n")
    return path


@TEXT
def test_columns_by_name_make_matrices(tmp_path: Path, edges: Path, kind: str) -> None:
    people = save(tmp_path, kind, PEOPLE)
    done = convert(
        "--edges", edges, "--nodes", people, "--id-column", "person_id",
        "--columns", "x=age,income,height", "--columns", "y=label", "--columns", "member=member",
        "--columns", "age=age:float64", "--out", tmp_path / "ds",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    x = gz.FeatureStore(tmp_path / "ds/x.gd", verify=True)
    assert (x.dtype.label, x.columns) == ("float32", ("age", "income", "height"))
    nan = np.nan
    expected = [[22, 2.5, 1.6], [41, nan, 1.8], [57, nan, nan], [30, 1.5, 1.7]]
    np.testing.assert_array_equal(x.get_tensor(), np.array(expected, np.float32))
    assert column(tmp_path / "ds", "y").tolist() == [1, 0, 2, 1]
    assert column(tmp_path / "ds", "y").dtype == np.int64
    assert column(tmp_path / "ds", "member").dtype == np.bool_
    assert column(tmp_path / "ds", "age").dtype == np.float64
    assert "x: 4 x 3 float32, missing 2 in 'income', 1 in 'height' (NaN)" in done.stdout


def test_text_and_parquet_give_the_same_bytes(tmp_path: Path, edges: Path) -> None:
    for kind in ("csv", "parquet"):
        gz.import_files(
            edges,
            tmp_path / f"ds-{kind}",
            nodes=save(tmp_path, kind, PEOPLE),
            id_column="person_id",
            columns={
                "x": ["age", "income", "height"],
                "y": ["label"],
                "one": ["income"],
                "member": ["member"],
                "name": ["name"],
            },
            fill={"x": "mean"},
        )
    assert file_bytes(tmp_path / "ds-csv") == file_bytes(tmp_path / "ds-parquet")


@TEXT
def test_a_file_and_its_columns_in_one_text(tmp_path: Path, edges: Path, kind: str) -> None:
    people = save(tmp_path, kind, PEOPLE)
    report = gz.import_files(
        edges,
        tmp_path / "ds",
        columns={"x": f"{people}#age,height", "y": f"{people}#label"},
        id_column="person_id",
        dtypes={"x": "float16"},
    )
    assert column(tmp_path / "ds", "x").dtype == np.float16
    assert report.columns["x"].missing == {"height": 1}
    assert column(tmp_path / "ds", "y").tolist() == [1, 0, 2, 1]


def test_names_with_commas_colons_and_quotes(tmp_path: Path, edges: Path) -> None:
    table = {"id": [0, 1, 2, 3], "a, b": [1, 2, 3, 4], "rating:float": [1.5, 2, 3, 4]}
    for kind in ("csv", "parquet"):
        people = save(tmp_path, kind, table)
        done = convert(
            "--edges", edges, "--nodes", people, "--columns", "c=a, b:int32",
            "--columns", "r=rating:float", "--out", tmp_path / kind,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert column(tmp_path / kind, "c").tolist() == [1, 2, 3, 4]
        assert column(tmp_path / kind, "r").tolist() == [1.5, 2, 3, 4]


@TEXT
def test_columns_of_the_edges_themselves(tmp_path: Path, kind: str) -> None:
    table = {"user": [7, 5, 7], "item": [50, 60, 60], "rating": [3, 4, 5], "at": [10, 30, 20]}
    ratings = save(tmp_path, kind, table)
    done = convert(
        "--edges", ratings, "--source", "user", "--target", "item", "--relabel",
        "--edge-columns", "rating=rating", "--edge-columns", "both=rating,at",
        "--out", tmp_path / "ds",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    graph, rating = gz.Graph(tmp_path / "ds"), gz.FeatureStore(tmp_path / "ds/rating.gd")
    user = gz.OriginalIds(tmp_path / "ds").find([7])[0]
    assert rating.gather(graph.get_edge_ids(user)).tolist() == [3, 5]
    assert column(tmp_path / "ds", "both").tolist() == [[3, 10], [4, 30], [5, 20]]


def test_the_type_of_labels_does_not_depend_on_the_file(tmp_path: Path, edges: Path) -> None:
    for values, dtype in (
        ([3, 1, 2, 0], "int64"),
        ([0.5, 1, 2, 3], "float32"),
        ([True, False, True, True], "bool"),
        ([2**40, 1, 2, 3], "int64"),
    ):
        table = {"id": [0, 1, 2, 3], "y": values}
        for kind in ("csv", "parquet"):
            out = tmp_path / f"{kind}-{values[0]}"
            gz.import_files(edges, out, columns={"y": save(tmp_path, kind, table, "y")})
            assert column(out, "y").dtype == dtype
            np.testing.assert_array_equal(column(out, "y"), np.array(values, dtype))


def test_integers_that_float32_rounds_are_told(tmp_path: Path, edges: Path) -> None:
    table = {"id": [0, 1, 2, 3], "a": [2**24 + 1, 1, 2, 2**53], "b": [0.1, 0.2, 0.3, 0.4]}
    for kind in ("csv", "parquet"):
        people = save(tmp_path, kind, table)
        done = convert(
            "--edges", edges, "--nodes", people, "--columns", "x=a,b", "--out", tmp_path / kind
        )
        assert "1 integer rounded (type float64 holds them" in done.stdout
        report = gz.import_files(
            edges, tmp_path / f"{kind}64", columns={"x": people}, dtypes={"x": "float64"}
        )
        assert report.columns["x"].rounded_integers == 0
        assert column(tmp_path / f"{kind}64", "x")[0, 0] == 2**24 + 1


@TEXT
@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        ("-1", [[22, 2.5], [41, -1], [57, -1], [30, 1.5]]),
        ("mean", [[22, 2.5], [41, 2], [57, 2], [30, 1.5]]),
    ],
)
def test_what_is_missing_is_filled_on_request(
    tmp_path: Path, edges: Path, kind: str, fill: str, expected: list[list[float]]
) -> None:
    people = save(tmp_path, kind, PEOPLE)
    done = convert(
        "--edges", edges, "--nodes", people, "--id-column", "person_id", "--num-nodes", "5",
        "--columns", "x=age,income", "--fill", f"x={fill}", "--out", tmp_path / "ds",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    rest = [-1, -1] if fill == "-1" else [37.5, 2]  # node 4 has no row
    assert column(tmp_path / "ds", "x").tolist() == [*expected, rest]
    assert "1 row filled, missing 2 in 'income' (replaced)" in done.stdout


@pytest.mark.parametrize(
    ("kind", "place"), [("csv", r"line 3: column 'n'"), ("parquet", r"column 'n' row 1")]
)
def test_integers_with_gaps_name_row_and_column(
    tmp_path: Path, edges: Path, kind: str, place: str
) -> None:
    table = {"id": [0, 1, 2, 3], "n": [5, None, 7, 8]}
    people = save(tmp_path, kind, table)
    hint = "--fill n=0 replaces it, n=n:float32 keeps it as NaN"
    with pytest.raises(InputError, match=rf"people\.{kind}.*{place}: found .*; {hint}"):
        gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"n": ["n"]})
    gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"n": ["n"]}, fill={"n": -7})
    assert column(tmp_path / "ds", "n").tolist() == [5, -7, 7, 8]
    gz.import_files(
        edges, tmp_path / "f", nodes=people, columns={"n": ["n"]}, dtypes={"n": "float32"}
    )
    np.testing.assert_array_equal(column(tmp_path / "f", "n"), [5, np.nan, 7, 8])


def test_words_for_missing_values(tmp_path: Path, edges: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("id,a,b,c\n0,NA,1,NA\n1,2,null,x\n2,NaN,None,?\n3,?,4,\n")
    columns = {"x": ["a", "b"], "c": ["c"]}
    with pytest.raises(InputError, match=r"people\.csv line 5: column 'a': found \"\?\", expected"):
        gz.import_files(edges, tmp_path / "ds", nodes=people, columns=columns)
    report = gz.import_files(edges, tmp_path / "ds", nodes=people, columns=columns, missing=["?"])
    assert report.columns["x"].missing == {"a": 3, "b": 2}
    # Among texts NA is a text, such as Namibia.
    assert report.columns["c"].missing == {"c": 2}
    assert gz.Categories(tmp_path / "ds/c.gd").gather(column(tmp_path / "ds", "c")) == [
        "NA", "x", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("encoded", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_words_for_missing_values_hold_in_tables_too(
    tmp_path: Path, edges: Path, suffix: str, encoded: bool
) -> None:
    texts = pa.array(["NA", "?", None, "x"])
    dates = pa.array(["?", "2013-01-31", "2013-02-01", "?"])
    if encoded:
        texts = texts.dictionary_encode()
    table = pa.table({"id": [0, 1, 2, 3], "c": texts, "when": dates})
    people = tmp_path / f"people.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, people)
    else:
        with pa.ipc.new_file(people, table.schema) as file:
            file.write_table(table)
    options: dict[str, Any] = {
        "nodes": people,
        "columns": {"c": ["c"], "when": ["when"]},
        "dtypes": {"when": "date[D]"},
    }
    report = gz.import_files(
        edges, tmp_path / "ds", **options, fill={"when": "1970-01-01"}, missing=["?"]
    )
    assert report.columns["c"].missing == {"c": 2}
    assert gz.Categories(tmp_path / "ds/c.gd").gather(column(tmp_path / "ds", "c")) == [
        "NA", None, None, "x",
    ]  # fmt: skip
    assert column(tmp_path / "ds", "when").tolist() == [0, 15736, 15737, 0]


def test_an_id_that_stands_for_a_missing_value_is_named(tmp_path: Path) -> None:
    people = tmp_path / "people.parquet"
    parquet.write_table(pa.table({"id": ["a", "?"], "v": [1.0, 2.0]}), people)
    (tmp_path / "calls.csv").write_text("source,target\na,b\n")
    with pytest.raises(InputError, match=r"column 'id' row 1: found '\?', which stands for"):
        gz.import_files(
            tmp_path / "calls.csv",
            tmp_path / "ds",
            nodes=people,
            columns={"v": ["v"]},
            relabel=True,
            missing=["?"],
        )


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"columns": {"x": ["ages"]}}, r"people\.csv: found no column 'ages', expected one of 'name'"),
    ({"columns": {"x": ["age"]}, "id_column": "who"}, r"found no column 'who', expected one of"),
    ({"columns": {"x": ["age", "name"]}}, r"column 'name': found texts beside other columns of"),
    ({"columns": {"x": ["name", "label"]}, "dtypes": {"x": "category"}}, r"'x': found 2 columns"),
    ({"columns": {"x": ["name"]}, "dtypes": {"x": "float32"}}, r"line 2: column 'name': found"),
    ({"columns": {"x": ["age"]}, "fill": {"z": 0}}, r"fill value of 'z': found no such column"),
    ({"columns": {"x": ["age"]}, "fill": {"x": "mean"}}, r"found 'mean', expected a number"),
    ({"columns": {"x": ["age", "label"]}, "fill": {"x": "a"}}, r"fill value of 'x': found 'a'"),
    ({"columns": {"x": ["age"]}, "fill": {"x": 0.5}}, r"fill value of 'x': found 0\.5, exp"),
    ({}, r"people\.csv: found a table of nodes and nothing to take from it"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), ERRORS)
def test_what_cannot_be_taken_is_named(
    tmp_path: Path, edges: Path, options: dict[str, Any], message: str
) -> None:
    people = save(tmp_path, "csv", PEOPLE)
    given = {"id_column": "person_id", **options}
    with pytest.raises(InputError, match=message):
        gz.import_files(edges, tmp_path / "ds", nodes=people, **given)
    assert not (tmp_path / "ds").exists()


def test_arguments_of_the_wrong_kind_are_named(tmp_path: Path, edges: Path) -> None:
    with pytest.raises(ValueError, match=r"column 'x': found 1 names of columns; nodes=FILE says"):
        gz.import_files(edges, tmp_path / "ds", columns={"x": ["age"]})
    with pytest.raises(ValueError, match=r"dtypes\['x'\]: found 'real', expected one of float32"):
        gz.import_files(edges, tmp_path / "ds", columns={"x": "p.csv"}, dtypes={"x": "real"})
    with pytest.raises(TypeError, match=r"missing: found 'NA', expected a list of str"):
        gz.import_files(edges, tmp_path / "ds", missing="NA")
    done = convert("--edges", edges, "--columns", "x=age", "--out", tmp_path / "ds")
    assert "--columns 'x=age': found no table, expected one: --nodes FILE" in done.stderr


@TEXT
def test_nodes_without_edges_or_columns_are_there(tmp_path: Path, kind: str) -> None:
    edges = tmp_path / "e.csv"
    edges.write_text("from,to\nann,eve\n")
    people = save(tmp_path, kind, {"who": ["ann", "bob", "eve", "zoe"], "age": [1, 2, 3, 4]})
    gz.import_files(edges, tmp_path / "ds", nodes=people, id_column="who", relabel=True)
    original = gz.OriginalIds(tmp_path / "ds")
    assert original.gather(range(4)) == ["ann", "bob", "eve", "zoe"]
    assert gz.Graph(tmp_path / "ds").num_nodes == 4


@TEXT
def test_messages_speak_of_the_users_ids(tmp_path: Path, kind: str) -> None:
    """Not of the numbers that nodes got."""
    edges = tmp_path / "e.csv"
    edges.write_text("origin,dest\nJFK,BQN\nJFK,LAX\nLAX,SJU\n")
    options = {"relabel": True, "source": "origin", "target": "dest", "id_column": "faa"}
    airports = save(tmp_path, kind, {"faa": ["LAX", "JFK"], "lat": [1.5, 2.5]})
    with pytest.raises(
        InputError, match=r"2 of 4 node ids have no row, the first is 'BQN'; --fill x=VALUE"
    ):
        gz.import_files(edges, tmp_path / "ds", nodes=airports, columns={"x": ["lat"]}, **options)
    twice = save(tmp_path, kind, {"faa": ["LAX", "JFK", "LAX"], "lat": [1.5, 2.5, 3]}, "twice")
    place = "line 4" if kind == "csv" else "row 2"
    with pytest.raises(InputError, match=rf"twice\.{kind} {place}: found node id 'LAX' again"):
        gz.import_files(
            edges, tmp_path / "ds", nodes=twice, columns={"x": ["lat"]}, fill={"x": 0}, **options
        )


@TEXT
def test_the_result_does_not_depend_on_memory_or_threads(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(5)
    ids = [f"n{number}" for number in rng.permutation(20_000).tolist()]
    table: dict[str, list[Any]] = {
        "key": ids,
        "a": rng.random(20_000).round(3).tolist(),
        "b": [None if n % 7 == 0 else n for n in range(20_000)],
        "city": [f"city {n % 321}" for n in range(20_000)],
    }
    people = save(tmp_path, kind, table)
    edges = save(tmp_path, kind, {"u": ids[1:], "v": ids[:-1], "w": table["a"][1:]}, "edges")
    found = []
    for memory, threads in ((64 << 20, 1), (1 << 30, 4)):
        out = tmp_path / f"ds-{threads}"
        gz.import_files(
            edges,
            out,
            source="u",
            target="v",
            weight="w",
            relabel=True,
            nodes=people,
            id_column="key",
            columns={"x": ["a", "b"], "city": ["city"]},
            edge_columns={"w": ["w"]},
            fill={"x": "mean"},
            memory=memory,
            threads=threads,
        )
        found.append(file_bytes(out))
    assert found[0] == found[1]


def test_names_that_are_nearly_right(tmp_path: Path, edges: Path) -> None:
    people = save(tmp_path, "csv", {"id": [0, 1, 2], "Age": [1, 2, 3], "at": ["2013-01-01"] * 3})
    for wrong in ("age", "Agee"):
        with pytest.raises(InputError, match=r"expected one of 'id', .*; did you mean 'Age'\?$"):
            gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"x": [wrong]})
    with pytest.raises(InputError, match=r"; if 'datetime' is to be a type, it is none of float"):
        gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"x": ["at:datetime"]})
    with pytest.raises(InputError, match=r"expected one of 'id', 'Age', 'at'$"):
        gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"x": ["income"]})
    with pytest.raises(FileNotFoundError, match=r"column 'x': found no file Age; .*\['Age'\]"):
        gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"x": "Age"})
    with pytest.raises(InputError, match=r"'at': found dates beside .*such as at=at:date\[s\]"):
        gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"x": ["Age", "at"]})
    for relabel in (False, True):
        with pytest.raises(InputError, match=r"found columns 'id', 'Age', 'at', .*csv#id"):
            gz.import_files(edges, tmp_path / "ds", relabel=relabel, splits={"train": people})


@TEXT
def test_a_table_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, edges: Path, kind: str
) -> None:
    table: dict[str, list[Any]] = {"id": [0, 1, 2, 3], "city": ["Oslo", "Rome", "Oslo", "Bern"]}
    people = save(tmp_path, kind, table)
    columns = [ColumnSource("city", str(people), columns=("city",))]

    def change(label: str) -> nullcontext[None]:
        """Called before each file: a column is opened when the edges are done."""
        if label == people.name:
            save(tmp_path, kind, table | {"more": ["x" * 99] * 4})
        return nullcontext()

    with pytest.raises(InputError, match=rf"{people.name}: found \d+ bytes, .*it changed while"):
        convert_plan(
            Plan(edges, columns),
            tmp_path / "ds",
            graph_options=GraphOptions(),
            column_options=ColumnOptions(),
            work=WorkOptions(),
            show_progress=change,
        )
    assert not (tmp_path / "ds").exists()


@TEXT
@pytest.mark.parametrize("value", [0, 1, "false", "True", True])
def test_missing_flags_are_filled(tmp_path: Path, edges: Path, kind: str, value: Any) -> None:
    people = save(tmp_path, kind, {"id": [0, 1, 2], "member": [True, None, False]})
    gz.import_files(
        edges,
        tmp_path / "ds",
        nodes=people,
        columns={"member": ["member"]},
        dtypes={"member": "bool"},
        fill={"member": value},
    )
    filled = str(value).lower() in ("1", "true")
    assert column(tmp_path / "ds", "member").tolist() == [True, filled, False, filled]


NUMBERS = {"flag": [True, False], "age": [1, 2], "vector": [[1.0, 2.0], [3.0, 4.0]]}
NOT_TO_FILL = [
    ("flag", "no", "found 'no', expected true, false, 1 or 0"),
    ("flag", 2, "found 2, expected true, false, 1 or 0"),
    ("age", "nan", "found nan, expected an integer"),
    ("age", "inf", "found inf, expected an integer"),
    ("vector", "mean", "expected a number: lists have no mean"),
    ("day", "mean", "expected a date: dates have no mean"),
]


@pytest.mark.parametrize(("name", "value", "message"), NOT_TO_FILL)
def test_values_that_cannot_fill_a_column_say_what_can(
    tmp_path: Path, edges: Path, name: str, value: Any, message: str
) -> None:
    days = pa.array([0, 1], pa.date32())
    parquet.write_table(pa.table({"id": [0, 1], **NUMBERS, "day": days}), tmp_path / "n.parquet")
    with pytest.raises(InputError, match=f"fill value of '{name}': .*{message}"):
        gz.import_files(
            edges,
            tmp_path / "ds",
            nodes=tmp_path / "n.parquet",
            columns={name: [name]},
            fill={name: value},
        )


def test_the_fill_of_nodes_without_a_row_is_not_for_columns_of_edges(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b,when\n0,1,2020-01-01\n1,2,2020-01-02\n")
    (tmp_path / "n.csv").write_text("id,v\n0,1.5\n")
    gz.import_files(
        tmp_path / "e.csv",
        tmp_path / "ds",
        source="a",
        target="b",
        edge_columns={"when": ["when"]},
        dtypes={"when": "date[D]"},
        nodes=tmp_path / "n.csv",
        columns={"v": ["v"]},
        fill=float("nan"),
    )
    assert column(tmp_path / "ds", "when").tolist() == [18262, 18263]
    assert np.isnan(column(tmp_path / "ds", "v")).tolist() == [False, True, True]


@TEXT
def test_a_type_among_the_names_of_columns_says_where_it_belongs(
    tmp_path: Path, edges: Path, kind: str
) -> None:
    people = save(tmp_path, kind, PEOPLE)
    with pytest.raises(InputError, match=r"a type goes by the name .*: dtypes={NAME: 'int32'}"):
        gz.import_files(edges, tmp_path / "ds", nodes=people, columns={"age": ["age:int32"]})


def test_a_file_without_a_line_has_no_columns(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("")
    with pytest.raises(InputError, match=r"e\.csv: found no column 'a', expected one of ''$"):
        gz.import_files(tmp_path / "e.csv", tmp_path / "ds", source="a", target="b")


def test_a_header_above_texts_of_a_split_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("ann,bob\n")
    (tmp_path / "s.csv").write_text("who\nann\n")
    split = {"train": f"{tmp_path}/s.csv"}
    with pytest.raises(InputError, match=r"s\.csv line 1: found id 'who', .*; if .* FILE#COLUMN"):
        gz.import_files(tmp_path / "e.csv", tmp_path / "ds", relabel=True, splits=split)
    split = {"train": f"{tmp_path}/s.csv#who"}
    gz.import_files(tmp_path / "e.csv", tmp_path / "ds", relabel=True, splits=split)
    assert column(tmp_path / "ds", "train").tolist() == [0]
