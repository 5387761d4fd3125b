"""Fields of text tables: quotes over lines and chunks, in any number of threads."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from graphzero import InputError
from graphzero.conversion.inputs.opening import open_table
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.streams import Texts
from graphzero.conversion.inputs.tables import ReadTally, Table, Wanted
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet


def texts_of(table: Table, name: str) -> list[str | None]:
    wanted = [Wanted("text", (name,), may_be_missing=True)]
    found: list[str | None] = []
    for chunk in table.read(wanted):
        values, missing, _ = chunk.groups[0]
        assert isinstance(values, Texts)
        for at in range(values.num_texts):
            gone = missing is not None and missing[at]
            found.append(None if gone else values.text(at))
    return found


def csv_of(rows: list[list[str]], **form: Any) -> str:
    out = io.StringIO()
    csv.writer(out, **form).writerows(rows)
    return out.getvalue()


fields = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12).map(str.strip)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(fields, min_size=3, max_size=3), min_size=1, max_size=12),
    st.sampled_from([",", ";", "\t"]),
    st.booleans(),
)
def test_fields_come_back_as_python_wrote_them(
    tmp_path_factory: Any, rows: list[list[str]], delimiter: str, everything_quoted: bool
) -> None:
    quoting = csv.QUOTE_ALL if everything_quoted else csv.QUOTE_MINIMAL
    rows = [["key", *row] for row in rows]  # a line that begins with # is a comment
    text = csv_of([["k", "a", "b", "c"], *rows], delimiter=delimiter, quoting=quoting)
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_bytes(text.encode())
    table = open_table(str(path), ReadOptions(threads=2))
    for place, name in enumerate("abc"):
        # Blanks at the ends are no part of a field, unless it is quoted.
        assert texts_of(table, name) == [row[place + 1] or None for row in rows]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("compressed", [False, True])
def test_fields_over_many_lines_and_chunks(tmp_path: Path, threads: int, compressed: bool) -> None:
    rows = [[str(row), "a\nb" if row % 3 else "c", str(row / 2)] for row in range(60_000)]
    rows[30_000][1] = "\n" * 1000 + 'with a "quote", a comma\nand ' + "y" * 1000
    data = csv_of([["id", "note", "v"], *rows]).encode()
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(data) if compressed else data)
    table = open_table(str(path), ReadOptions(threads=threads))
    wanted = [Wanted("integer", ("id",)), Wanted("number", ("v",))]
    found = [(chunk.groups[0].array, chunk.groups[1].array) for chunk in table.read(wanted)]
    ids, values = (np.concatenate(arrays)[:, 0] for arrays in zip(*found, strict=True))
    np.testing.assert_array_equal(ids, np.arange(60_000))
    np.testing.assert_array_equal(values, np.arange(60_000) / 2)
    # Lines of the file are not rows of the table.
    before = sum(1 + row[1].count("\n") for row in rows[:40_000])
    assert table.place(40_000) == f"{path} line {before + 2}"


@pytest.mark.parametrize("threads", [1, 4])
def test_a_quote_that_never_ends_is_named_and_skipped(tmp_path: Path, threads: int) -> None:
    lines = [f"{row},note {row}" for row in range(150_000)]
    lines[1234] = '1234,"oops'
    path = tmp_path / "t.csv"
    path.write_text("id,note\n" + "\n".join(lines))
    table = open_table(str(path), ReadOptions(threads=threads))
    wanted = [Wanted("integer", ("id",))]
    with pytest.raises(InputError, match=r"t\.csv line 1236: found a quote that does not end with"):
        for _ in table.read(wanted):
            pass
    tally = ReadTally()
    skipping = open_table(str(path), ReadOptions(skip=True, threads=threads))
    ids = np.concatenate([chunk.groups[0].array[:, 0] for chunk in skipping.read(wanted, tally)])
    np.testing.assert_array_equal(ids, np.delete(np.arange(150_000), 1234))
    assert tally.skipped == 1


@pytest.mark.parametrize("first", ["0", "00"])  # the limit lies between two quotes, or beside them
def test_a_record_beyond_the_limit_is_not_read_further(tmp_path: Path, first: str) -> None:
    path, quotes = tmp_path / "t.csv", '""' * (1 << 20)
    path.write_text(f'id,note\n1,a\n{first},"{quotes}"\n2,b\n')
    table = open_table(str(path), ReadOptions(threads=1))
    with pytest.raises(InputError, match=r"t\.csv line 3: found a quote that does not end with"):
        texts_of(table, "note")
    assert texts_of(open_table(str(path), ReadOptions(skip=True)), "note") == ["a", "b"]


def test_the_first_bad_line_is_told_whatever_thread_meets_it(tmp_path: Path) -> None:
    lines = [f"{row},1" for row in range(200_000)]
    lines[90_000] = lines[190_000] = "x,1"
    path = tmp_path / "t.csv"
    path.write_text("id,v\n" + "\n".join(lines))
    for _ in range(5):
        table = open_table(str(path), ReadOptions(threads=4))
        with pytest.raises(
            InputError, match=r"line 90002: column 'id': found \"x\", expected an i"
        ):
            for _ in table.read([Wanted("integer", ("id",))]):
                pass


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        (["1", "-2", "", "NA"], "integer"),
        (["007", "1"], "integer"),
        (["1", "2.5", "nan"], "number"),
        (["1e3", "-inf"], "number"),
        ([str(2**63), "1"], "number"),
        (["", "NA", "null"], "number"),
        (["true", "FALSE", ""], "bool"),
        (["true", "1"], "text"),
        (["2013-01-01", "2013-01-01T10:00Z", ""], "text"),
        (["a", "1"], "text"),
    ],
)
def test_what_columns_of_text_hold(tmp_path: Path, fields: list[str], what: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,v\n" + "".join(f"{row},{field}\n" for row, field in enumerate(fields)))
    table = open_table(str(path), ReadOptions())
    kind = table.kinds_of(["v"])[0]
    assert kind.what == what
    assert kind.looks_like_time == fields[0].startswith("2013")
    assert kind.mixed == (what == "text" and "1" in fields)


@pytest.mark.parametrize("size", [0, 1 << 18, 1 << 21, 1 << 22])
def test_texts_that_end_with_a_chunk_or_a_batch(tmp_path: Path, size: int) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"#" * max(size - 9, 0) + b"\n" + b"a,b\n1,2\n"[: max(size, 1) - 1])
    assert path.stat().st_size == max(size, 1)
    table = open_table(str(path), ReadOptions(threads=2))
    kinds = [kind.what for kind in table.kinds_of(table.columns)]
    assert kinds == (["integer", "integer"] if size else ["number"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_that_is_there_twice(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text("id,v,v\n0,1,2\n")
    else:
        values = [pa.array([0]), pa.array([1]), pa.array([2])]
        parquet.write_table(pa.table(values, names=["id", "v", "v"]), path)
    table = open_table(str(path), ReadOptions())
    with pytest.raises(InputError, match=r"t\.\w+: found column 'v' twice, expected it once"):
        table.kinds_of(["v"])
    assert table.kinds_of(["id"])[0].what == "integer"


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_number_may_stand_for_a_missing_value(tmp_path: Path, quote: str) -> None:
    sentinel = f"{quote}-999{quote}"
    (tmp_path / "a.csv").write_text(f"v,w\n1,{sentinel}\n,{sentinel}\n{sentinel},-99\n")
    table = {"file": tmp_path / "a.csv", "features": ["v", "w"], "missing_texts": ["-999"]}
    other = {"data": {"r": [0]}, "references": {"r": "a"}}
    gz.import_tables({"a": table, "b": other}, tmp_path / "out")
    found = gz.FeatureStore(tmp_path / "out" / "a" / "x.gd").get_tensor()
    assert np.array_equal(found, [[1, np.nan], [np.nan, np.nan], [np.nan, -99]], equal_nan=True)


def test_rows_below_a_header_may_begin_as_comments_do(tmp_path: Path) -> None:
    """Comments before the header, and lines with another number of fields, are comments still."""
    (tmp_path / "a.csv").write_text("# by hand\ntag,v\n#gnn,1\n# a note\n\n   \nml,2\n %x,3\n")
    table = {"file": tmp_path / "a.csv", "key": "tag", "features": ["v"]}
    other = {"data": {"r": ["#gnn", "%x"]}, "references": {"r": "a"}}
    report = gz.import_tables({"a": table, "b": other}, tmp_path / "out")
    assert report.types["a"].num_nodes == 3
    found = gz.FeatureStore(tmp_path / "out" / "a" / "x.gd").get_tensor()
    assert found.reshape(-1).tolist() == [1, 3, 2]


def test_integer_ids_below_a_header_do_not_begin_as_comments_do(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("source,target\n7,8\n#8,9\n9,7\n")
    report = gz.import_files(tmp_path / "e.csv", tmp_path / "out", relabel="integer")
    assert report.graph.num_edges == 2


@pytest.mark.parametrize("note", ["# a note\n", '# a "note\n'])
def test_rows_that_begin_as_comments_do_may_go_on_in_the_next_chunk(
    tmp_path: Path, note: str
) -> None:
    """Text is parsed in chunks of 256 KiB, and such a row may have a quoted line break."""
    row = '#gnn,"one\ntwo",7\n'
    header, filler = f"tag,text,v\n{note}", "x" * 90 + ",y,1\n"
    rows = (1 << 18) // len(filler)
    padding = "p" * ((1 << 18) - len(header) - rows * len(filler) - len(",y,2\n") - len('#gnn,"on'))
    text = f"{header}{filler * rows}{padding},y,2\n{row}last,y,3\n"
    assert text.encode()[: 1 << 18].endswith(b'\n#gnn,"on')
    (tmp_path / "a.csv").write_text(text)
    other = {"data": {"r": [0]}, "references": {"r": "a"}}
    table = {"file": tmp_path / "a.csv", "features": ["v"]}
    gz.import_tables({"a": table, "b": other}, tmp_path / "out")
    found = gz.FeatureStore(tmp_path / "out" / "a" / "x.gd").get_tensor().reshape(-1).tolist()
    assert found == [1] * rows + [2, 7, 3]
