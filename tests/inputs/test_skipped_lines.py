"""--on-error skip with --relabel and with names of columns: a bad line leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from contents import column
from graphzero import InputError
from input_graphs import convert


def save(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def edge_names(dataset: Path) -> dict[int, tuple[Any, Any]]:
    """The ends of each edge as the input called them, by the edge id."""
    graph, names = gz.Graph(dataset, verify=True), gz.OriginalIds(dataset)
    found = {}
    for node in range(graph.num_nodes):
        for other, edge in zip(graph.get_neighbours(node), graph.get_edge_ids(node), strict=True):
            found[int(edge)] = tuple(names.gather([node, other]))
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_ids_of_skipped_lines_are_no_nodes(tmp_path: Path, threads: int) -> None:
    lines = ["who,cost,whom"]
    for row in range(30_000):
        lines.append(f"n{row % 700},{row % 5},n{row % 900}")
    lines[17] = "ghost,many,n1"
    lines[20_005] = "phantom,1"
    lines[20_006] = ",1,spirit"
    lines[29_000] = '"wraith,1,n2'
    edges = save(tmp_path / "e.csv", "\n".join(lines))
    done = convert(
        "--edges", edges, "--source", "who", "--target", "whom", "--weight", "cost", "--relabel",
        "--edge-ids", "--on-error", "skip", "--threads", threads, "--out", tmp_path / "ds",
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "skipped 4 bad lines:",
        f'  {edges} line 18: found weight "many", expected a finite number >= 0: "ghost,many,n1"',
        f'  {edges} line 20006: expected 3 columns, found 2: "phantom,1"',
        f'  {edges} line 20007: found an empty id: ",1,spirit"',
        f'  {edges} line 29001: found a quote that does not end with its field: ""wraith,1,n2"',
    ]
    names = gz.OriginalIds(tmp_path / "ds")
    assert len(names) == 900
    found = edge_names(tmp_path / "ds")
    bad = {16, 20_004, 20_005, 28_999}
    assert found == {
        row: (f"n{row % 700}", f"n{row % 900}") for row in range(30_000) if row not in bad
    }


def test_names_of_columns_without_relabel(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", "a,b,c\n0,x,1\nann,x,2\n5,x,0\n2,x\n1,x,2\n")
    report = gz.import_files(
        edges, tmp_path / "ds", source="a", target="c", num_nodes=3, on_error="skip", edge_ids=True
    )
    assert (report.graph.skipped, report.graph.input_rows) == (3, 5)
    assert report.graph.messages[0].endswith(
        'line 3: found source "ann", expected an integer id; --relabel takes texts: "ann,x,2"'
    )
    assert 'found source "5", expected an id below 3' in report.graph.messages[1]
    graph = gz.Graph(tmp_path / "ds")
    assert [graph.get_neighbours(node).tolist() for node in range(3)] == [[1], [2], []]
    assert graph.get_edge_ids(1).tolist() == [4]


@pytest.mark.parametrize("relabel", [False, True])
def test_edge_columns_stay_with_their_edges(tmp_path: Path, relabel: bool) -> None:
    lines = ["u,v,rating,at"]
    lines += [f"{row % 7},{row % 11},{row},2013-01-{1 + row % 28:02}" for row in range(5_000)]
    lines[3] = "1,2,oops,2013-01-01"
    lines[4_000] = "1,2,7,yesterday"
    lines[4_500] = "x1,2,7"
    edges = save(tmp_path / "e.csv", "\n".join(lines))
    done = convert(
        "--edges", edges, "--source", "u", "--target", "v", *(["--relabel"] if relabel else []),
        "--edge-columns", "rating=rating:int32", "--edge-columns", "at=at:date[D]",
        "--on-error", "skip", "--out", tmp_path / "ds",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{tmp_path}/ds: 11 nodes, 4,997 edges")
    assert done.stderr.count("bad lines") == 1  # each line is told once
    assert [line.split(":")[0][-9:] for line in done.stderr.splitlines()[1:]] == [
        "/e.csv line 4"[-9:], "line 4001", "line 4501",
    ]  # fmt: skip
    graph, rating = gz.Graph(tmp_path / "ds"), gz.FeatureStore(tmp_path / "ds/rating.gd")
    seen = 0
    for node in range(11):
        ids = graph.get_edge_ids(node)
        assert rating.gather(ids).tolist() == ids.tolist()  # the rating is the row
        assert (column(tmp_path / "ds", "at")[ids] == 15706 + ids % 28).all()
        seen += len(ids)
    assert seen == 4_997


def test_nodes_of_skipped_lines_have_no_row(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", "from,to\nann,bob\n")
    people = save(tmp_path / "p.csv", "id,age\nann,30\nbob,old\nzoe,7,8\neve,5\nann,31\n")
    options: dict[str, Any] = {"nodes": people, "relabel": True, "on_error": "skip"}
    columns: dict[str, Any] = {"columns": {"age": ["age"]}, "dtypes": {"age": "int32"}}
    with pytest.raises(InputError, match=r"1 of 3 node ids have no row, the first is 'bob'"):
        gz.import_files(edges, tmp_path / "ds", **columns, **options)
    report = gz.import_files(edges, tmp_path / "ds", fill={"age": -1}, **columns, **options)
    assert gz.OriginalIds(tmp_path / "ds").gather(range(3)) == ["ann", "bob", "eve"]
    assert column(tmp_path / "ds", "age").tolist() == [30, -1, 5]
    found = report.columns["age"]
    assert (found.skipped, found.filled) == (3, 1)
    assert [message.split(": ", 1)[0][-6:] for message in found.messages] == [
        "line 3", "line 4", "line 6",
    ]  # fmt: skip
    assert "found node id 'ann' again" in found.messages[2]


def test_splits_skip_too(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", "ann,bob\nbob,eve\n")
    train = save(tmp_path / "t.txt", "bob\n" + "x" * 2000 + "\neve\n")
    gz.import_files(
        edges, tmp_path / "ds", relabel="text", splits={"train": train}, on_error="skip"
    )
    assert column(tmp_path / "ds", "train").tolist() == [1, 2]


def test_skipping_every_line_tells_why(tmp_path: Path) -> None:
    edges = save(tmp_path / "e.csv", "ann,bob,2013-01-01\nbob,eve,2013-01-02\n")
    with pytest.raises(
        InputError,
        match=r"e\.csv: found no ids, expected edges; all lines were skipped, \d of them, the first"
        r": .*line \d: found weight \"2013-01-0\d\", expected a finite number",
    ):
        gz.import_files(edges, tmp_path / "ds", relabel=True, on_error="skip")
