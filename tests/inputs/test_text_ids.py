"""Columns of text: one rule with and without --relabel, and every error names the line."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from contents import column
from graphzero import InputError
from hypothesis import given, settings
from hypothesis import strategies as st

RELABEL = pytest.mark.parametrize("relabel", [False, True])


def save(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def neighbours(dataset: Path) -> list[list[int]]:
    graph = gz.Graph(dataset, verify=True)
    return [graph.get_neighbours(node).tolist() for node in range(graph.num_nodes)]


@RELABEL
@pytest.mark.parametrize("header", ["", "source,target,weight\n", "a,b,c\n", "# note\n\nu,v,w\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_go_by_position(tmp_path: Path, relabel: bool, header: str, end: str) -> None:
    text = header + "0,1,0.5\n\n% a comment\n 2 , 0 , 2\n"
    edges = save(tmp_path / "e.csv", text.replace("\n", end))
    gz.import_files(edges, tmp_path / "ds", relabel=relabel)
    assert neighbours(tmp_path / "ds") == [[1], [], [0]]
    assert gz.Graph(tmp_path / "ds").get_weights(2).tolist() == [2.0]


@RELABEL
@pytest.mark.parametrize("header", ["weight,source,target", "dst,src", "target,to,x"])
def test_a_header_that_says_otherwise_is_refused(
    tmp_path: Path, relabel: bool, header: str
) -> None:
    line = ",".join("012"[: header.count(",") + 1])
    edges = save(tmp_path / "e.csv", f"{header}\n{line}\n")
    with pytest.raises(InputError, match=r"e\.csv: found columns .* in this order; --source"):
        gz.import_files(edges, tmp_path / "ds", relabel=relabel)


@RELABEL
def test_named_columns(tmp_path: Path, relabel: bool) -> None:
    edges = save(tmp_path / "e.csv", 'note,"caller, first",weight,callee\nx,0,0.5,1\ny,2,3,0\n')
    names = {"source": "caller, first", "target": "callee"}
    gz.import_files(edges, tmp_path / "ds", relabel=relabel, **names)
    assert neighbours(tmp_path / "ds") == [[1], [], [0]]
    assert gz.Graph(tmp_path / "ds").get_weights(2).tolist() == [3.0]
    with pytest.raises(InputError, match=r"no column 'cost', expected one of 'note', 'caller, fi"):
        gz.import_files(edges, tmp_path / "other", relabel=relabel, weight="cost", **names)


@RELABEL
def test_one_column_is_not_both_ends(tmp_path: Path, relabel: bool) -> None:
    edges = save(tmp_path / "e.csv", "source,target\n0,1\n")
    with pytest.raises(InputError, match=r"e\.csv: found column 'target' as source and as target"):
        gz.import_files(edges, tmp_path / "ds", relabel=relabel, source="target")


def test_the_first_line_after_the_names_is_no_header(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", "a,b\nann,bob\n0,1\n")
    with pytest.raises(InputError, match=r"e\.csv line 2: found source \"ann\", expected an integ"):
        gz.import_files(edges, tmp_path / "ds", source="a", target="b")


@RELABEL
def test_too_many_columns_ask_for_names(tmp_path: Path, relabel: bool) -> None:
    edges = save(tmp_path / "e.csv", "0,1,2,3\n")
    with pytest.raises(InputError, match=r"e\.csv line 1: expected 2 or 3 columns, found 4"):
        gz.import_files(edges, tmp_path / "ds", relabel=relabel)


def test_a_third_column_of_another_name_is_told(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", "source,target,year\n0,1,1999\n")
    report = gz.import_files(edges, tmp_path / "ds")
    assert report.notes == ("e.csv: its third column, 'year', is the weight of edges",)


@pytest.mark.parametrize("delimiter", [",", "\t", ";", " "])
def test_texts_with_quotes_and_blanks(tmp_path: Path, delimiter: str) -> None:
    lines = [
        ['"Smith, John"', "bob", "1"],
        ["bob", '"say ""hi""; now"', "2"],
        ['"#5"', '"Smith, John"', "3"],
    ]
    edges = save(tmp_path / "e.csv", "\n".join(map(delimiter.join, lines)))
    gz.import_files(edges, tmp_path / "ds", relabel=True)
    assert gz.OriginalIds(tmp_path / "ds").gather([0, 1, 2, 3]) == [
        "#5", "Smith, John", "bob", 'say "hi"; now',
    ]  # fmt: skip
    assert neighbours(tmp_path / "ds") == [[1], [2], [3], []]
    assert gz.Graph(tmp_path / "ds").get_weights(0).tolist() == [3.0]


# What a field without quotes cannot have: what separates fields or lines, and blanks at its ends.
plain_ids = st.text(st.characters(codec="utf-8", exclude_characters='\0\r\n\t,; "'), min_size=1)
any_ids = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1)


@st.composite
def quoted_edges(draw: Any) -> tuple[str, list[tuple[str, str]]]:
    """A text as Python's csv module writes it, and the ids in it."""
    quoted = draw(st.booleans())
    ids = any_ids if quoted else plain_ids.filter(lambda text: text[0] not in "#%")
    edges = draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=8))
    out = io.StringIO()
    writer = csv.writer(
        out,
        delimiter=draw(st.sampled_from(",\t; ")),
        quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL,
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\n\n# a comment\n"])),
    )
    writer.writerows(edges)
    return out.getvalue(), edges


