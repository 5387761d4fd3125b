"""`graphzero info`: what a file holds."""

import json
from pathlib import Path

import golden
import graphzero as gz
import numpy as np
import pytest
import reference_writer as rw
from graphzero import _engine
from graphzero.commands import values
from graphzero.commands.cli import main

ALL = sorted(path.name for path in golden.DIRECTORY.iterdir())


def info_json(path, capsys):
    assert main(["info", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ALL)
def test_every_kind_of_file_has_a_table_and_a_document(name, capsys):
    assert main(["info", str(golden.DIRECTORY / name)]) == 0
    assert name in capsys.readouterr().out
    (document,) = info_json(golden.DIRECTORY / name, capsys)["files"]
    assert document["file_bytes"] == (golden.DIRECTORY / name).stat().st_size
    assert 0 <= document["resident_bytes"] <= document["file_bytes"]


def test_a_graph_is_described_by_its_numbers(capsys):
    (graph,) = info_json(golden.DIRECTORY / "directed.gl", capsys)["files"]
    assert (graph["num_nodes"], graph["num_edges"]) == (4, 5)
    assert graph["directions"] == ["out", "in"]
    assert (graph["weights"], graph["edge_ids"], graph["symmetric"]) == (True, True, False)
    degrees = graph["degrees"]["out"]
    histogram = [(e["least"], e["most"], e["nodes"]) for e in degrees.pop("histogram")]
    assert histogram == [(0, 0, 1), (1, 1, 2), (2, 3, 1)]
    assert degrees == {"min": 0, "median": 1, "p99": 3, "max": 3, "mean": 1.25}
    assert graph["isolated_nodes"] == 0
    assert len(graph["fingerprint"]) == 32


def test_a_matrix_is_described_by_shape_and_type(capsys):
    (matrix,) = info_json(golden.DIRECTORY / "float16_padded.gd", capsys)["files"]
    assert (matrix["shape"], matrix["dtype"], matrix["row_stride"]) == ([2, 3], "float16", 16)
    (split,) = info_json(golden.DIRECTORY / "split.gd", capsys)["files"]
    assert (split["shape"], split["role"]) == ([3], "ids")


def test_a_typed_graph_is_described_by_types_and_relations(capsys):
    (graph,) = info_json(golden.DIRECTORY / "typed.gl", capsys)["files"]
    assert (graph["num_nodes"], graph["num_edges"], graph["time_unit"]) == (9, 11, "s")
    assert graph["types"] == [
        {"name": "user", "num_nodes": 3, "times": [1, 4]},
        {"name": "movie", "num_nodes": 4, "times": [5, 40]},
        {"name": "tag", "num_nodes": 2, "times": None},
        {"name": "none", "num_nodes": 0, "times": None},
    ]
    rates, has, knows, _, _, view, _ = graph["relations"]
    assert (rates["source"], rates["name"], rates["target"]) == ("user", "rates", "movie")
    assert (rates["num_edges"], rates["times"], rates["weight_name"]) == (4, [6, 30], "stars")
    assert rates["degrees"]["out"]["max"] == 3
    assert rates["degrees"]["in"]["max"] == 2
    assert (has["times"], has["time_ordered"], has["inverse"]) == (None, True, 3)
    assert (knows["symmetric"], knows["directions"]) == (True, ["out"])
    assert (view["name"], view["view_of"]) == ("rated_by", 0)


def test_the_summary_of_a_typed_graph_names_types_relations_and_times(capsys):
    assert main(["info", str(golden.DIRECTORY / "typed.gl")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("3 nodes, times from 1970-01-01T00:00:01 to 1970-01-01T00:00:04" in v for v in lines)
    rates = next(line for line in lines if "(user, rates, movie)" in line)
    assert "4 edges, out-edges and in-edges, weights, edge ids, times from" in rates
    assert "rows in the order of time" in rates
    assert any(
        "(movie, rated_by, user)" in v and "view of (user, rates, movie)" in v for v in lines
    )
    assert any("(movie, has, tag)" in v and "inverse of (tag, of, movie)" in v for v in lines)
    assert main(["info", "-v", str(golden.DIRECTORY / "typed.gl")]) == 0
    assert "out.slot_times" in capsys.readouterr().out


def test_a_timed_graph_without_types_tells_its_times(capsys):
    (graph,) = info_json(golden.DIRECTORY / "timed.gl", capsys)["files"]
    assert graph["edge_times"] == [-7, 2**40]
    assert graph["node_times"] == [-2, 6]
    assert main(["info", str(golden.DIRECTORY / "timed.gl")]) == 0
    out = capsys.readouterr().out
    assert "from 1969-12-31T23:59:59.993 to 2004-11-03" in out


def test_files_of_graphzero_0_2_have_no_fingerprint(capsys):
    (graph,) = info_json(golden.DIRECTORY / "graphzero02.gl", capsys)["files"]
    assert (graph["format"], graph["fingerprint"]) == ("GraphZero 0.2", None)


def test_a_dataset_lists_its_graph_first(tmp_path, capsys):
    for name in ("float32.gd", "directed.gl"):
        data = (golden.DIRECTORY / name).read_bytes()
        (tmp_path / name.replace("directed", "graph")).write_bytes(data)
    files = info_json(tmp_path, capsys)["files"]
    assert [file["kind"] for file in files] == ["topology", "matrix"]


def test_degrees_are_exact_beyond_what_is_counted_singly(tmp_path):
    """Hubs of more than 65,535 edges are kept apart; quantiles must not notice."""
    degrees = np.array([0] * 5 + [3] * 180 + [70_000, 65_536, 65_535] + [2] * 12)
    np.random.default_rng(0).shuffle(degrees)
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint64)
    edges = int(indptr[-1])
    sections = [
        rw.array_section(16, indptr),
        rw.Section(17, rw.DTYPES["uint32"], edges, 4 * edges),
    ]
    properties = np.array([200, 200, edges, edges], np.uint64).tobytes()
    path = rw.container(rw.TOPOLOGY_MAGIC, properties, sections).write(tmp_path / "g.gl")
    graph = _engine.Topology.open(str(path))
    summary = _engine.summarize_degrees(graph, "out")
    expected = np.sort(degrees)
    assert summary.min == 0
    assert summary.median == np.quantile(degrees, 0.5, method="inverted_cdf")
    assert summary.p99 == np.quantile(degrees, 0.99, method="inverted_cdf")
    assert summary.max == expected[-1]
    assert summary.mean == pytest.approx(degrees.mean())
    assert summary.empty_rows == 5
    assert _engine.count_isolated(graph) == 5
    assert summary.histogram == [5, 0, 192, *[0] * 13, 1, 2]


def test_values_are_summarized(tmp_path, capsys):
    nan, inf = float("nan"), float("inf")
    values = {
        "x.gd": np.array([[1.5, nan], [-2.0, inf], [nan, 0.0]], np.float32),
        "h.gd": np.array([[1.5], [-2.0], [nan]], np.float16),
        "y.gd": np.array([0, 3] * 4, np.int64),
        "big.gd": np.arange(8, dtype=np.int64),
        "m.gd": np.array([True, False, True]),
        "none.gd": np.zeros((0, 4), np.float32),
    }
    for name, array in values.items():
        gz.write_features(tmp_path / name, array)
    gz.write_features(
        tmp_path / "original_id.gd",
        np.array([b"ab", b"c"], "S3").view(np.uint8).reshape(2, 3),
    )

    found = {}
    for file in info_json(tmp_path, capsys)["files"]:
        found[Path(file["path"]).name] = file["values"]
    expected = {"rows_read": 3, "nan": 2, "infinite": 1, "min": -2.0, "max": 1.5}
    assert found["x.gd"] == expected
    assert found["h.gd"] == expected | {"nan": 1, "infinite": 0}
    assert found["y.gd"] == {"rows_read": 8, "min": 0, "max": 3, "classes": 2}
    assert found["big.gd"] == {"rows_read": 8, "min": 0, "max": 7}
    assert found["m.gd"] == {"rows_read": 3, "true": 2}
    assert found["none.gd"] == {"rows_read": 0, "nan": 0, "infinite": 0}
    assert found["original_id.gd"] == {"rows_read": 2, "texts": True, "first": "ab", "last": "c"}

    assert main(["info", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "from -2 to 1.5, 2 NaN, 1 infinite" in text
    assert "from 0 to 3, 2 different values" in text
    assert "2 texts of up to 3 bytes" in text


def test_one_is_no_plural(tmp_path, capsys):
    gz.write_features(tmp_path / "y.gd", np.ones(4, np.int64))
    gz.write_features(tmp_path / "original_id.gd", np.frombuffer(b"a", np.uint8).reshape(1, 1))
    assert main(["info", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "from 1 to 1, 1 different value\n" in text
    assert "1 text of up to 1 byte," in text


def test_a_large_column_is_summarized_by_some_of_its_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(values, "_MOST_BYTES", 4096 * 8)
    gz.write_features(tmp_path / "x.gd", np.arange(100_000, dtype=np.int64))
    (file,) = info_json(tmp_path, capsys)["files"]
    assert file["values"] == {"rows_read": 4096, "min": 0, "max": 99_999}
    assert main(["info", str(tmp_path)]) == 0
    assert "from 4,096 rows spread over the file" in capsys.readouterr().out


def test_details_are_for_those_who_ask(capsys):
    path = str(golden.DIRECTORY / "directed.gl")
    assert main(["info", path]) == 0
    summary = capsys.readouterr().out
    assert "nodes by degree: 0: 1, 1: 2, 2-3: 1" in summary
    assert "fingerprint" not in summary
    assert main(["info", "-v", path]) == 0
    assert "fingerprint" in capsys.readouterr().out


def test_a_missing_file_is_one_line_on_stderr(tmp_path, capsys):
    assert main(["info", str(tmp_path / "absent.gl")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "absent.gl: cannot open: No such file or directory" in captured.err
