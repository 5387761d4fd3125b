"""--relabel: any integers or texts become 0 to N - 1, and can be had back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from commands import run_graphzero
from contents import column
from graphzero import InputError, _engine
from input_graphs import convert
from pyarrow import parquet

WORDS = ["ant", "bée", "b", "bee", "日本", "cat", "a" * 900, "zebra"]


def edges_between(ids: list[Any]) -> tuple[list[Any], list[Any]]:
    """A ring, and a chord from the first to each."""
    return ids + ids[:1] * len(ids), ids[1:] + ids[:1] + ids


def check(dataset: Path, ids: list[Any], src: list[Any], dst: list[Any]) -> None:
    original = gz.OriginalIds(dataset)
    order = sorted(ids, key=lambda i: i.encode() if isinstance(i, str) else i)
    found = original.gather(np.arange(len(order)))
    assert list(found) == order
    assert original.find(ids).tolist() == [order.index(i) for i in ids]
    graph = gz.Graph(dataset, verify=True)
    assert graph.num_nodes == len(order)
    for node, name in enumerate(order):
        expected = sorted(order.index(d) for s, d in zip(src, dst, strict=True) if s == name)
        assert graph.get_neighbours(node).tolist() == expected


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param([10**12, -5, 7, 0, 2**63 - 1, -(2**63)], id="integers"),
        pytest.param(WORDS, id="texts"),
    ],
)
@pytest.mark.parametrize("dictionary", [False, True])
def test_parquet_edges(tmp_path: Path, ids: list[Any], dictionary: bool) -> None:
    src, dst = edges_between(ids)
    columns = [pa.array(src), pa.array(dst)]
    if dictionary and isinstance(ids[0], str):
        columns = [values.dictionary_encode() for values in columns]
    parquet.write_table(pa.table(columns, ["src", "dst"]), tmp_path / "e.parquet")
    gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", relabel=True)
    check(tmp_path / "ds", ids, src, dst)


def test_text_edges_with_columns_and_splits(tmp_path: Path) -> None:
    ids = ["ann", "bob", "eve", "dan"]
    src, dst = edges_between(ids)
    lines = "".join(f"{s}\t{d}\t0.5\n" for s, d in zip(src, dst, strict=True))
    (tmp_path / "e.tsv").write_text("# who calls whom\nsource\ttarget\tweight\n" + lines)
    (tmp_path / "age.csv").write_text("id,age\nzoe,7\ndan,1\nbob,2\nann,3\neve,4\n")
    (tmp_path / "train.csv").write_text("zoe\nann\n")
    done = convert(
        "--edges", tmp_path / "e.tsv", "--relabel", "--column", f"age={tmp_path}/age.csv:int32",
        "--split", f"train={tmp_path}/train.csv", "--out", tmp_path / "ds",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    check(tmp_path / "ds", [*ids, "zoe"], src, dst)  # one that has a column only
    assert column(tmp_path / "ds", "age").tolist() == [3, 2, 1, 4, 7]
    assert column(tmp_path / "ds", "train").tolist() == [4, 0]
    assert gz.Graph(tmp_path / "ds").has_weights
    assert "note: e.tsv: ids are text" in done.stdout


def test_integers_taken_as_texts(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("007,7\n7,10\n")
    done = convert("--edges", tmp_path / "e.csv", "--relabel", "text", "--out", tmp_path / "ds")
    assert (done.returncode, done.stderr) == (0, "")
    check(tmp_path / "ds", ["007", "7", "10"], ["007", "7"], ["7", "10"])


def test_array_edges(tmp_path: Path) -> None:
    ends = np.array([[50, -3, 50], [7, 50, 7]], np.int16)
    np.save(tmp_path / "e.npy", ends)
    np.save(tmp_path / "train.npy", np.array([7, -3]))
    gz.import_files(
        tmp_path / "e.npy", tmp_path / "ds", relabel=True, splits={"train": tmp_path / "train.npy"}
    )
    check(tmp_path / "ds", [50, -3, 7], *ends.tolist())
    assert column(tmp_path / "ds", "train").tolist() == [1, 0]


def test_edge_columns_stay_with_their_edges(tmp_path: Path) -> None:
    table = pa.table({"src": ["b", "a"], "dst": ["a", "c"], "t": [10, 20]})
    parquet.write_table(table, tmp_path / "e.parquet")
    gz.import_files(
        tmp_path / "e.parquet",
        tmp_path / "ds",
        relabel="text",
        edge_columns={"t": f"{tmp_path}/e.parquet#t"},
    )
    graph, t = gz.Graph(tmp_path / "ds"), gz.FeatureStore(tmp_path / "ds/t.gd")
    assert t.gather(graph.get_edge_ids(0)).tolist() == [20]
    assert t.gather(graph.get_edge_ids(1)).tolist() == [10]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.parquet"
    parquet.write_table(pa.table({"src": ["a", "b"], "dst": ["b", "a"]}), path)
    return path


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({"columns": {"x": pa.table({"v": [1, 2]})}}, r"x\.parquet: found rows without ids"),
    ({"columns": {"x": pa.table({"id": [1, 2], "v": [1, 2]})}}, "found integers as ids, expected"),
    ({"splits": {"t": pa.table({"n": ["a", "q"]})}}, r"t\.parquet row 1: found id 'q', expected"),
    ({"columns": {"x": pa.table({"id": ["a", ""], "v": [1, 2]})}}, "row 1: found an empty id"),
    ({"columns": {"x": pa.table({"id": ["a", "\0"], "v": [1, 2]})}}, "row 1: found an id with a"),
    ({"columns": {"x": pa.table({"id": ["a" * 1025], "v": [1]})}}, "row 0: found an id of 1025"),
    ({"num_nodes": 5}, "--num-nodes and --relabel exclude each other"),
    ({"relabel": "integer"}, r"words\.parquet: found texts as ids, expected integers"),
    ({"columns": {"x": pa.table({"id": ["a"], "v": [1]})}}, "1 of 2 node ids have no row"),
]


@pytest.mark.parametrize(("options", "message"), ERRORS)
def test_what_cannot_be_relabelled_is_named(
    tmp_path: Path, words: Path, options: dict[str, Any], message: str
) -> None:
    given = {"relabel": True, **options}
    for group in ("columns", "splits"):
        for name, table in given.get(group, {}).items():
            parquet.write_table(table, tmp_path / f"{name}.parquet")
        given[group] = {name: tmp_path / f"{name}.parquet" for name in given.get(group, {})}
    with pytest.raises(InputError, match=message):
        gz.import_files(words, tmp_path / "ds", **given)
    assert not (tmp_path / "ds").exists()


def test_an_unknown_id_is_named(tmp_path: Path, words: Path) -> None:
    gz.import_files(words, tmp_path / "ds", relabel=True)
    original = gz.OriginalIds(tmp_path / "ds")
    with pytest.raises(IndexError, match=r"original ids\[1\]: found 'aa', which no node of ds has"):
        original.find(["a", "aa"])
    with pytest.raises(TypeError, match=r"original ids\[0\]: found int, expected str"):
        original.find([1])
    with pytest.raises(InputError, match="found no original ids, expected a dataset made with"):
        gz.OriginalIds(tmp_path)


def spill(directory: Path, collector: Any, name: str, add: Any) -> Any:
    """Collects with so little memory that runs have to be merged."""
    resources = _engine.Resources.make_for_tests(memory=1 << 16, threads=1, temp_dir=str(directory))
    made = collector(resources)
    add(made)
    path = directory / f"{name}.gd"
    made.write(str(path))
    return gz.FeatureStore(path, verify=True)


def test_integers_beyond_memory_are_merged(tmp_path: Path) -> None:
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 60_000)
    ids = np.concatenate([ids, ids[::3], [-(2**63)] * 3])

    def add(collector: Any) -> None:
        for piece in np.array_split(ids, 7):
            collector.add(piece)

    store = spill(tmp_path, _engine.IntegerIdCollector, "ids", add)
    np.testing.assert_array_equal(store.get_tensor(), np.unique(ids))
    matrix = _engine.Matrix.open(str(tmp_path / "ids.gd"))
    for memory in (0, 1 << 30):  # by bisection, by a table
        index = _engine.IdIndex(matrix, memory=memory, threads=3)
        found = index.find_integers(ids)
        np.testing.assert_array_equal(found, np.searchsorted(np.unique(ids), ids))
        assert index.find_integers(np.array([1, 2, 3])).tolist() == [-1] * 3


def test_texts_beyond_memory_are_merged(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = [f"{'x' * int(n % 40)}{n}" for n in rng.integers(0, 20_000, 40_000)]

    def encoded(part: list[str]) -> Any:
        from graphzero.files.original_ids import encode_texts

        return encode_texts(part)

    def add(collector: Any) -> None:
        for first in range(0, len(texts), 9_000):
            collector.add(*encoded(texts[first : first + 9_000]), name="t", first_row=first)

    store = spill(tmp_path, _engine.TextIdCollector, "ids", add)
    expected = sorted(set(texts))
    assert gz.OriginalIds(store).gather(np.arange(store.num_nodes)) == expected
    rank = {text: number for number, text in enumerate(expected)}
    for memory in (0, 1 << 30):
        index = _engine.IdIndex(
            _engine.Matrix.open(str(tmp_path / "ids.gd")), memory=memory, threads=2
        )
        assert index.find_texts(*encoded(texts)).tolist() == [rank[text] for text in texts]
        assert index.find_texts(*encoded(["", "nope"])).tolist() == [-1, -1]


def test_the_result_does_not_depend_on_memory_or_threads(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    ids = rng.integers(0, 2**62, 5_000)
    table = pa.table({"src": rng.choice(ids, 60_000), "dst": rng.choice(ids, 60_000)})
    parquet.write_table(table, tmp_path / "e.parquet")
    for name, memory, threads in (("a", 64 << 20, 1), ("b", 2 << 30, 4)):
        gz.import_files(
            tmp_path / "e.parquet", tmp_path / name, relabel=True, memory=memory, threads=threads
        )
    for file in ("graph.gl", "original_id.gd"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_column_cannot_take_the_name_of_the_original_ids(tmp_path: Path, words: Path) -> None:
    with pytest.raises(InputError, match="'original_id': this name is for the ids that --relabel"):
        gz.import_files(words, tmp_path / "ds", columns={"original_id": words}, relabel=True)


def test_verify_finds_original_ids_out_of_order(tmp_path: Path, words: Path) -> None:
    gz.import_files(words, tmp_path / "ds", relabel=True)
    assert run_graphzero("verify", tmp_path / "ds").returncode == 0
    (tmp_path / "ds/original_id.gd").unlink()
    gz.write_features(tmp_path / "ds/original_id.gd", np.array([[98], [97]], np.uint8))
    done = run_graphzero("verify", tmp_path / "ds")
    assert done.returncode == 1
    assert "row 0: found b'b' before b'a', expected ascending ids" in done.stdout


def test_edges_by_numbers_equal_edges_that_are_looked_up(tmp_path: Path) -> None:
    """With ids that fit into memory edges are kept by numbers; else they are read again."""
    from graphzero.conversion.inputs.edges import table_edges
    from graphzero.conversion.inputs.names import EdgeNames
    from graphzero.conversion.inputs.opening import edge_table
    from graphzero.conversion.inputs.options import ReadOptions
    from graphzero.conversion.inputs.relabel import write_original_ids

    rng = np.random.default_rng(7)
    ends = rng.integers(-(2**40), 2**40, 9_000)[rng.integers(0, 9_000, (20_000, 2))]
    lines = [f"{src},{dst},{src % 8}" for src, dst in ends.tolist()]
    lines[5_000:5_002] = ["broken", '"1","2",0.5']
    (tmp_path / "e.csv").write_text("\n".join(lines) + "\n")
    found = []
    for name, memory in (("numbers", 1 << 30), ("looked_up", 1 << 16)):
        reads = 0
        options = ReadOptions(skip=True)
        edges = table_edges(edge_table(str(tmp_path / "e.csv"), EdgeNames(), options, None))

        def opened(open_edges: Any = edges.open) -> Any:
            nonlocal reads
            reads += 1
            return open_edges()

        resources = _engine.Resources.make_for_tests(
            memory=memory, threads=2, temp_dir=str(tmp_path)
        )
        edges = dataclasses.replace(edges, open=opened)
        made = write_original_ids(tmp_path / f"{name}.gd", edges, [], resources, None)
        chunks = list(made.edges(edges).open())
        found.append(
            [
                np.concatenate([chunk.src for chunk in chunks]),
                np.concatenate([chunk.dst for chunk in chunks]),
                np.concatenate([chunk.weights for chunk in chunks]),
                np.concatenate([chunk.numbers for chunk in chunks if chunk.numbers is not None]),
            ]
        )
        assert reads == (1 if name == "numbers" else 2)
        assert chunks[-1].end_row == 20_000
    assert (tmp_path / "numbers.gd").read_bytes() == (tmp_path / "looked_up.gd").read_bytes()
    for numbered, looked_up in zip(*found, strict=True):
        np.testing.assert_array_equal(numbered, looked_up)
    assert len(found[0][0]) == 19_999


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_rows_of_any_form_are_read_as_plain_ones(tmp_path: Path, line_end: str) -> None:
    """Quotes, blanks and comments take another way through the parser than plain rows do."""
    ids = ["ann", "x y", "é", "#1", "9" * 20, "b" * 40, "007", "a'b"]
    src, dst = edges_between(ids)
    pairs = list(zip(src, dst, strict=True))
    plain = "".join(f"{s},{d},1.5{line_end}" for s, d in pairs if s != "#1")
    plain += "".join(f'"{s}",{d},1.5{line_end}' for s, d in pairs if s == "#1")
    other = f"# a comment{line_end}{line_end}"
    other += "".join(f' "{s}" ,"{d}", 15e-1{line_end}' for s, d in pairs if s != "#1")
    other += "".join(f' "{s}" , "{d}" ,+1.5{line_end}' for s, d in pairs if s == "#1")
    for name, text in (("plain", plain), ("other", other)):
        (tmp_path / f"{name}.csv").write_text(text, newline="")
        gz.import_files(tmp_path / f"{name}.csv", tmp_path / name, relabel=True)
    check(tmp_path / "plain", ids, src, dst)
    for file in ("graph.gl", "original_id.gd"):
        assert (tmp_path / "plain" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()
