"""Edges of one file with the times at which they came to be."""

from __future__ import annotations

import re
from pathlib import Path

import graphzero as gz
import numpy as np
import pytest
from commands import run_graphzero

CALLS = "caller,callee,when\nann,bob,2024-03-01T10:00Z\nbob,eve,2024-03-02\nann,eve,2024-03-05\n"


def neighbours_at(dataset: Path, node: int, time: int) -> set[int]:
    """The nodes that a sample of all in-edges until a time finds."""
    sample = gz.Graph(dataset).sample([node], [-1], time=time)
    return set(sample.n_id[1:].tolist())


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_sample_at_a_time_has_no_edge_that_came_later(tmp_path: Path) -> None:
    edges = write(tmp_path / "edges.csv", "source,target,at\n0,1,5\n2,1,-7\n3,1,6\n")
    done = run_graphzero("convert", "--edges", edges, "--time", "at", "--out", tmp_path / "out")
    assert "times of edges from -7 to 6" in done.stdout
    assert neighbours_at(tmp_path / "out", 1, -8) == set()
    assert neighbours_at(tmp_path / "out", 1, 5) == {0, 2}
    assert neighbours_at(tmp_path / "out", 1, 6) == {0, 2, 3}
    assert gz.Graph(tmp_path / "out").has_edge_ids


def test_dates_of_relabelled_text_count_seconds(tmp_path: Path) -> None:
    gz.import_files(
        write(tmp_path / "calls.csv", CALLS),
        tmp_path / "out",
        source="caller",
        target="callee",
        time="when",
        relabel=True,
        undirected=True,
    )
    names, graph = gz.OriginalIds(tmp_path / "out"), gz.Graph(tmp_path / "out")
    eve = names.find(["eve"])
    sample = graph.sample(eve, [-1], time=np.datetime64("2024-03-03"))
    assert list(names.gather(sample.n_id)) == ["eve", "bob"]
    assert graph.time_unit == "s"


def test_parquet_and_text_make_the_same_graph(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    when = np.array(["2024-01-03", "2024-01-01", "2024-01-02"], "datetime64[s]")
    table = pa.table(
        {"source": [0, 1, 2], "target": [1, 2, 0], "weight": [1.0, 2.0, 3.0], "at": when}
    )
    pq.write_table(table, tmp_path / "edges.parquet")
    lines = [f"{i},{(i + 1) % 3},{i + 1}.0,{when[i]}Z\n" for i in range(3)]
    write(tmp_path / "edges.csv", "source,target,weight,at\n" + "".join(lines))
    for kind in ("parquet", "csv"):
        gz.import_files(
            tmp_path / f"edges.{kind}", tmp_path / kind, time="at", time_unit="s", direction="in"
        )
    text, table_ = (gz.Graph(tmp_path / kind) for kind in ("csv", "parquet"))
    assert text.fingerprint == table_.fingerprint
    assert text.has_weights


def test_integers_keep_the_scale_that_the_user_states(tmp_path: Path) -> None:
    edges = write(tmp_path / "edges.csv", "source,target,day\n0,1,19783\n")
    gz.import_files(edges, tmp_path / "out", time="day", time_unit="D")
    graph = gz.Graph(tmp_path / "out")
    assert graph.time_unit == "D"
    later = graph.sample([1], [-1], time=np.datetime64("2024-03-01"))
    earlier = graph.sample([1], [-1], time=np.datetime64("2024-02-29"))
    assert (len(later.n_id), len(earlier.n_id)) == (2, 1)


def test_times_finer_than_their_unit_are_not_rounded_unasked(tmp_path: Path) -> None:
    edges = write(tmp_path / "edges.csv", "source,target,at\n0,1,2024-01-01T00:00:00.5Z\n")
    with pytest.raises(gz.InputError, match="--time-unit ms, us or ns keeps them apart"):
        gz.import_files(edges, tmp_path / "out", time="at")
    gz.import_files(edges, tmp_path / "out", time="at", time_unit="ms")
    assert gz.Graph(tmp_path / "out").time_unit == "ms"


def test_a_line_without_a_time_is_an_error_or_skipped(tmp_path: Path) -> None:
    edges = write(tmp_path / "edges.csv", "source,target,at\n0,1,5\n2,1,\n3,1,6\n")
    with pytest.raises(gz.InputError, match=r"line 3.*--on-error skip"):
        gz.import_files(edges, tmp_path / "out", time="at")
    report = gz.import_files(edges, tmp_path / "out", time="at", on_error="skip")
    assert report.graph.skipped == 1
    assert neighbours_at(tmp_path / "out", 1, 9) == {0, 3}


def test_one_bad_date_among_dates_is_named_with_its_line(tmp_path: Path) -> None:
    edges = write(tmp_path / "edges.csv", "u,v,at\n0,1,2013-01-31\n2,1,yesterday\n3,1,2013-02-01\n")
    place = r"edges\.csv line 3: column 'at': found \"yesterday\", expected a date such as 2013"
    with pytest.raises(gz.InputError, match=place):
        gz.import_files(edges, tmp_path / "out", source="u", target="v", time="at")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--time", "wen"), "found no column 'wen'.*did you mean 'when'"),
        (("--time-unit", "s"), "found --time-unit, expected --time COLUMN"),
        (("--time", "caller"), "line 2: column 'caller': found \"ann\", expected a date such as"),
    ],
)
def test_what_cannot_be_times_is_named(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    edges = write(tmp_path / "calls.csv", CALLS)
    out = tmp_path / "out"
    done = run_graphzero("convert", "--edges", edges, *arguments, "--relabel", "--out", out)
    assert done.returncode != 0
    assert re.search(message, done.stderr), done.stderr
    assert not out.exists()
