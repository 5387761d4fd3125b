"""`graphzero export`, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from commands import run_graphzero
from contents import column
from input_graphs import SmallGraph
from pyarrow import parquet


@pytest.fixture(params=["directed", "undirected"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path, small: SmallGraph) -> Path:
    directory = tmp_path / "ds"
    directory.mkdir()
    gz.write_graph(
        directory / "graph.gl",
        small.src,
        small.dst,
        weights=small.weight,
        num_nodes=small.num_nodes + 3,  # some without edges
        undirected=request.param == "undirected",
        edge_ids=True,
    )
    x = np.concatenate([small.x, small.x[:3]])
    gz.write_features(directory / "x.gd", x, dtype="bfloat16")
    gz.write_features(directory / "half.gd", x, dtype="float16", row_align=64)
    gz.write_features(directory / "y.gd", np.arange(len(x)))
    gz.write_features(directory / "when.gd", np.arange(len(small.src)), role="edge")
    gz.write_features(directory / "train.gd", [5, 2], role="ids")
    return directory


def adjacency(graph: gz.Graph, when: gz.FeatureStore) -> list[Any]:
    """Neighbours of each node with weight and value of each edge, whatever the edge ids are."""
    return [
        sorted(
            zip(
                graph.get_neighbours(node).tolist(),
                graph.get_weights(node).tolist(),
                when.gather(graph.get_edge_ids(node)).tolist(),
                strict=True,
            )
        )
        for node in range(graph.num_nodes)
    ]


def test_npy_files_come_back_as_the_same_dataset(tmp_path: Path, dataset: Path) -> None:
    gz.export_dataset(dataset, tmp_path / "out", format="npy")
    before = gz.Graph(dataset)
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    after = gz.Graph(tmp_path / "again", verify=True)
    assert after.is_symmetric == before.is_symmetric
    assert adjacency(after, gz.FeatureStore(tmp_path / "again/when.gd")) == adjacency(
        before, gz.FeatureStore(dataset / "when.gd")
    )
    for name in ("x", "half", "y", "train"):
        file = f"{name}.gd"
        assert (tmp_path / "again" / file).read_bytes() == (dataset / file).read_bytes()


def test_parquet_files_come_back_as_the_same_dataset(tmp_path: Path, dataset: Path) -> None:
    done = run_graphzero("export", dataset, "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{tmp_path}/out: 503 nodes, ")
    assert parquet.read_schema(tmp_path / "out/nodes.parquet").field("half").type == pa.list_(
        pa.float16(), 7
    )
    undirected = gz.Graph(dataset).is_symmetric
    nodes = tmp_path / "out/nodes.parquet"
    edges = tmp_path / "out/edges.parquet"
    gz.import_files(
        edges,
        tmp_path / "again",
        num_nodes=503,
        undirected=undirected,
        columns={name: f"{nodes}#{name}" for name in ("x", "half", "y")},
        edge_columns={"when": f"{edges}#when"},
        splits={"train": tmp_path / "out/train.parquet"},
        dtypes={"x": "bfloat16"},
    )
    assert adjacency(
        gz.Graph(tmp_path / "again", verify=True), gz.FeatureStore(tmp_path / "again/when.gd")
    ) == adjacency(gz.Graph(dataset), gz.FeatureStore(dataset / "when.gd"))
    x = [gz.FeatureStore(folder / "x.gd") for folder in (tmp_path / "again", dataset)]
    assert x[0].dtype is x[1].dtype
    np.testing.assert_array_equal(*(store.gather(range(503), upcast=True) for store in x))
    for name in ("half", "y", "train"):
        np.testing.assert_array_equal(column(tmp_path / "again", name), column(dataset, name))


@pytest.mark.parametrize("ids", [["ann", "bob", "zoë"], [-4, 10**10, 3]])
def test_original_ids_are_written_back(tmp_path: Path, ids: list[Any]) -> None:
    table = pa.table({"src": ids, "dst": ids[1:] + ids[:1]})
    parquet.write_table(table, tmp_path / "e.parquet")
    gz.import_files(tmp_path / "e.parquet", tmp_path / "ds", relabel=True)
    gz.export_dataset(tmp_path / "ds", tmp_path / "out")
    found = parquet.read_table(tmp_path / "out/edges.parquet").to_pydict()
    pairs = sorted(zip(found["source"], found["target"], strict=True))
    assert pairs == sorted(zip(ids, ids[1:] + ids[:1], strict=True))
    nodes = parquet.read_table(tmp_path / "out/nodes.parquet").to_pydict()
    assert nodes == {"id": sorted(ids)}

    gz.export_dataset(tmp_path / "ds", tmp_path / "numbers", original_ids=False)
    numbers = parquet.read_table(tmp_path / "numbers/edges.parquet").to_pydict()
    assert sorted(numbers["source"]) == [0, 1, 2]

    gz.export_dataset(tmp_path / "ds", tmp_path / "npy", format="npy")
    gz.import_folder(tmp_path / "npy", tmp_path / "again")
    again, before = gz.OriginalIds(tmp_path / "again"), gz.OriginalIds(tmp_path / "ds")
    assert list(again.gather([0, 1, 2])) == list(before.gather([0, 1, 2]))


def test_a_graph_without_edges(tmp_path: Path) -> None:
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", [], [], num_nodes=2)
    for kind in ("parquet", "npy"):
        report = gz.export_dataset(tmp_path / "ds", tmp_path / kind, format=kind)
        assert report.num_edges == 0
    assert np.load(tmp_path / "npy/edge_index.npy").shape == (2, 0)
    assert parquet.read_table(tmp_path / "parquet/edges.parquet").num_rows == 0


def test_nothing_is_replaced_and_nothing_half_done_is_left(tmp_path: Path, dataset: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError, match="choose another name"):
        gz.export_dataset(dataset, tmp_path / "out")
    x = dataset / "y.gd"
    x.write_bytes(x.read_bytes()[:-4096])
    with pytest.raises(gz.FormatError):
        gz.export_dataset(dataset, tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ds", "out"]


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("parquet", "source", "edge"),
        ("parquet", "id", "node"),
        ("parquet", "edges", "ids"),
    ],
)
def test_names_that_would_overwrite_each_other_are_refused(
    tmp_path: Path, small: SmallGraph, kind: str, name: str, role: str
) -> None:
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", small.src, small.dst, edge_ids=True)
    nodes = gz.Graph(tmp_path / "ds").num_nodes
    rows = {"node": nodes, "edge": len(small.src), "ids": 2}[role]
    gz.write_features(tmp_path / f"ds/{name}.gd", np.arange(rows) % nodes, role=role)
    with pytest.raises(gz.InputError, match="would be called"):
        gz.export_dataset(tmp_path / "ds", tmp_path / "out", format=kind)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_a_column_called_like_a_field_of_a_batch_is_left_out_by_name(
    tmp_path: Path, small: SmallGraph, kind: str
) -> None:
    """Older versions wrote such columns; one would overwrite what the export writes itself."""
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", small.src, small.dst)
    nodes = gz.Graph(tmp_path / "ds").num_nodes
    gz.write_features(tmp_path / "ds/y.gd", np.arange(nodes))
    (tmp_path / "ds/y.gd").rename(tmp_path / "ds/num_nodes.gd")
    report = gz.export_dataset(tmp_path / "ds", tmp_path / "out", format=kind)
    assert any("num_nodes" in note and "rename" in note for note in report.notes)


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_a_full_disk_is_an_error_that_names_the_file(
    small_disk: Path, tmp_path: Path, kind: str
) -> None:
    """In a process of its own: a store to a mapping without room on the disk would end it."""
    large = tmp_path / "large"
    large.mkdir()
    gz.write_graph(large / "graph.gl", [0, 1], [1, 0], num_nodes=1_000)
    gz.write_features(large / "x.gd", np.random.default_rng(0).random((1_000, 2_000)))
    out = small_disk / "e"
    done = run_graphzero("export", large, "--out", out, "--format", kind)
    assert done.returncode == 1, done.stderr
    file = {"parquet": "nodes.parquet", "npy": "x.npy"}[kind]
    assert f"{file}: No space left on device" in done.stderr
    assert list(small_disk.iterdir()) == []