@settings(max_examples=25, deadline=None)
@given(quoted_edges())
def test_texts_come_back_as_they_were_written(case: tuple[str, list[tuple[str, str]]]) -> None:
    text, edges = case
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "ds"
        source = save(Path(folder) / "e.csv", text)
        gz.import_files(source, dataset, relabel="text", edge_ids=True)
        original, graph = gz.OriginalIds(dataset), gz.Graph(dataset, verify=True)
        names = original.gather(range(len(original)))
        assert names == sorted({name for edge in edges for name in edge}, key=str.encode)
        found = {}
        for node, name in enumerate(names):
            neighbours_of = graph.get_neighbours(node).tolist()
            for other, edge in zip(neighbours_of, graph.get_edge_ids(node).tolist(), strict=True):
                found[edge] = (name, names[other])
        assert [found[edge] for edge in range(len(edges))] == edges


def test_quoted_numbers(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", '"0","1","0.5"\n"1","2","1"\n')
    x = save(tmp_path / "x.csv", '"id","a"\n"2","3"\n"0","1"\n"1","2"\n')
    gz.import_files(edges, tmp_path / "ds", columns={"x": x})
    assert neighbours(tmp_path / "ds") == [[1], [2], []]
    assert column(tmp_path / "ds", "x").tolist() == [1, 2, 3]


LINES: list[tuple[str | bytes, dict[str, Any], str]] = [
    ("a,b\n\nc\n", {}, r"line 3: expected 2 columns, found 1: \"c\""),
    ("a,b\n,c\n", {}, r"line 2: found an empty id: \",c\""),
    ("a,b\n#\nc,\n", {}, r"line 3: found an empty id"),
    ('a,b\n"c,d\n', {}, r"line 2: found a quote that does not end with its field"),
    ('a,b\n"c"x,d\n', {}, r"line 2: found a quote that does not end with its field"),
    ('a\tb\n"c" x\td\n', {}, r"line 2: found a quote that does not end with its field"),
    (b"a,b\nc,caf\xe9\n", {}, r"line 2: found an id that is not UTF-8"),
    (b"a,b\nc,\xed\xa0\x80\n", {}, r"line 2: found an id that is not UTF-8"),
    ("a,b\nc,x\0y\n", {}, r"line 2: found an id with a zero byte"),
    ("a,b\nc,d\re\n", {}, r"line 2: found a carriage return inside an id"),
    (f"a,b\nc,{'d' * 1025}\n", {}, r"line 2: found an id of 1025 bytes, expected at most 1024"),
    ("a,b,1\nc,d,oops\n", {}, r"line 2: found weight \"oops\", expected a finite number >= 0"),
    ("a\tb\t1\nc\td\t\n", {}, r"line 2: found weight \"\", expected a finite"),
    ("a,b,1\nc,d\n", {}, r"line 2: expected 3 columns, found 2"),
    ("0,1\n1,2\nx,3\n", {"relabel": "integer"}, r"line 3: found id \"x\", expected an integer"),
    ("0,1\n1.0,3\n", {"relabel": "integer"}, r"line 2: found id \"1\.0\", expected an integer"),
    (f"0,1\n{2**63},3\n", {"relabel": "integer"}, r"line 2: .*expected an integer of 64 bits"),
    ("\n# nothing\n", {}, r"e\.csv: found no ids, expected edges"),
    ("", {}, r"e\.csv: found no ids, expected edges"),
]


@pytest.mark.parametrize(("text", "options", "message"), LINES)
@pytest.mark.parametrize("compressed", [False, True])
def test_the_line_is_named(
    tmp_path: Path, text: str | bytes, options: dict[str, Any], message: str, compressed: bool
) -> None:
    data = text.encode() if isinstance(text, str) else text
    edges = save(tmp_path / "e.csv", gzip.compress(data) if compressed else data)
    with pytest.raises(InputError, match=message):
        gz.import_files(edges, tmp_path / "ds", **{"relabel": True, **options})
    assert not (tmp_path / "ds").exists()


def test_an_integer_that_comes_late_is_named_with_its_line(tmp_path: Path) -> None:
    lines = [f"{i},{i + 1}" for i in range(50_000)]
    lines[43_210] = "ann,bob"
    edges = save(tmp_path / "e.csv", "\n".join(lines))
    with pytest.raises(InputError, match=r"line 43211: found id \"ann\".*--relabel text takes"):
        gz.import_files(edges, tmp_path / "ds", relabel=True)


def test_columns_and_splits_name_their_lines(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", "ann,bob\nbob,New York\n")
    good = save(tmp_path / "x.csv", "name,age\nann,1.5\nNew York,2\nbob,3\n")
    split = save(tmp_path / "train.txt", "node\nNew York\nann\n")
    gz.import_files(
        edges, tmp_path / "ds", relabel=True, columns={"x": good}, splits={"train": split}
    )
    assert column(tmp_path / "ds", "x").tolist() == [2, 1.5, 3]  # New York, ann, bob
    assert column(tmp_path / "ds", "x").dtype == "float32"  # as without --relabel
    assert column(tmp_path / "ds", "train").tolist() == [0, 1]
    bad = save(tmp_path / "bad.csv", "ann,1\nbob,one\n")
    with pytest.raises(InputError, match=r"bad\.csv line 2: column 2: found \"one\", expected a n"):
        gz.import_files(edges, tmp_path / "other", relabel=True, columns={"x": bad})
    unknown = save(tmp_path / "test.txt", "ann\n\nzoe\n")
    with pytest.raises(InputError, match=r"test\.txt line 3: found id 'zoe', expected one that"):
        gz.import_files(edges, tmp_path / "other", relabel=True, splits={"test": unknown})


@RELABEL
def test_ids_that_are_not_first_are_found_by_their_name(tmp_path: Path, relabel: bool) -> None:
    edges = save(tmp_path / "e.csv", "0,1\n")
    x = save(tmp_path / "x.csv", "age,id\n30,1\n40,0\n")
    gz.import_files(edges, tmp_path / "ds", relabel=relabel, columns={"x": x})
    assert column(tmp_path / "ds", "x").tolist() == [40, 30]


def test_a_byte_order_mark_is_no_part_of_an_id(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", b"\xef\xbb\xbfann,bob\n")
    gz.import_files(edges, tmp_path / "ds", relabel=True)
    assert gz.OriginalIds(tmp_path / "ds").gather([0, 1]) == ["ann", "bob"]
