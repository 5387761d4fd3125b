"""Export and import again: the same dataset, whatever it is made of."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool"]  # fmt: skip  # noqa: E501
NAMES = ["x", "y", "label", "time", "w", "weight", "edge_weight", "edge_time", "train", "valid_2", "seeds_a", "source_of"]  # fmt: skip  # noqa: E501


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "float" in dtype:  # among them values that a label has not
        return rng.normal(size=shape)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


@st.composite
def datasets(draw: Any) -> dict[str, Any]:
    """What to make a dataset of."""
    names = draw(st.permutations(NAMES))
    columns = [
        (
            name,
            draw(st.sampled_from(DTYPES)),
            draw(st.sampled_from([(), (1,), (3,), (2, 3), (1, 1, 2)])),
            # A batch has edge weights: only edges may have a column of that name.
            "edge" if name == "edge_weight" else draw(st.sampled_from(["node", "edge", "ids"])),
            draw(st.sampled_from([None, 64])),
        )
        for name in names[: draw(st.integers(0, 4))]
    ]
    return {
        "seed": draw(st.integers(0, 2**32)),
        "nodes": draw(st.integers(1, 6)),
        "edges": draw(st.integers(0, 5)),
        "weighted": draw(st.booleans()),
        "undirected": draw(st.booleans()),
        "direction": draw(st.sampled_from(["in", "out", "both"])),
        "dedup": draw(st.booleans()),
        "edge_ids": draw(st.booleans()),
        "original": draw(st.sampled_from([None, "integer", "text"])),
        "columns": columns,
    }


def write(directory: Path, facts: dict[str, Any]) -> None:
    directory.mkdir()
    rng = np.random.default_rng(facts["seed"])
    nodes, edges = facts["nodes"], facts["edges"]
    gz.write_graph(
        directory / "graph.gl",
        rng.integers(0, nodes, edges),
        rng.integers(0, nodes, edges),
        weights=rng.random(edges, np.float32) if facts["weighted"] else None,
        num_nodes=nodes,
        undirected=facts["undirected"],
        direction=facts["direction"],
        dedup=facts["dedup"],
        edge_ids=facts["edge_ids"],
    )
    for name, dtype, row_shape, role, row_align in facts["columns"]:
        if role == "ids":
            gz.write_features(
                directory / f"{name}.gd", rng.integers(0, nodes, nodes // 2), role=role
            )
            continue
        rows = nodes if role == "node" else edges
        gz.write_features(
            directory / f"{name}.gd",
            values(rng, (rows, *row_shape), dtype),
            dtype=dtype,
            role=role,
            row_align=row_align,
        )
    if facts["original"] == "integer":
        gz.write_features(directory / "original_id.gd", np.arange(nodes) * 10 - 7)
    elif facts["original"] == "text":
        ids = np.array([f"n{node}é".encode() for node in range(nodes)], "S")
        gz.write_features(directory / "original_id.gd", ids.view("u1").reshape(nodes, -1))


def edges_of(dataset: Path) -> list[Any]:
    """Every edge with its weight and values: whatever the edge ids are."""
    graph = gz.Graph(dataset, verify=True)
    columns = {}
    if graph.has_edge_ids:
        stores = {file.stem: gz.FeatureStore(file) for file in sorted(dataset.glob("*.gd"))}
        columns = {name: store for name, store in stores.items() if store.role == "edge"}
    directions = [way for way in ("in", "out") if graph.has_direction(way)]
    found: list[Any] = [graph.num_nodes, graph.is_symmetric, directions, graph.has_edge_ids]
    found.append(graph._file.topology.multi_edges_dropped)
    for way in directions:
        for node in range(graph.num_nodes):
            neighbours = graph.get_neighbours(node, direction=way).tolist()
            rows = [neighbours]
            if graph.has_weights:
                rows.append(graph.get_weights(node, direction=way).tolist())
            for store in columns.values():
                ids = graph.get_edge_ids(node, direction=way)
                rows.append([row.tobytes() for row in store.gather(ids, upcast=True)])
            found.append((way, node, sorted(zip(*rows, strict=True))))
    return found


def files_of(dataset: Path, *, role: str | None = None) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes()
        for file in sorted(dataset.glob("*.g[ld]"))
        if role is None or (file.suffix == ".gd" and gz.FeatureStore(file).role == role)
    }


def again(dataset: Path, folder: Path, kind: Any, original_ids: bool) -> Path:
    gz.export_dataset(dataset, folder / "files", format=kind, original_ids=original_ids)
    gz.import_folder(folder / "files", folder / "ds")
    return folder / "ds"


@settings(max_examples=15, deadline=None)
@given(facts=datasets(), kind=st.sampled_from(["npy", "parquet"]), original_ids=st.booleans())
def test_an_export_becomes_the_same_dataset(
    facts: dict[str, Any], kind: Any, original_ids: bool
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder / "ds", facts)
        for name in ("once", "twice"):
            (folder / name).mkdir()
        once = again(folder / "ds", folder / "once", kind, original_ids)
        assert edges_of(once) == edges_of(folder / "ds")
        for role in ("node", "ids"):
            assert files_of(once, role=role) == files_of(folder / "ds", role=role)
        # Edges have the order of the export now, so nothing is left to change.
        twice = again(once, folder / "twice", kind, original_ids)
        assert files_of(twice) == files_of(once)


def test_columns_of_edges_without_edge_ids_are_left_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", [0, 1], [1, 0])
    gz.write_features(tmp_path / "ds/when.gd", [1, 2], role="edge")
    report = gz.export_dataset(tmp_path / "ds", tmp_path / "out", format="npy")
    assert report.notes == ("when: left out, the graph has no edge ids, which tell its rows",)
    gz.import_folder(tmp_path / "out", tmp_path / "again")
    assert not (tmp_path / "again/when.gd").exists()


@pytest.fixture
def export(tmp_path: Path) -> Path:
    (tmp_path / "ds").mkdir()
    gz.write_graph(tmp_path / "ds/graph.gl", [0, 1], [1, 0])
    gz.write_features(tmp_path / "ds/x.gd", [0.5, 2])
    gz.export_dataset(tmp_path / "ds", tmp_path / "out", format="npy")
    return tmp_path / "out"


def column_of(**change: Any) -> dict[str, Any]:
    column = {"role": "node", "dtype": "float32", "row_bytes": 4}
    return {"columns": {"x": {**column, **change}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graphzero_export": 9}, r"graphzero\.json: found version 9, expected 1"),
        ({"graphzero_export": 3, "new": 1}, r"graphzero\.json: found version 3, expected 1"),
        ({"graphzero_export": 2}, r"graphzero\.json: not the description of an export"),
        ({"format": "hdf"}, r"graphzero\.json: not the description of an export"),
        ({"num_nodes": "3"}, r"json: .*num_nodes is '3', expected a number of nodes"),
        ({"num_nodes": 2**70}, r"json: .*num_nodes is 1180591620717411303424, expected"),
        ({"undirected": "yes"}, r"json: .*undirected is 'yes', expected true or false"),
        (column_of(dtype="evil"), r"json: .*columns\.x\.dtype is 'evil', expected a type"),
        (column_of(row_bytes=3), r"json: .*columns\.x\.row_bytes is 3, expected a multiple of 4"),
        (column_of(row_bytes=2**70), r"json: .*columns\.x\.row_bytes is \d+, expected"),
        ({"columns": {"x": {"role": "node"}}}, r"graphzero\.json: not the description"),
        ({"columns": []}, r"graphzero\.json: not the description"),
        ({"weights": True}, r"out: found no edge_weight\.npy, expected it"),
    ],
)
def test_a_description_that_does_not_fit_is_named(
    tmp_path: Path, export: Path, change: dict[str, Any], message: str
) -> None:
    file = export / "graphzero.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(gz.InputError, match=message):
        gz.import_folder(export, tmp_path / "again")


def test_without_its_description_an_export_is_a_folder_of_arrays(
    tmp_path: Path, export: Path
) -> None:
    """One edge is (2, 1), and labels that are no classes stay what they are."""
    (export / "graphzero.json").unlink()
    np.save(export / "edge_index.npy", np.array([[1], [0]]))
    np.save(export / "edge_time.npy", np.array([7]))
    np.save(export / "y.npy", np.array([0.5, np.nan]))
    gz.import_folder(export, tmp_path / "again")
    assert gz.Graph(tmp_path / "again").get_neighbours(1).tolist() == [0]
    assert gz.FeatureStore(tmp_path / "again/edge_time.gd").role == "edge"
    assert gz.FeatureStore(tmp_path / "again/y.gd").gather([0]).tolist() == [0.5]
