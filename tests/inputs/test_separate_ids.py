"""Ids that stand at both ends of edges: told, and kept apart on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from contents import column
from graphzero import InputError, _engine
from graphzero.files.original_ids import encode_texts
from input_graphs import convert
from pyarrow import parquet

# Users 1 to 4 rate items 2 to 7: three numbers are both.
RATINGS = {"user": [1, 2, 2, 3, 4], "item": [7, 2, 5, 3, 4], "rating": [5, 4, 3, 2, 1]}


def save(folder: Path, kind: str, table: dict[str, list[Any]], name: str) -> Path:
    path = folder / f"{name}.{kind}"
    if kind == "csv":
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines))
    else:
        parquet.write_table(pa.table(table), path)
    return path


@pytest.fixture(params=["csv", "parquet"])
def ratings(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return save(tmp_path, request.param, RATINGS, "ratings")


ENDS = ("--source", "user", "--target", "item")


def test_an_overlap_is_told(tmp_path: Path, ratings: Path) -> None:
    done = convert("--edges", ratings, *ENDS, "--relabel", "--out", tmp_path / "ds")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        f"note: {ratings.name}: 3 of 6 ids occur both as 'user' and as 'item' and are one node "
        "each; if sources and targets are different things, use --separate-ids\n" in done.stdout
    )
    assert gz.Graph(tmp_path / "ds").num_nodes == 6


def test_nothing_is_told_without_an_overlap(tmp_path: Path) -> None:
    table = save(tmp_path, "csv", {"user": ["u1", "u2"], "item": ["i1", "i1"]}, "r")
    report = gz.import_files(table, tmp_path / "ds", source="user", target="item", relabel=True)
    assert report.notes == ("r.csv: ids are text",)


def test_sides_are_kept_apart(tmp_path: Path, ratings: Path) -> None:
    done = convert(
        "--edges", ratings, *ENDS, "--separate-ids", "--edge-ids", "--out", tmp_path / "ds"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "note: nodes 0 to 4 are item:..., nodes 5 to 8 are user:..." in done.stdout
    names, graph = gz.OriginalIds(tmp_path / "ds"), gz.Graph(tmp_path / "ds")
    assert names.gather(range(9)) == [
        "item:2", "item:3", "item:4", "item:5", "item:7", "user:1", "user:2", "user:3", "user:4",
    ]  # fmt: skip
    found = names.gather(graph.get_neighbours(names.find(["user:2"])[0]))
    assert found == ["item:2", "item:5"]
    assert graph.get_neighbours(names.find(["item:2"])[0]).tolist() == []


def test_text_and_parquet_agree(tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        gz.import_files(
            save(tmp_path, kind, RATINGS, "r"),
            tmp_path / f"ds-{kind}",
            source="user",
            target="item",
            separate_ids=True,
            edge_columns={"rating": ["rating"]},
        )
    for name in ("graph.gl", "original_id.gd", "rating.gd"):
        files = [(tmp_path / f"ds-{kind}" / name).read_bytes() for kind in ("csv", "parquet")]
        assert files[0] == files[1]


def test_columns_belong_to_the_side_of_their_ids(tmp_path: Path, ratings: Path) -> None:
    kind = ratings.suffix[1:]
    users = save(tmp_path, kind, {"age": [10, 20, 30, 40, 50], "user": [1, 2, 3, 4, 9]}, "users")
    train = tmp_path / "train.txt"
    train.write_text("user:3\nitem:3\n")
    gz.import_files(
        ratings,
        tmp_path / "ds",
        source="user",
        target="item",
        separate_ids=True,
        nodes=users,
        id_column="user",
        columns={"age": ["age"]},
        splits={"train": train},
        fill={"age": -1},
    )
    names = gz.OriginalIds(tmp_path / "ds")
    ages = column(tmp_path / "ds", "age")
    assert ages[names.find(["user:1", "user:9", "item:2"])].tolist() == [10, 50, -1]
    assert names.gather(column(tmp_path / "ds", "train")) == ["user:3", "item:3"]


def test_a_column_of_neither_side_is_refused(tmp_path: Path, ratings: Path) -> None:
    people = save(tmp_path, "csv", {"id": [1, 2], "age": [10, 20]}, "people")
    with pytest.raises(
        InputError, match=r"people\.csv: found ids in column 'id', expected column 'user' "
    ):
        gz.import_files(
            ratings,
            tmp_path / "ds",
            source="user",
            target="item",
            separate_ids=True,
            nodes=people,
            columns={"age": ["age"]},
        )


def test_integers_and_texts_go_together(tmp_path: Path) -> None:
    table = pa.table({"flight": [10, 11], "plane": ["N1", "10"]})
    parquet.write_table(table, tmp_path / "f.parquet")
    options: dict[str, Any] = {"source": "flight", "target": "plane"}
    with pytest.raises(InputError, match=r"expected the same kind of ids"):
        gz.import_files(tmp_path / "f.parquet", tmp_path / "ds", relabel=True, **options)
    gz.import_files(tmp_path / "f.parquet", tmp_path / "ds", separate_ids=True, **options)
    assert gz.OriginalIds(tmp_path / "ds").gather(range(4)) == [
        "flight:10", "flight:11", "plane:10", "plane:N1",
    ]  # fmt: skip


def test_a_header_of_other_names_is_one(tmp_path: Path) -> None:
    table = save(tmp_path, "csv", {"user": [1, 2], "item": [1, 1]}, "r")
    gz.import_files(table, tmp_path / "ds", separate_ids=True)
    assert gz.OriginalIds(tmp_path / "ds").gather(range(3)) == ["item:1", "user:1", "user:2"]


def test_sides_without_names(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.array([[0, 1], [0, 2]]))
    gz.import_files(tmp_path / "e.npy", tmp_path / "ds", separate_ids=True)
    assert gz.OriginalIds(tmp_path / "ds").gather(range(4)) == [
        "source:0", "source:1", "target:0", "target:2",
    ]  # fmt: skip


@pytest.mark.parametrize("memory", [1 << 16, 1 << 30])
def test_sides_are_counted_also_beyond_memory(tmp_path: Path, memory: int) -> None:
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 30_000, 50_000), rng.integers(20_000, 50_000, 50_000)
    resources = _engine.Resources.make_for_tests(memory=memory, threads=1, temp_dir=str(tmp_path))
    both = len(np.intersect1d(src, dst))
    integers, texts = _engine.IntegerIdCollector(resources), _engine.TextIdCollector(resources)
    for ids, side in ((src, 1), (dst, 2)):
        for piece in np.array_split(ids, 9):
            integers.add(piece, sides=side)
            texts.add(*encode_texts([str(n) for n in piece]), first_row=0, sides=side)
    for name, collector in (("i", integers), ("t", texts)):
        counts = collector.write(str(tmp_path / f"{name}.gd"))
        assert counts.total == len(np.union1d(src, dst))
        assert counts.with_sides(3) == both
        assert counts.with_sides(1) == len(np.unique(src)) - both
        assert counts.with_sides(2) == len(np.unique(dst)) - both


def test_words_for_missing_ids_are_told(tmp_path: Path) -> None:
    edges = tmp_path / "e.csv"
    edges.write_text("origin,tail\nJFK,N1\nLAX,NA\nJFK,N2\n")
    options: dict[str, Any] = {"source": "origin", "target": "tail", "relabel": True}
    report = gz.import_files(edges, tmp_path / "ds", **options)
    assert any("'NA' is a node; if it stands for a missing id" in note for note in report.notes)
    report = gz.import_files(edges, tmp_path / "other", missing=["NA"], on_error="skip", **options)
    assert report.graph.skipped == 1
    assert gz.OriginalIds(tmp_path / "other").gather(range(3)) == ["JFK", "N1", "N2"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_of_both_sides_tell_theirs_by_the_name_of_their_ids(
    tmp_path: Path, ratings: Path, kind: str
) -> None:
    users = save(tmp_path, kind, {"age": [10, 20, 30, 40], "user": [4, 3, 2, 1]}, "users")
    items = save(tmp_path, kind, {"price": [9, 8, 7, 6, 5], "item": [7, 5, 4, 3, 2]}, "items")
    mask = {"item": [7, 5, 4, 3, 2], "held_out": [True, False, False, False, True]}
    held_out = tmp_path / "mask.parquet"
    parquet.write_table(pa.table(mask), held_out)
    gz.import_files(
        ratings,
        tmp_path / "ds",
        source="user",
        target="item",
        separate_ids=True,
        columns={"age": f"{users}#age", "price": f"{items}#price"},
        splits={"test": f"{held_out}#held_out"},
        fill=-1,
    )
    names = gz.OriginalIds(tmp_path / "ds")
    nodes = names.find(["user:4", "user:1", "item:7", "item:2"])
    assert column(tmp_path / "ds", "age")[nodes].tolist() == [10, 40, -1, -1]
    assert column(tmp_path / "ds", "price")[nodes].tolist() == [-1, -1, 9, 5]
    assert names.gather(column(tmp_path / "ds", "test")) == ["item:7", "item:2"]
