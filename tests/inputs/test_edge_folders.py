"""Edges in a folder of text files, as programs that write in parallel leave them: the same graph as
one file of all lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from contents import file_bytes
from graphzero.base.errors import InputError

LINES = ["0,1,0.5", "0,2,1.5", "1,2,2", "3,0,4", "2,2,8"]


def write(folder: Path, files: dict[str, list[str]], header: str | None = None) -> Path:
    folder.mkdir()
    for name, lines in files.items():
        text = "".join(f"{line}\n" for line in ([header] if header else []) + lines).encode()
        (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return folder


def one_file(path: Path, lines: list[str], header: str | None = None) -> Path:
    path.write_text("".join(f"{line}\n" for line in ([header] if header else []) + lines))
    return path


@pytest.mark.parametrize("header", [None, "source,target,weight"])
def test_a_folder_is_one_list_of_edges(tmp_path: Path, header: str | None) -> None:
    parts = {"part-0.csv": LINES[:2], "part-1.csv.gz": LINES[2:4], "part-2.csv": LINES[4:]}
    folder = write(tmp_path / "parts", parts, header)
    (folder / "_SUCCESS").write_text("")
    whole = one_file(tmp_path / "whole.csv", LINES, header)
    for source in (folder, whole):
        gz.import_files(source, tmp_path / f"{source.stem}-out", edge_ids=True)
    made = file_bytes(tmp_path / "parts-out")
    assert made == file_bytes(tmp_path / "whole-out")
    graph = gz.Graph(tmp_path / "parts-out/graph.gl")
    sample = graph.sample([0, 1, 2, 3], [-1], seed=0)
    assert sample.edge_weight is not None
    assert sorted(sample.edge_weight.tolist()) == [0.5, 1.5, 2, 4, 8]


def test_empty_files_are_no_edges(tmp_path: Path) -> None:
    folder = write(tmp_path / "parts", {"a.csv": [], "b.csv": LINES[:3], "c.csv": []})
    report = gz.import_files(folder, tmp_path / "out")
    assert report.graph.num_edges == 3


def test_one_id_that_is_no_integer_makes_the_ids_of_all_files_texts(tmp_path: Path) -> None:
    folder = write(tmp_path / "parts", {"a.csv": ["1,2", "2,3"], "b.csv": ["3,x", "x,1"]})
    whole = one_file(tmp_path / "whole.csv", ["1,2", "2,3", "3,x", "x,1"])
    for source in (folder, whole):
        gz.import_files(source, tmp_path / f"{source.stem}-out", relabel=True)
    assert file_bytes(tmp_path / "parts-out") == file_bytes(tmp_path / "whole-out")


@pytest.mark.parametrize("options", [{}, {"source": "from_id", "target": "to_id"}])
def test_a_file_with_nothing_but_names_does_not_make_ids_texts(
    tmp_path: Path, options: dict[str, str]
) -> None:
    """As programs leave them that write in parallel and have no line for one of their parts."""
    parts = {"a.csv": ["10,11", "11,12"], "b.csv": [], "c.csv": ["12,10"]}
    folder = write(tmp_path / "parts", parts, "from_id,to_id")
    whole = one_file(tmp_path / "whole.csv", ["10,11", "11,12", "12,10"], "from_id,to_id")
    for source in (folder, whole):
        gz.import_files(source, tmp_path / f"{source.stem}-out", relabel=True, **options)
    assert file_bytes(tmp_path / "parts-out") == file_bytes(tmp_path / "whole-out")


def test_names_that_one_file_shows_are_names_in_all(tmp_path: Path) -> None:
    folder = write(tmp_path / "parts", {"a.csv": ["0,1", "1,2"], "b.csv": ["x,y"]}, "foo,bar")
    report = gz.import_files(folder, tmp_path / "out", relabel=True)
    assert (report.graph.num_nodes, report.graph.num_edges) == (5, 3)


def test_a_doubtful_first_line_of_any_file_is_told(tmp_path: Path) -> None:
    parts = {"a.csv": ["a,b", "b,c"], "b.csv": ["foo,bar", "b,c"]}
    report = gz.import_files(write(tmp_path / "parts", parts), tmp_path / "out", relabel=True)
    assert report.graph.num_edges == 4
    assert any("a first line ('foo', 'bar') counts as an edge" in note for note in report.notes)


def test_folders_inside_are_not_looked_into(tmp_path: Path) -> None:
    folder = write(tmp_path / "parts", {"a.csv": LINES})
    write(folder / "old.csv", {"b.csv": LINES})
    assert gz.import_files(folder, tmp_path / "out").graph.num_edges == len(LINES)


def test_named_columns_may_be_in_another_order_in_each_file(tmp_path: Path) -> None:
    folder = write(tmp_path / "parts", {})
    (folder / "a.csv").write_text("buyer,day,seller\n0,2020-01-01,1\n")
    (folder / "b.csv").write_text("seller,buyer,day\n2,1,2020-01-03\n")
    gz.import_files(folder, tmp_path / "out", source="buyer", target="seller", time="day")
    graph = gz.Graph(tmp_path / "out/graph.gl")
    sample = graph.sample([0, 1, 2], [-1], seed=0)
    edges = sample.n_id[sample.edge_index].T
    assert sorted(edges.tolist()) == [[0, 1], [1, 2]]


def test_edge_ids_count_bad_lines_of_the_files_before(tmp_path: Path) -> None:
    """More bad lines at the end of a file than the parser reads at once."""
    bad = ["bad"] * 400_000
    parts = {"a.csv": ["0,1", *bad], "b.csv": ["1,2", "bad", "3,0"]}
    folder = write(tmp_path / "parts", parts)
    report = gz.import_files(folder, tmp_path / "out", edge_ids=True, on_error="skip")
    assert report.graph.num_edges == 3
    sample = gz.Graph(tmp_path / "out/graph.gl").sample([0, 1, 2], [-1], seed=0)
    assert sample.e_id is not None
    assert sorted(sample.e_id.tolist()) == [0, 400_001, 400_003]


def test_a_bad_line_is_told_with_its_file(tmp_path: Path) -> None:
    folder = write(tmp_path / "parts", {"a.csv": ["0,1"], "b.csv": ["1,2", "2,-1"]})
    with pytest.raises(InputError, match=r'b\.csv line 2: found target "-1", expected an id'):
        gz.import_files(folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("second", "found"),
    [
        ("1,2\n", r"2 without names, expected 'source', 'target'"),
        ("source,target,weight\n1,2,3\n", "'source', 'target', 'weight', expected"),
        ("source,dst\n1,2\n", "'source', 'dst', expected"),
    ],
)
def test_files_with_other_columns_are_told(tmp_path: Path, second: str, found: str) -> None:
    folder = write(tmp_path / "parts", {"a.csv": ["0,1"]}, "source,target")
    (folder / "b.csv").write_text(second)
    with pytest.raises(InputError, match=rf"b\.csv: found columns {found}.* as in .*a\.csv"):
        gz.import_files(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_many_edges_give_the_same_with_little_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{a},{b}" for a, b in rng.integers(0, 5000, (60_000, 2)).tolist()]
    parts = {f"part-{n:02}.csv": lines[n::7] for n in range(7)}
    folder = write(tmp_path / "parts", parts, "source,target")
    in_order = [line for part in parts.values() for line in part]
    whole = one_file(tmp_path / "whole.csv", in_order, "source,target")
    for source, memory in ((folder, 64 << 20), (whole, 1 << 30)):
        gz.import_files(source, tmp_path / f"{source.stem}-out", edge_ids=True, memory=memory)
    assert file_bytes(tmp_path / "parts-out") == file_bytes(tmp_path / "whole-out")
